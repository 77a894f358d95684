"""One chat: lines in, turns out, answers back, whatever else the thread says in between."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from intention_kernel.cli.chat_feed import Ended, Progress, ThreadFeed, Told
from intention_kernel.cli.chat_options import Choice, chosen
from intention_kernel.cli.chat_screen import Screen
from intention_kernel.cli.chat_text import (
    HELP,
    advice_lines,
    agenda_lines,
    fact_lines,
    object_of,
    outcome_code,
    outcome_lines,
    progress_words,
    question_lines,
    response_of,
)
from intention_kernel.cli.exit_codes import OK, STILL_RUNNING
from intention_kernel.cli.output import Document
from intention_kernel.client import Client, Committed, Outcome, Replayed
from intention_kernel.contracts.identifiers import RESERVED_TURN_PREFIX
from intention_kernel.contracts.turn_request import TurnInput, TurnRequest
from intention_kernel.errors import InfrastructureError, RejectedError
from intention_kernel.ids import random_id

_SILENCE_SECONDS = 3.0
"""Without a sign of life for so long it is said that nobody has taken the turn yet."""

ReadThread = Callable[[], Awaitable[Document | None]]


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who talks to whom, and where."""

    thread_id: str
    agent_id: str
    tenant_id: str | None


@dataclass(frozen=True, slots=True)
class Line:
    """What was typed; None is the end of input."""

    text: str | None


