"""Rules that a state machine has to find broken, among all interleavings that it draws."""

from __future__ import annotations

from tests.stress.mutation import Edit, Mutation, function

_SHARDS = "services/outbox-relay/src/outbox_relay/shards.py"
_MEMORY = "shared/src/intention_kernel/memory"
_BOUNDARY = "tests/contract/test_boundary_machine.py::test_no_interleaving_breaks_the_memory_boundary"
_ADMISSIBLE = "shared/src/intention_kernel/reconciliation/admissible.py"
_RECEIPTS = "tests/machines/test_receipts_machine.py::test_no_interleaving_makes_a_receipt_say_what_is_not_so"
_RELAYS = "tests/machines/test_relay_machine.py::test_no_interleaving_breaks_the_relays_leases"

MACHINES: tuple[Mutation, ...] = (
    Mutation(
        "lost-shard-sends",
        "I-221 (R37)",
        "a shard that is lost and taken again still counts for rows that were fetched before",
        (Edit(_SHARDS, "            self._lost_in_use.add(number)\n", "            pass\n"),),
        (_RELAYS,),
    ),
    Mutation(
        "no-abort",
        "I-221 (R37)",
        "a relay that loses a shard with records under way goes on",
        (
            Edit(
                _SHARDS,
                "        if number in self._sending:\n            self._abort",
                "        if False:\n            self._abort",
            ),
        ),
        (_RELAYS,),
    ),
    Mutation(
        "redriven-forgets-claims",
        "I-204 (R15, R33)",
        "a redriven turn on another memory loses its claims (in memory)",
        (
            Edit(
                f"{_MEMORY}/turns.py",
                '    rows.entries = {name: entry for name, entry in rows.entries.items() if entry.kind == "claim"}\n',
                "    rows.entries = {}\n",
            ),
        ),
        (_BOUNDARY,),
    ),
    Mutation(
        "contest-flags-nothing",
        "R25",
        "a contest opens an item and does not flag the receipt",
        (function("contest_receipt", "set contradicted = true, version", "set contradicted = false, version"),),
        (_RECEIPTS,),
    ),
    Mutation(
        "contest-decided-alone",
        "R25",
        "who contests decides it",
        (function("decide_contest", "and o.source <> 'contest:' || who) then", "and true) then"),),
        (_RECEIPTS,),
    ),
    Mutation(
        "disagreement-flags-nothing",
        "R25",
        "an answer that disagrees is kept and does not flag the receipt",
        (function("take_late_answer", "set contradicted = true, version", "set contradicted = false, version"),),
        (_RECEIPTS,),
    ),
    Mutation(
        "retried-past-the-window",
        "R26",
        "the call is repeated although the provider may have forgotten the key",
        (
            function(
                "begin_retry",
                "receipt.key_window_seconds is null or clock_timestamp()",
                "receipt.key_window_seconds is null or false and clock_timestamp()",
            ),
        ),
        (_RECEIPTS,),
    ),
    Mutation(
        "retried-twice-at-once",
        "R26",
        "a repeat begins beside a repeat",
        (function("begin_retry", "     or receipt.retry_until > clock_timestamp() then", "     or false then"),),
        (_RECEIPTS,),
    ),
    Mutation(
        "quiet-unasked",
        "R22",
        "absent settles before what was sent has had its time to arrive",
        (Edit(_ADMISSIBLE, "timedelta(seconds=quiet or 0.0)", "timedelta(seconds=0.0)"),),
        (_RECEIPTS,),
    ),
    Mutation(
        "deadline-ends-all",
        "R22",
        "an attempt that is past its deadline counts as over",
        (
            Edit(
                _ADMISSIBLE,
                "if proof is not None), default=None)",
                "if proof is not None), default=facts.call_deadline)",
            ),
        ),
        (_RECEIPTS,),
    ),
    Mutation(
        "no-item-for-uncertain",
        "R27",
        "the scan opens no item for what is uncertain",
        (
            function(
                "scan_receipts",
                "and (r.state = 'uncertain' or r.contradicted)\n  order by",
                "and r.contradicted\n  order by",
            ),
        ),
        (_RECEIPTS,),
    ),
    Mutation(
        "live-attempt-scanned",
        "R27",
        "the scan does not ask for the live lease",
        (
            function(
                "scan_receipts", "r.state = 'prepared' and (t.fence <> r.fence or", "r.state = 'prepared' and (true or"
            ),
            function(
                "scan_receipts",
                "and r.state = 'prepared' and not attempt_is_live_v1(r.thread_id, r.fence)",
                "and r.state = 'prepared'",
            ),
            function(
                "receipt_is_unattended",
                "and not attempt_is_live_v1(receipt.thread_id, receipt.fence) then true",
                "then true",
            ),
        ),
        (_RECEIPTS,),
    ),
)
