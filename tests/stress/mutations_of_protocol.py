"""The protocol's rules switched off one by one."""

from __future__ import annotations

from tests.stress.mutation import Edit, Mutation, function

_DURABILITY = "shared/src/intention_kernel/durability"
_RELAY = "services/outbox-relay/src/outbox_relay"
_STRESS = "tests/stress/test_scenarios.py::test_the_promises_hold"
_BOUNDARY = "tests/contract/test_postgres_boundary.py"
_PROGRAMS = "tests/contract/test_postgres_programs.py"
_LOCKING = "tests/postgres/test_locking.py"


def _stress(*scenarios: str) -> tuple[str, ...]:
    return tuple(f"{_STRESS}[{scenario}]" for scenario in scenarios)


_NO_PREPARE_FENCE = function("prepare_effects", "when a.th <> all (alive) then 'fenced'", "when false then 'fenced'")
_NO_CLAIMS_AT_PREPARE = Edit(
    f"{_DURABILITY}/turn_scope.py",
    "        return tuple(sorted(self._journal.claims - self.met))",
    "        return ()",
)
_NO_CLAIMS_AT_COMMIT = (
    function(
        "commit_turns",
        "      when (\n        select true from turn_journal as j",
        "      when false and ((\n        select true from turn_journal as j",
    ),
    function(
        "commit_turns",
        "(string_to_array(a.claimed, chr(31)))) then 'unclaimed'",
        "(string_to_array(a.claimed, chr(31))))) then 'unclaimed'",
    ),
)

