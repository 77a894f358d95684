"""The state machine of conversations over both adapters."""

from __future__ import annotations

import asyncio

from intention_kernel.testing.agent_machine import check_conversations
from intention_kernel.testing.memory_harness import MemoryHarness
from intention_kernel.testing.postgres_harness import open_boundary


def test_no_conversation_breaks_the_promises_over_memory() -> None:
    """R7, R8, R11, R15, R16, R20, R30, R32: each consent one effect, nothing forgotten, nothing private told, the same bytes."""
    with asyncio.Runner() as runner:
        check_conversations(MemoryHarness, runner.get_loop(), examples=30, steps=25)


def test_no_conversation_breaks_the_promises_over_postgres(shared_database: str) -> None:
    """The same rules with fewer examples; what Postgres stored is what memory stores for the same history."""
    with asyncio.Runner() as runner:
        opened = open_boundary(shared_database)
        boundary = runner.run(opened.__aenter__())
        try:
            check_conversations(lambda: boundary, runner.get_loop(), examples=6, steps=25)
        finally:
            runner.run(opened.__aexit__(None, None, None))
