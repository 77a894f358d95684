"""Rules that a state machine has to find broken, among all interleavings that it draws."""

from __future__ import annotations

from tests.stress.mutation import Edit, Mutation

_SHARDS = "services/outbox-relay/src/outbox_relay/shards.py"
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
)
