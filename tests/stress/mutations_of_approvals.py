"""Rules of four eyes and of the key's window broken one by one."""

from __future__ import annotations

from tests.stress.mutation import Edit, Mutation, function

_RECONCILIATION = "shared/src/intention_kernel/reconciliation"
_APPROVING = "tests/reconciliation/test_approving.py"
_RULES = "tests/reconciliation/test_rules.py"
_DRY_RUNS = "tests/reconciliation/test_dry_runs.py::test_a_dry_runs_answer_is_the_later_real_result"

APPROVALS: tuple[Mutation, ...] = (
    Mutation(
        "approval-as-the-approvers",
        "I-330",
        "what is approved is the approver's own decision",
        (
            function(
                "approve_proposal",
                "wanted.reason, wanted.evidence, wanted.proposer, not_after)",
                "wanted.reason, wanted.evidence, who, not_after)",
            ),
        ),
        (f"{_APPROVING}::test_what_one_proposes_another_settles_in_one_transaction",),
    ),
    Mutation(
        "approval-unaudited",
        "I-330",
        "the audit log does not say who approved",
        (function("approve_proposal", "if word = 'approve' and said.outcome = 'settled' then", "if false then"),),
        (
            f"{_APPROVING}::test_what_one_proposes_another_settles_in_one_transaction",
            f"{_APPROVING}::test_of_those_who_approve_at_once_one_does",
        ),
    ),
    Mutation(
        "approval-unlocked",
        "I-331",
        "an approval does not wait for the receipt's lock",
        (
            function(
                "approve_proposal",
                "where p.proposal_id = proposal for no key update of r;",
                "where p.proposal_id = proposal;",
            ),
        ),
        (f"{_APPROVING}::test_of_those_who_approve_at_once_one_does",),
    ),
    Mutation(
        "approval-of-anything",
        "I-332",
        "the store approves whatever is proposed, of whatever hash",
        (function("approve_proposal", "when wanted.decision_hash <> hash then", "when false then"),),
        (f"{_APPROVING}::test_what_was_edited_is_not_what_was_approved",),
    ),
    Mutation(
        "hash-of-what-was-not-stored",
        "I-332",
        "what is stored need not be what was hashed",
        (
            Edit(
                f"{_RECONCILIATION}/approving.py",
                "or not is_what_it_was(proposal):",
                "or proposal is None:",
            ),
        ),
        (f"{_APPROVING}::test_what_was_edited_is_not_what_was_approved",),
    ),
    Mutation(
        "hash-without-the-value",
        "I-332",
        "the hash does not bind the value",
        (
            Edit(
                f"{_RECONCILIATION}/proposing.py",
                "else [loads(settlement.value)]",
                "else []",
            ),
        ),
        (
            f"{_RULES}::test_the_hash_binds_everything_that_is_decided",
            f"{_APPROVING}::test_what_was_edited_is_not_what_was_approved",
        ),
    ),
    Mutation(
        "approval-of-ones-own",
        "I-333",
        "who proposes can approve",
        (function("approve_proposal", "when wanted.proposer = who then", "when false then"),),
        (f"{_APPROVING}::test_nobody_approves_their_own_proposal",),
    ),
    Mutation(
        "proposal-for-ever",
        "I-334",
        "a proposal does not expire",
        (function("proposal_state", "when expires_at <= clock_timestamp() then", "when false then"),),
        (f"{_APPROVING}::test_what_nobody_approves_in_time_expires_and_makes_room",),
    ),
    Mutation(
        "proposal-of-what-was",
        "I-334 (R23)",
        "a receipt that moved leaves its proposal open",
        (function("proposal_state", "when version_now is distinct from seen_version then", "when false then"),),
        (
            f"{_APPROVING}::test_a_receipt_that_moved_overtakes_what_was_proposed_and_another_may_be",
            f"{_APPROVING}::test_a_resolver_and_an_approver_settle_once",
        ),
    ),
    Mutation(
        "approval-over-a-claim",
        "I-335",
        "what a third person has claimed is approved",
        (function("approve_proposal", "when work.claimed_by is not null then", "when false then"),),
        (f"{_APPROVING}::test_nobody_proposes_or_approves_over_a_third_persons_claim",),
    ),
    Mutation(
        "approval-unjudged",
        "I-336 (R22)",
        "not applied is not judged again when it is approved",
        (
            Edit(
                f"{_RECONCILIATION}/approving.py",
                "return Refused(judged) if isinstance(judged, NotAdmitted) else judged.not_after",
                "return None if isinstance(judged, NotAdmitted) else judged.not_after",
            ),
        ),
        (f"{_APPROVING}::test_not_applied_is_judged_again_when_it_is_approved",),
    ),
    Mutation(
        "rules-unasked",
        "I-337",
        "no rule asks when a person decides",
        (Edit(f"{_RECONCILIATION}/queue.py", "            if second.rules:", "            if not second:"),),
        (
            f"{_APPROVING}::test_a_key_that_is_forgotten_makes_not_applied_two_peoples",
            f"{_APPROVING}::test_what_one_proposes_another_settles_in_one_transaction",
        ),
    ),
    Mutation(
        "window-closes-unseen",
        "I-337",
        "a decision does not say until when it is one person's",
        (
            Edit(
                f"{_RECONCILIATION}/rules.py",
                "return Asked(asking, window.relied_until if begins and not asking else None)",
                "return Asked(asking, None)",
            ),
        ),
        (
            f"{_RULES}::test_the_key_windows_rule_asks_from_the_moment_at_which_a_repeat_may_be_another_effect",
            f"{_APPROVING}::test_a_window_that_closes_between_look_and_write_lets_nobody_decide_alone",
        ),
    ),
    Mutation(
        "class-of-what-is-declared-without-a-window",
        "I-337",
        "a key that is kept for no stated time makes an effect keyed",
        (
            Edit(
                f"{_RECONCILIATION}/rules.py",
                'if facts.deduplicates and facts.key_window_seconds is not None else "single"',
                'if facts.deduplicates else "single"',
            ),
        ),
        (f"{_RULES}::test_an_effects_class_is_the_certificate_that_it_was_sent_under",),
    ),
    Mutation(
        "rule-for-one",
        "I-338",
        "a rule counts as one that can be satisfied where one person alone may propose and approve",
        (
            Edit(
                f"{_RECONCILIATION}/rules.py",
                "            if proposers != {approver.name}:",
                "            if approver:",
            ),
        ),
        (f"{_RULES}::test_a_rule_that_nobody_could_satisfy_is_found",),
    ),
    Mutation(
        "dry-run-proposes",
        "I-339",
        "a dry run proposes",
        (
            function(
                "propose_decision", "if word <> 'would_propose' or look_only then", "if word <> 'would_propose' then"
            ),
        ),
        (f"{_APPROVING}::test_a_dry_run_says_that_it_would_be_proposed_and_writes_nothing", _DRY_RUNS),
    ),
    Mutation(
        "dry-run-forgets-what-waits",
        "I-339",
        "a dry run does not see that another decision waits",
        (
            function(
                "propose_decision",
                "is null and last_state = 'proposed' then",
                "is null and last_state = 'proposed' and not look_only then",
            ),
        ),
        (_DRY_RUNS,),
    ),
)
