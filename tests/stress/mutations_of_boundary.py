"""Invariants of turns, order, statements and effects broken one by one."""

from __future__ import annotations

from tests.stress.mutation import Edit, Mutation, function

_DURABILITY = "shared/src/intention_kernel/durability"
_RUNNER = "services/turn-runner/src/turn_runner"
_TRIGGERS = "shared/src/intention_kernel/postgres/migrations/sql/0001_triggers.sql"
_REQUEST = "shared/src/intention_kernel/contracts/turn_request.py"
_BOUNDARY = "tests/contract/test_postgres_boundary.py"
_PROGRAMS = "tests/contract/test_postgres_programs.py"
_MOVES = "tests/postgres/test_receipt_moves.py"
_PLANS = "tests/postgres/test_plans.py::test_no_statement_of_the_boundary_scans_a_table"
_CONSUMER = "tests/integration/test_consumer.py"
_BAD_INPUT = "tests/acceptance/test_bad_input.py"
_DISPATCH = "tests/unit/test_dispatch.py"
_HANDLER = "tests/unit/test_handler.py"
_REQUESTS = "tests/unit/test_turn_request.py"

_TURNS: tuple[Mutation, ...] = (
    Mutation(
        "memory-left-behind",
        "I-3",
        "a commit leaves the checkpoint as it was",
        (function("commit_turns", "checkpoint = a.checkpoint,", "checkpoint = t.checkpoint,"),),
        (
            f"{_BOUNDARY}::TestTurns::test_a_commit_is_the_turn_its_events_and_the_next_checkpoint",
            f"{_PROGRAMS}::TestTurns::test_a_turn_commits_its_result_memory_and_events_together",
        ),
    ),
    Mutation(
        "events-left-behind",
        "I-3",
        "a commit writes no outbox row for its events",
        (function("commit_turns", "where m.event_count > 0;", "where false;"),),
        (f"{_PROGRAMS}::TestTurns::test_a_turn_commits_its_result_memory_and_events_together",),
    ),
    Mutation(
        "commit-asks-expiry",
        "I-5",
        "a lease that is over cannot commit",
        (
            function(
                "commit_turns",
                "when t.lease_nonce is null or t.fence <> a.fe or t.revision <> a.rev then 'fenced'",
                "when t.lease_nonce is null or t.fence <> a.fe or t.revision <> a.rev\n"
                "        or t.lease_until <= clock_timestamp() then 'fenced'",
            ),
        ),
        (f"{_BOUNDARY}::TestTurns::test_an_expired_lease_may_still_commit",),
    ),
    Mutation(
        "journal-asks-expiry",
        "I-5",
        "a lease that is over cannot journal what its attempt is answered",
        (
            function(
                "end_effects",
                "t.fence = a.fe and t.lease_nonce is not null as is_mine",
                "t.fence = a.fe and t.lease_nonce is not null and t.lease_until > clock_timestamp() as is_mine",
            ),
        ),
        (f"{_BOUNDARY}::TestEffects::test_an_expired_lease_still_journals_while_nobody_else_began",),
    ),
    Mutation(
        "context-is-content",
        "I-8",
        "host context is part of the content",
        (
            Edit(
                _REQUEST,
                '("agentId", "tenantId", "input", "trigger")',
                '("agentId", "tenantId", "input", "trigger", "hostContext")',
            ),
        ),
        (
            f"{_REQUESTS}::test_the_same_content_is_agent_tenant_input_and_trigger_and_nothing_else",
            f"{_PROGRAMS}::TestTurns::test_host_context_is_not_part_of_the_content",
        ),
    ),
    Mutation(
        "trigger-is-no-content",
        "I-8",
        "the trigger is not part of the content",
        (Edit(_REQUEST, '("agentId", "tenantId", "input", "trigger")', '("agentId", "tenantId", "input")'),),
        (f"{_REQUESTS}::test_the_same_content_is_agent_tenant_input_and_trigger_and_nothing_else",),
    ),
    Mutation(
        "crashes-go-unasked",
        "I-11",
        "a turn with two crashes does not ask to run alone",
        (
            Edit(
                f"{_DURABILITY}/durability.py",
                "if begun.crashes >= CRASHES_BEFORE_ALONE and not delivery.alone:",
                "if False:",
            ),
        ),
        (f"{_PROGRAMS}::TestTurns::test_a_turn_with_two_crashes_runs_alone",),
    ),
    Mutation(
        "alone-not-told",
        "I-11",
        "who has to run alone begins again like everybody else",
        (Edit(f"{_RUNNER}/handler.py", "            return RunAlone()", '            return Again(0.0, "alone")'),),
        (f"{_HANDLER}::test_two_crashes_run_alone",),
    ),
    Mutation(
        "alone-beside-others",
        "I-11",
        "who runs alone does not wait until nobody else runs",
        (
            Edit(
                f"{_RUNNER}/lanes.py",
                "if (alone and self.running) or not (alone or self._ready):",
                "if not (alone or self._ready):",
            ),
        ),
        (f"{_DISPATCH}::test_who_asks_to_run_alone_is_called_while_nobody_else_runs",),
    ),
    Mutation(
        "others-beside-alone",
        "I-11",
        "others begin while somebody runs alone",
        (
            Edit(
                f"{_RUNNER}/lanes.py",
                "if self._alone_runs or self.running >= self._permits:",
                "if self.running >= self._permits:",
            ),
        ),
        (f"{_DISPATCH}::test_who_asks_to_run_alone_is_called_while_nobody_else_runs",),
    ),
    Mutation(
        "no-deadline",
        "I-13",
        "a turn is waited for beyond its deadline",
        (
            Edit(
                f"{_DURABILITY}/durability.py",
                "await asyncio.wait({task}, timeout=max(seconds, 0))",
                "await asyncio.wait({task})",
            ),
        ),
        (
            f"{_PROGRAMS}::TestTurns::test_a_turn_beyond_its_deadline_fails_its_attempt",
            f"{_PROGRAMS}::TestTurns::test_a_program_that_ignores_its_cancellation_cannot_commit",
        ),
    ),
    Mutation(
        "last-words-count",
        "I-13",
        "what a program returns when it is cancelled at its deadline is committed",
        (
            Edit(
                f"{_DURABILITY}/durability.py",
                "            if not done:\n                raise DeadlineError(",
                "            if not done:\n                task.cancel()\n"
                "                done, _ = await asyncio.wait({task}, timeout=ABANDON_AFTER_SECONDS)\n"
                "            if not done:\n                raise DeadlineError(",
            ),
        ),
        (f"{_PROGRAMS}::TestTurns::test_a_turn_beyond_its_deadline_fails_its_attempt",),
    ),
)

