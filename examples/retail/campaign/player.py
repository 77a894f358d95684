"""A customer: says everything of one conversation in order, waits for each answer, and says it again where told to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, groupby

from intention_kernel.client import Client
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.turn_request import TurnInput, TurnRequest
from intention_kernel.testing.draws import Draws

from examples.retail.campaign.hearing import Heard, Hearing
from examples.retail.campaign.kills import Kills
from examples.retail.capabilities.effects import UNAVAILABLE
from examples.retail.conversations import Conversation
from examples.retail.script_turns import UserTurn, turns_of

AGENT = "retail"
PATIENCE_SECONDS = 180.0
_MOST_REPEATS = 20
_CONTINUATION = "reconciliation:"


class _UnplayableError(Exception):
    """The conversation cannot go on; the message says where and why."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one operation, continuations included: the capabilities that ran, and the codes that they told."""

    ran: tuple[str, ...]
    issues: tuple[str, ...]


_NOTHING = Outcome((), ())


@dataclass(slots=True)
class Played:
    """What one customer saw. `outcomes` has what became of each operation that was played to its end."""

    conversation: Conversation
    requests: list[TurnRequest] = field(default_factory=list)
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    repeats: int = 0
    ended: bool = False
    problems: list[str] = field(default_factory=list)


class Player:
    """Plays conversations over one client. A conversation's id is its thread and its world."""

    def __init__(self, client: Client, hearing: Hearing, kills: Kills, draws: Draws) -> None:
        self._client = client
        self._hearing = hearing
        self._kills = kills
        self._draws = draws

    async def play(self, played: Played) -> None:
        """Say everything. Where a turn does not end as it must, `problems` says so and the rest is left unsaid."""
        customer = _Customer(self._client, self._hearing, self._kills, played, self._clicks(played.conversation["id"]))
        try:
            for index, turns in groupby(turns_of(played.conversation), lambda turn: turn.action_index):
                played.outcomes[index] = await customer.ask(tuple(turns))
        except _UnplayableError as error:
            played.problems.append(str(error))
        played.ended = True

    def _clicks(self, conversation_id: str) -> bool:
        return self._draws.fraction("clicks", conversation_id) < 0.5


@dataclass(slots=True)
class _Customer:
    client: Client
    hearing: Hearing
    kills: Kills
    played: Played
    clicks: bool
    heard_turns: int = 0
    question: str | None = None

    @property
    def thread_id(self) -> str:
        return self.played.conversation["id"]

    async def ask(self, turns: Sequence[UserTurn]) -> Outcome:
        """All turns of one operation; what became of the last. Where the shop took nothing in, it is all said again."""
        for repeat in range(_MOST_REPEATS):
            outcome = _NOTHING
            for turn in turns:
                outcome = await self._say(turn, f"{turn.turn_id}:again-{repeat}" if repeat else turn.turn_id)
            if UNAVAILABLE not in outcome.issues:
                return outcome
            self.played.repeats += 1
        raise _UnplayableError(f"{turns[0].turn_id}: the shop took nothing in, {_MOST_REPEATS} times")

    async def _say(self, turn: UserTurn, turn_id: str) -> Outcome:
        await self.kills.admit()
        request = self._request(turn, turn_id)
        self.played.requests.append(request)
        await self.client.send(request)
        heard = [await self._hear(lambda one: one.turn_id == turn_id, turn_id)]
        while heard[-1].status == "blocked":
            heard.append(await self._hear(partial(_continues, heard[-1]), turn_id))
        self.question = heard[-1].interaction_id
        return Outcome(_all(one.ran for one in heard), _all(one.issues for one in heard))

    async def _hear(self, fits: Callable[[Heard], bool], turn_id: str) -> Heard:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                self.heard_turns, heard = await self.hearing.turn(self.thread_id, self.heard_turns, fits)
        except TimeoutError:
            raise _UnplayableError(f"{turn_id}: nothing was heard of it for {PATIENCE_SECONDS:g} s") from None
        if heard.status == "failed":
            raise _UnplayableError(f"{turn_id}: {heard.turn_id} failed: {heard.detail}")
        return heard

    def _request(self, turn: UserTurn, turn_id: str) -> TurnRequest:
        conversation = self.played.conversation
        click: dict[str, JsonValue] | None = None
        if turn.click is not None and self.clicks and self.question is not None:
            click = {"interactionId": self.question, "optionId": turn.click}
        return TurnRequest(
            schema_version=1,
            thread_id=conversation["id"],
            turn_id=turn_id,
            agent_id=AGENT,
            input=TurnInput(text=turn.text, interaction_selection=click),
            host_context={"userId": conversation["user_id"], "world": conversation["id"]},
        )


def _continues(blocked: Heard, heard: Heard) -> bool:
    """Whether that is a turn which goes on with what this one is blocked on."""
    return heard.turn_id.startswith(tuple(f"{_CONTINUATION}{receipt_id}:" for receipt_id in blocked.blocked_on))


def _all(codes: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(chain.from_iterable(codes))
