"""`intention chat` against the real system: FAN-7's compiled agent and its inventory, three processes, real servers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from intention_kernel.ids import receipt_id
from intention_kernel.testing.system import Installation, System, open_system

from tests.cli.chatting import WITHOUT_PROVIDERS, Chat, chatting, chatting_on_a_terminal
from tests.cli.invoking import environment, intention
from tests.support.fan7 import Inventory, installation_of, running_inventory
from tests.support.servers import SharedServers

THREAD = "talk"
RESERVE = "reserve 2 FILTER-A for FAN-7"
CONFIRM = "Please confirm before I go on: the reservation of 2 FILTER-A (sku: FILTER-A; quantity: 2)"
DONE = "Reserved 2 FILTER-A (RES-000001)."
RECEIPT = receipt_id(THREAD, "inventory.reserve:FAN-7")


@pytest.fixture
async def place(servers: SharedServers, fresh_database: str, topic_prefix: str) -> Installation:
    """A migrated database and a topic prefix of this test alone."""
    return installation_of(servers, fresh_database, topic_prefix)


@dataclass(frozen=True, slots=True)
class Running:
    """The runner and the relay work; nobody reconciles yet."""

    inventory: Inventory
    installation: Installation
    system: System


@asynccontextmanager
async def running(place: Installation, directory: Path, *, services: bool = True) -> AsyncIterator[Running]:
    async with AsyncExitStack() as stack:
        inventory = await stack.enter_async_context(running_inventory(directory))
        installation = replace(place, environment={**inventory.environment, **WITHOUT_PROVIDERS})
        system = await stack.enter_async_context(open_system(installation))
        if services:
            await system.start_runner()
            await system.start_relay()
        yield Running(inventory, installation, system)


async def reserved(chat: Chat) -> None:
    """The reservation is proposed, shown with its options, and approved by number."""
    await chat.type(RESERVE)
    asked = await chat.hear("2) No")
    assert CONFIRM in asked
    assert "1) Yes" in asked
    await chat.type("1")


async def test_a_conversation_shows_progress_options_answers_facts_and_ends_well(
    place: Installation, tmp_path: Path
) -> None:
    async with running(place, tmp_path) as at, chatting(at.installation, THREAD) as chat:
        await chat.note(f"thread {THREAD}, agent fan7-agent")
        await reserved(chat)
        said = await chat.hear("Wrote work order WO-000002.")
        assert DONE in said
        await chat.type("how many FILTER-A are there?")
        await chat.hear("There are 2 FILTER-A in stock.")
        for words in ("interpreting…", "at work: inventory.reserve…"):
            assert words in chat.err
        await chat.type("/facts")
        facts = await chat.hear("workOrder@1")
        assert '"reference":"RES-000001"' in facts
        await chat.type("/agenda")
        await chat.hear("nothing in hand")
        await chat.type("/quit")
        assert await chat.ended() == 0
        assert at.inventory.stock() == 2


async def test_a_number_and_an_options_words_are_clicks_and_everything_else_is_a_message(
    place: Installation, tmp_path: Path
) -> None:
    async with running(place, tmp_path) as at, chatting(at.installation, THREAD) as chat:
        await chat.type(RESERVE)
        await chat.hear("2) No")
        await chat.type("7")
        await chat.hear("I am a scripted model")
        await chat.type("  nO ")
        await chat.hear(f"Not done, as you said: {RESERVE}")
        await chat.type("1")
        await chat.hear("I am a scripted model")
        assert await chat.end() == 0
        rows = await at.system.fetch("select result from turns")
        assert len(rows) == 4
        clicks = [row for row in await _requests(at) if "interactionSelection" in row]
        assert len(clicks) == 1
        assert '"optionId":"no"' in clicks[0]
        assert '"text":"No"' in clicks[0]


async def _requests(at: Running) -> list[str]:
    records = await at.system.broker.read(at.system.topics.requests)
    return [(record.value or b"").decode() for record in records]


async def test_a_blocked_turn_says_what_to_do_and_what_becomes_of_it_is_shown(
    place: Installation, tmp_path: Path
) -> None:
    async with running(place, tmp_path) as at, chatting(at.installation, THREAD) as chat:
        await at.inventory.lose_next_reply()
        await reserved(chat)
        await chat.hear("could not confirm whether the reservation of 2 FILTER-A went through")
        await chat.note(f"intention queue show {RECEIPT}")
        await chat.type("/agenda")
        await chat.hear(f"blocked  {RESERVE}  (receipt {RECEIPT})")
        await at.system.start_reconciler()
        said = await chat.hear("Wrote work order WO-000002.", seconds=60)
        assert DONE in said
        assert "it goes on by itself:" in chat.err
        assert await chat.end() == 0


async def test_the_exit_code_is_that_of_the_last_turn(place: Installation, tmp_path: Path) -> None:
    async with running(place, tmp_path) as at, chatting(at.installation, THREAD) as chat:
        await at.inventory.lose_next_reply()
        await reserved(chat)
        await chat.hear("could not confirm")
        assert await chat.end() == 9


async def test_lines_of_a_pipe_are_said_one_after_the_other(place: Installation, tmp_path: Path) -> None:
    async with running(place, tmp_path) as at, chatting(at.installation, THREAD) as chat:
        await chat.press(f"{RESERVE}\nyes\n\n//quit\nhow many are left?")
        assert await chat.end(60) == 0
        answers = [line for line in chat.out.splitlines() if line and "I am a scripted" not in line]
        assert answers == [
            CONFIRM,
            "  1) Yes",
            "  2) No",
            DONE,
            "Wrote work order WO-000002.",
            "There are 2 FILTER-A in stock.",
        ]
        assert '"text":"/quit"' in (await _requests(at))[2]


async def test_an_open_question_is_shown_again_to_who_comes_back(place: Installation, tmp_path: Path) -> None:
    async with running(place, tmp_path) as at:
        async with chatting(at.installation, THREAD) as chat:
            await chat.type(RESERVE)
            await chat.hear("2) No")
            assert await chat.end() == 0
        async with chatting(at.installation, THREAD) as chat:
            await chat.hear(f"{CONFIRM}\n  1) Yes\n  2) No")
            await chat.type("Yes")
            await chat.hear("Wrote work order WO-000002.")
            assert await chat.end() == 0


async def test_a_turn_of_somebody_else_takes_the_numbers_away(place: Installation, tmp_path: Path) -> None:
    """Consent is for what was shown: a number never answers a question that this chat has not shown."""
    async with running(place, tmp_path) as at, chatting(at.installation, THREAD) as chat:
        await chat.type(RESERVE)
        await chat.hear("2) No")
        async with chatting(at.installation, THREAD) as other:
            await other.hear("2) No")
            await other.type("2")
            await other.hear("Not done")
            await other.type("reserve 1 FILTER-A for FAN-7")
            await other.hear("2) No")
        await chat.type("1")
        await chat.hear("I am a scripted model")
        assert not await at.inventory.ledger()


async def test_a_plain_program_is_talked_to_by_its_name(place: Installation, tmp_path: Path) -> None:
    async with running(place, tmp_path) as at, chatting(at.installation, THREAD, "--agent", "fan7") as chat:
        await chat.type("how many?")
        await chat.hear("There are 4 FILTER-A in stock.")
        assert await chat.end() == 0


async def test_a_rejected_turn_says_why(place: Installation, tmp_path: Path) -> None:
    async with running(place, tmp_path) as at, chatting(at.installation, THREAD, "--agent", "nobody") as chat:
        await chat.type("hello")
        await chat.note("rejected: unknown_agent")
        assert await chat.end() == 1


async def test_a_turn_that_is_set_aside_says_where_it_is(place: Installation, tmp_path: Path) -> None:
    broken = replace(place, application="tests.cli.sample:broken")
    async with open_system(broken) as system, chatting(broken, THREAD) as chat:
        await system.start_runner()
        await system.start_relay()
        await chat.type("hello")
        await chat.note("set aside: attempts_used_up", 60)
        await chat.note("intention rejected ls")
        assert await chat.end() == 1


async def test_without_processes_it_says_so_and_shows_the_answer_when_it_comes(
    place: Installation, tmp_path: Path
) -> None:
    async with running(place, tmp_path, services=False) as at, chatting(at.installation, THREAD, "--wait", "4") as chat:
        await chat.type("how many?")
        await chat.note("waiting for a turn-runner to take it")
        await chat.note("Nothing has been heard of it for 4 s")
        assert "intention dev" in chat.err
        await at.system.start_runner()
        await at.system.start_relay()
        await chat.hear("There are 4 FILTER-A in stock.")
        assert await chat.end() == 0


async def test_a_chat_that_ends_unanswered_says_which_turn_goes_on(place: Installation, tmp_path: Path) -> None:
    async with (
        running(place, tmp_path, services=False) as at,
        chatting(at.installation, THREAD, "--wait", "0.5") as chat,
    ):
        await chat.type("how many?")
        assert await chat.end() == 8
        assert f"goes on: `intention turn show {THREAD} " in chat.err


async def test_on_a_terminal_ctrl_d_ends_it_and_what_is_typed_ahead_answers_nothing_unseen(
    place: Installation, tmp_path: Path
) -> None:
    async with running(place, tmp_path) as at, chatting_on_a_terminal(at.installation, THREAD) as chat:
        await chat.hear("> ")
        await chat.press(f"{RESERVE}\n1\n")
        await chat.hear("2) No")
        await chat.hear("I am a scripted model")
        await chat.hear("> ")
        await chat.press("\x04")
        assert await chat.ended() == 0
        assert not await at.inventory.ledger()


async def test_on_a_terminal_ctrl_c_ends_it_without_a_traceback(place: Installation, tmp_path: Path) -> None:
    async with running(place, tmp_path, services=False) as at, chatting_on_a_terminal(at.installation, THREAD) as chat:
        await chat.hear("> ")
        await chat.type("how many?")
        await chat.hear("sent…")
        await chat.press("\x03")
        assert await chat.ended() == 130
        assert "Traceback" not in chat.out
        assert "goes on: `intention turn show" in chat.out


def test_without_servers_or_an_agent_it_is_a_usage_error() -> None:
    assert intention("chat", THREAD).code == 2
    said = intention("chat", THREAD, env=environment(bootstrap="127.0.0.1:1"))
    assert said.code == 2
    assert "--agent" in said.err


def test_help_tells_how_to_answer() -> None:
    said = intention("chat", "--help")
    assert said.code == 0
    assert "a number or an option's own words" in " ".join(said.out.split())
