"""Rules of the operator's queue broken one by one."""

from __future__ import annotations

from tests.stress.mutation import Edit, Mutation, function

_LIBRARY = "shared/src/intention_kernel"
_WORK = "tests/reconciliation/test_work.py"
_LISTING = "tests/reconciliation/test_listing.py"

QUEUE: tuple[Mutation, ...] = (
    Mutation(
        "filter-forgets-what-is-not-known",
        "I-301",
        "a negated term leaves out what has no such member",
        (
            Edit(
                f"{_LIBRARY}/postgres/queue_queries.py",
                "return not_(func.coalesce(holds, false())) if",
                "return not_(holds) if",
            ),
        ),
        (f"{_LISTING}::test_a_filter_selects_the_same_items_in_sql_and_as_a_predicate",),
    ),
    Mutation(
        "queue-least-needed-first",
        "I-302",
        "what fewer turns wait for is above",
        (Edit(f"{_LIBRARY}/postgres/queue_queries.py", "    -_ITEM.waiting,", "    _ITEM.waiting,"),),
        (
            f"{_LISTING}::test_the_list_is_by_need_and_its_pages_neither_skip_nor_repeat",
            f"{_LISTING}::test_a_page_is_read_from_the_index_of_what_is_not_done",
        ),
    ),
    Mutation(
        "page-skips",
        "I-302",
        "a page begins behind the first item that the last one did not show",
        (Edit(f"{_LIBRARY}/reconciliation/listing.py", "_cursor(found[limit - 1])", "_cursor(found[limit])"),),
        (f"{_LISTING}::test_the_list_is_by_need_and_its_pages_neither_skip_nor_repeat",),
    ),
    Mutation(
        "place-stays-when-turns-wait",
        "I-302",
        "a turn that waits moves no item",
        (function("rank_items", "and b.effect_key = step.effect_key)", "and false)"),),
        (f"{_LISTING}::test_an_items_place_follows_its_receipt",),
    ),
    Mutation(
        "place-stays-when-contradicted",
        "I-302",
        "a contradiction moves no item that is open",
        (function("rank_items", "set contradicted = new.contradicted", "set contradicted = false"),),
        (f"{_LISTING}::test_an_items_place_follows_its_receipt",),
    ),
    Mutation(
        "claim-of-two",
        "I-303",
        "what one person has can be claimed by another",
        (function("work_on_receipt", "when foreign_claim and act <> 'takeover' then", "when false then"),),
        (
            f"{_WORK}::test_a_claim_is_one_persons_until_it_ends",
            f"{_WORK}::test_of_two_who_claim_at_once_one_has_it",
        ),
    ),
    Mutation(
        "claim-for-ever",
        "I-303",
        "a claim that is over still keeps others away",
        (
            function(
                "work_on_receipt",
                "foreign_claim := work.claimed_until > clock_timestamp() and",
                "foreign_claim := work.claimed_until > '-infinity' and",
            ),
        ),
        (f"{_WORK}::test_a_claim_is_one_persons_until_it_ends",),
    ),
    Mutation(
        "decision-over-a-claim",
        "I-304",
        "a person decides what another has claimed",
        (function("decide_receipt", "if work.claimed_until > clock_timestamp() and", "if false and"),),
        (f"{_WORK}::test_nobody_decides_or_contests_what_another_person_has",),
    ),
    Mutation(
        "contest-over-a-claim",
        "I-304",
        "a person contests what another has claimed",
        (function("contest_receipt", "when work.claimed_by is not null then 'held'", "when false then 'held'"),),
        (f"{_WORK}::test_nobody_decides_or_contests_what_another_person_has",),
    ),
    Mutation(
        "work-on-what-was-not-seen",
        "I-305",
        "work does not compare with the version that was seen",
        (function("work_on_receipt", "when work.version <> seen_version then", "when false then"),),
        (f"{_WORK}::test_work_compares_with_its_own_version_and_not_with_the_receipts",),
    ),
    Mutation(
        "work-unaudited",
        "I-305",
        "work is not in the audit log",
        (
            function("work_on_receipt", "  values (who, act, held", "  select x.* from (values (who, act, held"),
            function(
                "work_on_receipt",
                "then work.claimed_by end))::text, 'UTF8'));",
                "then work.claimed_by end))::text, 'UTF8'))) as x where false;",
            ),
        ),
        (
            f"{_WORK}::test_an_operation_is_done_once_an_id_with_its_audit_line",
            f"{_WORK}::test_without_its_audit_line_nothing_is_done",
        ),
    ),
    Mutation(
        "work-repeated",
        "I-305",
        "a repeated operation is done again",
        (function("work_on_receipt", "if earlier.id is not null then", "if false then"),),
        (f"{_WORK}::test_an_operation_is_done_once_an_id_with_its_audit_line",),
    ),
    Mutation(
        "audit-forgets",
        "I-306",
        "lines of the audit log can be deleted",
        (
            Edit(
                f"{_LIBRARY}/postgres/migrations/sql/0001_triggers.sql",
                "before update or delete on audit_log",
                "before update on audit_log",
            ),
        ),
        (f"{_WORK}::test_notes_are_kept_once_an_id_and_never_changed",),
    ),
    Mutation(
        "snooze-over-a-contradiction",
        "I-307",
        "what contradicts the record leaves it out of sight",
        (function("wake_receipt", "new.finding in ('late_answer', 'contested')", "false"),),
        (f"{_WORK}::test_what_contradicts_the_record_ends_every_snooze",),
    ),
    Mutation(
        "snooze-over-another-answer",
        "I-307",
        "another answer of the resolver leaves it out of sight",
        (function("wake_receipt", "or snoozed_answer <> answer_of_v1", "or false and snoozed_answer <> answer_of_v1"),),
        (f"{_WORK}::test_a_snooze_until_a_change_ends_when_the_resolver_says_something_else",),
    ),
    Mutation(
        "probe-beside-a-retry",
        "I-308 (R26)",
        "a probe has another reconciler look while the call is repeated",
        (
            function(
                "work_on_receipt",
                "or held.contradicted or held.retry_until > clock_timestamp())",
                "or held.contradicted)",
            ),
        ),
        (f"{_WORK}::test_a_running_retry_is_not_disturbed_by_a_probe",),
    ),
    Mutation(
        "dry-run-writes",
        "I-309",
        "a dry run decides",
        (function("decide_receipt", "    if look_only then", "    if false then"),),
        (f"{_WORK}::test_a_dry_run_says_what_the_decision_then_does_and_writes_nothing",),
    ),
)
