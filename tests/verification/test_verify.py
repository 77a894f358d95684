"""`intention verify` on real servers: what it finds, what it refuses, and that nothing is left behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pytest
from intention_kernel.cli.verify_text import Teller
from intention_kernel.errors import ConfigurationError
from intention_kernel.ids import random_id
from intention_kernel.postgres import migrate as migrations
from intention_kernel.verification.checks import Outcome
from intention_kernel.verification.contracts import contract_checks, run_contracts
from intention_kernel.verification.leftovers import remove_leftovers
from intention_kernel.verification.report import Report
from intention_kernel.verification.run import Refusal, Target, Wish, refused, verify
from intention_kernel.verification.scratch import EmptySchema, ScratchSchemas, new_run, survey

from tests.cli.invoking import Said, environment, script_environment
from tests.support.servers import SharedServers
from tests.support.verifying import empty_database, forgetful_pooler, held_by, left_on_broker, noticed_dead, rows_of

FUNCTIONS = Path(migrations.__file__).parent / "migrations" / "sql" / "functions"
ROW_MEMBERS = {"guarantee", "promise", "title", "status", "seconds", "evidence", "invariants", "checks"}
CHECK_MEMBERS = {"check", "part", "title", "rules", "status", "seconds", "evidence"}


@pytest.fixture
async def empty(servers: SharedServers) -> AsyncIterator[str]:
    """The URL of a database of this test's own that holds nothing."""
    async with empty_database(servers) as url:
        yield url


def where(servers: SharedServers, url: str, prefix: str) -> dict[str, str]:
    return environment(url, servers.kafka_bootstrap_servers, prefix)


async def start(*arguments: str, env: dict[str, str]) -> asyncio.subprocess.Process:
    """The command as a process that its user may interrupt."""
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code += "from intention_kernel.cli.main import run; sys.exit(run(['verify', *sys.argv[1:]]))"
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        code,
        *arguments,
        env={**script_environment(), **{name: text for name, text in env.items() if text}},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def verified(*arguments: str, env: dict[str, str]) -> Said:
    """The command to its end."""
    process = await start(*arguments, env=env)
    out, err = await process.communicate()
    assert process.returncode is not None
    return Said(process.returncode, out.decode(), err.decode())


async def await_line(process: asyncio.subprocess.Process, part: str) -> None:
    """Read what it says until it says that."""
    assert process.stderr is not None
    said = []
    async with asyncio.timeout(90):
        while line := await process.stderr.readline():
            said.append(line.decode())
            if part in said[-1]:
                return
    raise AssertionError("".join(said))


@pytest.mark.timeout(300)
async def test_a_quick_run_passes_and_leaves_nothing(servers: SharedServers, empty: str, topic_prefix: str) -> None:
    """The suites hold here, each guarantee has evidence, the JSON is whole, and the servers are as they were."""
    before = await held_by(empty)
    said = await verified("--quick", "-o", "json", env=where(servers, empty, topic_prefix))
    report: dict[str, Any] = json.loads(said.out)
    failing = {check["check"]: check["evidence"] for check in report["checks"] if check["status"] == "fail"}
    [durable] = await rows_of(empty, "select current_setting('fsync') = 'on'")
    assert set(failing) == (set() if durable[0] else {"database.fsync"}), failing
    assert (said.code, report["verdict"]) == ((1, "fail") if failing else (0, "pass"))
    assert report["left"] == []
    assert all(set(row) == ROW_MEMBERS and row["seconds"] >= 0 and row["checks"] for row in report["guarantees"])
    assert all(set(check) == CHECK_MEMBERS and check["evidence"] for check in report["checks"])
    assert {row["status"] for row in report["guarantees"]} <= {"pass", "warn", "fail"}
    assert {check["part"] for check in report["checks"]} == {"servers", "contract", "crash"}
    assert "verdict: " in said.err.splitlines()[-1]
    assert await held_by(empty) == before
    assert await left_on_broker(servers.kafka_bootstrap_servers, topic_prefix) == ()


async def test_a_database_with_data_is_refused_and_untouched(
    servers: SharedServers, empty: str, topic_prefix: str
) -> None:
    await rows_of(empty, "create table orders (number int)", "insert into orders values (7)")
    before = await held_by(empty)
    said = await verified(env=where(servers, empty, topic_prefix))
    assert (said.code, said.out) == (6, "")
    assert "public.orders" in said.err
    assert "--beside-data" in said.err
    assert await held_by(empty) == before
    assert [row[0] for row in await rows_of(empty, "select number from orders")] == [7]
    assert await left_on_broker(servers.kafka_bootstrap_servers, topic_prefix) == ()


async def test_beside_data_nothing_of_it_is_touched(servers: SharedServers, empty: str, topic_prefix: str) -> None:
    """As a table too, with a row a guarantee and the verdict last; settings alone prove no guarantee."""
    await rows_of(empty, "create table orders (number int)", "insert into orders values (7)")
    before = await held_by(empty)
    said = await verified("--beside-data", "--only", "servers", env=where(servers, empty, topic_prefix))
    assert said.lines[-1].startswith("verdict: "), said.err
    assert said.code == (1 if "verdict: fail" in said.lines[-1] else 0)
    [row] = [line for line in said.lines if line.startswith("1.1 ")]
    assert "not run" in row
    assert await held_by(empty) == before
    assert await left_on_broker(servers.kafka_bootstrap_servers, topic_prefix) == ()


