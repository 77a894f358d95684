"""Invariants of settling, events, data and processes broken one by one."""

from __future__ import annotations

from tests.stress.mutation import Edit, Mutation, function

_LIBRARY = "shared/src/intention_kernel"
_RELAY = "services/outbox-relay/src/outbox_relay"
_BOUNDARY = "tests/contract/test_postgres_boundary.py"
_PROGRAMS = "tests/contract/test_postgres_programs.py"
_RECONCILIATION = "tests/reconciliation"
_MEMORY = "tests/unit/test_memory_stage.py"
_CRASH = "tests/crash"
_FAN7 = "tests/acceptance/test_fan7.py"

_ZOMBIE_PREPARES = (
    function("prepare_effects", "when a.th <> all (alive) then 'fenced'", "when false then 'fenced'"),
    Edit(
        f"{_LIBRARY}/durability/turn_scope.py",
        "        if not self._lease.allows(min(START_MARGIN_SECONDS, self.attempt.lease_seconds / 10)):",
        "        if False:",
    ),
    Edit(f"{_LIBRARY}/durability/effect_attempt.py", "        if not self._lease.allows(0.0):", "        if False:"),
)

SERVICES: tuple[Mutation, ...] = (
    Mutation(
        "scoped-key-without-thread",
        "I-38 (R21)",
        "the scoped provider key does not hold the thread",
        (
            Edit(
                f"{_LIBRARY}/agent/effect.py",
                'return derived_id("effect", namespace, self.thread_id, self.idempotency_key)',
                'return derived_id("effect", namespace, self.idempotency_key)',
            ),
        ),
        (
            "tests/unit/test_effect_definitions.py::test_the_plain_key_holds_neither_thread_nor_tenant_and_the_scoped_one_does",
            "tests/unit/test_effect_definitions.py::test_a_resolver_sees_the_keys_that_the_operation_was_given",
        ),
    ),
    Mutation(
        "plain-key-with-thread",
        "I-38 (R21)",
        "the plain provider key holds the thread",
        (
            Edit(
                f"{_LIBRARY}/durability/effect_attempt.py",
                "            idempotency_key=wanted.effect_key,",
                '            idempotency_key=f"{self._attempt.thread_id}:{wanted.effect_key}",',
            ),
        ),
        (f"{_PROGRAMS}::TestEffects::test_an_effect_is_called_once_for_its_key_across_turns",),
    ),
    Mutation(
        "deadline-is-an-end",
        "I-39 (R22)",
        "an attempt that was never seen to end counts as over at its deadline",
        (
            Edit(
                f"{_LIBRARY}/reconciliation/admissible.py",
                "min((proof for proof in proofs if proof is not None), default=None)",
                "min((proof for proof in proofs if proof is not None), default=facts.call_deadline)",
            ),
        ),
        (
            f"{_RECONCILIATION}/test_admissible.py::test_not_applied_is_admitted_only_if_the_attempt_can_no_longer_take_effect"
            "[c: never seen to end]",
            f"{_RECONCILIATION}/test_resolvers.py::test_absence_does_not_settle_while_the_attempt_may_still_run",
            f"{_RECONCILIATION}/test_queue.py::test_a_person_says_not_applied_only_once_the_attempt_is_over",
        ),
    ),
    Mutation(
        "return-proves-nothing",
        "I-39 (R22)",
        "that the operation returned is no proof that the attempt is over",
        (
            Edit(
                f"{_LIBRARY}/reconciliation/admissible.py",
                "[look.workers_stopped_at, facts.died_at], facts.returned_at",
                "[look.workers_stopped_at, facts.died_at], None",
            ),
        ),
        (
            f"{_RECONCILIATION}/test_resolvers.py::test_absence_settles_once_the_attempt_is_over_and_the_quiet_period_has_passed",
        ),
    ),
    Mutation(
        "settlement-asks-nothing",
        "I-41 (R23, R29)",
        "a settlement does not ask for its continuation",
        (
            function(
                "write_settlement",
                "  perform ask_continuation_v1(thread, effect, receipt.settlements, 1);\n",
                "",
            ),
        ),
        (
            f"{_RECONCILIATION}/test_resolvers.py::test_a_found_effect_settles_as_applied_with_everything_that_belongs_to_it",
        ),
    ),
    Mutation(
        "settlement-unaudited",
        "I-41 (R23)",
        "a settlement is not in the audit log",
        (
            function("write_settlement", "  values (who, case receipt.cause", "  select who, case receipt.cause"),
            function(
                "write_settlement",
                "'reasonCode', code))::text, 'UTF8'));",
                "'reasonCode', code))::text, 'UTF8') where false;",
            ),
        ),
        (
            f"{_RECONCILIATION}/test_resolvers.py::test_a_found_effect_settles_as_applied_with_everything_that_belongs_to_it",
        ),
    ),
    Mutation(
        "late-answer-under-lease",
        "I-42 (R24)",
        "an answer that comes after the lease is not taken",
        (
            function(
                "end_effects",
                "and r.state = 'uncertain' and not r.contradicted then 'settled'",
                "and r.state = 'uncertain' and not r.contradicted then\n"
                "        case when t.fence = a.fe and t.lease_until > clock_timestamp() then 'settled' else 'ignored' end",
            ),
        ),
        (
            f"{_BOUNDARY}::TestSettlements::test_an_answer_after_the_commit_settles_what_the_turn_is_blocked_on",
            f"{_BOUNDARY}::TestSettlements::test_a_late_answer_before_the_scan_is_a_settlement_too",
            f"{_RECONCILIATION}/test_late_answers.py::test_an_answer_that_comes_during_the_lookup_settles_and_the_lookup_does_not",
        ),
    ),
    Mutation(
        "journal-until-the-first",
        "I-49 (R30)",
        "the journal of a blocked turn ends with its first continuation",
        (
            function(
                "merge_journal",
                "if exists (select from blocked_steps as b where b.thread_id = thread and b.turn_id = resumed) then",
                "if false then",
            ),
        ),
        (
            f"{_BOUNDARY}::TestContinuations::test_a_turn_blocked_on_two_receipts_keeps_its_journal_until_both_are_settled",
            f"{_PROGRAMS}::TestContinuations::test_a_continuation_replays_what_the_turn_saw_and_goes_on",
        ),
    ),
    Mutation(
        "last-lines-lost",
        "I-49 (R16)",
        "a blocked commit does not keep the last lines of the journal",
        (
            function(
                "commit_turns",
                "      where verdicts[e.ord] = 'write' and (\n        select true from blocked_steps",
                "      where false and (\n        select true from blocked_steps",
            ),
        ),
        (
            f"{_BOUNDARY}::TestContinuations::test_a_blocked_commit_keeps_the_last_lines_of_the_journal",
            f"{_BOUNDARY}::TestContinuations::test_a_turn_blocked_on_two_receipts_keeps_its_journal_until_both_are_settled",
        ),
    ),
    Mutation(
        "blocked-step-blocks-all",
        "I-51 (R32)",
        "a thread with a blocked step is busy",
        (
            function(
                "begin_turns",
                "when s.is_leased and not s.is_mine then 'busy'",
                "when s.is_leased and not s.is_mine\n"
                "        or exists (select from blocked_steps as b where b.thread_id = s.th) then 'busy'",
            ),
        ),
        (
            f"{_PROGRAMS}::TestContinuations::test_an_unknown_outcome_blocks_the_step_and_not_the_conversation",
            f"{_BOUNDARY}::TestContinuations::test_later_turns_go_on_while_one_is_blocked",
        ),
    ),
    Mutation(
        "unknown-is-completed",
        "I-51 (R32)",
        "a turn that does not know says that it is completed",
        (
            Edit(
                f"{_LIBRARY}/runtime/program_body.py",
                'TurnResult(blocked_response(step.title, step.receipt_id), status="blocked")',
                'TurnResult(blocked_response(step.title, step.receipt_id), status="completed")',
            ),
        ),
        (f"{_PROGRAMS}::TestContinuations::test_an_unknown_outcome_blocks_the_step_and_not_the_conversation",),
    ),
    Mutation(
        "loss-unnoticed",
        "I-56 (R37)",
        "a relay that lost a lease with records under way goes on",
        (Edit(f"{_RELAY}/shards.py", "        if number in self._sending:", "        if False:"),),
        (
            "tests/relay/test_shards.py::test_a_lease_that_runs_out_while_records_are_under_way_aborts_and_nothing_is_sent_after",
            "tests/relay/test_takeover.py::test_a_relay_that_slept_past_its_lease_publishes_nothing_more",
        ),
    ),
    Mutation(
        "sends-without-lease",
        "I-56 (R37)",
        "a relay does not look at its lease before it sends",
        (
            Edit(
                f"{_RELAY}/shards.py",
                "return all(number not in self._lost_in_use and self._may_send(number) for number in numbers)",
                "return True",
            ),
        ),
        (
            "tests/relay/test_shards.py::test_a_lease_that_runs_out_while_records_are_under_way_aborts_and_nothing_is_sent_after",
        ),
    ),
    Mutation(
        "expired-shards-stay",
        "I-56 (R37)",
        "a relay takes only shards that nobody had before",
        (
            Edit(
                f"{_RELAY}/shards.py",
                "        for number, epoch in taken.items():",
                "        for number, epoch in [each for each in taken.items() if each[1] == 1]:",
            ),
        ),
        ("tests/relay/test_takeover.py::test_another_relay_takes_over_from_one_that_is_killed[relay.after_ack]",),
    ),
    Mutation(
        "repeats-accepted",
        "I-57 (R37)",
        "a reader takes a repeat for the next event",
        (Edit(f"{_LIBRARY}/client/order.py", '            return "old"', '            return "next"'),),
        (
            "tests/cli/test_events.py::test_repeats_are_dropped_and_a_hole_is_told_and_holds_the_thread_back",
            "tests/cli/test_events.py::test_a_reader_from_the_middle_takes_the_first_it_sees",
        ),
    ),
    Mutation(
        "holes-skipped",
        "I-57 (R37)",
        "a reader goes on behind a hole",
        (
            Edit(
                f"{_LIBRARY}/client/order.py",
                "if sequence == seen.last + 1 or incarnation != seen.incarnation:",
                "if True:",
            ),
        ),
        ("tests/cli/test_events.py::test_repeats_are_dropped_and_a_hole_is_told_and_holds_the_thread_back",),
    ),
    Mutation(
        "sizes-unasked",
        "I-58",
        "the size of an event is not looked at before the commit",
        (
            Edit(
                f"{_LIBRARY}/runtime/events.py",
                "        if record.size_bytes > MAX_EVENT_BYTES:",
                "        if False:",
            ),
        ),
        (
            f"{_PROGRAMS}::TestTurns::test_an_event_that_the_broker_would_refuse_fails_at_commit",
            "tests/acceptance/test_bad_input.py::test_an_event_over_the_limit_sets_its_turn_aside_and_nothing_else",
        ),
    ),
    Mutation(
        "unredacted",
        "I-59",
        "event data leaves as the program gave it",
        (Edit(f"{_LIBRARY}/runtime/events.py", "        if self.redact is None:", "        if True:"),),
        (
            f"{_PROGRAMS}::TestTurns::test_event_data_is_redacted_before_anything_sees_it",
            f"{_PROGRAMS}::TestTurns::test_a_redact_that_raises_fails_the_attempt",
        ),
    ),
    Mutation(
        "fast-reader-alone",
        "I-60",
        "numbers beyond 64 bits are read as the fast parser reads them",
        (
            Edit(
                f"{_LIBRARY}/contracts/json_codec.py",
                "        if orjson.dumps(value) == raw and _is_shallow(raw, value):",
                "        if True:",
            ),
        ),
        (f"{_MEMORY}::test_odd_values_come_back_as_they_were[1180591620717411303424]",),
    ),
    Mutation(
        "unknown-members-dropped",
        "I-60",
        "members of a checkpoint that this build does not know are dropped",
        (Edit(f"{_LIBRARY}/contracts/checkpoint.py", "        unknown=document,", "        unknown={},"),),
        (f"{_MEMORY}::test_members_of_a_later_build_survive_in_their_place",),
    ),
    Mutation(
        "nan-is-null",
        "I-60",
        "what JSON cannot express is written as the fast writer likes",
        (
            Edit(
                f"{_LIBRARY}/contracts/json_codec.py",
                "        elif kind is not float or not isfinite(item):",
                "        elif kind is not float:",
            ),
        ),
        (f"{_PROGRAMS}::TestTurns::test_a_value_that_is_not_json_fails_the_attempt_with_its_path",),
    ),
    Mutation(
        "messages-unbounded",
        "I-61",
        "a checkpoint keeps every message",
        (
            Edit(
                f"{_LIBRARY}/runtime/stages/memory.py",
                "messages=(*checkpoint.messages, message)[-MAX_MESSAGES:])",
                "messages=(*checkpoint.messages, message))",
            ),
        ),
        (f"{_MEMORY}::test_messages_are_a_window",),
    ),
    Mutation(
        "facts-dropped",
        "I-61",
        "the oldest facts make room for new ones",
        (
            Edit(
                f"{_LIBRARY}/runtime/stages/memory.py",
                '        raise TurnLimitError(f"the thread would have {len(known)} facts, the most is {MAX_FACTS}")',
                "        known = dict(list(known.items())[-MAX_FACTS:])",
            ),
        ),
        (f"{_MEMORY}::test_a_fact_beyond_the_bound_fails_and_none_is_dropped",),
    ),
    Mutation(
        "needed-receipts-dropped",
        "I-61",
        "a receipt that a fact or a blocked step refers to goes with its age",
        (
            Edit(
                f"{_LIBRARY}/runtime/stages/memory.py",
                "if receipt_id in needed or receipt_id in recent)",
                "if receipt_id in recent)",
            ),
        ),
        (f"{_MEMORY}::test_receipts_that_something_refers_to_are_kept_and_the_last_ones",),
    ),
    Mutation(
        "any-schema-fits",
        "I-62",
        "a process starts on whatever schema it finds",
        (
            Edit(
                f"{_LIBRARY}/postgres/schema.py",
                "    if problem is not None:",
                "    if False:",
            ),
        ),
        (
            "tests/cli/test_migrate.py::test_a_database_that_is_not_migrated_is_refused_with_the_command_to_run",
            "tests/postgres/test_migrations.py::test_a_database_of_a_newer_build_is_refused",
        ),
    ),
    Mutation(
        "schema-drifts",
        "I-63",
        "the contracts allow what the committed schemas do not",
        (
            Edit(
                f"{_LIBRARY}/contracts/schema_parts.py",
                'COUNT: Schema = {"type": "integer", "minimum": 1}',
                'COUNT: Schema = {"type": "integer", "minimum": 0}',
            ),
        ),
        ("tests/unit/test_schemas.py::test_committed_schemas_are_what_the_contracts_generate",),
    ),
    Mutation(
        "records-drift",
        "I-63",
        "events are written without their version",
        (
            Edit(
                f"{_LIBRARY}/contracts/event.py",
                '            "version": EVENT_VERSION,\n            "occurredAt": time,',
                '            "occurredAt": time,',
            ),
        ),
        ("tests/unit/test_schemas.py::test_real_events_traces_results_and_checkpoints_fit",),
    ),
    Mutation(
        "recorded-called-again",
        "I-64 (R14, R16)",
        "neither the receipt nor the journal of an attempt that died tells its successor the value",
        (
            function(
                "prepare_effects",
                "when r.state = 'completed' and not r.contradicted then 'completed'",
                "when r.state = 'completed' and not r.contradicted then 'again'",
            ),
            Edit(
                f"{_LIBRARY}/postgres/migrations/sql/0001_triggers.sql",
                "or (old.state = 'failed' and new.state = 'prepared'",
                "or (old.state in ('failed', 'completed') and new.state = 'prepared'",
            ),
            Edit(
                f"{_LIBRARY}/durability/turn_scope.py",
                "        if entry is not None:\n            return _as_seen",
                "        if False:\n            return _as_seen",
            ),
        ),
        (f"{_CRASH}/test_runner_kills.py::test_a_runner_killed_at_a_failpoint_costs_nothing[runner.after_completed]",),
    ),
    Mutation(
        "zombie-commits",
        "I-65 (R5)",
        "a runner that was overtaken while it was paused commits",
        (
            function(
                "commit_turns",
                "when t.lease_nonce is null or t.fence <> a.fe or t.revision <> a.rev then 'fenced'",
                "when t.revision <> a.rev then 'fenced'",
            ),
        ),
        (
            f"{_CRASH}/test_runner_pauses.py::test_a_runner_that_goes_on_while_another_has_its_turn_harms_nothing"
            "[runner.before_commit]",
        ),
    ),
    Mutation(
        "zombie-prepares",
        "I-65 (R3)",
        "a runner that was overtaken while it was paused prepares and calls",
        _ZOMBIE_PREPARES,
        (
            f"{_CRASH}/test_runner_pauses.py::test_a_runner_that_goes_on_while_another_has_its_turn_harms_nothing"
            "[runner.after_begin]",
        ),
    ),
    Mutation(
        "paused-before-its-call",
        "I-65 (R3)",
        "a runner that was paused between its prepare and its call calls all the same",
        (
            Edit(
                f"{_LIBRARY}/durability/effect_attempt.py",
                "        if not self._lease.allows(0.0):",
                "        if False:",
            ),
            Edit(
                f"{_LIBRARY}/durability/effect_attempt.py",
                "        if self._clock.monotonic_seconds() >= called_by:",
                "        if False:",
            ),
        ),
        (
            f"{_CRASH}/test_runner_pauses.py::test_a_runner_paused_at_a_failpoint_past_its_lease_harms_nothing"
            "[runner.after_prepare]",
        ),
    ),
    Mutation(
        "zombie-answer-unflagged",
        "I-65 (R25)",
        "what a paused runner is answered after a settlement is dropped",
        (function("take_late_answer", "  if verdict = 'contradicts' then", "  if false then"),),
        (
            f"{_CRASH}/test_runner_pauses.py::test_a_runner_paused_at_a_failpoint_past_its_lease_harms_nothing"
            "[runner.before_send]",
        ),
    ),
    Mutation(
        "deleted-when-fetched",
        "I-66 (R35)",
        "a relay deletes its rows before it has published them",
        (
            Edit(
                f"{_RELAY}/relay.py",
                '            await failpoint("relay.after_fetch")\n',
                '            await self._outbox.delete(rows)\n            await failpoint("relay.after_fetch")\n',
            ),
        ),
        (
            f"{_CRASH}/test_relay_and_reconciler_kills.py::test_a_relay_killed_at_a_failpoint_costs_no_event[relay.after_fetch]",
        ),
    ),
    Mutation(
        "repeat-never-over",
        "I-67 (R26)",
        "a repeat of the call whose reconciler died is never over",
        (
            function(
                "begin_retry",
                "     or receipt.retry_until > clock_timestamp() then",
                "     or receipt.retry_until > '-infinity' then",
            ),
        ),
        (
            f"{_CRASH}/test_relay_and_reconciler_kills.py::test_a_reconciler_killed_at_a_failpoint_settles_once"
            "[reconciler.after_lookup-retry]",
        ),
    ),
    Mutation(
        "unrecorded-called-again",
        "I-68 (R14)",
        "an attempt whose answer was not recorded is made again",
        (
            function(
                "prepare_effects",
                "when r.state = 'prepared' and r.attempt_id <> a.aid then 'found'",
                "when r.state = 'prepared' and r.attempt_id <> a.aid then 'again'",
            ),
        ),
        (
            f"{_FAN7}::test_an_answer_that_could_not_be_recorded_is_found_again",
            f"{_CRASH}/test_runner_kills.py::test_a_reply_that_cannot_be_recorded_leads_to_a_lookup_and_no_second_call",
        ),
    ),
    Mutation(
        "lost-reply-is-a-refusal",
        "I-69",
        "a lost reply is taken for a refusal",
        (
            Edit(
                f"{_LIBRARY}/durability/effect_attempt.py",
                '        return _Answer("uncertain", detail=words_of(error))',
                '        return _Answer("failed", detail=words_of(error))',
            ),
        ),
        (
            f"{_FAN7}::test_a_lost_answer_is_found_by_lookup",
            f"{_FAN7}::test_a_lost_answer_is_got_by_repeating_the_identical_call",
            f"{_FAN7}::test_a_lost_answer_is_decided_by_an_operator",
        ),
    ),
)
