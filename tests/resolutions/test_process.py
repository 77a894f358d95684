"""The real process takes decisions from the real topic; it is killed, stopped, and cut off from what it needs."""

from __future__ import annotations

import json
import signal
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest
from intention_kernel.application.loading import load_application
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.settings import load
from intention_kernel.testing.crash_points import RESOLUTION_POINT
from intention_kernel.testing.processes import Process
from intention_kernel.testing.system import open_system
from receipt_reconciler.bootstrap import described
from receipt_reconciler.settings import ReconcilerSettings

from tests.cli.invoking import environment, intention_beside
from tests.reconciliation.bench import until
from tests.resolutions.place import GROUP, VALUE, Bench, bench, http, record, send_with_a_bad_header_name
from tests.support.fan7 import RESERVATION_KEYS, installation_of, running_inventory
from tests.support.servers import SharedServers, with_database

BAD_NAME = b"\xff\xfe\x80"


async def _continuations(place: Bench) -> list[JsonValue]:
    return [asked["turnId"] for asked in await place.db.outbox("turns.requests") if isinstance(asked, dict)]


async def _ready_says(process: Process, status: int, words: str = "") -> None:
    """Returns once readiness has this status, and a reason with these words."""

    async def says() -> bool:
        code, body = await http(process, "/readyz")
        return code == status and words in body

    await until(says, 40)


async def test_a_record_settles_its_receipt_and_asks_for_the_continuation(
    servers: SharedServers, fresh_database: str, topic_prefix: str, tmp_path: Path
) -> None:
    async with bench(servers, fresh_database, topic_prefix, tmp_path / "provider") as place:
        receipt = await place.uncertain()
        process = await place.system.start_reconciler()
        sent = await place.send(record(receipt))
        await place.settled(receipt)
        await place.committed_to(sent.offset + 1)
        row = await place.db.receipt(receipt)
        assert (row["state"], row["reference"], await place.db.value(receipt)) == ("completed", "REF-1", VALUE)
        [decision] = await place.db.all("decisions")
        assert (decision["decision_id"], decision["actor"]) == (f"decision-{receipt[:8]}", "back-office")
        assert await _continuations(place) == [f"reconciliation:{receipt}:1:1"]
        assert await place.metric(process, "settled") == 1
        process.terminate()
        assert await process.await_end() == 0, process.output()


async def test_a_conversation_goes_on_by_a_record(
    servers: SharedServers, fresh_database: str, topic_prefix: str, tmp_path: Path
) -> None:
    """FAN-7: a reply is lost, nobody can look it up, a back office writes what it found, and the turn goes on with that."""
    async with running_inventory(tmp_path, settled_by="operator") as inventory:
        place = inventory.beside(installation_of(servers, fresh_database, topic_prefix))
        accepting = {**place.environment, "INTENTION_ACCEPT_RESOLUTIONS": "true"}
        async with open_system(replace(place, environment=accepting)) as system:
            await inventory.lose_next_reply()
            asked = inventory.conversation.with_effects
            await system.send(asked)
            for start in (system.start_runner, system.start_relay, system.start_reconciler):
                await start()
            [item] = await system.await_rows("select effect_key from reconciliation_items where kind = 'effect'")
            [receipt] = await system.fetch("select receipt_id, version from receipts where state = 'uncertain'")
            assert item["effect_key"] == RESERVATION_KEYS["operator"]
            kept = await inventory.client.find_reservation(item["effect_key"])
            assert kept is not None
            told = record(receipt["receipt_id"], expectedVersion=receipt["version"], value=kept, reference=...)
            await system.broker.send(system.topics.resolutions, b"whatever", told)
            await system.await_rows("select from reconciliation_items where phase = 'done'", seconds=60)
            await system.await_quiet([asked])
            states = await system.fetch("select state from receipts")
            assert {row["state"] for row in states} == {"completed"}
            assert await inventory.ledger() == list(inventory.conversation.effects)
            notices = await system.broker.read(system.topics.reconciliation)
            assert [json.loads(notice.value or b"")["phase"] for notice in notices] == ["open", "decided", "done"]


