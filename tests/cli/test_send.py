"""`intention send`: the record, and each outcome of interface 3, played by the test on real topics."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from intention_kernel.client import Client, Committed, Failed
from intention_kernel.client.reader import Place, TopicReader, open_reader
from intention_kernel.contracts.json_codec import JsonValue, dumps, loads
from intention_kernel.contracts.turn_request import TurnInput, TurnRequest, encode_turn_request
from intention_kernel.kafka.partitioner import partition_for
from intention_kernel.postgres.packing import pack

from tests.cli.invoking import Said, environment, intention_beside
from tests.cli.topics import PARTITIONS, Stage, completed, stage
from tests.support.servers import SharedServers

THREAD, TURN = "thread-ä1", "turn-1"
FAILED: dict[str, JsonValue] = {"reason": "attempts_used_up", "detail": "boom", "attempts": 5, "receipts": []}

Answer = Callable[[Stage, Any], Awaitable[None]]


@pytest.fixture
async def played(servers: SharedServers, topic_prefix: str) -> AsyncIterator[Stage]:
    async with stage(servers.kafka_bootstrap_servers, topic_prefix) as one:
        yield one


def _env(played: Stage, database_url: str = "", application: str = "") -> dict[str, str]:
    return environment(database_url, played.bootstrap, played.prefix, application)


async def _waited(played: Stage, answer: Answer, seconds: str = "30", database_url: str = "") -> Said:
    """Send and wait; when the request is on its topic, `answer` plays the system."""
    arguments = ("send", THREAD, "hello", "--turn-id", TURN, "--agent", "agent", "--wait", seconds)
    sending = asyncio.create_task(intention_beside(*arguments, env=_env(played, database_url)))
    await answer(played, await played.next_request(THREAD))
    return await sending


def _request(text: str = "hello") -> TurnRequest:
    return TurnRequest(schema_version=1, thread_id=THREAD, turn_id=TURN, agent_id="agent", input=TurnInput(text=text))


async def test_send_prints_the_turn_id_and_the_record_is_exact_and_on_the_murmur2_partition(played: Stage) -> None:
    arguments = (
        "--agent",
        "a",
        "--tenant",
        "x",
        "--deadline",
        "7",
        "--host-context",
        '{"token": 18446744073709551617}',
    )
    said = await intention_beside("send", THREAD, "hello \udcff", *arguments, env=_env(played))
    assert (said.code, said.err) == (0, "")
    (turn_id,) = said.lines
    record = await played.next_request(THREAD)
    request = TurnRequest(
        schema_version=1,
        thread_id=THREAD,
        turn_id=turn_id,
        agent_id="a",
        tenant_id="x",
        input=TurnInput(text="hello \udcff"),
        host_context={"token": 2**64 + 1},
        deadline_seconds=7,
    )
    assert (record.key, record.value) == (THREAD.encode(), encode_turn_request(request))
    assert record.partition == partition_for(THREAD.encode(), PARTITIONS)


async def test_without_agent_and_application_it_is_a_usage_error(played: Stage) -> None:
    said = await intention_beside("send", THREAD, "hello", env=_env(played))
    assert said.code == 2
    assert "--agent" in said.err


async def test_the_agent_defaults_to_the_only_one_of_the_application(played: Stage) -> None:
    application = "tests.cli.sample:application"
    said = await intention_beside("send", THREAD, "hello", env=_env(played, application=application))
    assert said.code == 0
    assert loads((await played.next_request(THREAD)).value)["agentId"] == "only"  # type: ignore[index,call-overload]


async def test_of_several_agents_the_first_is_meant_and_it_says_so(played: Stage) -> None:
    application = "tests.cli.sample:several"
    said = await intention_beside("send", THREAD, "hello", env=_env(played, application=application))
    assert (said.code, said.err) == (0, "agent only; --agent may name another: other\n")
    assert loads((await played.next_request(THREAD)).value)["agentId"] == "only"  # type: ignore[index,call-overload]


async def test_the_host_context_may_come_from_a_file_and_must_be_an_object(played: Stage, tmp_path: Path) -> None:
    file = tmp_path / "context.json"
    file.write_text('{"a": 1}')
    said = await intention_beside("send", THREAD, "x", "--agent", "a", "--host-context", f"@{file}", env=_env(played))
    assert said.code == 0
    assert loads((await played.next_request(THREAD)).value)["hostContext"] == {"a": 1}  # type: ignore[index,call-overload]
    wrong = await intention_beside("send", THREAD, "x", "--agent", "a", "--host-context", "[1]", env=_env(played))
    assert wrong.code == 2


async def test_a_reserved_turn_id_is_refused_and_nothing_is_sent(played: Stage) -> None:
    arguments = ("send", THREAD, "x", "--agent", "a", "--turn-id", "reconciliation:1")
    said = await intention_beside(*arguments, env=_env(played))
    assert (said.code, said.out) == (2, "")


async def test_topics_that_were_not_made_are_named_with_the_command_to_run(
    servers: SharedServers, topic_prefix: str
) -> None:
    env = environment(bootstrap=servers.kafka_bootstrap_servers, prefix=topic_prefix)
    said = await intention_beside("send", THREAD, "x", "--agent", "a", env=env)
    assert said.code == 2
    assert "intention migrate" in said.err


@pytest.mark.parametrize(("status", "code"), [("completed", 0), ("blocked", 9), ("failed", 1)])
async def test_a_committed_turn_is_printed_without_loss(played: Stage, status: str, code: int) -> None:
    async def answer(played: Stage, _: Any) -> None:
        # Neither another turn's end nor a live trace of this one, which may never commit, is the outcome.
        await played.event(THREAD, "another", 1, "turn.completed", completed("blocked"))
        await played.trace(THREAD, TURN, "turn.completed", {"revision": 99})
        await played.event(THREAD, TURN, 2, "turn.completed", completed(status))

    said = await _waited(played, answer)
    assert (said.code, said.lines[0]) == (code, TURN)
    assert said.lines[1].encode() == dumps(completed(status))


async def test_a_replayed_turn_is_told_by_the_traces(played: Stage) -> None:
    async def answer(played: Stage, _: Any) -> None:
        await played.trace(THREAD, TURN, "turn.replayed", completed(replayed=True))

    said = await _waited(played, answer)
    assert (said.code, loads(said.lines[1])) == (0, completed(replayed=True))


@pytest.mark.parametrize(("reason", "code"), [("conflict", 5), ("unknown_agent", 1)])
async def test_a_refusal_counts_only_for_the_record_that_was_sent(played: Stage, reason: str, code: int) -> None:
    async def answer(played: Stage, request: Any) -> None:
        await played.rejection(request, "of_another_record", "same turn id", offset=request.offset + 1)
        await played.rejection(request, reason, "why not")

    said = await _waited(played, answer)
    assert said.code == code
    assert loads(said.lines[1])["reason"] == reason  # type: ignore[index,call-overload]
    assert "why not" in said.err


async def test_a_failed_turn_is_told_with_its_reason(played: Stage) -> None:
    async def answer(played: Stage, _: Any) -> None:
        await played.event(THREAD, TURN, 1, "turn.failed", FAILED)

    said = await _waited(played, answer)
    assert (said.code, loads(said.lines[1])) == (1, FAILED)
    assert "attempts_used_up" in said.err


async def test_the_wait_begins_before_the_request_is_sent(played: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else an answer could come between the two and never be seen."""
    ends = TopicReader.ends
    requests = [Place(played.topics.requests, partition) for partition in range(PARTITIONS)]
    sent_before: list[int] = []

    async def watched(reader: TopicReader) -> dict[Place, int]:
        async with open_reader(played.bootstrap, requests) as other:
            sent_before.append(sum((await ends(other)).values()))
        return await ends(reader)

    monkeypatch.setattr(TopicReader, "ends", watched)
    async with Client(played.bootstrap, played.prefix) as client, client.sending(_request()) as waiting:
        await played.event(THREAD, TURN, 1, "turn.completed", completed())
        assert await waiting.outcome(30) == Committed(completed())
    assert sent_before == [0]


