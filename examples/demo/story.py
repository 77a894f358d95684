"""One run of FAN-7, told in plain words while it happens."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from intention_kernel.client import Client, Committed
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.turn_request import TurnInput, TurnRequest
from intention_kernel.errors import InfrastructureError
from intention_kernel.ids import random_id
from intention_kernel.testing.processes import Process, clean_environment, script
from intention_kernel.testing.system import System

from examples.fan7.effects import JOB
from examples.fan7.inventory_client import InventoryClient

Say = Callable[[str, str], None]
SettledBy = Literal["lookup", "retry", "operator"]

PATIENCE_SECONDS = 60.0
RESERVE_TWO = "Please reserve 2 FILTER-A for FAN-7"
RESERVE_ONE = "Please reserve 1 FILTER-A for FAN-7"
UNRELATED = "How many FILTER-A are in stock?"


@dataclass(frozen=True, slots=True)
class Plan:
    """How a run loses its outcome, and how it is found out."""

    title: str
    settled_by: SettledBy
    store_fails: bool = False


PLANS = (
    Plan("The reply is lost; the inventory is asked by key", "lookup"),
    Plan("The reply is lost; the identical call is repeated inside the inventory's window", "retry"),
    Plan("The reply arrives and our own record of it fails; the inventory is asked by key", "lookup", store_fails=True),
    Plan("The reply is lost; a person decides", "operator"),
)


@dataclass(slots=True)
class Told:
    """What the run saw from outside; the summary compares it with what is stored."""

    plan: Plan
    thread_id: str
    requests: list[TurnRequest]
    stock: list[int | None]
    orders_while_uncertain: int = 0


class Story:
    """Tells one run on one thread. The inventory is fresh; the reconciler runs only once somebody looks."""

    def __init__(self, system: System, client: Client, inventory: InventoryClient, say: Say) -> None:
        self._system = system
        self._client = client
        self._inventory = inventory
        self._say = say

    async def tell(self, plan: Plan, environment: dict[str, str]) -> Told:
        """Run the plan to its end. Raises InfrastructureError where it does not get there."""
        told = Told(plan, f"fan-7-{random_id().hex[:8]}", [], [])
        await self._look_at_stock(told)
        if not plan.store_fails:
            await self._inventory.drop_replies(1)
        blocked = await self._ask(told, RESERVE_TWO)
        await self._look_at_stock(told)
        receipt_id = await self._uncertain_receipt(told)
        told.orders_while_uncertain = await self._work_orders()
        self._say("inventory", f"work orders: {told.orders_while_uncertain}")
        await self._ask(told, UNRELATED)
        async with await self._system.start_reconciler() as reconciler:
            await self._settle(plan, receipt_id, environment)
            await self._await_continuation(told, receipt_id)
            await self._ask(told, RESERVE_ONE)
            await self._look_at_stock(told)
            await self._system.await_quiet(told.requests, seconds=PATIENCE_SECONDS)
            reconciler.terminate()
            await reconciler.await_end()
        if blocked != "blocked":
            raise InfrastructureError(f"the first turn ended as {blocked}, not blocked")
        return told

    async def _ask(self, told: Told, text: str) -> str:
        self._say("user", text)
        request = TurnRequest(
            schema_version=1,
            thread_id=told.thread_id,
            turn_id=f"turn-{random_id().hex[:12]}",
            agent_id="fan7",
            input=TurnInput(text=text),
            host_context={"settledBy": told.plan.settled_by},
        )
        told.requests.append(request)
        async with self._client.sending(request) as waiting:
            outcome = await waiting.outcome(PATIENCE_SECONDS)
        if not isinstance(outcome, Committed):
            raise InfrastructureError(f"{text!r} ended as {outcome!r}")
        self._say("agent", _message(outcome.result))
        return outcome.status

    async def _look_at_stock(self, told: Told) -> None:
        available = await self._inventory.stock("FILTER-A")
        told.stock.append(available)
        self._say("inventory", f"FILTER-A in stock: {available}")

    async def _work_orders(self) -> int:
        return sum(entry["kind"] == "work_order" for entry in await self._inventory.ledger())

    async def _uncertain_receipt(self, told: Told) -> str:
        rows = await self._system.await_rows(
            "select receipt_id, state from receipts where thread_id = $1 and state = 'uncertain'", told.thread_id
        )
        self._say("database", f"receipt {rows[0]['receipt_id'][:8]}… is {rows[0]['state']}; nothing is tried again")
        return str(rows[0]["receipt_id"])

    async def _settle(self, plan: Plan, receipt_id: str, environment: dict[str, str]) -> None:
        if plan.settled_by == "operator":
            await self._decide(receipt_id, environment)
        else:
            how = "repeats the identical call" if plan.settled_by == "retry" else f"asks the inventory for {JOB}"
            self._say("reconciler", how)
        (row,) = await self._system.await_rows(
            "select state, settlements from receipts where receipt_id = $1 and settlements > 0",
            receipt_id,
            seconds=PATIENCE_SECONDS,
        )
        self._say("database", f"receipt {receipt_id[:8]}… is {row['state']}, settlement {row['settlements']}")

    async def _decide(self, receipt_id: str, environment: dict[str, str]) -> None:
        await self._system.await_rows(
            "select from reconciliation_items i join receipts r using (thread_id, effect_key)"
            " where r.receipt_id = $1 and i.phase = 'open'",
            receipt_id,
            seconds=PATIENCE_SECONDS,
        )
        found = await self._inventory.find_reservation(f"inventory.reserve_manual:{JOB}")
        evidence = "the inventory's own list of reservations"
        self._say("operator", f"intention queue resolve {receipt_id[:8]}… --applied   ({evidence})")
        command = [str(script("intention")), "queue", "resolve", receipt_id, "--applied", "--value", json.dumps(found)]
        command += ["--reason", "the reservation is there", "--evidence", evidence, "--as", "demo"]
        await _run(command, environment)

    async def _await_continuation(self, told: Told, receipt_id: str) -> None:
        (row,) = await self._system.await_rows(
            "select turn_id from turns where thread_id = $1 and turn_id like 'reconciliation:' || $2 || ':%'",
            told.thread_id,
            receipt_id,
            seconds=PATIENCE_SECONDS,
        )
        outcome = await self._client.outcome(told.thread_id, row["turn_id"], PATIENCE_SECONDS)
        if not isinstance(outcome, Committed):
            raise InfrastructureError(f"the continuation ended as {outcome!r}")
        self._say("agent", f"(goes on by itself) {_message(outcome.result)}")


def inventory_command(port: int, database: Path) -> list[str]:
    """The inventory as a process of its own."""
    return [sys.executable, "-m", "examples.fan7.inventory", "--port", str(port), "--database", str(database)]


async def start_inventory(port: int, database: Path) -> Process:
    """The inventory on this database file; its line begins with `listening`."""
    process = await Process.start("inventory", inventory_command(port, database), {}, ready="listening")
    await process.await_ready(PATIENCE_SECONDS)
    return process


async def _run(command: Sequence[str], environment: dict[str, str]) -> None:
    process = await asyncio.create_subprocess_exec(
        *command,
        env=clean_environment(environment),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    if process.returncode != 0:
        raise InfrastructureError(f"intention queue resolve: {output.decode()}")


def _message(result: JsonValue) -> str:
    response = result.get("response") if isinstance(result, dict) else None
    return str(response.get("message")) if isinstance(response, dict) else "(nothing to say)"
