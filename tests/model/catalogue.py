"""Which scenario shows that a rule is needed: the rule is switched off there and the explorer finds what breaks."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tests.model.rules import Rules


@dataclass(frozen=True, slots=True)
class Mutation:
    """A rule's number, its field of Rules, and the scenario that breaks without it."""

    rule: str
    field: str
    scenario: str

    @property
    def rules(self) -> Rules:
        """All rules but this one."""
        return replace(Rules(), **{self.field: False})


MUTATIONS = (
    Mutation("R1", "fence_is_a_counter", "duplicate"),
    Mutation("R2", "begin_reads_after_lock", "lost"),
    Mutation("R3", "prepare_is_fenced", "diverge"),
    Mutation("R3", "prepare_locks_the_head", "diverge"),
    Mutation("R4", "fenced_begins_again", "lost"),
    Mutation("R5", "set_aside_is_fenced", "aside"),
    Mutation("R6", "begin_counts_attempts", "poison"),
    Mutation("R6", "release_gives_back", "outage"),
    Mutation("R11", "end_is_idempotent", "repeat"),
    Mutation("R14", "answers_match_attempts", "wrong-zombie"),
    Mutation("R15", "retries_meet_claims", "opaque"),
    Mutation("R16", "outcomes_are_journalled", "again"),
    Mutation("R16", "journal_is_fenced", "again-zombie"),
    Mutation("R16", "settled_outcome_frees", "again"),
    Mutation("R18", "commit_blocks_abandoned", "abandon"),
    Mutation("R20", "twins_wait", "twins"),
    Mutation("R22", "absence_needs_quiet", "crash"),
    Mutation("R22", "absence_needs_the_end", "zombie"),
    Mutation("R23", "settle_compares_versions", "operator"),
    Mutation("R24", "late_answers_settle", "zombie"),
    Mutation("R25", "answers_never_overwrite", "wrong-zombie"),
    Mutation("R25", "contradicted_is_closed", "wrong"),
    Mutation("R25", "contest_is_a_settlement", "wrong"),
    Mutation("R26", "retry_inside_window", "repeats"),
    Mutation("R26", "retry_locks_the_item", "repeats"),
    Mutation("R26", "repeats_outlive_refusals", "repeats-refused"),
    Mutation("R26", "refused_repeats_are_looks", "repeats-refused"),
    Mutation("R27", "items_are_level_triggered", "items"),
    Mutation("R28", "ids_hold_settlements", "lostcall"),
    Mutation("R28", "continuations_need_a_settlement", "restore-waiting"),
    Mutation("R29", "settle_always_asks", "more"),
    Mutation("R29", "commit_looks_again", "redrive"),
    Mutation("R30", "all_are_resumed", "same"),
    Mutation("R30", "commit_says_all", "more"),
    Mutation("R31", "items_own_continuations", "items-given-up"),
    Mutation("R32", "orphans_are_items", "items-given-up"),
    Mutation("R33", "begin_sees_asides", "aside"),
    Mutation("R33", "redrive_is_one_step", "redrive"),
    Mutation("R33", "redrive_keeps_claims", "redrive-late"),
    Mutation("R39", "progress_is_compared", "restore-quiet"),
    Mutation("R39", "recover_doubts_effects", "restore"),
    Mutation("R39", "recover_moves_sequences", "restore"),
    Mutation("R39", "recover_reaches_the_end", "restore"),
    Mutation("R39", "fences_survive", "restore-live"),
    Mutation("R39", "recover_marks_waiting", "restore-redrive"),
    Mutation("R39", "doubt_is_kept", "restore-redrive"),
    Mutation("R39", "recover_forgets_looks", "restore-look"),
)

# Rules that the model carries and that no scenario of it needs, with the reason.
UNNEEDED = {
    "redrive_needs_settled": "R33: prepare fails closed on an open receipt, so the refusal spares a person a blocked turn, no more",
}
