"""A dozen published conversations with the retail agent: a small campaign, told as it goes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from intention_kernel.servers.addresses import Servers
from intention_kernel.testing.fleet import Kind

from examples.demo.story import Say
from examples.demo.summary import Account
from examples.retail.campaign.plan import Plan
from examples.retail.campaign.report import Report
from examples.retail.campaign.run import run_campaign
from examples.retail.conversations import Conversation, load_conversations
from examples.retail.records import EXTRACT

CONVERSATIONS = 12
KILLS = 2
PROCESSES: dict[Kind, int] = {"turn-runner": 1, "outbox-relay": 1, "receipt-reconciler": 1}
PROGRESS_SECONDS = 2.0
SEED = 1
"""Under this one the shop loses something in every way that it can."""


async def play_retail(servers: Servers, scratch: Path, say: Say) -> Account:
    """Play them; the account compares with the published state."""
    file = EXTRACT / "conversations.json"
    plan = Plan(
        data=EXTRACT,
        file=file,
        conversations=_varied(load_conversations(file)),
        seed=SEED,
        kills=KILLS,
        shop_faults=True,
        processes=PROCESSES,
    )
    folder = scratch / "retail"
    folder.mkdir()
    said = ""

    def tell_news(line: str) -> None:
        nonlocal said
        if line != said:
            say("retail", line)
        said = line

    return _account(await run_campaign(servers, folder, plan, tell_news, PROGRESS_SECONDS))


def _varied(conversations: Sequence[Conversation]) -> tuple[Conversation, ...]:
    """A dozen from all over the file, refused operations among them."""
    return tuple(conversations[:: len(conversations) // CONVERSATIONS][:CONVERSATIONS])


def _account(report: Report) -> Account:
    counts = report.counts
    settled = f"{counts['settled_by_resolver']} by lookup, {counts['settled_by_late_answer']} by a late answer"
    return Account(
        name=f"retail, {counts['conversations']} conversations",
        turns=cast("int", counts["turns"]),
        effects=f"{counts['effects']} at the shop, {counts['refusals']} refused",
        uncertain=f"{counts['uncertain']}: {settled}" if counts["uncertain"] else "0",
        events=cast("int", counts["events"]),
        differences=report.differences,
    )
