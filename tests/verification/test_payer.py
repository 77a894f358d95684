"""The application over the bank: what a turn's text asks for happens, and what is unknown is found out."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.turn_request import TurnInput, TurnRequest
from intention_kernel.durability.outcome import TurnCommitted
from intention_kernel.errors import ConfigurationError
from intention_kernel.testing.conversation import Conversation
from intention_kernel.testing.memory_harness import MemoryHarness
from intention_kernel.testing.program_world import result_of
from intention_kernel.testing.system import Installation, open_system
from intention_kernel.verification.bank.application import AGENT_ID, APPLICATION, payer
from intention_kernel.verification.bank.client import ANSWER_SECONDS, BankClient
from intention_kernel.verification.bank.faults import LONGEST_DELAY_SECONDS, Faults
from intention_kernel.verification.bank.running import RunningBank
from intention_kernel.verification.bank.steps import (
    Ask,
    Charge,
    Die,
    Emit,
    Notify,
    Pause,
    Plan,
    Reserve,
    Step,
    Unreadable,
    read_plan,
    turn_text,
)

from tests.support.servers import SharedServers

EVERY: tuple[Step, ...] = (
    Charge("k1", 5),
    Reserve("k1", 2),
    Notify("k1", "paid"),
    Ask("m1"),
    Pause(0.01),
    Emit(3),
)


def said(outcome: object) -> str:
    response = result_of(outcome)["response"]
    assert isinstance(response, dict)
    return str(response["message"])


def talking(client: BankClient) -> Conversation:
    return Conversation(MemoryHarness(), payer("a"), ports={"bank": client})


def test_a_plan_that_was_written_is_read_as_it_was() -> None:
    facts: dict[str, JsonValue] = {"paid": {"by": ["card", 1, None]}}
    assert read_plan(turn_text((*EVERY, Die()), facts)) == Plan((*EVERY, Die()), facts)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("hello", "JSON"),
        ("[]", "object"),
        ("{}", "steps"),
        ('{"steps": [{"do": "rob"}]}', "rob"),
        ('{"steps": [{"do": "charge", "key": "k", "amount": "5"}]}', "amount"),
        ('{"steps": [{"do": "charge", "key": "k", "amount": 5, "tip": 1}]}', "tip"),
        ('{"steps": [], "more": 1}', "more"),
    ],
)
async def test_a_text_that_is_no_plan_is_refused_by_name(client: BankClient, text: str, named: str) -> None:
    unreadable = read_plan(text)
    assert isinstance(unreadable, Unreadable)
    assert named in unreadable.detail
    outcome = await talking(client).send(text, "turn-1")
    assert said(outcome) == f"This is no plan: {unreadable.detail}"
    assert await client.calls() == ()


async def test_a_turn_takes_every_step_and_says_what_became_of_it(client: BankClient) -> None:
    talk = talking(client)
    outcome = await talk.send(turn_text(EVERY, {"paid": True}), "turn-1")
    charge, reserve, notify, ask, pause, emit = said(outcome).split("; ")
    assert (charge, reserve) == ("charge k1: CHARGE-000001", "reserve k1: RESERVE-000002")
    assert (notify, pause, emit) == ("notify k1: NOTIFY-000003", "pause 0.01", "emit 3")
    assert ask.startswith("ask m1: ")
    assert Counter(str(event["type"]) for event in await talk.events())["payer.emitted"] == 3
    assert result_of(outcome)["facts"] == ["paid"]
    applied = [(row.thread_id, row.key, row.reference) for row in await client.applied()]
    assert applied == [
        (talk.thread_id, "bank.charge:k1", "CHARGE-000001"),
        (talk.thread_id, "bank.reserve:k1", "RESERVE-000002"),
        (talk.thread_id, "bank.notify:k1", "NOTIFY-000003"),
    ]


async def test_a_refusal_is_told_and_not_tried_again_and_another_amount_is_a_conflict(client: BankClient) -> None:
    talk = talking(client)
    await client.set_faults(Faults(refuse=1.0))
    refused = await talk.send(turn_text([Charge("k1", 5)]), "turn-1")
    assert said(refused) == "charge k1: refused, refused before anything was done, as the faults ask for"
    assert len(await client.calls()) == 1
    await client.set_faults(Faults())
    again = await talk.send(turn_text([Charge("k1", 5), Charge("k1", 6)]), "turn-2")
    assert said(again) == "charge k1: CHARGE-000001; charge k1: conflict"
    assert [(call.attempt, call.arrival) for call in await client.calls()] == [(1, 1), (2, 2)]


async def test_an_unknown_outcome_blocks_and_the_settlement_goes_on(client: BankClient) -> None:
    talk = talking(client)
    await client.set_faults(Faults(drop_reply=1.0, operations=("charge",)))
    blocked = await talk.send(turn_text([Ask("m1"), Charge("k1"), Reserve("k2")]), "turn-1")
    assert result_of(blocked)["status"] == "blocked"
    (receipt,) = await talk.boundary.receipts(talk.thread_id)
    assert (receipt.effect_key, receipt.state) == ("bank.charge:k1", "uncertain")
    (row,) = await client.ledger()
    value = f'{{"reference":"{row.reference}"}}'.encode()
    assert await talk.boundary.settle(receipt.receipt_id, receipt.version, "completed", value)
    (continued,) = await talk.deliver_continuations()
    assert isinstance(continued, TurnCommitted)
    assert said(continued).endswith("; charge k1: CHARGE-000001; reserve k2: RESERVE-000002")
    assert len(await client.ledger()) == 2


def test_the_next_build_goes_on_with_what_the_first_left_and_not_the_other_way_round() -> None:
    a, b, c = payer("a"), payer("b"), payer("c")
    assert a.fingerprint not in (b.fingerprint, c.fingerprint)
    assert [one.accepts_fingerprints for one in (a, b, c)] == [(), (a.fingerprint,), ()]
    with pytest.raises(ConfigurationError, match="BANK_BUILD"):
        payer("d")


def test_an_operation_gives_up_before_the_longest_delay_and_inside_of_its_call() -> None:
    (charge, *_) = payer("a").effects
    assert ANSWER_SECONDS < LONGEST_DELAY_SECONDS < charge.call_timeout_seconds


def test_the_application_loads_no_server_and_no_driver() -> None:
    told = subprocess.run(
        [sys.executable, "-c", f"import {APPLICATION.partition(':')[0]}, sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    ).stdout.split()
    unwanted = {"sqlite3", "asyncpg", "aiokafka", "starlette", "uvicorn", "sqlalchemy", "httpx"}
    assert unwanted.isdisjoint(told)
    assert "intention_kernel.verification.bank.store" not in told


def asked(thread_id: str, turn_id: str, *steps: Step) -> TurnRequest:
    return TurnRequest(
        schema_version=1,
        thread_id=thread_id,
        turn_id=turn_id,
        agent_id=AGENT_ID,
        input=TurnInput(text=turn_text(steps)),
    )


@pytest.mark.parametrize(
    "faults",
    [
        Faults(drop_reply=1.0, first_arrivals=1),
        Faults(delay=1.0, delay_seconds=LONGEST_DELAY_SECONDS, first_arrivals=1),
        Faults(fail_before=1.0, first_arrivals=1),
    ],
    ids=["lost", "late", "failed"],
)
async def test_each_effect_in_doubt_is_settled_by_its_resolver_and_happens_once(
    servers: SharedServers,
    fresh_database: str,
    topic_prefix: str,
    bank: RunningBank,
    client: BankClient,
    faults: Faults,
) -> None:
    """Three real processes: every reply of a first arrival is lost, or comes too late, or tells a failure."""
    await client.set_faults(faults)
    requests = [
        asked("charging", "1", Charge("k")),
        asked("reserving", "1", Reserve("k")),
        asked("telling", "1", Notify("k")),
    ]
    place = Installation(
        fresh_database, servers.kafka_bootstrap_servers, topic_prefix, APPLICATION, dict(bank.environment)
    )
    async with open_system(place) as system:
        started = [await system.start_runner(), await system.start_relay(), await system.start_reconciler()]
        for process in started:
            await process.await_ready()
        for request in requests:
            await system.send(request)
        await system.await_quiet(requests, seconds=45)
        rows = await system.fetch("select thread_id, state, settlements from receipts order by thread_id")
    assert [tuple(row.values()) for row in rows] == [
        ("charging", "completed", 1),
        ("reserving", "completed", 1),
        ("telling", "completed", 1),
    ]
    ledger = sorted((row.thread_id, row.key) for row in await client.ledger())
    assert ledger == [
        ("charging", "bank.charge:k"),
        ("reserving", "bank.reserve:k"),
        ("telling", "bank.notify:k"),
    ]
    looked = {
        (call.op, call.thread_id)
        for call in await client.calls()
        if call.arrival and call.op in ("find charge", "close")
    }
    assert looked == {("find charge", "charging"), ("close", "reserving")}
