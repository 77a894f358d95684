"""Effects of Programs over any store: what `run_effect` promises (protocol 3). Subclass it beside a fixture `boundary`."""

from __future__ import annotations

import asyncio

from intention_kernel.agent import (
    Agent,
    Effect,
    EffectAuthority,
    EffectConflictError,
    EffectNotAppliedError,
    Response,
    Summary,
    TurnContext,
    TurnResult,
)
from intention_kernel.contracts.event import pack_records
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.durability.outcome import (
    BeginAgain,
)
from intention_kernel.errors import EffectClosedError
from intention_kernel.ports.turn_store import Begun, SetAside
from intention_kernel.testing.boundary_harness import BoundaryHarness, receipt_of
from intention_kernel.testing.conversation import Conversation
from intention_kernel.testing.program_world import (
    Provider,
    begin_like,
    charging,
    die_after_the_call,
    result_of,
    said,
    settle,
    talking,
)
from intention_kernel.testing.raising import raising


class ProgramEffectContract:
    """Keys and payloads, twins, and operations whose end is told late, wrongly or never."""

    async def test_an_effect_is_called_once_for_its_key_across_turns(self, boundary: BoundaryHarness) -> None:
        provider = Provider()
        conversation = Conversation(boundary, charging(provider))
        first = await conversation.send("charge", "t1")
        second = await conversation.send("charge again", "t2")
        assert result_of(first)["facts"] == result_of(second)["facts"] == ["charge"]
        assert provider.calls == ["charge:order-1"]

    async def test_another_payload_under_the_key_is_a_conflict_in_every_state(self, boundary: BoundaryHarness) -> None:
        """Design 4: and nobody is called; what is prepared was left so by an attempt that died."""
        answers: dict[str, list[BaseException]] = {
            "prepared": [],
            "completed": [],
            "uncertain": [ConnectionError("reply lost")],
            "failed": [EffectNotAppliedError("no funds")],
        }
        for state, errors in answers.items():
            provider = Provider(errors={"charge:order-1": errors})

            async def program(context: TurnContext, provider: Provider = provider) -> TurnResult:
                payload: JsonValue = {"cents": context.input.text}
                try:
                    await context.run_effect("order-1", provider.write, payload=payload, effect="charge")
                except EffectConflictError:
                    return said("conflict")
                except EffectNotAppliedError as error:
                    return said(error.detail)
                return said("charged")

            conversation = Conversation(boundary, talking(program))
            if state == "prepared":
                await die_after_the_call(conversation, "500", "t1")
            else:
                await conversation.send("500", "t1")
            assert (await receipt_of(boundary, conversation.thread_id, "charge:order-1")).state == state
            other = await conversation.send("900", "t2")
            assert result_of(other)["response"] == Response("conflict").to_json(), state
            assert provider.calls == ["charge:order-1"]

    async def test_calls_with_one_key_in_one_turn_are_one_call(self, boundary: BoundaryHarness) -> None:
        provider = Provider()

        async def program(context: TurnContext) -> TurnResult:
            run = context.run_effect
            values = await asyncio.gather(
                *(run("order-1", provider.write, payload={"cents": 500}, effect="charge") for _ in range(3))
            )
            await run("order-1", provider.write, payload={"cents": 500}, effect="charge")
            return said(str(len({value.receipt.receipt_id for value in values})))

        outcome = await Conversation(boundary, talking(program)).send("go", "t1")
        assert result_of(outcome)["response"] == Response("1").to_json()
        assert provider.calls == ["charge:order-1"]

    async def test_an_effect_that_asks_for_itself_raises_instead_of_waiting(self, boundary: BoundaryHarness) -> None:
        """R18."""

        async def program(context: TurnContext) -> TurnResult:
            async def inner(authority: EffectAuthority) -> JsonValue:
                with raising(EffectClosedError):
                    await context.run_effect("a", inner, payload={}, effect="charge")
                return "done"

            await context.run_effect("a", inner, payload={}, effect="charge")
            return said("done")

        outcome = await Conversation(boundary, talking(program)).send("go", "t1")
        assert result_of(outcome)["response"] == Response("done").to_json()

    async def test_a_closed_scope_raises(self, boundary: BoundaryHarness) -> None:
        """R18."""
        kept: list[TurnContext] = []

        async def program(context: TurnContext) -> TurnResult:
            kept.append(context)
            return said("done")

        await Conversation(boundary, talking(program)).send("go", "t1")
        with raising(EffectClosedError):
            await kept[0].run_effect("late", Provider().write, payload={}, effect="charge")

    async def test_proof_that_nothing_was_written_permits_the_next_attempt(self, boundary: BoundaryHarness) -> None:
        provider = Provider()
        provider.errors["charge:order-1"] = [EffectNotAppliedError("no funds")]

        async def program(context: TurnContext) -> TurnResult:
            try:
                await context.run_effect("order-1", provider.write, payload={}, effect="charge")
            except EffectNotAppliedError as error:
                return said(error.detail)
            return said("charged")

        conversation = Conversation(boundary, talking(program))
        first = result_of(await conversation.send("go", "t1"))["response"]
        second = result_of(await conversation.send("go", "t2"))["response"]
        assert isinstance(first, dict)
        assert isinstance(second, dict)
        assert (first["message"], second["message"]) == ("no funds", "charged")

    async def test_a_returned_value_that_json_cannot_hold_is_uncertain(self, boundary: BoundaryHarness) -> None:
        """R18: "returned, not storable"."""

        async def write(authority: EffectAuthority) -> JsonValue:
            return float("nan")

        async def program(context: TurnContext) -> TurnResult:
            await context.run_effect("order-1", write, payload={}, effect="charge")
            return said("charged")

        conversation = Conversation(boundary, talking(program))
        assert result_of(await conversation.send("go", "t1"))["status"] == "blocked"

    async def test_an_operation_that_the_program_gave_up_on_blocks_the_turn(self, boundary: BoundaryHarness) -> None:
        """R18: whatever the program answers, its abandoned effect is uncertain and its step waits."""
        called = asyncio.Event()

        async def hang(authority: EffectAuthority) -> JsonValue:
            called.set()
            await asyncio.Event().wait()
            return None

        async def program(context: TurnContext) -> TurnResult:
            waiting = asyncio.ensure_future(context.run_effect("order-1", hang, payload={}, effect="charge"))
            await called.wait()
            waiting.cancel()
            return said("slow")

        conversation = Conversation(boundary, talking(program))
        result = result_of(await conversation.send("go", "t1"))
        receipt = await receipt_of(boundary, conversation.thread_id, "charge:order-1")
        assert receipt.state == "uncertain"
        assert result["blockedOn"] == [receipt.receipt_id]
        assert await boundary.blocked_steps(conversation.thread_id) == {("charge:order-1", "t1")}

    async def test_a_late_answer_is_a_settlement(self, boundary: BoundaryHarness) -> None:
        """R24: an operation that ignored its cancellation answers after its turn; the step is resumed with its value."""
        answer = asyncio.Event()

        async def stubborn(authority: EffectAuthority) -> JsonValue:
            while not answer.is_set():
                try:
                    await answer.wait()
                except asyncio.CancelledError:
                    continue
            return {"reference": "late"}

        slow = Effect("charge", dict, lambda payload: Summary("the charge"), call_timeout_seconds=0.1)

        async def program(context: TurnContext) -> TurnResult:
            result = await context.run_effect("order-1", stubborn, payload={}, effect="charge")
            return TurnResult(Response("charged"), {"charge": result.value})

        conversation = Conversation(boundary, Agent("agent", program, effects=(slow,)))
        durability = conversation.durability()
        delivery = conversation.delivery_of("go", "t1")
        assert result_of(await durability.with_turn(delivery, conversation.body()))["status"] == "blocked"
        running = await receipt_of(boundary, conversation.thread_id, "charge:order-1")
        assert not running.returned, "it may still send (R22 c)"
        answer.set()
        await durability.abandoned.drain(10.0)
        assert (await receipt_of(boundary, conversation.thread_id, "charge:order-1")).state == "completed"
        (resumed,) = await conversation.deliver_continuations()
        assert result_of(resumed)["status"] == "completed"
        assert (await conversation.checkpoint()).fact("charge") == {"reference": "late"}

    async def test_an_equal_payload_under_another_key_is_refused_while_one_is_open(
        self, boundary: BoundaryHarness
    ) -> None:
        """R20: the twin waits for the open receipt, and goes on once that is settled."""
        provider = Provider()
        provider.lose_reply("charge:a")

        async def program(context: TurnContext) -> TurnResult:
            await context.run_effect(context.input.text, provider.write, payload={"cents": 5}, effect="charge")
            return said("charged")

        conversation = Conversation(boundary, talking(program))
        await conversation.send("a", "t1")
        twin = result_of(await conversation.send("b", "t2"))
        open_receipt = await receipt_of(boundary, conversation.thread_id, "charge:a")
        assert twin["blockedOn"] == [open_receipt.receipt_id]
        assert provider.calls == ["charge:a"]
        await settle(boundary, conversation.thread_id, "charge:a", "failed", None)
        while await conversation.deliver_continuations():
            pass
        assert provider.calls == ["charge:a", "charge:a", "charge:b"]
        assert await boundary.blocked_steps(conversation.thread_id) == frozenset()

    async def test_a_twin_in_the_same_turn_waits_for_the_call_that_is_under_way(
        self, boundary: BoundaryHarness
    ) -> None:
        """R20: its outcome decides, not a settlement that never comes."""
        provider = Provider()

        async def program(context: TurnContext) -> TurnResult:
            run = context.run_effect
            keys = ("a", "b", "c")
            await asyncio.gather(*(run(key, provider.write, payload={"cents": 5}, effect="charge") for key in keys))
            return said("all")

        conversation = Conversation(boundary, talking(program))
        assert result_of(await conversation.send("go", "t1"))["status"] == "completed"
        assert sorted(provider.calls) == ["charge:a", "charge:b", "charge:c"]

    async def test_a_twin_whose_attempt_is_over_is_settled_like_any_other(self, boundary: BoundaryHarness) -> None:
        """R20, R24: a dead attempt's prepared receipt becomes uncertain, so that whoever waits for it is resumed."""
        provider = Provider()

        async def program(context: TurnContext) -> TurnResult:
            await context.run_effect(context.input.text, provider.write, payload={"cents": 5}, effect="charge")
            return said("charged")

        conversation = Conversation(boundary, talking(program))
        await die_after_the_call(conversation, "a", "t1")
        await boundary.store.set_aside(await _give_up(conversation, "a", "t1"))
        twin = result_of(await conversation.send("b", "t2"))
        open_receipt = await receipt_of(boundary, conversation.thread_id, "charge:a")
        assert (open_receipt.state, twin["blockedOn"]) == ("uncertain", [open_receipt.receipt_id])
        await settle(boundary, conversation.thread_id, "charge:a", "completed", b"{}")
        while await conversation.deliver_continuations():
            pass
        assert provider.calls == ["charge:a", "charge:b"]
        assert await boundary.blocked_steps(conversation.thread_id) == frozenset()

    async def test_no_effect_is_started_close_to_the_deadline(self, boundary: BoundaryHarness) -> None:
        """R19."""
        provider = Provider()

        async def program(context: TurnContext) -> TurnResult:
            await context.run_effect("order-1", provider.write, payload={}, effect="charge")
            return said("charged")

        again = await Conversation(boundary, talking(program)).send("go", "t1", deadline_seconds=0.05)
        assert isinstance(again, BeginAgain)
        assert "DeadlineError" in again.detail
        assert provider.calls == []


async def _give_up(conversation: Conversation, text: str, turn_id: str) -> SetAside:
    """Begin the turn and give it up at once."""
    delivery = conversation.delivery_of(text, turn_id)
    begun = await conversation.boundary.store.begin(begin_like(conversation, text, turn_id))
    assert isinstance(begun, Begun), begun
    return SetAside(
        thread_id=conversation.thread_id,
        turn_id=turn_id,
        digest=delivery.request.content_digest(),
        fence=begun.fence,
        revision=begun.revision,
        next_sequence=begun.next_sequence,
        reason="held_too_long",
        detail="",
        attempts=begun.attempt,
        origin=delivery.origin,
        events=pack_records(()),
        event_count=0,
    )
