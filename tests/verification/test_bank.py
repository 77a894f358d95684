"""The bank: a real process that does what it is asked, goes wrong as it is told, and keeps a true ledger of both."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections import Counter
from pathlib import Path

import pytest
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import ConfigurationError, InfrastructureError
from intention_kernel.history.values import Applied
from intention_kernel.testing.processes import Process
from intention_kernel.verification.bank.application import bank as open_bank
from intention_kernel.verification.bank.client import BankClient
from intention_kernel.verification.bank.effects import QUIET_SECONDS
from intention_kernel.verification.bank.faults import LONGEST_DELAY_SECONDS, Fault, Faults
from intention_kernel.verification.bank.messages import Done, Known, Operation, Refused, Unknown
from intention_kernel.verification.bank.running import RunningBank, running_bank

THREAD = "thread-1"
KEY = "bank.charge:k1"
PAYLOAD: JsonValue = {"key": "k1", "amount": 5}
PATIENCE_SECONDS = 10.0


async def write(client: BankClient, op: Operation = "charge", key: str = KEY, attempt: int = 1) -> Done | Refused:
    return await client.write(op, THREAD, key, attempt, PAYLOAD)


async def ledger_once_it_has(client: BankClient, count: int) -> list[tuple[str, str]]:
    """Operation and key of every effect, as soon as there are `count`."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while len(rows := await client.ledger()) < count:
            pass
    return [(row.op, row.key) for row in rows]


async def test_a_charge_that_arrives_twice_shows_twice(client: BankClient) -> None:
    first, second = await write(client), await write(client)
    assert first == Done("CHARGE-000001")
    assert second == Done("CHARGE-000002")
    assert await client.applied() == (Applied(THREAD, KEY, "CHARGE-000001"), Applied(THREAD, KEY, "CHARGE-000002"))
    assert await client.find("charge", THREAD, KEY) == Known("CHARGE-000001", PAYLOAD, 1)


async def test_what_is_not_there_is_unknown_for_every_other_thread_key_and_operation(client: BankClient) -> None:
    await write(client)
    assert await client.find("charge", "thread-2", KEY) == Unknown()
    assert await client.find("charge", THREAD, "bank.charge:k2") == Unknown()
    assert await client.find("reserve", THREAD, KEY) == Unknown()


async def test_a_reservation_that_arrives_twice_shows_twice_and_is_known(client: BankClient) -> None:
    first, second = await write(client, "reserve"), await write(client, "reserve", attempt=2)
    assert (first, second) == (Done("RESERVE-000001"), Done("RESERVE-000002"))
    assert await client.close(THREAD, KEY, 2) == Known("RESERVE-000001", PAYLOAD, 1)
    assert await write(client, "reserve", attempt=2) == Done("RESERVE-000003"), "what is found is not closed"


async def test_a_closed_key_refuses_its_attempts_for_ever_and_the_next_one_is_free(client: BankClient) -> None:
    assert await client.close(THREAD, KEY, 2) == Unknown()
    assert await client.close(THREAD, KEY, 1) == Unknown(), "an older one opens nothing"
    for attempt in (1, 2):
        assert await write(client, "reserve", attempt=attempt) == Refused("the key is closed up to attempt 2")
    assert await client.ledger() == ()
    assert await write(client, "reserve", attempt=3) == Done("RESERVE-000001")


async def test_a_notice_is_one_effect_however_often_it_arrives(client: BankClient) -> None:
    assert await write(client, "notify") == Done("NOTIFY-000001")
    assert await write(client, "notify", attempt=2) == Done("NOTIFY-000001", repeated=True)
    other = await client.write("notify", THREAD, KEY, 1, {"key": "k1", "amount": 6})
    assert other == Refused("the key has another payload")
    assert len(await client.ledger()) == 1


async def test_every_request_that_arrives_is_told(client: BankClient) -> None:
    await client.set_faults(Faults(refuse=1.0, operations=("notify",)))
    await write(client)
    await write(client, attempt=2)
    await write(client, "notify")
    await client.find("charge", THREAD, KEY)
    await client.close(THREAD, KEY, 3)
    told = [(call.op, call.attempt, call.arrival, call.faults) for call in await client.calls()]
    assert told == [
        ("charge", 1, 1, ()),
        ("charge", 2, 2, ()),
        ("notify", 1, 1, ("refuse",)),
        ("find charge", 0, 1, ()),
        ("close", 3, 1, ()),
    ]