PROTOCOL: tuple[Mutation, ...] = (
    Mutation(
        "begin-by-nonce",
        "R1",
        "the begin's random id is the fence: a begin does not raise the counter",
        (
            function(
                "begin_turns",
                "fence = case when d.is_mine and d.is_leased then t.fence else greatest(t.fence, first_fence) + 1 end",
                "fence = t.fence + (t.fence = 0)::integer",
            ),
        ),
        (f"{_BOUNDARY}::TestTurns::test_every_begin_of_another_attempt_raises_the_fence", *_stress("diverge")),
    ),
    Mutation(
        "begin-reads-stale",
        "R2",
        "begin reads the turn's row before it has the lock",
        (
            function(
                "begin_turns",
                "  locked text[];\nbegin",
                "  locked text[];\n  prior bytea[] := array(select (select p.digest from turns as p where p.thread_id = q.th and p.turn_id = q.tu)\n    from unnest(thread_ids, turn_ids) with ordinality as q (th, tu, place) order by q.place);\nbegin",
            ),
            function("begin_turns", "u.digest as done_digest", "prior[a.ord] as done_digest"),
        ),
        (f"{_LOCKING}::test_begin_reads_what_it_waited_for", *_stress("lost")),
    ),
    Mutation(
        "prepare-unfenced",
        "R3",
        "prepare asks neither for the fence nor for the lease",
        (_NO_PREPARE_FENCE,),
        (f"{_BOUNDARY}::TestEffects::test_prepare_needs_the_fence", *_stress("diverge")),
    ),
    Mutation(
        "prepare-unfenced-unclaimed",
        "R3, R15",
        "the same, and no attempt has to meet what earlier ones prepared",
        (_NO_PREPARE_FENCE, _NO_CLAIMS_AT_PREPARE, *_NO_CLAIMS_AT_COMMIT),
        _stress("diverge"),
    ),
    Mutation(
        "lease-revives",
        "R3",
        "a lease that is over can be renewed",
        (
            function(
                "renew_leases",
                "t.lease_nonce is not null\n      and t.lease_until > clock_timestamp()\n    returning",
                "t.lease_nonce is not null\n    returning",
            ),
        ),
        (f"{_BOUNDARY}::TestTurns::test_a_lease_that_is_over_never_revives",),
    ),
    Mutation(
        "fenced-is-done",
        "R4",
        "an attempt that was overtaken counts as the turn's outcome",
        (
            Edit(
                f"{_DURABILITY}/endings.py",
                '        case Fenced():\n            return BeginAgain("fenced")',
                '        case Fenced():\n            return TurnFailed("fenced", "")',
            ),
        ),
        _stress("lost", "commit"),
    ),
    Mutation(
        "commit-unfenced",
        "R5",
        "commit asks neither for the fence nor for the revision",
        (
            function(
                "commit_turns",
                "when t.lease_nonce is null or t.fence <> a.fe or t.revision <> a.rev then 'fenced'",
                "when false then 'fenced'",
            ),
        ),
        (f"{_BOUNDARY}::TestTurns::test_an_attempt_that_was_overtaken_cannot_commit", *_stress("aside")),
    ),
    Mutation(
        "set-aside-unfenced",
        "R5",
        "a turn is given up without the fence",
        (
            function(
                "set_aside_turn",
                "elsif head.lease_nonce is null or head.fence <> fence_number or head.revision <> seen_revision then",
                "elsif false then",
            ),
        ),
        _stress("aside"),
    ),
    Mutation(
        "attempts-uncounted",
        "R6",
        "attempts of a turn are not counted",
        (function("begin_turns", "then 1 else t.attempts + (not d.is_mine)::integer end", "then 1 else 1 end"),),
        (
            f"{_BOUNDARY}::TestTurns::test_a_turn_is_exhausted_after_its_attempts",
            f"{_PROGRAMS}::TestTurns::test_a_failing_program_uses_up_its_attempts_and_is_set_aside",
        ),
    ),
    Mutation(
        "conflict-unseen",
        "R7",
        "a turn in progress does not keep its digest",
        (
            function(
                "begin_turns",
                "when s.busy_turn = s.tu and s.busy_digest <> s.dig then 'conflict'",
                "when false then 'conflict'",
            ),
        ),
        (f"{_BOUNDARY}::TestTurns::test_other_content_under_a_turn_id_is_a_conflict",),
    ),
    Mutation(
        "misfit-begins",
        "R8",
        "a build that does not fit begins all the same",
        (function("begin_turns", "        then 'held'\n", "        and false then 'held'\n"),),
        (
            f"{_BOUNDARY}::TestTurns::test_a_build_that_does_not_fit_is_held",
            f"{_PROGRAMS}::TestTurns::test_a_build_that_does_not_fit_is_held_and_consumes_no_attempt",
        ),
    ),
    Mutation(
        "batches-wait",
        "R9",
        "a batch waits for a head that is locked elsewhere",
        (
            function(
                "lock_heads",
                "order by t.thread_id for no key update skip locked) as l;",
                "order by t.thread_id for no key update) as l;",
            ),
        ),
        (f"{_LOCKING}::test_a_locked_head_delays_its_own_row_and_no_other",),
    ),
    Mutation(
        "one-thread-twice",
        "R10",
        "a batch may hold two rows of one thread",
        (
            Edit(
                "shared/src/intention_kernel/postgres/coalescer.py",
                "if entry[0] in batch or len(batch) == self._max_batch:",
                "if len(batch) == self._max_batch:",
            ),
            Edit(
                "shared/src/intention_kernel/postgres/coalescer.py",
                "batch[entry[0]] = entry",
                "batch[entry[0] + str(len(batch))] = entry",
            ),
        ),
        ("tests/postgres/test_coalescer.py::test_a_batch_holds_one_row_of_a_key_and_later_ones_follow_in_order",),
    ),
    Mutation(
        "commit-not-mine",
        "R11",
        "a commit that is repeated does not know that it was its own",
        (
            function(
                "commit_turns",
                "when u.fence = a.fe and u.digest = a.dig then 'committed'",
                "when false then 'committed'",
            ),
        ),
        (
            f"{_BOUNDARY}::TestTurns::test_a_commit_repeated_answers_the_same_and_changes_nothing",
            "tests/postgres/test_connections.py::test_a_commit_whose_reply_is_lost_answers_committed_when_it_is_asked_again",
        ),
    ),
    Mutation(
        "prepare-not-mine",
        "R11, R14",
        "a prepare that is repeated is taken for another attempt",
        (
            function(
                "prepare_effects",
                "when r.state = 'prepared' and not r.contradicted and r.attempt_id = a.aid then 'mine'",
                "when false then 'mine'",
            ),
            function(
                "prepare_effects",
                "when r.state = 'prepared' and r.attempt_id <> a.aid then 'found'",
                "when r.state = 'prepared' then 'found'",
            ),
        ),
        (f"{_BOUNDARY}::TestEffects::test_a_prepare_repeated_is_the_same_attempt",),
    ),
    Mutation(
        "end-not-mine",
        "R11",
        "an end that is repeated contradicts itself",
        (
            function(
                "end_effects",
                "when r.attempt_id = a.aid and r.state = a.said then 'agrees'",
                "when false then 'agrees'",
            ),
        ),
        (f"{_BOUNDARY}::TestEffects::test_an_end_repeated_changes_nothing",),
    ),
    Mutation(
        "renewal-beyond-deadline",
        "R12",
        "a renewal reaches beyond the turn's end",
        (
            Edit(
                f"{_DURABILITY}/lease.py",
                "seconds = min(self._seconds, self._end_seconds - asked_at)",
                "seconds = self._seconds",
            ),
        ),
        ("tests/unit/test_lease.py::test_a_renewal_never_reaches_beyond_the_turns_end",),
    ),
    Mutation(
        "row-stops-batch",
        "R13",
        "a value that the database refuses fails the whole batch",
        (
            Edit(
                "shared/src/intention_kernel/postgres/boundary.py",
                "            if len(rows) == 1:",
                "            if rows:",
            ),
            Edit(
                "shared/src/intention_kernel/postgres/boundary.py",
                "return [refused(error)]",
                "return [refused(error)] * len(rows)",
            ),
        ),
        ("tests/postgres/test_connections.py::test_a_value_that_only_the_server_refuses_fails_its_own_row",),
    ),
    Mutation(
        "end-any-attempt",
        "R14",
        "an answer ends whatever attempt is prepared",
        (
            function(
                "end_effects",
                "when r.attempt_id = a.aid and r.state = 'prepared' then 'recorded'",
                "when r.state = 'prepared' then 'recorded'",
            ),
        ),
        (f"{_BOUNDARY}::TestSettlements::test_an_older_attempts_answer_never_ends_the_newer_one", *_stress("lie")),
    ),
    Mutation(
        "claims-unasked",
        "R15",
        "a retry need not meet what earlier attempts prepared, neither before a prepare nor at commit",
        (_NO_CLAIMS_AT_PREPARE, *_NO_CLAIMS_AT_COMMIT),
        (f"{_PROGRAMS}::TestRetries::test_a_retry_that_plans_another_effect_is_held", *_stress("opaque")),
    ),
    Mutation(
        "claims-unasked-at-commit",
        "R15",
        "a turn commits although a key of an earlier attempt is unmet",
        _NO_CLAIMS_AT_COMMIT,
        (
            f"{_BOUNDARY}::TestEffects::test_a_commit_must_claim_what_earlier_attempts_prepared",
            f"{_PROGRAMS}::TestRetries::test_a_retry_that_forgets_an_effect_cannot_commit",
            *_stress("opaque"),
        ),
    ),
    Mutation(
        "outcomes-unreplayed",
        "R16",
        "outcomes that the program saw are asked for again",
        (
            Edit(
                f"{_DURABILITY}/turn_scope.py",
                "        entry = self._journal.find(outcome_name(wanted.effect_key, wanted.ordinal))\n        if entry is not None:",
                "        entry = self._journal.find(outcome_name(wanted.effect_key, wanted.ordinal))\n        if entry is not None and False:",
            ),
        ),
        (
            f"{_PROGRAMS}::TestRetries::test_what_the_program_saw_is_replayed_whatever_the_receipt_says_now",
            *_stress("m2"),
        ),
    ),
    Mutation(
        "outcomes-unjournalled",
        "R16",
        "an outcome is not journalled with the transition that made it",
        (
            function(
                "end_effects",
                "where is_mine[e.ord] and verdicts[e.ord] not in",
                "where e.kind <> 'outcome' and is_mine[e.ord] and verdicts[e.ord] not in",
            ),
        ),
        _stress("m2"),
    ),
    Mutation(
        "journal-unfenced",
        "R16",
        "an attempt that was overtaken writes the journal",
        (function("end_effects", "where is_mine[e.ord] and verdicts[e.ord] not in", "where verdicts[e.ord] not in"),),
        (f"{_BOUNDARY}::TestEffects::test_only_the_attempt_that_has_the_thread_writes_the_journal",),
    ),
    Mutation(
        "settled-outcome-binds",
        "R16, R30",
        "what followed from an outcome that was settled holds the continuation",
        (
            Edit(
                f"{_DURABILITY}/journal.py", "return entry in self._own or self._settled_key not in met", "return True"
            ),
        ),
        (
            f"{_PROGRAMS}::TestContinuations::test_a_continuation_asks_its_model_again_with_what_was_settled",
            *_stress("m2"),
        ),
    ),
    Mutation(
        "clock-moves",
        "R17",
        "a retry has its own record's time",
        (
            Edit(
                f"{_DURABILITY}/durability.py",
                "requested_at_ms=resumed_at_ms or begun.requested_at_ms or opened.delivery.origin.timestamp_ms",
                "requested_at_ms=opened.delivery.origin.timestamp_ms",
            ),
        ),
        (f"{_PROGRAMS}::TestRetries::test_clock_and_ids_are_the_same_on_every_attempt",),
    ),
    Mutation(
        "abandoned-stays-prepared",
        "R18",
        "a commit leaves its own receipts prepared",
        (
            function(
                "leave_waiting",
                "and r.state = 'prepared' and r.fence = fence_number\n    returning",
                "and r.state = 'prepared' and r.fence = fence_number and false\n    returning",
            ),
        ),
        (f"{_BOUNDARY}::TestEffects::test_a_commit_leaves_no_receipt_prepared",),
    ),
    Mutation(
        "no-margin",
        "R19",
        "an effect is started however near the deadline is",
        (
            Edit(
                f"{_DURABILITY}/turn_scope.py",
                "if self._clock.monotonic_seconds() + START_MARGIN_SECONDS >= self.attempt.end_seconds:",
                "if False:",
            ),
        ),
        ("tests/contract/test_memory_programs.py::TestEffects::test_no_effect_is_started_close_to_the_deadline",),
    ),
    Mutation(
        "twins-allowed",
        "R20",
        "an equal payload under another key is called while one is open",
        (function("prepare_effects", "where not a.twins and o.thread_id", "where false and o.thread_id"),),
        (
            f"{_BOUNDARY}::TestEffects::test_a_twin_of_an_open_effect_is_refused",
            f"{_PROGRAMS}::TestEffects::test_an_equal_payload_under_another_key_is_refused_while_one_is_open",
        ),
    ),
    Mutation(
        "absent-at-once",
        "R22",
        "absent settles at once",
        (
            Edit(
                "shared/src/intention_kernel/reconciliation/admissible.py",
                "    window = window_end(facts, terms)\n    if window is not None and now <= window:",
                "    window = now\n    if True:",
            ),
        ),
        ("tests/reconciliation/test_admissible.py", *_stress("zombie")),
    ),
    Mutation(
        "absent-after-quiet",
        "R22",
        "absent settles after the quiet period, although the attempt may still send",
        (
            Edit(
                "shared/src/intention_kernel/reconciliation/admissible.py",
                "    ended = _ended(facts, look)\n",
                "    ended = _ended(facts, look) or facts.prepared_at\n",
            ),
        ),
        ("tests/reconciliation/test_admissible.py", *_stress("zombie")),
    ),
    Mutation(
        "absent-on-the-wire",
        "R22",
        "absent settles once the attempt is over, although its request may be on its way",
        (
            Edit(
                "shared/src/intention_kernel/reconciliation/admissible.py",
                "    if look.started_at <= silent_from:",
                "    if False:",
            ),
        ),
        ("tests/reconciliation/test_admissible.py", *_stress("lostcall")),
    ),
    Mutation(
        "abandoned-returned",
        "R22",
        "an operation that is still running is recorded as ended",
        (
            Edit(
                f"{_DURABILITY}/effect_attempt.py",
                'detail="the operation did not end after its cancellation", returned=False',
                'detail="the operation did not end after its cancellation", returned=True',
            ),
        ),
        (f"{_PROGRAMS}::TestEffects::test_a_late_answer_is_a_settlement",),
    ),
    Mutation(
        "settle-any-version",
        "R23",
        "a settlement does not compare with what the lookup saw",
        (
            function(
                "settle_receipt", "when receipt.version <> seen_version then 'changed'", "when false then 'changed'"
            ),
        ),
        (f"{_BOUNDARY}::TestSettlements::test_one_attempts_evidence_never_settles_the_next_attempt",),
    ),
    Mutation(
        "late-answer-silent",
        "R24",
        "a late answer moves the receipt and asks for nothing",
        (
            function(
                "take_late_answer", "    perform ask_continuation_v1(thread, effect, receipt.settlements, 1);\n", ""
            ),
        ),
        (f"{_BOUNDARY}::TestSettlements::test_a_late_answer_is_a_settlement", *_stress("zombie")),
    ),
    Mutation(
        "late-answer-ignored",
        "R24",
        "a late answer is not taken",
        (
            function(
                "end_effects",
                "and r.state = 'uncertain' and not r.contradicted then 'settled'",
                "and r.state = 'uncertain' and not r.contradicted then 'ignored'",
            ),
        ),
        (f"{_BOUNDARY}::TestSettlements::test_a_late_answer_is_a_settlement", *_stress("zombie")),
    ),
    Mutation(
        "contradiction-unflagged",
        "R25",
        "an answer that disagrees flags nothing",
        (function("take_late_answer", "if not receipt.contradicted then", "if false then"),),
        (f"{_BOUNDARY}::TestSettlements::test_an_answer_that_disagrees_flags_the_receipt", *_stress("lie")),
    ),
    Mutation(
        "contradicted-attempted",
        "R25",
        "a contradicted receipt gets its next attempt",
        (
            function(
                "prepare_effects",
                "when r.state = 'uncertain' or r.contradicted then 'uncertain'",
                "when r.state = 'uncertain' then 'uncertain'",
            ),
            Edit(
                "shared/src/intention_kernel/postgres/migrations/sql/0001_triggers.sql",
                "new.state = 'prepared' and not old.contradicted)",
                "new.state = 'prepared')",
            ),
        ),
        _stress("lie"),
    ),
    Mutation(
        "retry-unrecorded",
        "R26",
        "a receipt is settled while its call is being repeated",
        (
            function(
                "settle_receipt",
                "when receipt.retry_until > clock_timestamp() then 'retrying'",
                "when false then 'retrying'",
            ),
        ),
        ("tests/reconciliation/test_resolvers.py::test_nobody_settles_a_receipt_while_its_call_is_being_repeated",),
    ),
    Mutation(
        "scan-takes-live",
        "R27",
        "the scan does not look at the live lease",
        (
            function("attempt_is_live", "t.lease_until > clock_timestamp())", "t.lease_until < t.lease_until)"),
            function(
                "scan_receipts",
                "t.fence <> r.fence or t.lease_nonce is null or t.lease_until <= clock_timestamp()",
                "true",
            ),
        ),
        (
            f"{_BOUNDARY}::TestSettlements::test_the_scanner_leaves_a_live_attempt_alone",
            "tests/reconciliation/test_scan.py::test_a_prepared_receipt_under_its_live_lease_is_left_alone",
        ),
    ),
    Mutation(
        "scan-trusts-fence",
        "R27",
        "the scan leaves a receipt alone while anybody holds its thread",
        (
            function(
                "attempt_is_live",
                "where t.thread_id = thread and t.fence = fence_number and",
                "where t.thread_id = thread and",
            ),
            function("scan_receipts", "t.fence <> r.fence or t.lease_nonce", "t.lease_nonce"),
        ),
        (
            "tests/reconciliation/test_scan.py::test_a_prepared_receipt_of_an_older_fence_is_uncertain_although_the_thread_is_leased",
        ),
    ),
    Mutation(
        "one-id-a-receipt",
        "R28",
        "a receipt's continuations have one id",
        (
            function(
                "ask_continuation",
                "receipt.receipt_id || ':' || settlement_number || ':' || issue_number",
                "receipt.receipt_id || ':1:' || issue_number",
            ),
            function("ask_continuation", "'settlement', settlement_number)", "'settlement', 1)"),
        ),
        (f"{_BOUNDARY}::TestSettlements::test_a_second_settlement_has_another_continuation", *_stress("lostcall")),
    ),
    Mutation(
        "no-rendezvous",
        "R29",
        "a blocked commit does not look whether its receipt is settled by now",
        (
            function(
                "leave_waiting",
                "r.effect_key = any (blocked_keys || settled_key)",
                "r.effect_key = any (array[settled_key])",
            ),
        ),
        (
            f"{_BOUNDARY}::TestContinuations::test_a_blocked_commit_asks_itself_whether_its_receipt_is_settled",
            *_stress("redrive"),
        ),
    ),
    Mutation(
        "resumes-one",
        "R30",
        "a continuation resumes one turn and asks for no other issue",
        (
            function(
                "leave_waiting", "r.effect_key = any (blocked_keys || settled_key)", "r.effect_key = any (blocked_keys)"
            ),
        ),
        (f"{_BOUNDARY}::TestContinuations::test_every_turn_that_waits_is_resumed_the_oldest_first", *_stress("same")),
    ),
    Mutation(
        "item-forgets",
        "R31",
        "a continuation that was set aside is not asked for again",
        (
            function(
                "care_for_continuations",
                "perform ask_continuation_v1(item.thread_id, item.effect_key, item.settlement, item.issue + 1);",
                "",
            ),
        ),
        (
            "tests/reconciliation/test_continuations.py::test_a_continuation_that_was_set_aside_gets_the_next_issue_number_and_in_the_end_fails",
        ),
    ),
    Mutation(
        "orphans-untold",
        "R32",
        "a turn that is set aside opens no item for what it holds",
        (function("set_aside_turn", "j.turn_id = turn and j.kind = 'claim'", "j.turn_id = turn and false"),),
        (f"{_BOUNDARY}::TestContinuations::test_a_turn_that_is_set_aside_leaves_what_it_holds_to_the_queue",),
    ),
    Mutation(
        "aside-begins",
        "R33",
        "a turn that was set aside begins again",
        (function("begin_turns", "when s.aside_state <> 'redriven' then 'set_aside'", "when false then 'set_aside'"),),
        (f"{_BOUNDARY}::TestTurns::test_setting_a_turn_aside_lets_the_lane_go_on", *_stress("aside")),
    ),
    Mutation(
        "rejected-twice",
        "R34",
        "a rejected record is identified without its bytes",
        (
            Edit(
                "shared/src/intention_kernel/postgres/rejections.py",
                'digest = hashlib.sha256(rejection.origin.value or b"").digest()',
                'digest = hashlib.sha256(b"").digest()',
            ),
        ),
        (f"{_BOUNDARY}::TestRejections::test_other_offsets_and_other_bytes_are_other_records",),
    ),
    Mutation(
        "deletes-past-a-refusal",
        "R35, R37",
        "acknowledged rows are forgotten past one that was not",
        (
            Edit(
                f"{_RELAY}/chunk.py",
                "        stopped.add(row.stream)\n        if isinstance(outcome, Refused):",
                "        if isinstance(outcome, Refused):",
            ),
        ),
        (
            "tests/relay/test_chunk.py::test_only_the_acknowledged_prefix_of_each_stream_is_deleted",
            "tests/relay/test_chunk.py::test_a_refused_turn_stops_the_threads_events_and_not_its_continuation_requests",
        ),
    ),
    Mutation(
        "resequence-unseen",
        "R36",
        "a commit does not compare the sequence",
        (function("commit_turns", "when t.next_sequence <> a.seq then 'resequence'", "when false then 'resequence'"),),
        (f"{_BOUNDARY}::TestTurns::test_a_wrong_sequence_is_numbered_again_without_a_second_run",),
    ),
    Mutation(
        "gaps-published",
        "R36, R37",
        "events that do not follow the last published ones leave",
        (Edit(f"{_RELAY}/chunk.py", "        elif _leaves_a_gap(row, last):", "        elif False:"),),
        ("tests/relay/test_chunk.py::test_events_that_do_not_follow_the_last_published_ones_wait",),
    ),
    Mutation(
        "requests-stop-too",
        "R37",
        "a refused event stops the thread's continuation requests",
        (
            Edit(
                "shared/src/intention_kernel/ports/outbox.py",
                "return self.thread_id, self.topic",
                'return self.thread_id, ""',
            ),
        ),
        ("tests/relay/test_chunk.py::test_a_refused_turn_stops_the_threads_events_and_not_its_continuation_requests",),
    ),
)
