"""Bugs that only a history shows: they are put into campaigns (tests.campaigns.mutated), and no single test is named for them."""

from __future__ import annotations

from tests.stress.mutation import Edit, Mutation, function

_LIBRARY = "shared/src/intention_kernel"
_EVERY = 29

CAMPAIGNS: tuple[Mutation, ...] = (
    Mutation(
        "some-refusals-lost",
        "I-17 (R5, R34)",
        f"every record that is refused at an offset which {_EVERY} divides is dropped without a trace",
        (
            Edit(
                f"{_LIBRARY}/postgres/rejections.py",
                "    async def reject(self, rejection: Rejection) -> None:\n        try:",
                "    async def reject(self, rejection: Rejection) -> None:\n"
                f"        if rejection.origin.offset % {_EVERY} == 0:\n"
                "            return\n"
                "        try:",
            ),
        ),
        (),
    ),
    Mutation(
        "journal-outlives-its-turn",
        "I-49 (R30)",
        "the journal of a turn is kept when it commits",
        (
            function(
                "commit_turns",
                "    delete from turn_journal as j\n    using",
                "    delete from turn_journal as j\n    using (select where false) as nothing,",
            ),
        ),
        (),
    ),
)