@pytest.mark.parametrize(
    ("faults", "applied"), [(Faults(fail_before=1.0), 0), (Faults(fail_after=1.0), 1), (Faults(drop_reply=1.0), 1)]
)
async def test_an_error_and_a_lost_reply_prove_nothing(client: BankClient, faults: Faults, applied: int) -> None:
    await client.set_faults(faults)
    with pytest.raises(InfrastructureError):
        await write(client)
    assert len(await client.ledger()) == applied


async def test_both_errors_are_the_very_same_to_the_caller(client: BankClient) -> None:
    told = []
    for faults in (Faults(fail_before=1.0), Faults(fail_after=1.0)):
        await client.set_faults(faults)
        with pytest.raises(InfrastructureError) as raised:
            await write(client)
        told.append(str(raised.value))
    assert told[0] == told[1]


async def test_a_refusal_is_certain(client: BankClient) -> None:
    await client.set_faults(Faults(refuse=1.0))
    assert isinstance(await write(client), Refused)
    await client.set_faults(Faults())
    assert await client.ledger() == ()
    assert await write(client) == Done("CHARGE-000001")


async def test_a_notice_that_may_have_happened_is_not_refused_when_it_comes_again(client: BankClient) -> None:
    await client.set_faults(Faults(drop_reply=1.0))
    with pytest.raises(InfrastructureError):
        await write(client, "notify")
    await client.set_faults(Faults(refuse=1.0))
    assert await write(client, "notify") == Done("NOTIFY-000001", repeated=True)


async def test_a_delayed_charge_happens_after_its_caller_has_gone(bank: RunningBank, client: BankClient) -> None:
    await client.set_faults(Faults(delay=1.0, delay_seconds=0.5))
    async with BankClient(bank.address, answer_seconds=0.1) as hasty:
        with pytest.raises(InfrastructureError, match="did not answer"):
            await write(hasty)
    assert await client.ledger() == (), "not yet"
    assert await ledger_once_it_has(client, 1) == [("charge", KEY)]


async def test_a_delayed_reservation_is_refused_where_its_key_was_closed_meanwhile(
    bank: RunningBank, client: BankClient
) -> None:
    await client.set_faults(Faults(delay=1.0, delay_seconds=0.5))
    delayed = asyncio.create_task(write(client, "reserve"))
    async with asyncio.timeout(PATIENCE_SECONDS), bank.client() as other:
        while not await other.calls():
            pass
        assert await other.close(THREAD, KEY, 1) == Unknown()
        assert await delayed == Refused("the key is closed up to attempt 1")
        assert await other.ledger() == ()


async def test_a_delay_is_at_most_half_of_what_a_charge_declares(client: BankClient) -> None:
    assert LONGEST_DELAY_SECONDS * 2 <= QUIET_SECONDS
    with pytest.raises(InfrastructureError, match="delay_seconds"):
        await client.set_faults(Faults(delay=1.0, delay_seconds=LONGEST_DELAY_SECONDS + 0.1))


async def test_first_arrivals_spares_the_later_ones(client: BankClient) -> None:
    await client.set_faults(Faults(refuse=1.0, first_arrivals=2))
    answers = [await write(client) for _ in range(3)]
    assert [type(answer) for answer in answers] == [Refused, Refused, Done]


def struck_by(faults: Faults) -> list[tuple[Fault, ...]]:
    return [faults.strike("charge", THREAD, f"k{n}", arrival) for n in range(500) for arrival in (1, 2)]


def test_one_seed_strikes_alike_and_another_otherwise_and_about_as_often_as_asked() -> None:
    every = {"refuse": 0.1, "fail_before": 0.1, "delay": 0.2, "fail_after": 0.1, "drop_reply": 0.2}
    one, again, other = (struck_by(Faults(seed=seed, **every)) for seed in (1, 1, 2))  # type: ignore[arg-type]
    assert one == again
    assert one != other
    counted = Counter(fault for struck in one for fault in struck)
    expected: dict[Fault, int] = {"refuse": 100, "failBefore": 90, "delay": 162, "failAfter": 81, "dropReply": 146}
    assert all(abs(counted[fault] - often) < 45 for fault, often in expected.items()), counted


async def test_200_calls_at_once_are_200_effects(client: BankClient) -> None:
    done = await asyncio.gather(*(write(client, key=f"k{n}") for n in range(200)))
    assert all(isinstance(one, Done) for one in done)
    rows = await client.ledger()
    assert {row.key for row in rows} == {f"k{n}" for n in range(200)}
    assert [row.sequence for row in rows] == list(range(1, 201))
    assert len(await client.calls()) == 200


