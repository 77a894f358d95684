"""The state machine of the durable boundary over both adapters."""

from __future__ import annotations

import asyncio

from intention_kernel.testing.boundary_machine import check_boundary
from intention_kernel.testing.memory_harness import MemoryHarness
from intention_kernel.testing.postgres_harness import open_boundary


def test_no_interleaving_breaks_the_memory_boundary() -> None:
    """R1, R3-R5, R7, R11, R14, R15, R18, R22-R24, R27-R30, R35, R36: each effect once, each turn once, nothing stuck."""
    with asyncio.Runner() as runner:
        check_boundary(MemoryHarness, runner.get_loop(), examples=80, steps=50)


def test_no_interleaving_breaks_the_postgres_boundary(shared_database: str) -> None:
    """The same rules, with fewer examples: campaigns run more."""
    with asyncio.Runner() as runner:
        opened = open_boundary(shared_database)
        boundary = runner.run(opened.__aenter__())
        try:
            check_boundary(lambda: boundary, runner.get_loop(), examples=10, steps=40)
        finally:
            runner.run(opened.__aexit__(None, None, None))
