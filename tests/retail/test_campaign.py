"""The campaign itself: conversations through the real processes, killed again and again, on the run's shared servers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from intention_kernel.models.settings import VARIABLES

from examples.retail.campaign.plan import Plan
from examples.retail.campaign.run import run_campaign
from examples.retail.conversations import Conversation, load_conversations
from examples.retail.records import EXTRACT
from tests.support.servers import SharedServers

KILLS = 12
PUBLISHED = load_conversations(EXTRACT / "conversations.json")
WITH_READS = load_conversations(EXTRACT / "conversations_with_reads.json")


def a_plan(folder: Path, conversations: list[Conversation], kills: int, *, shop_faults: bool) -> Plan:
    """A smaller fleet than the command's: most of a short run is the starts of processes."""
    file = folder / "conversations.json"
    file.write_text(json.dumps(conversations))
    return Plan(
        data=EXTRACT,
        file=file,
        conversations=tuple(conversations),
        seed=5,
        kills=kills,
        shop_faults=shop_faults,
        processes={"turn-runner": 2, "outbox-relay": 2, "receipt-reconciler": 1},
    )


@pytest.fixture(autouse=True)
def _scripted_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests may have the key of a provider; published operations are played by the script alone."""
    for variable in VARIABLES.values():
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.timeout(400)
async def test_60_conversations_under_kills_and_a_faulty_shop_end_in_the_published_state(
    servers: SharedServers, tmp_path: Path
) -> None:
    """R1 to R37 at once: every effect once in the shop's ledger, no turn lost, events complete and in order."""
    said: list[str] = []
    plan = a_plan(tmp_path, PUBLISHED, KILLS, shop_faults=True)
    report = await run_campaign(servers, tmp_path, plan, said.append, every=1.0)
    assert report.agrees, "\n".join(said[-5:] + report.lines())
    counts = report.counts
    assert (counts["conversations"], counts["kills"], counts["open_items"]) == (60, KILLS, 0)
    assert (counts["effects"], counts["refusals"]) == (124, 15)
    struck = counts["faults"]
    assert isinstance(struck, dict)
    assert set(struck) == {"dropReply", "failBeforeCommit", "failAfterCommit", "refuse", "delay"}
    uncertain = counts["uncertain"]
    assert isinstance(uncertain, int)
    assert uncertain >= struck["dropReply"] + struck["failBeforeCommit"] + struck["failAfterCommit"]
    assert any("of 60 conversations" in line for line in said)


@pytest.mark.timeout(200)
async def test_conversations_with_reads_between_their_writes_are_played_as_well(
    servers: SharedServers, tmp_path: Path
) -> None:
    report = await run_campaign(servers, tmp_path, a_plan(tmp_path, WITH_READS, 0, shop_faults=False), lambda _: None)
    assert report.agrees, "\n".join(report.lines())
    assert report.counts["conversations"] == len(WITH_READS)