async def test_bad_records_between_good_ones_are_kept_and_stop_nobody(
    servers: SharedServers, fresh_database: str, topic_prefix: str, tmp_path: Path
) -> None:
    """In order on one partition, with headers and keys that are no text; the last of them is sent again and judged again."""
    async with bench(servers, fresh_database, topic_prefix, tmp_path / "provider") as place:
        receipts = [await place.uncertain(f"t{number}") for number in range(6)]
        held = await place.uncertain("held")
        bad: list[tuple[bytes | None, bytes | None, str]] = [
            (b"\xff", b"\x00\xff{", "not_json"),
            (b"", None, "missing_value"),
            (b"k", record(receipts[0], surprise=1), "invalid"),
            (b"k", record("0" * 32), "unknown_receipt"),
            (b"k", record(receipts[0], decisionId="second"), "version_changed"),
            (b"held", record(held, expectedVersion=7), "version_changed"),
        ]
        expected = []
        for receipt, (key, value, reason) in zip(receipts, bad, strict=True):
            await place.send(record(receipt), headers=(("traceparent", BAD_NAME), ("empty", None)))
            sent = await place.send(value, key, headers=(("x", BAD_NAME),))
            expected.append((reason, sent.offset))
        process = await place.system.start_reconciler()
        await place.system.start_relay()
        for receipt in receipts:
            await place.settled(receipt)
        await place.committed_to(expected[-1][1] + 1)
        assert await place.rejected() == expected
        published = await place.system.broker.read(place.system.topics.rejected)
        assert sorted(record.header("reason") for record in published) == sorted(reason for reason, _ in expected)
        assert {record.header("origin_topic") for record in published} == {place.system.topics.resolutions}
        assert await place.metric(process, "settled") == len(receipts)
        assert await place.metric(process, "version_changed") == 2

        ids = (await intention_beside("rejected", "ls", "-o", "ids", env=environment(fresh_database))).lines
        [again] = [line for line in ids if f"/0/{expected[-1][1]}/" in line]
        redriven = await intention_beside("rejected", "redrive", again, env=environment(fresh_database))
        assert redriven.code == 0, redriven
        query = "select from rejected_requests where record_value = $1 and state = 'open'"
        await place.system.await_rows(query, bad[-1][1])


async def test_records_whose_headers_have_no_name_in_utf8_are_read_like_any_other(
    servers: SharedServers, fresh_database: str, topic_prefix: str, tmp_path: Path
) -> None:
    """The driver refuses the batch; what is in it and behind it is taken all the same, also by who comes after a kill."""
    async with bench(servers, fresh_database, topic_prefix, tmp_path / "provider") as place:
        receipts = [await place.uncertain(f"t{number}") for number in range(4)]
        await place.send(record(receipts[0]))
        middle = [record(receipts[1]), b"[]", record(receipts[2])]
        await send_with_a_bad_header_name(servers.kafka_bootstrap_servers, place.system.topics.resolutions, middle)
        last = await place.send(record(receipts[3]))
        await place.system.start_reconciler(f"{RESOLUTION_POINT}=kill@3")
        await place.system.await_rows("select from rejected_requests")
        await place.system.start_reconciler()
        for receipt in receipts:
            await place.settled(receipt)
        await place.committed_to(last.offset + 1)


async def test_killed_before_its_offset_is_committed_it_settles_once(
    servers: SharedServers, fresh_database: str, topic_prefix: str, tmp_path: Path
) -> None:
    """The record comes again, and is known by its decision id; so is one that was refused."""
    async with bench(servers, fresh_database, topic_prefix, tmp_path / "provider") as place:
        receipt = await place.uncertain()
        sent = await place.send(record(receipt))
        killed = await place.system.start_reconciler(f"{RESOLUTION_POINT}=kill")
        assert await killed.await_end() == -signal.SIGKILL
        await place.settled(receipt)
        committed = await place.system.broker.committed(f"{topic_prefix}{GROUP}", sent.topic)
        assert committed.get(0, 0) == sent.offset

        refused = await place.send(record("0" * 32))
        killed = await place.system.start_reconciler(f"{RESOLUTION_POINT}=kill@2")
        assert await killed.await_end() == -signal.SIGKILL
        successor = await place.system.start_reconciler()
        await place.committed_to(refused.offset + 1)
        assert await place.metric(successor, "unknown_receipt") == 1
        assert [len(await place.db.all(table)) for table in ("decisions", "rejected_requests")] == [1, 1]
        assert (await place.db.receipt(receipt))["settlements"] == 1
        assert await _continuations(place) == [f"reconciliation:{receipt}:1:1"]


async def test_without_the_setting_nothing_is_consumed(
    servers: SharedServers, fresh_database: str, topic_prefix: str, tmp_path: Path
) -> None:
    """Nor is FastStream imported. A reconciler that accepts decisions then finds everything that was sent."""
    provider = tmp_path / "provider"
    async with bench(
        servers, fresh_database, topic_prefix, provider, INTENTION_ACCEPT_RESOLUTIONS="", PYTHONPROFILEIMPORTTIME="1"
    ) as place:
        receipt = await place.uncertain()
        sent = await place.send(record(receipt))
        process = await place.system.start_reconciler()
        assert (await http(process, "/readyz"))[0] == 200
        await place.system.await_rows("select from reconciliation_items where reason like 'needs a person%'")
        assert await place.system.broker.committed(f"{topic_prefix}{GROUP}", sent.topic) == {}
        assert (await place.db.receipt(receipt))["state"] == "uncertain"
        assert "faststream" not in process.output()
        process.terminate()
        assert await process.await_end() == 0
    async with bench(servers, fresh_database, topic_prefix, provider, PYTHONPROFILEIMPORTTIME="1") as place:
        process = await place.system.start_reconciler()
        await place.settled(receipt)
        assert "faststream" in process.output()


