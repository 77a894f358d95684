"""Plays conversations through the agent in this process, against a real shop process, and says what disagrees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from intention_kernel.ports.model_gateway import ModelGateway
from intention_kernel.testing import MemoryDurability, SpokenTurn, Talk

from examples.retail.agent import retail_agent
from examples.retail.conversations import Action, Conversation
from examples.retail.customer import SHOP
from examples.retail.records_comparison import differences
from examples.retail.script_turns import turns_of
from examples.retail.shop_client import ShopClient

AGENT = retail_agent()


def talk_of(conversation: Conversation, model: ModelGateway, shop: ShopClient, world: str | None = None) -> Talk:
    """The conversation's thread, in a world of its own."""
    durability = MemoryDurability(model, ports={SHOP: shop})
    host = {"userId": conversation["user_id"], "world": world or conversation["id"]}
    return Talk(AGENT, durability=durability, thread_id=conversation["id"], host_context=host)


async def play(talk: Talk, conversation: Conversation, shop: ShopClient) -> list[str]:
    """Say everything; returns where the refusals and the world at the end are not the published ones."""
    turns = [await talk.says(turn.text) for turn in turns_of(conversation)]
    last = {turn.action_index: said for turn, said in zip(turns_of(conversation), turns, strict=True)}
    found = [wrong for index, said in last.items() for wrong in _surprises(conversation["actions"][index], said)]
    world = cast("str", (talk.host_context or {})["world"])
    return found + differences(conversation["expected_changes"], await shop.changes(world))


def issue_codes(turn: SpokenTurn) -> Sequence[str]:
    """The codes of the issues that capabilities told in that turn."""
    failed = (event.data for event in turn.events if event.type == "capability.failed")
    issues = (data.get("issue") for data in failed if isinstance(data, dict))
    return [str(issue["code"]) for issue in issues if isinstance(issue, dict)]


def _surprises(action: Action, turn: SpokenTurn) -> Iterator[str]:
    codes, where = issue_codes(turn), f"{turn.result.turn_id} {action['name']}"
    if turn.result.status != "completed" or turn.capabilities != (action["name"],):
        yield f"{where}: {turn.result.status}, ran {turn.capabilities}: {turn.message}"
    if bool(codes) != bool(action["error"]):
        yield f"{where}: refused with {codes}, published was {action['error']}"