_ORDER: tuple[Mutation, ...] = (
    Mutation(
        "waits-with-its-permit",
        "I-14",
        "a waiting lane keeps its permit",
        (
            Edit(
                f"{_RUNNER}/lanes.py",
                "        self.waiting += 1\n",
                "        self.waiting += 1\n        self.running += 1\n",
            ),
            Edit(
                f"{_RUNNER}/lanes.py",
                "            self.waiting -= 1\n            self._requeue(lane)\n",
                "            self.waiting -= 1\n            self.running -= 1\n            self._requeue(lane)\n"
                "            self._ready.move_to_end(lane.key, last=False)\n",
            ),
        ),
        (
            "tests/unit/test_lanes.py::test_a_waiting_lane_leaves_its_permit_to_its_neighbours",
            f"{_DISPATCH}::test_a_record_that_begins_again_holds_no_permit_and_keeps_its_place",
            f"{_CONSUMER}::test_a_blocked_lane_neither_delays_its_neighbours_nor_holds_a_permit",
        ),
    ),
    Mutation(
        "a-lane-a-record",
        "I-14",
        "records of one thread do not wait for each other",
        (
            Edit(
                f"{_RUNNER}/outcomes.py",
                "    return record.key if record.key is not None else (record.topic, record.partition)",
                "    return record.topic, record.partition, record.offset",
            ),
        ),
        (
            f"{_DISPATCH}::test_a_record_that_begins_again_holds_no_permit_and_keeps_its_place",
            f"{_CONSUMER}::test_records_of_a_thread_are_handled_in_order_while_threads_run_together",
        ),
    ),
    Mutation(
        "offsets-with-gaps",
        "I-15",
        "the last finished record is committed, whatever is unfinished before it",
        (
            Edit(
                f"{_RUNNER}/offsets.py",
                "        while self._delivered and self._delivered[0].finished:\n",
                "        self._finished_up_to = max(self._finished_up_to or 0, delivered.offset + 1)\n"
                "        while self._delivered and self._delivered[0].finished:\n",
            ),
        ),
        (
            "tests/unit/test_offsets.py::test_the_committable_offset_is_the_end_of_the_finished_prefix",
            f"{_CONSUMER}::test_offsets_are_a_finished_prefix_wherever_the_process_dies",
        ),
    ),
    Mutation(
        "given-up-stays",
        "I-15",
        "a turn that was set aside does not let its record go",
        (
            Edit(
                f"{_RUNNER}/handler.py",
                "        return self._ended(record, result)\n\n",
                "        ended = self._ended(record, result)\n"
                '        return Again(0.0, "busy") if isinstance(result, TurnFailed) else ended\n\n',
            ),
        ),
        (f"{_HANDLER}::test_every_outcome_is_a_row_and_lets_the_record_go",),
    ),
    Mutation(
        "epochs-never-end",
        "I-16",
        "a completion after the assignment ended moves its offset",
        (
            Edit(
                f"{_RUNNER}/offsets.py",
                "        if self._ended:\n            return False\n",
                "",
            ),
            Edit(
                f"{_RUNNER}/offsets.py",
                "return None if self._ended else self._finished_up_to",
                "return self._finished_up_to",
            ),
            Edit(f"{_RUNNER}/offsets.py", "        self._delivered.clear()\n", ""),
        ),
        (
            "tests/unit/test_offsets.py::test_a_completion_after_the_epoch_ended_is_ignored",
            f"{_DISPATCH}::test_a_revoked_epoch_drops_what_waits_and_ignores_what_finishes_late",
            f"{_CONSUMER}::test_two_consumers_with_slow_handlers_share_the_topic_and_lose_nothing",
        ),
    ),
    Mutation(
        "rejected-unpublished",
        "I-17",
        "a rejected record is kept and not published",
        (function("keep_rejected", "  from installation as i\n", "  from installation as i where false\n"),),
        (
            f"{_BOUNDARY}::TestRejections::test_an_unreadable_record_is_kept_and_published",
            f"{_BOUNDARY}::TestRejections::test_a_record_is_rejected_once",
            f"{_BAD_INPUT}::test_a_bad_record_is_kept_and_told_with_its_reason[undecodable bytes]",
        ),
    ),
    Mutation(
        "rejected-without-bytes",
        "I-17",
        "a rejected record is kept without its bytes",
        (
            function(
                "keep_rejected",
                "reason, detail,\n    record_key, record_value, record_headers, record_timestamp_ms)\n"
                "  values (topic, partition, record_offset, digest, thread, turn, why, detail, record_key, record_value,",
                "reason, detail,\n    record_key, record_value, record_headers, record_timestamp_ms)\n"
                "  values (topic, partition, record_offset, digest, thread, turn, why, detail, record_key, null,",
            ),
        ),
        (
            f"{_BOUNDARY}::TestRejections::test_an_unreadable_record_is_kept_and_published",
            f"{_BAD_INPUT}::test_a_bad_record_is_kept_and_told_with_its_reason[undecodable bytes]",
        ),
    ),
    Mutation(
        "keys-unchecked",
        "I-17",
        "a record whose key is not its thread is a request",
        (Edit(_REQUEST, "    if key != request.thread_id.encode():", "    if False:"),),
        (
            f"{_REQUESTS}::test_what_is_no_request_is_refused_with_a_stable_reason",
            f"{_BAD_INPUT}::test_a_bad_record_is_kept_and_told_with_its_reason[no key]",
        ),
    ),
    Mutation(
        "anybody-may-ask",
        "I-18",
        "a begin does not say whose thread it is",
        (function("begin_turns", "k.checkpoint, k.agent_id, k.tenant_id,", "k.checkpoint, null, null,"),),
        (
            f"{_PROGRAMS}::TestTurns::test_requests_that_can_never_run_are_rejected_under_the_fence",
            f"{_BAD_INPUT}::test_nothing_of_a_bad_record_is_executed",
        ),
    ),
    Mutation(
        "rejected-beside-the-fence",
        "I-18",
        "a rejection does not move the thread's head",
        (function("reject_begun", "    perform move_head_v1(thread, 0);\n", ""),),
        (f"{_PROGRAMS}::TestTurns::test_requests_that_can_never_run_are_rejected_under_the_fence",),
    ),
    Mutation(
        "forgeries-run",
        "I-18",
        "a continuation without a settlement runs like any other turn",
        (Edit(f"{_DURABILITY}/durability.py", "            if continuation is None:", "            if False:"),),
        (f"{_PROGRAMS}::TestTurns::test_requests_that_can_never_run_are_rejected_under_the_fence",),
    ),
)

