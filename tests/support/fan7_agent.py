"""FAN-7's compiled agent for tests: its requests, a bench to talk to it, and the crash suite's world around the user's yes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from intention_kernel.client import Client, Committed
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.turn_request import TurnInput, TurnRequest
from intention_kernel.ids import receipt_id
from intention_kernel.postgres.reading import open_reading
from intention_kernel.testing.crash_points import Conversation
from intention_kernel.testing.processes import Process
from intention_kernel.testing.system import Installation, System, open_system

from tests.support.fan7 import WORK_ORDER_KEY, Inventory, running_inventory

AGENT = "fan7-agent"
THREAD = "job"
RESERVE = "reserve 2 FILTER-A for FAN-7"
RESERVATION_KEY = "inventory.reserve:FAN-7"
RECEIPT_ID = receipt_id(THREAD, RESERVATION_KEY)
PATIENCE_SECONDS = 30.0

Result = dict[str, JsonValue]


def said(turn_id: str, text: str, thread_id: str = THREAD, click: JsonValue = None) -> TurnRequest:
    """A user's turn: words, or a click with its label."""
    return TurnRequest(
        schema_version=1,
        thread_id=thread_id,
        turn_id=turn_id,
        agent_id=AGENT,
        input=TurnInput(text=text, interaction_selection=click),
    )


def with_agent(place: Installation, settled_by: str = "lookup") -> Installation:
    """The installation that runs the agent alone, with this way to find out an unknown reservation."""
    return replace(place, application=f"tests.fan7.applications:{settled_by}")


def message(result: Result) -> str:
    """What the user reads."""
    return str(cast("Result", result["response"])["message"])


def question(result: Result) -> Result:
    """The question that is open, with its options."""
    return cast("Result", cast("Result", result["response"])["interaction"])


@dataclass(slots=True)
class Bench:
    """A runner and a relay at work, an inventory, a client, and what was asked so far; nobody reconciles yet."""

    inventory: Inventory
    installation: Installation
    system: System
    client: Client
    asked: list[TurnRequest]

    async def say(self, turn_id: str, text: str, thread_id: str = THREAD, click: JsonValue = None) -> Result:
        """Send a turn and wait: the data of its `turn.completed`."""
        asked = said(turn_id, text, thread_id, click)
        self.asked.append(asked)
        async with self.client.sending(asked) as waiting:
            outcome = await waiting.outcome(PATIENCE_SECONDS)
        assert isinstance(outcome, Committed), outcome
        return cast("Result", outcome.result)

    async def receipt_state(self) -> str:
        (row,) = await self.system.fetch("select state from receipts where effect_key = $1", RESERVATION_KEY)
        return cast("str", row["state"])

    async def checkpoint(self) -> Result:
        """The thread's memory, as `intention thread show` prints it."""
        async with open_reading(self.installation.database_url) as reading:
            thread = await reading.thread(THREAD)
        assert thread is not None
        return cast("Result", thread["checkpoint"])

    async def events(self, turn_id: str) -> list[Result]:
        """The committed events of a turn of THREAD, in order."""
        async with open_reading(self.installation.database_url) as reading:
            turn = await reading.turn(THREAD, turn_id)
        assert turn is not None
        return cast("list[Result]", turn["events"])


@asynccontextmanager
async def agent_bench(
    place: Installation, directory: Path, settled_by: str = "lookup", runner_failpoints: str = ""
) -> AsyncIterator[Bench]:
    """The agent over a fresh inventory with FILTER-A = 4."""
    async with AsyncExitStack() as stack:
        inventory = await stack.enter_async_context(running_inventory(directory))
        installation = inventory.beside(with_agent(place, settled_by))
        system = await stack.enter_async_context(open_system(installation))
        client = await stack.enter_async_context(Client(place.kafka_bootstrap_servers, place.topic_prefix))
        await system.start_runner(runner_failpoints)
        await system.start_relay()
        yield Bench(inventory, installation, system, client, [])


class ApprovedConversation(Conversation):
    """What is asked once the proposal is there: the turn with effects is the yes."""

    @property
    def requests(self) -> tuple[TurnRequest, ...]:
        return said("propose", RESERVE), self.with_effects, self.after, self.neighbour


@dataclass(frozen=True, slots=True)
class ApprovedWorld:
    """The world of the crash suite around the user's yes (`testing.crash_points.World`)."""

    inventory: Inventory

    @property
    def provider(self) -> Process:
        return self.inventory.provider

    @property
    def conversation(self) -> Conversation:
        return ApprovedConversation(
            with_effects=said("yes", "yes"),
            after=said("ask", "How many are left?"),
            neighbour=said("ask", "How many are there?", "neighbour"),
            effects=(RESERVATION_KEY, WORK_ORDER_KEY),
        )

    async def lose_next_reply(self) -> None:
        await self.inventory.lose_next_reply()

    async def ledger(self) -> list[str]:
        return await self.inventory.ledger()

    def calls(self) -> list[str]:
        return self.inventory.calls()


async def propose(installation: Installation) -> None:
    """Commit the proposing turn and end the runner that did it: only the yes is missing, and nothing is written anywhere."""
    async with open_system(installation) as system:
        runner = await system.start_runner()
        await system.send(said("propose", RESERVE))
        await system.await_rows("select from turns where turn_id = 'propose'")
        runner.terminate()
        assert await runner.await_end() == 0, runner.output()