class Session:
    """A chat on one thread. `inbox` takes lines; `listen` fills it with what the topics tell.

    `read_thread` is None where no database is named; the chat then knows only what it has seen.
    """

    def __init__(
        self, client: Client, speaker: Speaker, screen: Screen, wait_seconds: float, read_thread: ReadThread | None
    ) -> None:
        self.inbox: asyncio.Queue[Line | Told | InfrastructureError] = asyncio.Queue()
        self._client = client
        self._speaker = speaker
        self._screen = screen
        self._wait_seconds = wait_seconds
        self._read_thread = read_thread
        self._typed: deque[tuple[Line, Document | None]] = deque()
        self._question: Document | None = None
        self._unanswered: set[str] = set()
        self._shown: set[str] = set()
        self._code = OK

    async def listen(self, feed: ThreadFeed) -> None:
        """Bring what the feed tells; its failure ends the chat."""
        try:
            async for told in feed.told():
                self.inbox.put_nowait(told)
        except InfrastructureError as error:
            self.inbox.put_nowait(error)

    async def run(self, thread: Document | None) -> int:
        """Talk until the end of input; the exit code of the last turn. Raises InfrastructureError."""
        self._screen.note([f"thread {self._speaker.thread_id}, agent {self._speaker.agent_id}; /help, /quit"])
        self._show_open_question(thread)
        try:
            while await self._turn_of_talk():
                pass
        finally:
            self._screen.prompt_over()
            self._screen.note(self._left_behind())
        return self._code

    def _show_open_question(self, thread: Document | None) -> None:
        checkpoint = object_of(thread.get("checkpoint")) if thread is not None else {}
        if interaction := object_of(checkpoint.get("interaction")):
            self._ask(interaction, "")

    def _left_behind(self) -> list[str]:
        thread_id = self._speaker.thread_id
        return [
            f"turn {turn_id} has no outcome yet and goes on: `intention turn show {thread_id} {turn_id}`"
            for turn_id in sorted(self._unanswered)
        ]

    async def _turn_of_talk(self) -> bool:
        line, question = await self._next_line()
        if line.text is None:
            return False
        text = line.text.strip()
        if text.startswith("/") and not text.startswith("//"):
            return await self._command(text)
        if text:
            await self._say(text.removeprefix("/") if text.startswith("//") else line.text, question)
        return True

    async def _next_line(self) -> tuple[Line, Document | None]:
        """A line, with the question that was shown when it was typed: nobody answers what he has not seen."""
        while not self._typed:
            self._screen.prompt()
            self._overhear(await self._received())
        line, question = self._typed.popleft()
        return line, question if self._screen.is_typed else self._question

    async def _received(self) -> Line | Told:
        item = await self.inbox.get()
        if isinstance(item, InfrastructureError):
            raise item
        return item

    async def _command(self, text: str) -> bool:
        match text.split()[0]:
            case "/quit":
                return False
            case "/facts":
                self._screen.say(fact_lines(await self._checkpoint()))
            case "/agenda":
                self._screen.say(agenda_lines(await self._checkpoint()))
            case "/help":
                self._screen.note(HELP.splitlines())
            case other:
                self._screen.note([f"{other!r} is no command here; /help lists them"])
        return True

    async def _checkpoint(self) -> Document:
        if self._read_thread is None:
            self._screen.note(["INTENTION_DATABASE_URL is not set: only the database knows"])
            return {}
        thread = await self._read_thread()
        return object_of(thread.get("checkpoint")) if thread is not None else {}

    async def _say(self, text: str, question: Document | None) -> None:
        request = self._request(text, chosen(text, question))
        try:
            await self._client.send(request)
        except RejectedError as error:
            self._screen.note([f"not sent: {error}"])
            return
        self._unanswered.add(request.turn_id)
        self._screen.status("sent")
        if not await self._answered(request.turn_id):
            self._code = STILL_RUNNING

    def _request(self, text: str, choice: Choice | None) -> TurnRequest:
        said = (
            TurnInput(text=text) if choice is None else TurnInput(text=choice.label, interaction_selection=choice.click)
        )
        return TurnRequest(
            schema_version=1,
            thread_id=self._speaker.thread_id,
            turn_id=str(random_id()),
            agent_id=self._speaker.agent_id,
            tenant_id=self._speaker.tenant_id,
            input=said,
        )

    async def _answered(self, turn_id: str) -> bool:
        """Wait for the turn's end; False where nothing was heard of it for too long."""
        loop = asyncio.get_running_loop()
        heard_at, heard = loop.time(), False
        while turn_id in self._unanswered:
            silent = loop.time() - heard_at
            limit = (
                self._wait_seconds if heard or silent >= _SILENCE_SECONDS else min(_SILENCE_SECONDS, self._wait_seconds)
            )
            try:
                async with asyncio.timeout(max(0.0, limit - silent)):
                    item = await self._received()
            except TimeoutError:
                if limit >= self._wait_seconds:
                    self._screen.note(self._silence(heard=heard))
                    return False
                self._screen.status("waiting for a turn-runner to take it")
                continue
            if isinstance(item, Progress | Ended) and item.turn_id == turn_id:
                heard_at, heard = loop.time(), True
            self._overhear(item, doing=turn_id)
        return True

    def _silence(self, *, heard: bool) -> list[str]:
        what = "Nothing more has been heard of it" if heard else "Nothing has been heard of it"
        return [
            f"{what} for {self._wait_seconds:g} s: do a turn-runner and an outbox-relay run? (`intention dev` runs both)",
            "It is on its topic and not lost. The answer is shown here when it comes.",
        ]

    def _overhear(self, item: Line | Told, doing: str | None = None) -> None:
        match item:
            case Line():
                self._screen.taken()
                self._typed.append((item, self._question))
            case Progress(turn_id):
                if turn_id == doing and (words := progress_words(item)) is not None:
                    self._screen.status(words)
            case Ended(turn_id, outcome):
                self._ended(turn_id, outcome)

    def _ended(self, turn_id: str, outcome: Outcome) -> None:
        if turn_id in self._shown:
            return
        mine = turn_id in self._unanswered
        if not mine and not turn_id.startswith(RESERVED_TURN_PREFIX):
            self._question = None  # somebody else's turn: what is open now was not shown here
            return
        self._unanswered.discard(turn_id)
        self._shown.add(turn_id)
        self._code = outcome_code(outcome)
        if not mine and response_of(outcome):
            self._screen.note(["it goes on by itself:"])
        self._screen.say(outcome_lines(outcome))
        self._screen.note(advice_lines(outcome))
        if isinstance(outcome, Committed | Replayed):
            response = response_of(outcome)
            self._ask(object_of(response.get("interaction")), str(response.get("message") or ""))

    def _ask(self, interaction: Document, message: str) -> None:
        self._question = interaction or None
        if interaction:
            self._screen.say(question_lines(interaction, message))
