"""FAN-7's compiled agent in this process: memory durability, the scripted model, an inventory that keeps a dictionary."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from hashlib import sha256

from intention_kernel.agent import RunTurnInput, RunTurnResult
from intention_kernel.contracts.json_codec import dumps
from intention_kernel.ports.model_gateway import ModelRequest, ModelResult
from intention_kernel.testing.in_process import MemoryDurability

from examples.fan7.compiled import fan7_agent
from examples.fan7.inventory_client import ReservationReceipt, WorkOrderReceipt
from examples.fan7.model import Fan7Model


@dataclass(slots=True)
class FakeInventory:
    """Four FILTER-A; the next reservation's reply gets lost where `loses` says so."""

    loses: bool = False
    reserved: dict[str, ReservationReceipt] = field(default_factory=dict)

    async def stock(self, sku: str) -> int | None:
        taken = sum(one["quantity"] for one in self.reserved.values())
        return 4 - taken if sku == "FILTER-A" else None

    async def reserve(self, key: str, sku: str, quantity: int) -> ReservationReceipt:
        receipt = ReservationReceipt(
            key=key, sku=sku, quantity=quantity, reference="RES-1", fingerprint="f", reservedAt="t"
        )
        self.reserved[key] = receipt
        if self.loses:
            raise TimeoutError
        return receipt

    async def write_work_order(self, key: str, reservation: str, task: str) -> WorkOrderReceipt:
        return WorkOrderReceipt(
            key=key, reservation=reservation, task=task, reference="WO-2", fingerprint="f", writtenAt="t"
        )


class WatchedModel(Fan7Model):
    """The scripted model, and all that it was asked."""

    def __init__(self) -> None:
        self.requests: list[ModelRequest] = []

    async def invoke(self, request: ModelRequest) -> ModelResult:
        self.requests.append(request)
        return await super().invoke(request)


class Talk:
    """One thread."""

    def __init__(self) -> None:
        self.inventory = FakeInventory()
        self.model = WatchedModel()
        self.durability = MemoryDurability(self.model, ports={"inventory": self.inventory})
        self.agent = fan7_agent()
        self._turns = 0

    async def say(self, text: str) -> str:
        """The answer to a message."""
        return str(_response(await self.turn(text))["message"])

    async def turn(self, text: str) -> RunTurnResult:
        """What a message leads to."""
        self._turns += 1
        turn = RunTurnInput(thread_id="t", turn_id=f"turn-{self._turns}", text=text)
        return await self.agent.run(turn, durability=self.durability)

    async def go_on(self) -> list[str]:
        """The answers of the continuations that wait."""
        results = await self.durability.run_continuations(self.agent, "t")
        return [str(_response(result)["message"]) for result in results]


def _response(result: RunTurnResult) -> dict[str, object]:
    assert result.response is not None
    return dict(result.response)


async def digests() -> list[str]:
    """What models are asked in a conversation with an open question, facts and an agenda: a digest for each request."""
    talk = Talk()
    for text in (
        "reserve 2 FILTER-A for FAN-7",
        "how many FILTER-A are there?",
        "yes",
        "reserve 1 FILTER-A for FAN-7",
        "yes",
    ):
        await talk.say(text)
    return [sha256(dumps(request.to_json())).hexdigest() for request in talk.model.requests]


if __name__ == "__main__":
    import asyncio

    sys.stdout.write("\n".join(asyncio.run(digests())))
