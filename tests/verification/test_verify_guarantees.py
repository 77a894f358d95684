"""What `intention verify` counts as evidence, and how it judges: no server needed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from intention_kernel.errors import InfrastructureError
from intention_kernel.failpoints import FAILPOINTS
from intention_kernel.testing.crash_points import PROVIDER_POINT, RESOLUTION_POINT
from intention_kernel.verification.broker_checks import BrokerFacts, TopicFacts, broker_checks, judge_broker
from intention_kernel.verification.checks import Check, Outcome
from intention_kernel.verification.contracts import SUITES, contract_checks
from intention_kernel.verification.crashes import crashes
from intention_kernel.verification.database_checks import DatabaseFacts, database_checks, judge_database
from intention_kernel.verification.guarantees import GUARANTEES
from intention_kernel.verification.judging import judge
from intention_kernel.verification.report import Report
from intention_kernel.verification.run import Refusal, Wish, refused
from intention_kernel.verification.scratch import Survey, with_search_path

from tests.support.verifying import wrong_answer

ROOT = Path(__file__).parents[2]
CHECK = Check("Suite.test_it", "contract", "Suite", "it", frozenset({"R3"}))
DATABASE = DatabaseFacts(180_000, "18.0", "read committed", "on", "", True, True, False, False, "UTF8", 0.0, 0.01, True)
SURVEY = Survey("shop", "app", "public", (), (), (), "", True, True)


def every_check() -> list[Check]:
    return [*database_checks(), *broker_checks(), *contract_checks(), *(crash.check for crash in crashes())]


def test_every_check_is_evidence_of_a_guarantee_and_every_guarantee_has_a_test() -> None:
    checks = every_check()
    assert len({check.name for check in checks}) == len(checks)
    assert [check.name for check in checks if not any(one.rests_on(check) for one in GUARANTEES)] == []
    tests = [check for check in checks if check.part != "servers"]
    assert [one.number for one in GUARANTEES if not any(one.rests_on(check) for check in tests)] == []
    named = [pattern for one in GUARANTEES for pattern in one.named]
    alone = [replace(GUARANTEES[0], rules=frozenset(), named=(pattern,)) for pattern in named]
    assert [one.named for one in alone if not any(one.rests_on(check) for check in checks)] == []


def test_guarantees_name_promises_rules_and_invariants_that_exist() -> None:
    known = set(re.findall(r"^\| (I-\d+) \|", (ROOT / "docs" / "invariants.md").read_text("utf-8"), re.MULTILINE))
    assert {name for one in GUARANTEES for name in one.invariants} - known == set()
    assert {one.promise for one in GUARANTEES} == {1, 2, 3, 4, 5}
    tried = {rule for check in contract_checks() for rule in check.rules}
    assert tried - {rule for one in GUARANTEES for rule in one.rules} == set()


def test_every_suite_and_every_failpoint_is_tried() -> None:
    assert {check.group for check in contract_checks()} == set(SUITES)
    assert len(contract_checks()) > 150
    names = " ".join(crash.check.name for crash in crashes())
    elsewhere = {PROVIDER_POINT, RESOLUTION_POINT}
    assert [point for point in FAILPOINTS if point not in names and point not in elsewhere] == []
    assert any(crash.failpoints == f"{PROVIDER_POINT}=stop" for crash in crashes())
    assert sum(crash.is_quick for crash in crashes()) == 4


async def test_a_failed_assertion_is_told_with_its_source_and_values() -> None:
    failed = await judge(CHECK, wrong_answer(), 5.0)
    assert failed.status == "fail"
    assert failed.evidence == "assert answer == 1 # as plain Python has it (where answer = 2)"

    async def passing() -> None:
        return

    assert (await judge(CHECK, passing(), 5.0)).status == "pass"


async def test_what_could_not_be_tried_is_no_broken_guarantee() -> None:
    async def trying() -> None:
        raise InfrastructureError("turn-runner did not end within 30 s")

    failed = await judge(CHECK, trying(), 5.0)
    assert failed.status == "fail"
    assert failed.evidence.startswith("no answer in time: ")


def test_a_failure_fails_its_guarantees_and_the_verdict_and_a_warning_does_not() -> None:
    failed = Report("run", "place", (Outcome(CHECK, "fail", 1.0, "prepared without a fence"),), 1.0)
    assert failed.verdict == "fail"
    rows = {row.guarantee.number: row for row in failed.rows}
    assert (rows["2.1"].status, rows["1.1"].status) == ("fail", "not run")
    assert rows["2.1"].evidence == "Suite.test_it: prepared without a fence"
    assert failed.summary().startswith("verdict: fail; 1 checks in 1 s: 0 passed, 1 failed; nothing is left behind")
    assert Report("run", "place", (Outcome(CHECK, "warn", 1.0, ""),), 1.0).verdict == "pass"
    assert Report("run", "place", (), 1.0, left=("a topic",)).verdict == "fail"


@pytest.mark.parametrize(
    ("facts", "failing", "status"),
    [
        (DATABASE, None, "pass"),
        (replace(DATABASE, synchronous_commit="off"), "database.synchronous_commit", "fail"),
        (replace(DATABASE, fsync=False), "database.fsync", "fail"),
        (replace(DATABASE, full_page_writes=False), "database.fsync", "fail"),
        (replace(DATABASE, isolation="repeatable read"), "database.isolation", "fail"),
        (replace(DATABASE, is_replica=True), "database.writable", "fail"),
        (replace(DATABASE, encoding="SQL_ASCII"), "database.encoding", "fail"),
        (replace(DATABASE, keeps_settings=False), "database.settings", "warn"),
        (replace(DATABASE, skew_seconds=-5.0), "database.clock", "warn"),
        (replace(DATABASE, version=130_000), "database.version", "warn"),
    ],
)
def test_each_setting_of_a_database_is_judged(facts: DatabaseFacts, failing: str | None, status: str) -> None:
    outcomes = judge_database(facts)
    assert len(outcomes) == len(database_checks())
    assert {one.check.name: one.status for one in outcomes if one.status != "pass"} == (
        {failing: status} if failing else {}
    )


@pytest.mark.parametrize(
    ("replicas", "configs", "failing"),
    [
        (3, {}, {}),
        (1, {}, {"broker.replicas": "warn"}),
        (3, {"min.insync.replicas": "1"}, {"broker.replicas": "warn"}),
        (3, {"unclean.leader.election.enable": "true"}, {"broker.elections": "fail"}),
        (3, {"cleanup.policy": "compact"}, {"broker.cleanup": "fail"}),
        (3, {"retention.ms": "3600000"}, {"broker.retention": "warn"}),
        (3, {"max.message.bytes": "1000"}, {"broker.largest": "fail"}),
    ],
)
def test_each_setting_of_a_topic_is_judged(replicas: int, configs: dict[str, str], failing: dict[str, str]) -> None:
    right = {
        "min.insync.replicas": "2",
        "unclean.leader.election.enable": "false",
        "cleanup.policy": "delete",
        "retention.ms": "-1",
        "max.message.bytes": "1048588",
    }
    facts = BrokerFacts(3, (TopicFacts("turns.requests", replicas, {**right, **configs}),), 6.0)
    outcomes = judge_broker(facts, frozenset({"turns.requests"}))
    assert {one.check.name: one.status for one in outcomes if one.status != "pass"} == failing


def test_what_is_no_place_for_a_run_is_refused_with_what_to_do() -> None:
    assert refused(SURVEY, Wish()) is None
    full = replace(SURVEY, tables=("public.orders",))
    why = refused(full, Wish())
    assert isinstance(why, Refusal)
    assert "public.orders" in why.reason
    assert "--beside-data" in why.reason
    assert refused(full, Wish(beside_data=True)) is None
    poor = replace(full, may_create_schemas=False)
    assert "may not create schemas" in str(refused(poor, Wish(beside_data=True)))
    assert refused(replace(SURVEY, may_create_schemas=False), Wish()) is None
    assert "--clean" in str(refused(replace(full, mark="intention_verify_1a2b3c4d"), Wish(beside_data=True)))
    assert "no schema" in str(refused(replace(SURVEY, schema=""), Wish()))


def test_a_search_path_is_added_to_what_the_url_says() -> None:
    url = "postgresql://app:p%40ss@db.example:5432/shop?sslmode=require&search_path=public"
    assert (
        with_search_path(url, "one") == "postgresql://app:p%40ss@db.example:5432/shop?sslmode=require&search_path=one"
    )


def test_without_assertions_nothing_is_tried() -> None:
    environment = {
        **os.environ,
        "PYTHONOPTIMIZE": "1",
        "INTENTION_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
        "INTENTION_KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1",
    }
    code = "import sys; from intention_kernel.cli.main import run; sys.exit(run(['verify']))"
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "assertions" in ran.stderr
