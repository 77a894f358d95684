"""The agent in its three processes: a shop that loses requests and replies, and receipts that settle by themselves."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path

from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.turn_request import TurnInput, TurnRequest
from intention_kernel.testing.system import Installation, System, open_system

from examples.retail.conversations import Conversation, load_conversations
from examples.retail.records import EXTRACT
from examples.retail.records_comparison import differences
from examples.retail.script_turns import UserTurn, turns_of
from tests.retail.shop_process import running_shop
from tests.support.servers import SharedServers

CONVERSATIONS = load_conversations(EXTRACT / "conversations.json")[:6]
FAULTS: dict[str, JsonValue] = {"seed": 7, "dropReply": {"probability": 0.4}, "failBeforeCommit": {"probability": 0.4}}


async def test_every_receipt_in_doubt_is_settled_by_a_lookup_and_every_write_happens_once(
    servers: SharedServers, fresh_database: str, topic_prefix: str, tmp_path: Path
) -> None:
    async with running_shop(tmp_path / "shop.sqlite") as (process, shop):
        url = (await process.await_ready()).removeprefix("listening on ")
        place = Installation(
            fresh_database,
            servers.kafka_bootstrap_servers,
            topic_prefix,
            "examples.retail:application",
            {"RETAIL_SHOP_URL": url},
        )
        await shop.turn_faults(FAULTS)
        async with open_system(place) as system:
            for one in [await system.start_runner(), await system.start_relay(), await system.start_reconciler()]:
                await one.await_ready()
            await say_everything(system)
            settled = await system.fetch("select effect_key, state from receipts where settlements > 0")
            receipts = await system.fetch("select effect_key from receipts where state = 'completed'")
        assert settled
        assert sorted(entry["key"] for entry in await shop.ledger()) == sorted(row["effect_key"] for row in receipts)
        for conversation in CONVERSATIONS:
            found = await shop.changes(conversation["id"])
            assert differences(conversation["expected_changes"], found) == []


async def say_everything(system: System) -> None:
    """One turn of each conversation at a time; the next when nothing is left to do, continuations among it."""
    for turns in zip_longest(*map(turns_of, CONVERSATIONS)):
        pairs = zip(CONVERSATIONS, turns, strict=True)
        requests = [request_of(conversation, turn) for conversation, turn in pairs if turn is not None]
        for request in requests:
            await system.send(request)
        await system.await_quiet(requests, seconds=60)


def request_of(conversation: Conversation, turn: UserTurn) -> TurnRequest:
    return TurnRequest(
        schema_version=1,
        thread_id=conversation["id"],
        turn_id=turn.turn_id,
        agent_id="retail",
        input=TurnInput(text=turn.text),
        host_context={"userId": conversation["user_id"], "world": conversation["id"]},
    )
