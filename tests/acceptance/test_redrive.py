"""A turn that a build cannot run is set aside, and runs once another build is there and a person says so: real processes."""

from __future__ import annotations

import os
from pathlib import Path

from intention_kernel.contracts.json_codec import loads
from intention_kernel.contracts.turn_request import TurnInput, TurnRequest
from intention_kernel.testing.system import Installation, System, open_system

from tests.cli.invoking import Said, environment, intention_beside
from tests.support.poison import AGENT, BROKEN, FIXED, VARIABLE
from tests.support.servers import SharedServers

_ROOT = Path(__file__).parents[2]
POISON, AFTER = "poison", "later"


def _request(turn_id: str, text: str) -> TurnRequest:
    return TurnRequest(schema_version=1, thread_id="job", turn_id=turn_id, agent_id=AGENT, input=TurnInput(text=text))


async def _events(system: System) -> list[tuple[int, str, str]]:
    """Sequence, type and turn of every committed event, in the order of the topic."""
    found = []
    for record in await system.broker.read(system.topics.events):
        event = loads(record.value or b"")
        assert isinstance(event, dict)
        found.append((int(record.header("ce_sequence")), record.header("ce_type"), str(event["turnId"])))
    return found


async def test_a_poison_turn_is_redriven_after_a_new_build_and_commits(
    servers: SharedServers, fresh_database: str, topic_prefix: str, tmp_path: Path
) -> None:
    """R33, R35: set aside twice, committed once, each event once and in order; its effect happened once."""
    notes = tmp_path / "notes"
    variables = {
        "INTENTION_TURN_ATTEMPTS": "2",
        VARIABLE: str(notes),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")])),
    }
    poison, after = _request(POISON, "poison"), _request(AFTER, "hello")

    async def rejected(*arguments: str) -> Said:
        return await intention_beside("rejected", *arguments, env=environment(fresh_database))

    def place(application: str) -> Installation:
        return Installation(fresh_database, servers.kafka_bootstrap_servers, topic_prefix, application, variables)

    async with open_system(place(BROKEN)) as system:
        await system.send(poison)
        await system.start_runner()
        await system.start_relay()
        await system.await_rows("select from set_aside_turns where revision = 1")
        assert (await rejected("redrive", "job@1", "-o", "ids")).lines == ["job@1"]
        await system.await_rows("select from set_aside_turns where revision = 2 and state = 'open'")
        assert (await rejected("redrive", "job@1")).code == 5
        [item] = await system.fetch("select phase from reconciliation_items where kind = 'orphaned'")
        assert item["phase"] == "open"

    async with open_system(place(FIXED)) as system:
        await system.start_runner()
        await system.start_relay()
        redriven = await rejected("redrive", "job@2", "--reason", "the build is fixed")
        assert (redriven.code, "completed notes.write:poison" in redriven.out) == (0, True), redriven
        await system.await_rows("select from turns where turn_id = $1", POISON)
        await system.send(after)
        await system.await_quiet([poison, after])
        turns = await system.fetch("select turn_id, revision from turns order by revision")
        events = await _events(system)

    assert [(turn["turn_id"], turn["revision"]) for turn in turns] == [(POISON, 3), (AFTER, 4)]
    assert [sequence for sequence, _, _ in events] == list(range(1, len(events) + 1))
    assert [(kind, turn) for _, kind, turn in events if kind in ("turn.failed", "turn.completed")] == [
        ("turn.failed", POISON),
        ("turn.failed", POISON),
        ("turn.completed", POISON),
        ("turn.completed", AFTER),
    ]
    assert notes.read_text().splitlines() == ["notes.write:poison"]
