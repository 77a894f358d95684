"""Steps that misbehave: each answers for its own effects, for all of them, and for nothing when it is over."""

from __future__ import annotations

import asyncio

import pytest
from intention_kernel.agent import (
    CanonicalResponse,
    CapabilityExecutionContext,
    CapabilityIssue,
    CapabilityResult,
    Completed,
    Failed,
    JsonValue,
)
from intention_kernel.agent.effect import EffectAuthority
from intention_kernel.errors import (
    CapabilityContractError,
    EffectClosedError,
    EffectNotAppliedError,
    EffectUncertainError,
    ProgramError,
)
from intention_kernel.testing import ConversationScript, Talk
from pydantic import BaseModel

from tests.support.kernel import Anything, agent, capability, write


class Parcel(BaseModel):
    """A parcel by its number."""

    number: int = 0


def _talk(execute: object, *numbers: int, effect: str = "write", **members: object) -> Talk:
    script = ConversationScript()
    line = script.when("send")
    for number in numbers:
        line.proposes("parcel.send", {"number": number})
    script.when("give it up").cancels("parcel.send")
    if effect == "read":
        return Talk(agent(capability("parcel.send", input=Parcel, execute=execute)), script, **members)  # type: ignore[arg-type]
    sends = write("parcel.send", input=Parcel, execute=execute, confirmation="capability", result=dict)
    return Talk(agent(sends), script, **members)  # type: ignore[arg-type]


async def _sent(authority: EffectAuthority) -> JsonValue:
    return {}


async def _never(authority: EffectAuthority) -> JsonValue:
    await asyncio.Event().wait()
    return {}


@pytest.mark.parametrize(("returned", "given"), [(None, "None"), ({"number": 1}, "a dict")])
async def test_what_is_no_result_fails_the_turn_and_is_told_with_what_to_return(returned: object, given: str) -> None:
    async def execute(context: CapabilityExecutionContext, parcel: Parcel) -> object:
        return returned

    talk = _talk(execute, 1, effect="read")
    with pytest.raises(
        CapabilityContractError, match=rf"capability parcel.send: returned {given}; return Completed, .*Failed"
    ):
        await talk.says("send")
    assert talk.turns == []


async def test_a_step_waits_for_the_effect_that_it_gave_up_and_the_next_step_of_the_capability_does_not() -> None:
    """R18: an outcome that nobody saw blocks the step that asked for it, whatever the step says, and no other one."""

    async def execute(context: CapabilityExecutionContext, parcel: Parcel) -> CapabilityResult:
        if parcel.number == 1:
            try:
                await asyncio.wait_for(context.run_effect("1", _never), 0.05)
            except TimeoutError:
                return Failed(CapabilityIssue("TOO_SLOW", "It took too long, please try again."))
        await context.run_effect(str(parcel.number), _sent)
        return Completed(Anything(), canonical_response=CanonicalResponse(f"Sent {parcel.number}."))

    talk = _talk(execute, 1, 2)
    turn = await talk.says("send")
    turn.waits_for("parcel.send:1")
    turn.says("I could not confirm whether")
    turn.says("Sent 2.")
    assert "please try again" not in (turn.message or "")
    assert [item.intention.input for item in talk.agenda] == [{"number": 1}]
    await talk.settles_as_applied("parcel.send:1", {})
    assert talk.effects.keys() == {"parcel.send:1", "parcel.send:2"}


async def test_a_task_that_outlives_its_step_starts_no_effect_and_tells_nothing() -> None:
    """R18: the step's scope is closed when the capability has returned, not only the turn's."""
    late: list[asyncio.Task[None]] = []

    over = asyncio.Event()

    async def go_on(context: CapabilityExecutionContext) -> None:
        await over.wait()
        with pytest.raises(EffectClosedError):
            await context.events.emit("parcel.late", None)
        await context.run_effect("late", _sent)

    async def execute(context: CapabilityExecutionContext, parcel: Parcel) -> CapabilityResult:
        if parcel.number == 1:
            late.append(asyncio.create_task(go_on(context)))
        else:
            over.set()
            await asyncio.wait(late)
        await context.run_effect(str(parcel.number), _sent)
        return Completed(Anything(), canonical_response=CanonicalResponse(f"Sent {parcel.number}."))

    talk = _talk(execute, 1, 2)
    await talk.says("send")
    assert isinstance(late[0].exception(), EffectClosedError)
    assert talk.effects.keys() == {"parcel.send:1", "parcel.send:2"}


async def test_a_doubt_that_is_about_no_effect_of_the_step_fails_the_attempt() -> None:
    """No receipt could ever settle it, and what waits for a receipt cannot be given up."""

    async def execute(context: CapabilityExecutionContext, parcel: Parcel) -> CapabilityResult:
        raise EffectUncertainError("of another system", effect_key="other", receipt_id="other")

    talk = _talk(execute, 1)
    with pytest.raises(EffectUncertainError):
        await talk.says("send")
    assert talk.agenda == ()


async def test_effects_of_a_task_group_that_were_not_applied_are_an_issue_as_one_alone_is() -> None:
    async def refused(authority: EffectAuthority) -> JsonValue:
        raise EffectNotAppliedError("No stock.")

    async def execute(context: CapabilityExecutionContext, parcel: Parcel) -> CapabilityResult:
        async with asyncio.TaskGroup() as group:
            group.create_task(context.run_effect("1", refused))
        return Completed(Anything())

    turn = await _talk(execute, 1).says("send")
    turn.tells_issue("parcel.send", "EFFECT_NOT_APPLIED")
    turn.says("No stock.")


async def test_a_task_group_with_one_effect_in_doubt_and_one_not_applied_is_blocked_on_the_first() -> None:
    async def refused(authority: EffectAuthority) -> JsonValue:
        raise EffectNotAppliedError("No stock.")

    async def execute(context: CapabilityExecutionContext, parcel: Parcel) -> CapabilityResult:
        async with asyncio.TaskGroup() as group:
            group.create_task(context.run_effect("1", _never, payload=1))
            group.create_task(context.run_effect("2", refused, payload=2))
        return Completed(Anything())

    talk = _talk(execute, 1)
    turn = await talk.says("send")
    turn.waits_for("parcel.send:1")
    turn = await talk.settles_as_applied("parcel.send:1", {})
    turn.tells_issue("parcel.send", "EFFECT_NOT_APPLIED")


@pytest.mark.parametrize("raised", [SystemExit, GeneratorExit])
async def test_a_read_that_asks_the_process_to_exit_beside_another_fails_its_attempt_alone(
    raised: type[BaseException],
) -> None:
    async def execute(context: CapabilityExecutionContext, parcel: Parcel) -> CapabilityResult:
        await asyncio.sleep(0)
        if parcel.number == 1:
            raise raised
        return Completed(Anything())

    with pytest.raises(ProgramError, match=raised.__name__):
        await _talk(execute, 1, 2, effect="read").says("send")


async def test_a_gateway_that_asks_the_process_to_exit_fails_its_attempt_alone() -> None:
    script = ConversationScript()

    def leave(request: object) -> JsonValue:
        raise SystemExit

    script.on("turn.interpret", leave)
    talk = Talk(agent(capability("parcel.find")), script)
    with pytest.raises(Exception, match="UNEXPECTED_ERROR"):
        await talk.says("hello")
