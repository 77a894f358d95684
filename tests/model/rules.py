"""The decisions under test: each field is a rule of the protocol, on by default, that a mutation switches off."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rules:
    """Which rules hold. A field's comment names the protocol's number and what is done where it is False."""

    fence_is_a_counter: bool = True  # R1: the begin's own random id is the fence
    begin_reads_after_lock: bool = True  # R2: prior result and journal come from the statement's first snapshot
    prepare_is_fenced: bool = True  # R3: prepare asks for no fence
    prepare_locks_the_head: bool = True  # R3: the fence is read in a step before
    fenced_begins_again: bool = True  # R4: an overtaken attempt counts as the turn's outcome
    set_aside_is_fenced: bool = True  # R5: a turn is given up without the fence
    begin_counts_attempts: bool = True  # R6: only failures that the process survives are counted
    release_gives_back: bool = True  # R6: an outage consumes an attempt
    end_is_idempotent: bool = True  # R11: an outcome that arrives twice is compared like an answer of another attempt
    answers_match_attempts: bool = True  # R14: any answer ends whatever attempt is prepared
    retries_meet_claims: bool = True  # R15: a retry need not meet what earlier attempts prepared
    outcomes_are_journalled: bool = True  # R16: what the program saw is asked for again
    journal_is_fenced: bool = True  # R16: an overtaken attempt writes the journal
    settled_outcome_frees: bool = True  # R16 (ADR 2): what followed from a settled outcome binds the continuation
    commit_blocks_abandoned: bool = True  # R18: an abandoned operation's receipt is left to itself
    twins_wait: bool = True  # R20: another key with the payload of an open receipt is attempted
    absence_needs_quiet: bool = True  # R22: nothing found settles while the call may still be on its way
    absence_needs_the_end: bool = True  # R22: nothing found settles while the attempt may still send
    settle_compares_versions: bool = True  # R23: a look at attempt 1 settles attempt 2
    late_answers_settle: bool = True  # R24: a late answer moves the receipt and asks for nothing
    answers_never_overwrite: bool = True  # R25: an answer that disagrees changes the state
    contradicted_is_closed: bool = True  # R25: a contradicted receipt admits another attempt
    contest_is_a_settlement: bool = True  # R25: a contest moves the receipt and asks for no continuation
    retry_inside_window: bool = True  # R26: the resolver repeats the call however old it is
    retry_locks_the_item: bool = True  # R26: nothing found settles while a repeat runs
    repeats_outlive_refusals: bool = True  # R26 (ADR 2): that an attempt did nothing speaks for a repeat of it, too
    refused_repeats_are_looks: bool = True  # R26 (ADR 2): a refused repeat settles while the attempt may still answer
    items_are_level_triggered: bool = True  # R27: only the scanner's own transition opens an item
    ids_hold_settlements: bool = True  # R28: one continuation id per receipt
    continuations_need_a_settlement: bool = True  # R28: a request without one runs
    settle_always_asks: bool = True  # R29: settle asks only where somebody waits already
    commit_looks_again: bool = True  # R29: a blocked turn's commit does not look at the receipt
    all_are_resumed: bool = True  # R30: one of the turns that wait for a receipt is resumed
    commit_says_all: bool = True  # R30 (ADR 2): steps that a continuation did not come to keep waiting
    items_own_continuations: bool = True  # R31: a continuation that was set aside is left there
    orphans_are_items: bool = True  # R32: a turn given up with receipts opens nothing
    begin_sees_asides: bool = True  # R33: begin does not look at set-aside rows
    redrive_needs_settled: bool = True  # R33: a turn is redriven while its receipts are open
    redrive_is_one_step: bool = True  # R33: the row is flipped in one transaction, the request enqueued in another
    progress_is_compared: bool = True  # R39: nobody compares the group offset with the database
    recover_doubts_effects: bool = True  # R39: effects of the lost time are called again
    recover_moves_sequences: bool = True  # R39: sequences go on where the older database was
    redrive_keeps_claims: bool = True  # R33: on another memory the whole journal is dropped, with what has to be met
    recover_reaches_the_end: bool = True  # R39: effects are doubted up to the group's old offset, not the log's end
    recover_marks_waiting: bool = True  # R39: turns that wait go on as if nothing was lost
    fences_survive: bool = True  # R39, R3: fences count on from where the older database was
    doubt_is_kept: bool = True  # R39: a turn of the lost time that is given up, or waits, is forgotten to be one
    recover_forgets_looks: bool = True  # R39: what was seen before a recovery still settles