async def test_more_than_a_page_is_told_whole(client: BankClient) -> None:
    for _ in range(11):
        await asyncio.gather(*(write(client, key=f"k{n}") for n in range(100)))
    assert [row.sequence for row in await client.ledger()] == list(range(1, 1101))
    assert len(await client.calls()) == 1100


async def test_a_killed_bank_keeps_what_it_did_what_is_closed_and_its_faults(bank: RunningBank) -> None:
    async with bank.client() as before:
        await write(before)
        await before.close(THREAD, "bank.reserve:r1", 1)
        await before.set_faults(Faults(seed=3, refuse=1.0, operations=("notify",)))
        address = bank.address
        await bank.kill()
        await bank.start()
        assert bank.address == address
        assert isinstance(await write(before, "notify"), Refused), "and a client of before goes on"
    async with bank.client() as after:
        assert [row.reference for row in await after.ledger()] == ["CHARGE-000001"]
        assert isinstance(await write(after, "reserve", "bank.reserve:r1"), Refused)
        assert await write(after) == Done("CHARGE-000002")


async def test_a_bank_that_is_killed_after_its_commit_has_done_it_and_not_replied(tmp_path: Path) -> None:
    async with running_bank(tmp_path / "bank.sqlite", failpoints="provider.after_commit=kill@2") as bank:
        async with bank.client() as client:
            await write(client)
            with pytest.raises(InfrastructureError):
                await write(client)
            assert await bank.process.await_end() == -signal.SIGKILL
        await bank.start()
        async with bank.client() as client:
            assert await ledger_once_it_has(client, 2) == [("charge", KEY), ("charge", KEY)]


async def test_a_bank_that_is_terminated_finishes_what_it_was_asked_for(bank: RunningBank, client: BankClient) -> None:
    await client.set_faults(Faults(delay=1.0, delay_seconds=0.5))
    delayed = asyncio.create_task(write(client))
    async with asyncio.timeout(PATIENCE_SECONDS), bank.client() as other:
        while not await other.calls():
            pass
    bank.process.terminate()
    assert await delayed == Done("CHARGE-000001")
    assert await bank.process.await_end() == 0


async def test_who_is_away_proves_nothing(bank: RunningBank, client: BankClient) -> None:
    await bank.kill()
    with pytest.raises(InfrastructureError, match="could not be asked"):
        await write(client)


@pytest.mark.parametrize(
    "line",
    [
        b"no json\n",
        b"[]\n",
        b'{"do": "rob"}\n',
        b'{"do": "write", "op": "steal", "thread_id": "t", "key": "k", "attempt": 1, "payload": 1}\n',
        b'{"do": "write", "op": "charge", "thread_id": "t", "key": "k", "attempt": 0, "payload": 1}\n',
        b'{"do": "find", "op": "charge", "thread_id": "t", "key": "k", "more": 1}\n',
        b'{"do": "faults", "faults": {"refuse": 2}}\n',
    ],
)
async def test_what_is_no_request_is_told_so_and_does_nothing(
    bank: RunningBank, client: BankClient, line: bytes
) -> None:
    host, _, port = bank.address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(line)
    async with asyncio.timeout(PATIENCE_SECONDS):
        answer = json.loads(await reader.readline())
    writer.close()
    assert answer["kind"] == "wrong"
    assert answer["detail"]
    assert await client.calls() == ()


@pytest.mark.parametrize(
    ("arguments", "environment", "named"),
    [
        (["--database", "/nowhere/at/all.sqlite"], {}, "/nowhere/at/all.sqlite"),
        (["--database", "bank.sqlite", "--port", "99999"], {}, "99999"),
        (["--database", "bank.sqlite"], {"INTENTION_FAILPOINTS": "provider.unknown=kill"}, "provider.unknown"),
    ],
)
async def test_a_bank_that_cannot_work_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], environment: dict[str, str], named: str
) -> None:
    monkeypatch.chdir(tmp_path)
    command = [sys.executable, "-m", "intention_kernel.verification.bank", *arguments]
    async with await Process.start("bank", command, environment) as process:
        assert await process.await_end() == 2
        assert named in process.output()
        assert "Traceback" not in process.output()


async def test_the_application_says_which_variable_names_the_bank(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BANK_ADDRESS", raising=False)
    with pytest.raises(ConfigurationError, match="BANK_ADDRESS"):
        async with open_bank():
            pass