async def test_a_prepare_that_checks_no_fence_fails_its_guarantees(empty: str) -> None:
    """The function is replaced in the scratch place; the row says what was seen, and the others hold."""
    source = (FUNCTIONS / "prepare_effects_v1.sql").read_text("utf-8")
    broken = source.replace(" and t.fence = a.fe ", " ").replace("create function", "create or replace function")
    assert broken.count("t.fence = a.fe") == source.count("t.fence = a.fe") - 1
    wanted = [check for check in contract_checks() if check.group in ("TurnStoreContract", "RetentionContract")]
    async with ScratchSchemas(empty, new_run()).place(1) as url:
        await rows_of(url, broken)
        outcomes: list[Outcome] = [outcome async for outcome in run_contracts(wanted, url)]
    report = Report("run", "place", tuple(outcomes), 1.0)
    rows = {row.guarantee.number: row for row in report.rows}
    assert (report.verdict, rows["2.1"].status, rows["1.3"].status) == ("fail", "fail", "pass")
    assert "test_a_late_duplicate_of_a_begin_does_not_re_arm_its_sender: assert " in rows["2.1"].evidence
    assert "Fenced" in rows["2.1"].evidence


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_an_interrupted_run_leaves_nothing(
    servers: SharedServers, empty: str, topic_prefix: str, number: signal.Signals
) -> None:
    before = await held_by(empty)
    process = await start(env=where(servers, empty, topic_prefix))
    await await_line(process, "[25/")
    process.send_signal(number)
    assert process.stderr is not None
    await process.stderr.read()
    assert await process.wait() == 130
    assert await held_by(empty) == before
    assert await left_on_broker(servers.kafka_bootstrap_servers, topic_prefix) == ()


async def test_what_a_killed_run_left_is_named_and_removed(
    servers: SharedServers, empty: str, topic_prefix: str
) -> None:
    before = await held_by(empty)
    process = await start(env=where(servers, empty, topic_prefix))
    await await_line(process, "[25/")
    assert await remove_leftovers(empty, servers.kafka_bootstrap_servers, topic_prefix) == ([], [])  # it lives
    process.kill()
    await process.wait()
    assert await left_on_broker(servers.kafka_bootstrap_servers, topic_prefix) != ()
    await noticed_dead(empty)
    [left] = (await survey(empty)).leftovers
    said = await verified("--clean", env=where(servers, empty, topic_prefix))
    assert (said.code, said.lines[0]) == (0, f"removed: {left}")
    assert await held_by(empty) == before
    assert await left_on_broker(servers.kafka_bootstrap_servers, topic_prefix) == ()


async def test_a_role_that_may_not_create_schemas_runs_in_its_own_and_empties_it(
    servers: SharedServers, empty: str, topic_prefix: str
) -> None:
    """Its schema is found marked where a run was killed, and emptied by --clean."""
    role = f"verify_{random_id().hex[:12]}"
    await rows_of(empty, f"create role {role} login", f"create schema {role} authorization {role}")
    try:
        parts = urlsplit(empty)
        url = urlunsplit(parts._replace(netloc=f"{role}@{parts.hostname}:{parts.port}"))
        before = await held_by(empty)
        found = await survey(url)
        assert (found.schema, found.can_have_schemas, refused(found, Wish())) == (role, False, None)
        checks = [check for check in contract_checks() if check.group == "RetentionContract"]
        async with EmptySchema(url, new_run()).place(1) as place:
            assert [outcome.status async for outcome in run_contracts(checks, place)] == ["pass"] * len(checks)
        assert await held_by(empty) == before

        async with EmptySchema(url, new_run()).place(1):
            marked = refused(await survey(url), Wish())
            assert isinstance(marked, Refusal)
            assert "--clean" in marked.reason
            await remove_leftovers(url, servers.kafka_bootstrap_servers, topic_prefix)
            assert await held_by(empty) == before
    finally:
        await rows_of(empty, f"drop owned by {role} cascade", f"drop role {role}")


async def test_behind_a_pooler_that_forgets_the_search_path_the_empty_schema_itself_is_used(empty: str) -> None:
    async with forgetful_pooler(empty) as url:
        found = await survey(url)
        assert (found.may_create_schemas, found.keeps_search_path) == (True, False)
        assert refused(found, Wish()) is None
        await rows_of(empty, "create table orders (number int)")
        why = refused(await survey(url), Wish(beside_data=True))
        assert isinstance(why, Refusal)
        assert "pooler" in why.reason


async def test_missing_services_are_a_matter_of_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Told before anything is asked of a server."""
    monkeypatch.setattr(sys, "executable", os.fspath(tmp_path / "python"))
    nowhere = Target("postgresql://nobody@127.0.0.1:1/none", "127.0.0.1:1", "")
    with pytest.raises(ConfigurationError, match=r"turn-runner, outbox-relay, receipt-reconciler: .*--only contract"):
        await verify(nowhere, Wish(), Teller())
