"""A row that cannot be sent at all is its own failure, whoever shares its statement (protocol R11, R13)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import cast

import pytest
from intention_kernel.contracts.receipt import Summary
from intention_kernel.errors import TurnLimitError
from intention_kernel.ports.effect_store import Prepared
from intention_kernel.postgres.store import PostgresStore
from intention_kernel.testing.boundary_calls import begun, new_thread, prepare_of


@pytest.mark.parametrize("title", [None, 5], ids=["none", "a number"])
async def test_a_value_of_another_type_fails_its_own_row_alone(shared_database: str, title: object) -> None:
    """R13: no error of one row reaches the rows beside it."""
    async with PostgresStore.open(shared_database) as store:
        asks = []
        for _ in range(4):
            thread = new_thread()
            asks.append(prepare_of(thread, "t1", (await begun(store, thread, "t1")).fence))
        asks[1] = replace(asks[1], summary=Summary(cast("str", title)))
        answers = await asyncio.gather(*map(store.prepare, asks), return_exceptions=True)
        assert isinstance(answers.pop(1), TurnLimitError)
        assert all(isinstance(answer, Prepared) for answer in answers)
