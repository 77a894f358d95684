"""The real process: killed at its failpoints, cut off from its database, stopped, misconfigured."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest
from intention_kernel.ids import random_id

from tests.reconciliation.app import EFFECT_ID, RETRIED_ID, VARIABLE, Provider
from tests.reconciliation.bench import Ledger, ledger, until
from tests.reconciliation.process import started
from tests.support.servers import with_database

KEY = f"{EFFECT_ID}:1"
KILLED = -9


async def _settles(db: Ledger, receipt: str) -> None:
    async def settled() -> bool:
        return bool((await db.receipt(receipt))["state"] == "completed")

    await until(settled, 30)


async def _goes_on_once(db: Ledger, receipt: str) -> None:
    """The continuation is asked for once; when it has run, nothing is left."""
    assert [row["dedupe"] for row in await db.all("outbox") if row["topic"] == "turns.requests"] == [
        f"reconciliation:{receipt}:1:1"
    ]
    await db.commit_continuation()

    async def done() -> bool:
        return bool((await db.item())["phase"] == "done")

    await until(done)
    assert len(await db.all("decisions")) == len(await db.all("reconciliation_items")) == 1
    assert (await db.receipt(receipt))["settlements"] == 1


async def test_killed_after_the_lookup_it_looks_again_and_settles_once(fresh_database: str, tmp_path: Path) -> None:
    """reconciler.after_lookup: the resolver answered, nothing is settled."""
    provider = Provider(tmp_path / "provider")
    provider.apply(KEY, {"amount": 12})
    async with ledger(fresh_database) as db:
        await db.thread()
        receipt = await db.prepared()
        async with started(db.url, tmp_path / "provider", "reconciler.after_lookup=kill") as process:
            assert await process.ended() == KILLED
        assert (await db.receipt(receipt))["state"] == "uncertain"
        assert (await db.item())["phase"] == "open"
        async with started(db.url, tmp_path / "provider") as process:
            await _settles(db, receipt)
            await _goes_on_once(db, receipt)
            assert await process.stop() == 0
        assert [entry["lookup"] for entry in provider.entries() if "lookup" in entry] == [KEY, KEY]
        assert await db.value(receipt) == {"charge": f"charge of {KEY}"}


async def test_killed_after_the_settlement_it_settles_nothing_twice(fresh_database: str, tmp_path: Path) -> None:
    """reconciler.after_settle: the settlement is committed, with the request of its continuation."""
    provider = Provider(tmp_path / "provider")
    provider.apply(KEY, {"amount": 12})
    async with ledger(fresh_database) as db:
        await db.thread()
        receipt = await db.prepared()
        async with started(db.url, tmp_path / "provider", "reconciler.after_settle=kill") as process:
            assert await process.ended() == KILLED
        assert (await db.receipt(receipt))["state"] == "completed"
        assert (await db.item())["phase"] == "decided"
        async with started(db.url, tmp_path / "provider"):
            await _goes_on_once(db, receipt)
        assert [entry["lookup"] for entry in provider.entries() if "lookup" in entry] == [KEY]


async def test_killed_while_it_repeats_a_call_it_repeats_it_again_and_the_provider_applies_once(
    fresh_database: str, tmp_path: Path
) -> None:
    """R26: the retry was recorded before it was sent; the next one comes when nobody can be sending it any more."""
    provider, key = Provider(tmp_path / "provider"), f"{RETRIED_ID}:1"
    async with ledger(fresh_database) as db:
        await db.thread()
        receipt = await db.prepared(key=key, effect_id=RETRIED_ID, window_seconds=3600)
        async with started(db.url, tmp_path / "provider", "reconciler.after_lookup=kill") as process:
            assert await process.ended() == KILLED
        row = await db.receipt(receipt)
        assert (row["state"], row["cause"]) == ("uncertain", "retry")
        async with started(db.url, tmp_path / "provider"):
            await _settles(db, receipt)
            await _goes_on_once(db, receipt)
        assert [("applied" in entry, "repeated" in entry) for entry in provider.entries()] == [
            (True, False),
            (False, True),
        ]
        assert (await db.receipt(receipt))["retry_until"].year > 1, "the killed one was never seen to end"


async def test_two_processes_side_by_side_settle_everything_once(fresh_database: str, tmp_path: Path) -> None:
    provider = Provider(tmp_path / "provider")
    provider.apply(KEY, {"amount": 12})
    async with ledger(fresh_database) as db:
        async with started(db.url, tmp_path / "provider") as one, started(db.url, tmp_path / "provider") as other:
            await asyncio.gather(one.ready(), other.ready())
            for number in range(20):
                await db.thread(f"t{number}")
                await db.prepared(f"t{number}")

            async def all_settled() -> bool:
                return {row["state"] for row in await db.all("receipts")} == {"completed"}

            await until(all_settled, 30)
            assert [await one.stop(), await other.stop()] == [0, 0]
        assert {row["settlements"] for row in await db.all("receipts")} == {1}
        assert len(await db.all("decisions")) == len(await db.outbox("turns.requests")) == 20


async def test_it_waits_for_a_database_that_went_away_and_goes_on(fresh_database: str, tmp_path: Path) -> None:
    """An outage makes it unready, not dead, and decides nothing."""
    provider, database = Provider(tmp_path / "provider"), urlsplit(fresh_database).path[1:]
    provider.apply(KEY, {"amount": 12})
    admin = await asyncpg.connect(with_database(fresh_database, "postgres"))
    try:
        async with started(fresh_database, tmp_path / "provider") as process:
            await process.ready()
            assert (await process.http_status("/readyz"), await process.http_status("/livez")) == (200, 200)
            await admin.execute(f'alter database "{database}" allow_connections false')
            await admin.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", database)

            async def status_is(status: int) -> bool:
                return await process.http_status("/readyz") == status

            await until(lambda: status_is(503), 30)
            assert await process.http_status("/livez") == 200
            await admin.execute(f'alter database "{database}" allow_connections true')
            await until(lambda: status_is(200), 30)
            async with ledger(fresh_database) as db:
                await db.thread()
                await _settles(db, await db.prepared())
            assert await process.stop() == 0
    finally:
        await admin.close()


KNOWN = {
    "INTENTION_DATABASE_URL": "postgresql://127.0.0.1:1/x",
    "INTENTION_KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1",
    "INTENTION_APPLICATION": "tests.reconciliation.app:application",
}


def receipt_reconciler(command: str, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """The command, to its end."""
    return subprocess.run(
        [sys.executable, "-m", "receipt_reconciler", command],
        env={"PYTHONPATH": str(Path(__file__).parents[2])} | variables,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({}, ("INTENTION_DATABASE_URL", "INTENTION_APPLICATION", "INTENTION_KAFKA_BOOTSTRAP_SERVERS")),
        (KNOWN | {"INTENTION_RECONCILE_SECONDS": "0"}, ("INTENTION_RECONCILE_SECONDS",)),
        (KNOWN | {"INTENTION_APPLICATION": "no.such:thing"}, ("no module named 'no'",)),
    ],
)
def test_wrong_settings_are_one_message_and_exit_code_2(variables: dict[str, str], said: tuple[str, ...]) -> None:
    done = receipt_reconciler("run", variables)
    assert done.returncode == 2
    for words in said:
        assert words in done.stderr


async def test_check_says_how_each_outcome_is_found_out(fresh_database: str, tmp_path: Path) -> None:
    empty = f"empty_{random_id().hex[:12]}"
    admin = await asyncpg.connect(with_database(fresh_database, "postgres"))
    await admin.execute(f'create database "{empty}"')
    try:
        for url, code, words in (
            (fresh_database, 0, f"agent shop effect {EFFECT_ID}: Lookup"),
            (with_database(fresh_database, empty), 2, "run `intention migrate`"),
        ):
            known = KNOWN | {"INTENTION_DATABASE_URL": url, VARIABLE: str(tmp_path / "provider")}
            done = await asyncio.to_thread(receipt_reconciler, "check", known)
            assert (done.returncode, words in done.stdout + done.stderr) == (code, True), done.stdout + done.stderr
    finally:
        await admin.execute(f'drop database "{empty}" with (force)')
        await admin.close()
