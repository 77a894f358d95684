"""Rules of set-aside turns, contests and retention broken one by one."""

from __future__ import annotations

from tests.stress.mutation import Edit, Mutation, function

_LIBRARY = "shared/src/intention_kernel"
_REDRIVES = "tests/contract/test_postgres_boundary.py::TestRedrives"
_RETENTION = "tests/contract/test_postgres_boundary.py::TestRetention"
_MEMORY_REDRIVES = "tests/contract/test_memory_boundary.py::TestRedrives"
_CONTEST = "tests/reconciliation/test_contest.py"

REDRIVE: tuple[Mutation, ...] = (
    Mutation(
        "redrive-sends-nothing",
        "I-201 (R33)",
        "a redrive flips the row and enqueues no request",
        (
            function(
                "redrive_turn",
                "'redrive:' || aside_revision, 1, aside.record_value\n    from installation as i;",
                "'redrive:' || aside_revision, 1, aside.record_value\n    from installation as i where false;",
            ),
        ),
        (
            f"{_REDRIVES}::test_a_redriven_turn_runs_again_with_the_request_as_it_came",
            "tests/acceptance/test_redrive.py::test_a_poison_turn_is_redriven_after_a_new_build_and_commits",
        ),
    ),
    Mutation(
        "redrive-repeat-unknown",
        "I-201 (R11)",
        "a redrive whose answer was lost does not know itself",
        (function("redrive_turn", "and aside.decision_id = decision then", "and false then"),),
        (f"{_REDRIVES}::test_a_redrive_is_made_once",),
    ),
    Mutation(
        "redrive-unaudited",
        "I-201 (R33)",
        "the audit log does not say that a turn was redriven",
        (function("redrive_turn", "values (who, 'redrive', thread,", "values (who, 'looked', thread,"),),
        (f"{_REDRIVES}::test_a_redriven_turn_runs_again_with_the_request_as_it_came",),
    ),
    Mutation(
        "redrive-with-open-receipts",
        "I-202 (R33)",
        "a turn is redriven while nobody knows what became of its receipt",
        (function("redrive_turn", "when held.are_open then 'receipts'", "when false then 'receipts'"),),
        (
            f"{_REDRIVES}::test_a_turn_is_not_redriven_while_a_receipt_of_it_is_open",
            f"{_REDRIVES}::test_a_turn_is_not_redriven_while_a_receipt_of_it_is_contradicted",
            "tests/cli/test_redrive.py::test_an_open_receipt_is_shown_and_refuses",
        ),
    ),
    Mutation(
        "redrive-after-later-turns",
        "I-203 (R33)",
        "a turn is redriven after later ones without anybody meaning it",
        (
            function(
                "redrive_turn",
                "when (later.are_messages or rebased) and not after_later then 'later_turns'",
                "when false then 'later_turns'",
            ),
        ),
        (
            f"{_REDRIVES}::test_a_turn_whose_thread_went_on_is_redriven_only_if_that_is_meant",
            "tests/cli/test_redrive.py::test_turns_that_came_later_are_shown_and_have_to_be_meant",
        ),
    ),
    Mutation(
        "redrive-continuation-counts",
        "I-203 (R33)",
        "a continuation that found nobody counts as a later message",
        (function("redrive_turn", "not starts_with(t.turn_id, 'reconciliation:')", "true"),),
        (f"{_REDRIVES}::test_a_continuation_that_found_nobody_is_no_later_message",),
    ),
    Mutation(
        "redrive-keeps-old-journal",
        "I-204 (R33)",
        "the journal of another memory is replayed",
        (
            function(
                "begin_turns",
                "then s.base_digest is distinct from sha256(t.checkpoint) else false end",
                "then false else false end",
            ),
        ),
        (
            f"{_REDRIVES}::test_on_another_memory_a_redriven_turn_keeps_only_what_it_has_to_meet",
            f"{_REDRIVES}::test_a_turn_that_commits_after_the_redrive_makes_the_journal_anothers_too",
        ),
    ),
    Mutation(
        "redrive-drops-journal",
        "I-204 (R16, R33)",
        "the journal is dropped although the memory is the same",
        (
            function(
                "begin_turns",
                "then s.base_digest is distinct from sha256(t.checkpoint) else false end",
                "then true else false end",
            ),
        ),
        (
            f"{_REDRIVES}::test_a_redriven_turn_replays_its_journal_on_the_memory_that_it_was_written_on",
            f"{_REDRIVES}::test_a_continuation_that_found_nobody_is_no_later_message",
        ),
    ),
    Mutation(
        "redrive-drops-claims",
        "I-204 (R15, R33)",
        "claims are dropped with the rest of the journal",
        (
            function("begin_turns", "and j.turn_id = k.turn_id and j.kind <> 'claim'", "and j.turn_id = k.turn_id"),
            function("begin_turns", "and (e.kind = 'claim' or not k.is_rebased)", "and not k.is_rebased"),
        ),
        (f"{_REDRIVES}::test_on_another_memory_a_redriven_turn_keeps_only_what_it_has_to_meet",),
    ),
    Mutation(
        "redrive-drops-again",
        "I-204 (R16, R33)",
        "what a redriven attempt records is dropped at its retry",
        (
            function(
                "begin_turns",
                "case when s.state = 'redriven' and t.turn_id is distinct from a.tu",
                "case when s.state = 'redriven'",
            ),
        ),
        (f"{_REDRIVES}::test_what_a_redriven_attempt_records_is_replayed_to_the_next",),
    ),
    Mutation(
        "delete-by-turn",
        "I-205 (R35)",
        "the relay deletes all rows of the thread that it has published one of",
        (
            Edit(
                f"{_LIBRARY}/postgres/outbox.py",
                'statement("relay_delete")',
                'statement("relay_delete").replace("and o.id = acknowledged.id", "").replace("and o.dedupe = acknowledged.dedupe", "")',
            ),
        ),
        (
            "tests/postgres/test_redriven_events.py::test_an_acknowledged_failure_takes_no_event_of_the_redriven_turn_with_it",
        ),
    ),
    Mutation(
        "redriven-id-is-free",
        "I-206 (R7, R33)",
        "other content under a redriven turn id begins",
        (
            function(
                "begin_turns",
                "when s.aside_digest <> s.dig then 'conflict'",
                "when s.aside_digest <> s.dig and s.aside_state = 'open' then 'conflict'",
            ),
        ),
        (f"{_REDRIVES}::test_other_content_under_a_redriven_turn_id_is_a_conflict",),
    ),
    Mutation(
        "dropped-runs",
        "I-207 (R33)",
        "a redelivery of a dropped turn runs",
        (
            function(
                "begin_turns",
                "when s.aside_state <> 'redriven' then 'set_aside'",
                "when s.aside_state = 'open' then 'set_aside'",
            ),
        ),
        (f"{_REDRIVES}::test_a_dropped_turn_is_given_up_for_ever",),
    ),
    Mutation(
        "orphaned-stays-done",
        "I-208 (R32)",
        "a turn that is set aside again opens no orphaned item",
        (function("set_aside_turn", "set phase = 'open', closed_at = null,", "set closed_at = null,"),),
        (f"{_REDRIVES}::test_an_orphaned_item_is_over_once_its_turn_is_redriven_or_dropped",),
    ),
    Mutation(
        "orphaned-stays-open",
        "I-208 (R32)",
        "the orphaned items of a redriven turn stay open",
        (function("close_orphaned", "and phase = 'open'", "and phase = 'failed'"),),
        (f"{_REDRIVES}::test_an_orphaned_item_is_over_once_its_turn_is_redriven_or_dropped",),
    ),
    Mutation(
        "rejected-redriven-twice",
        "I-209 (R33)",
        "a rejected record that was redriven can be redriven again",
        (function("end_rejected", "elsif kept.state <> 'open' then", "elsif false then"),),
        (
            f"{_REDRIVES}::test_a_rejected_record_is_sent_again_as_it_came",
            f"{_REDRIVES}::test_a_dropped_record_is_not_sent_again",
        ),
    ),
    Mutation(
        "keyless-record-sent",
        "I-209 (R34)",
        "a record whose key names no thread is sent again",
        (
            Edit(
                f"{_LIBRARY}/ports/redrives.py",
                "    return thread_id if problem is None else Unsendable",
                "    return thread_id if problem or True else Unsendable",
            ),
        ),
        (f"{_MEMORY_REDRIVES}::test_a_record_that_no_build_would_take_is_not_sent_again",),
    ),
    Mutation(
        "contest-without-version",
        "I-210 (R23, R25)",
        "a contest does not ask for the version that was shown",
        (
            function(
                "contest_receipt", "when receipt.version <> seen_version then 'changed'", "when false then 'changed'"
            ),
        ),
        (f"{_CONTEST}::test_nothing_is_contested_that_is_not_as_it_was_shown",),
    ),
    Mutation(
        "contest-of-nothing",
        "I-210 (R25)",
        "what nobody settled can be contested",
        (function("contest_receipt", "then 'not_settled'", "and false then 'not_settled'"),),
        (f"{_CONTEST}::test_nothing_is_contested_that_is_not_as_it_was_shown",),
    ),
    Mutation(
        "contest-for-resolvers",
        "I-210 (R25)",
        "a resolver looks at what a person contests",
        (
            function(
                "contest_receipt",
                "'contested', 'infinity')\n    on conflict",
                "'contested', '-infinity')\n    on conflict",
            ),
        ),
        (f"{_CONTEST}::test_a_contested_receipt_is_left_to_people",),
    ),
    Mutation(
        "contest-alone",
        "I-211 (R25)",
        "who contests a settlement may decide that, too",
        (
            function(
                "decide_contest",
                "and o.finding = 'contested' and o.source <> 'contest:' || who",
                "and o.finding = 'contested'",
            ),
        ),
        (f"{_CONTEST}::test_a_second_person_moves_what_was_contested",),
    ),
    Mutation(
        "contest-by-one",
        "I-211 (R25)",
        "what an answer contradicts is decided by one person",
        (function("decide_contest", "then 'alone'", "and false then 'alone'"),),
        (
            f"{_CONTEST}::test_what_an_answer_contradicts_is_decided_by_two_people",
            f"{_CONTEST}::test_a_second_person_moves_what_was_contested",
        ),
    ),
    Mutation(
        "contest-without-evidence",
        "I-211 (R25)",
        "a contest is decided without evidence",
        (
            Edit(
                f"{_LIBRARY}/reconciliation/queue.py",
                "    if contested:\n        needed",
                "    if False:\n        needed",
            ),
        ),
        (f"{_CONTEST}::test_a_second_person_moves_what_was_contested",),
    ),
    Mutation(
        "contest-past-r22",
        "I-211 (R22, R25)",
        "a contest says not applied while the call may still take effect",
        (
            Edit(
                f"{_LIBRARY}/reconciliation/queue.py",
                "            if isinstance(judged, NotAdmitted):\n                return Refused(judged)",
                "            if isinstance(judged, NotAdmitted):\n"
                "                return Refused(judged) if not contested else told(await queue.decide(settlement, contested=True, look_only=False))",
            ),
        ),
        (f"{_CONTEST}::test_not_applied_is_admitted_in_a_contest_only_if_the_attempt_is_over",),
    ),
    Mutation(
        "contest-stays-contradicted",
        "I-211 (R25)",
        "what a contest decided stays contradicted",
        (function("write_settlement", "version = r.version + 1, contradicted = false,", "version = r.version + 1,"),),
        (
            f"{_CONTEST}::test_a_second_person_moves_what_was_contested",
            f"{_CONTEST}::test_a_second_person_may_confirm_what_was_contested",
        ),
    ),
    Mutation(
        "retention-forgets-the-digest",
        "I-212 (R38)",
        "a tombstone is a turn that is gone",
        (
            function(
                "thin_thread",
                "  get diagnostics turn_count = row_count;",
                "  get diagnostics turn_count = row_count;\n  delete from turns as u where u.thread_id = thread and u.request = nothing;",
            ),
        ),
        (f"{_RETENTION}::test_a_turn_of_which_the_tombstone_is_left_is_replayed_and_conflicts",),
    ),
    Mutation(
        "retention-of-the-unpublished",
        "I-212 (R35, R38)",
        "events that are not published are forgotten",
        (
            function(
                "thin_thread",
                "and not exists (select from outbox as x where",
                "and not exists (select from outbox as x where false and",
            ),
        ),
        (f"{_RETENTION}::test_what_waits_or_is_not_published_stays_whole",),
    ),
    Mutation(
        "retention-of-what-waits",
        "I-212 (R30, R38)",
        "the request of a blocked turn is forgotten",
        (function("thin_thread", "where b.thread_id = thread and b.turn_id = o.turn_id)", "where false)"),),
        (f"{_RETENTION}::test_what_waits_or_is_not_published_stays_whole",),
    ),
    Mutation(
        "deleted-thread-begins",
        "I-213 (R38)",
        "a deleted thread is a new one",
        (function("begin_turns", "when s.state = 'deleted' then 'deleted'", "when false then 'deleted'"),),
        (f"{_RETENTION}::test_a_deleted_thread_keeps_only_that_it_is_deleted",),
    ),
    Mutation(
        "deletion-with-open-receipts",
        "I-213 (R38)",
        "a thread is deleted with open receipts",
        (
            function(
                "delete_thread",
                "or r.contradicted)) then\n    return 'receipts';",
                "or r.contradicted) and false) then\n    return 'receipts';",
            ),
        ),
        (f"{_RETENTION}::test_a_thread_with_anything_that_is_not_over_is_not_deleted",),
    ),
    Mutation(
        "deletion-with-unfinished-items",
        "I-213 (R38)",
        "a thread is deleted with unfinished items",
        (function("delete_thread", "and i.phase <> 'done') then", "and false) then"),),
        (
            f"{_RETENTION}::test_a_thread_with_anything_that_is_not_over_is_not_deleted",
            f"{_RETENTION}::test_an_orphaned_item_refuses_a_deletion",
        ),
    ),
    Mutation(
        "deletion-with-outbox-rows",
        "I-213 (R38)",
        "a thread is deleted with unpublished records",
        (
            function(
                "delete_thread",
                "from outbox as o where o.thread_id = thread) then",
                "from outbox as o where false) then",
            ),
        ),
        (f"{_RETENTION}::test_a_thread_with_anything_that_is_not_over_is_not_deleted",),
    ),
)