@pytest.mark.parametrize(
    ("accepts", "said"),
    [("true", "decisions are taken from x.receipts.resolutions"), ("", "no decisions are taken from x.receipts")],
)
def test_check_says_whether_decisions_are_taken(accepts: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    variables = {
        "INTENTION_DATABASE_URL": "postgresql://127.0.0.1:1/x",
        "INTENTION_KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1",
        "INTENTION_APPLICATION": "tests.reconciliation.app:application",
        "INTENTION_TOPIC_PREFIX": "x.",
        "INTENTION_ACCEPT_RESOLUTIONS": accepts,
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    settings = load(ReconcilerSettings)
    *_, last = described(load_application(settings.application), settings)
    assert last.startswith(said)


async def test_a_database_that_goes_away_costs_no_record(
    servers: SharedServers, fresh_database: str, topic_prefix: str, tmp_path: Path
) -> None:
    """Readiness says so, the offset stays, and the record is taken once the database is back."""
    database = urlsplit(fresh_database).path[1:]
    async with bench(servers, fresh_database, topic_prefix, tmp_path / "provider") as place:
        receipt = await place.uncertain()
        process = await place.system.start_reconciler()
        await _ready_says(process, 200)
        admin = await asyncpg.connect(with_database(fresh_database, "postgres"))
        try:
            await admin.execute(f'alter database "{database}" allow_connections false')
            ours = "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> $2"
            await admin.execute(ours, database, place.db.connection.get_server_pid())
            sent = await place.send(record(receipt))
            await _ready_says(process, 503, "database")
            assert (await http(process, "/livez"))[0] == 200
            await admin.execute(f'alter database "{database}" allow_connections true')
        finally:
            await admin.close()

        async def settled() -> bool:
            return bool((await place.db.receipt(receipt))["settlements"])

        await until(settled, 40)
        await place.committed_to(sent.offset + 1)
        await _ready_says(process, 200)


async def test_it_waits_for_a_broker_that_is_not_there_says_so_and_stops_when_told(
    servers: SharedServers, fresh_database: str, topic_prefix: str, tmp_path: Path
) -> None:
    """What else a reconciler does goes on meanwhile."""
    nowhere = "127.0.0.1:1"
    async with bench(
        servers, fresh_database, topic_prefix, tmp_path / "provider", INTENTION_KAFKA_BOOTSTRAP_SERVERS=nowhere
    ) as place:
        process = await place.system.start_reconciler()
        await _ready_says(process, 503, nowhere)
        await until(lambda: _said(process, nowhere), 30)
        await place.uncertain()
        await place.system.await_rows("select from reconciliation_items")
        process.terminate()
        assert await process.await_end(15) == 0, process.output()


async def test_a_topic_that_is_missing_is_waited_for(
    servers: SharedServers, fresh_database: str, topic_prefix: str, tmp_path: Path
) -> None:
    async with bench(
        servers, fresh_database, topic_prefix, tmp_path / "provider", INTENTION_TOPIC_PREFIX=f"{topic_prefix}other."
    ) as place:
        process = await place.system.start_reconciler()
        await _ready_says(process, 503, "run `intention migrate`")


async def test_two_reconcilers_share_the_partitions_and_settle_everything_once(
    servers: SharedServers, fresh_database: str, topic_prefix: str, tmp_path: Path
) -> None:
    """One joins while the other consumes, and one is killed."""
    async with bench(servers, fresh_database, topic_prefix, tmp_path / "provider") as place:
        receipts = [await place.uncertain(f"t{number}") for number in range(30)]
        one = await place.system.start_reconciler()
        for number, receipt in enumerate(receipts[:15]):
            await place.send(record(receipt, decisionId=f"d{number}"), f"k{number}".encode(), partition=None)
        await place.system.start_reconciler()
        await place.settled(receipts[0])
        one.kill()
        for number, receipt in enumerate(receipts[15:], 15):
            await place.send(record(receipt, decisionId=f"d{number}"), f"k{number}".encode(), partition=None)
        for receipt in receipts:
            await place.settled(receipt)
        assert len(await place.db.all("decisions")) == len(receipts)
        assert {row["settlements"] for row in await place.db.all("receipts")} == {1}
        assert await place.db.all("rejected_requests") == []


async def _said(process: Process, words: str) -> bool:
    return words in process.output()