async def test_an_outcome_can_be_looked_up_later(played: Stage) -> None:
    await played.event(THREAD, TURN, 1, "turn.failed", FAILED)
    async with Client(played.bootstrap, played.prefix) as client:
        assert await client.outcome(THREAD, TURN, 30) == Failed(FAILED)
        assert await client.outcome(THREAD, "another", 0.2) is None


async def _nothing(_: Stage, __: Any) -> None:
    return


async def test_a_wait_that_ends_is_told_apart(played: Stage) -> None:
    said = await _waited(played, _nothing, seconds="0.5")
    assert (said.code, said.lines) == (8, [TURN])


async def test_when_the_wait_ends_the_database_is_asked(played: Stage, fresh_database: str) -> None:
    await _insert_turn(fresh_database, _request())
    said = await _waited(played, _nothing, seconds="0.5", database_url=fresh_database)
    assert (said.code, loads(said.lines[1])) == (0, completed())


async def test_a_result_of_other_content_is_not_taken_for_ours(played: Stage, fresh_database: str) -> None:
    await _insert_turn(fresh_database, _request("something else"))

    async def answer(played: Stage, request: Any) -> None:
        await played.event(THREAD, TURN, 1, "turn.completed", completed())
        await played.rejection(request, "conflict", "taken")

    said = await _waited(played, answer, database_url=fresh_database)
    assert said.code == 5


async def test_a_turn_that_is_set_aside_already_is_told_at_once(played: Stage, fresh_database: str) -> None:
    connection = await asyncpg.connect(fresh_database)
    try:
        await connection.execute(
            "insert into set_aside_turns (thread_id, turn_id, revision, reason, detail, attempts, digest, fence,"
            " origin_topic, origin_partition, origin_offset, record_headers, record_timestamp_ms)"
            " values ($1, $2, 3, 'held_too_long', 'other build', 1, $3, 1, 't', 0, 0, '', 0)",
            *(THREAD, TURN, _request().content_digest()),
        )
    finally:
        await connection.close()
    said = await _waited(played, _nothing, seconds="60", database_url=fresh_database)
    assert (said.code, loads(said.lines[1])) == (1, {"reason": "held_too_long", "detail": "other build"})


async def _insert_turn(database_url: str, request: TurnRequest) -> None:
    connection = await asyncpg.connect(database_url)
    try:
        await connection.execute(
            "insert into turns (thread_id, turn_id, revision, status, digest, request, requested_at_ms, result,"
            " first_sequence, event_count, events, fence) values ($1, $2, 1, 'completed', $3, $4, 0, $5, 1, 0, $4, 1)",
            *(THREAD, TURN, request.content_digest(), pack(b""), pack(dumps(completed()))),
        )
    finally:
        await connection.close()