_STATEMENTS: tuple[Mutation, ...] = (
    Mutation(
        "reads-every-thread",
        "I-24",
        "begin reads all threads to know whether one is there",
        (
            function(
                "begin_turns",
                "where (select true from threads as t where t.thread_id = th) is null",
                "where th not in (select t.thread_id from threads as t)",
            ),
        ),
        (f"{_PLANS}[filled]", f"{_PLANS}[empty]"),
    ),
    Mutation(
        "scans-settled-receipts",
        "I-24",
        "the scan asks for open receipts in words that their index does not have",
        (
            function(
                "scan_receipts",
                "where (r.state in ('prepared', 'uncertain') or r.contradicted) and (\n",
                "where (r.state not in ('completed', 'failed') or r.contradicted) and (\n",
            ),
        ),
        ("tests/reconciliation/test_scan.py::test_settled_receipts_cost_a_scan_nothing",),
    ),
)

_EFFECTS: tuple[Mutation, ...] = (
    Mutation(
        "called-every-turn",
        "I-25",
        "an effect that is applied is attempted again by the next turn",
        (
            function(
                "prepare_effects",
                "when r.state = 'completed' and not r.contradicted then 'completed'",
                "when r.state = 'completed' and not r.contradicted then 'again'",
            ),
            Edit(
                _TRIGGERS,
                "(old.state = 'failed' and new.state = 'prepared'",
                "(old.state in ('failed', 'completed') and new.state = 'prepared'",
            ),
        ),
        (f"{_PROGRAMS}::TestEffects::test_an_effect_is_called_once_for_its_key_across_turns",),
    ),
    Mutation(
        "calls-unshared",
        "I-25",
        "calls with one key in one turn are attempts of their own",
        (
            Edit(
                f"{_DURABILITY}/turn_scope.py",
                "running = self._running.get(effect_key) or self._start(",
                "running = self._start(",
            ),
        ),
        (f"{_PROGRAMS}::TestEffects::test_calls_with_one_key_in_one_turn_are_one_call",),
    ),
    Mutation(
        "any-payload",
        "I-26",
        "a key belongs to whatever payload asks for it",
        (function("prepare_effects", "when r.fingerprint <> a.fp then 'taken'", "when false then 'taken'"),),
        (f"{_PROGRAMS}::TestEffects::test_another_payload_under_the_key_is_a_conflict_in_every_state",),
    ),
    Mutation(
        "any-payload-once-settled",
        "I-26",
        "a key whose effect is applied answers whatever payload asks for it",
        (
            function(
                "prepare_effects",
                "when r.fingerprint <> a.fp then 'taken'",
                "when r.fingerprint <> a.fp and r.state <> 'completed' then 'taken'",
            ),
        ),
        (f"{_PROGRAMS}::TestEffects::test_another_payload_under_the_key_is_a_conflict_in_every_state",),
    ),
    Mutation(
        "found-is-called-again",
        "I-27",
        "what an attempt that is over left prepared is attempted again",
        (
            function(
                "prepare_effects",
                "when r.state = 'prepared' and r.attempt_id <> a.aid then 'found'",
                "when r.state = 'prepared' and r.attempt_id <> a.aid then 'again'",
            ),
        ),
        (
            f"{_BOUNDARY}::TestEffects::test_an_effect_found_prepared_is_uncertain",
            f"{_PROGRAMS}::TestRetries::test_an_attempt_that_died_after_its_call_is_not_repeated",
        ),
    ),
    Mutation(
        "any-move",
        "I-29",
        "a receipt goes from any state to any other",
        (Edit(_TRIGGERS, "  if new.state <> old.state and not (\n", "  if false and not (\n"),),
        (f"{_MOVES}::test_only_legal_moves_are_possible_and_each_is_appended_to_the_history",),
    ),
    Mutation(
        "any-version",
        "I-29",
        "a move sets whatever version it likes",
        (Edit(_TRIGGERS, "  if new.version <> old.version + 1 then", "  if false then"),),
        (f"{_MOVES}::test_a_move_raises_the_version_by_one",),
    ),
    Mutation(
        "moves-unwritten",
        "I-29",
        "only the first state of a receipt is in its history",
        (
            Edit(
                _TRIGGERS,
                "begin\n  insert into receipt_transitions",
                "begin\n  if tg_op = 'UPDATE' then return null; end if;\n  insert into receipt_transitions",
            ),
        ),
        (f"{_MOVES}::test_only_legal_moves_are_possible_and_each_is_appended_to_the_history",),
    ),
    Mutation(
        "history-changes",
        "I-29",
        "what is only appended to may be changed and deleted",
        (
            Edit(
                _TRIGGERS,
                "  raise exception '% is only appended to', tg_table_name using errcode = 'IK002';\n",
                "  return coalesce(new, old);\n",
            ),
        ),
        (
            f"{_MOVES}::test_what_is_appended_is_never_changed_or_deleted[turns]",
            f"{_MOVES}::test_what_is_appended_is_never_changed_or_deleted[receipt_transitions]",
        ),
    ),
    Mutation(
        "recorded-unreplayed",
        "I-32",
        "a recorded result is asked for again",
        (
            Edit(
                f"{_DURABILITY}/turn_scope.py",
                "        entry = self._journal.find(entry_name)\n",
                "        entry = self._journal.find(entry_name) if False else None\n",
            ),
        ),
        (f"{_PROGRAMS}::TestRetries::test_a_recorded_result_is_replayed_and_a_changed_request_is_held",),
    ),
    Mutation(
        "recorded-by-name",
        "I-32",
        "a recorded result is replayed for whatever request has its name",
        (
            Edit(
                f"{_DURABILITY}/turn_scope.py",
                "if entry is not None and entry.request_digest == request_digest:",
                "if entry is not None:",
            ),
        ),
        (f"{_PROGRAMS}::TestRetries::test_a_recorded_result_is_replayed_and_a_changed_request_is_held",),
    ),
    Mutation(
        "recorded-does-not-bind",
        "I-32",
        "another request under a recorded name is made",
        (
            Edit(
                f"{_DURABILITY}/turn_scope.py",
                "if entry is not None and self._journal.binds(entry_name, self.met):",
                "if False:",
            ),
        ),
        (f"{_PROGRAMS}::TestRetries::test_a_recorded_result_is_replayed_and_a_changed_request_is_held",),
    ),
    Mutation(
        "never-closed",
        "I-13, I-35",
        "a scope stays open when its turn is over",
        (Edit(f"{_DURABILITY}/turn_scope.py", "        self._closed = True\n", ""),),
        (
            f"{_PROGRAMS}::TestTurns::test_a_program_that_ignores_its_cancellation_cannot_commit",
            f"{_PROGRAMS}::TestEffects::test_a_closed_scope_raises",
        ),
    ),
    Mutation(
        "waits-for-itself",
        "I-35",
        "an effect that asks for itself waits for itself",
        (Edit(f"{_DURABILITY}/turn_scope.py", "        if effect_key in _inside.get():", "        if False:"),),
        (f"{_PROGRAMS}::TestEffects::test_an_effect_that_asks_for_itself_raises_instead_of_waiting",),
    ),
)

BOUNDARY: tuple[Mutation, ...] = (*_TURNS, *_ORDER, *_STATEMENTS, *_EFFECTS)
