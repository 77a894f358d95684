"""A Hypothesis state machine of conversations: consent, refusals, changed minds, crashes, replays, deploys and settlements
in any order, over any store, against a model in plain Python."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule, run_state_machine_as_test

from intention_kernel.durability.outcome import TurnConflict, TurnReplayed
from intention_kernel.testing.agent_machine_actor import FAULTS, Fault
from intention_kernel.testing.agent_machine_model import Ended, Message
from intention_kernel.testing.agent_machine_thread import ThreadUnderTest
from intention_kernel.testing.agent_machine_world import BUY_SECONDS, NAMES, VERSIONS, WRITES, Fate
from intention_kernel.testing.boundary_harness import BoundaryHarness, snapshot

PHASES = (Phase.generate,)
"""What is found is shown as it was found: to make it smaller takes many times as long."""

PICK = st.integers(min_value=0, max_value=9)
WANTED = st.tuples(st.sampled_from((*WRITES, "shop.find")), st.sampled_from(NAMES))
FAULT = st.sampled_from(("none",) * 4 + FAULTS)
FATE = st.sampled_from(("applied", "applied", "lost", "never", "refused"))


class ConversationMachine(ThreadUnderTest):
    """What may happen, at any time."""

    @rule(wanted=WANTED, fault=FAULT)
    def asks_for_something(self, wanted: tuple[str, str], fault: Fault) -> None:
        """A proposal, a changed mind, a repetition, a second operation beside a question, or a read."""
        self.say(Message(asks=(wanted,)), fault)

    @rule(first=WANTED, second=WANTED, fault=FAULT)
    def asks_for_two_things(self, first: tuple[str, str], second: tuple[str, str], fault: Fault) -> None:
        """Each write gets a question of its own."""
        self.say(Message(asks=(first, second) if first != second else (first,)), fault)

    @rule(fault=FAULT)
    def talks_of_something_else(self, fault: Fault) -> None:
        """Nothing changes."""
        self.say(Message(), fault)

    @precondition(lambda self: self.model.active is None)
    @rule()
    def says_yes_to_nothing(self) -> None:
        """There is no question: it is small talk."""
        self.say(Message(), "none", text="yes, do it")

    @precondition(lambda self: self.model.active is not None)
    @rule(fault=FAULT, fate=FATE)
    def confirms(self, fault: Fault, fate: Fate) -> None:
        """In words."""
        self.say(Message(answer="yes"), fault, fates=[fate])

    @precondition(lambda self: self.model.active is not None)
    @rule(wanted=WANTED, fault=FAULT, fate=FATE)
    def confirms_and_asks_for_more(self, wanted: tuple[str, str], fault: Fault, fate: Fate) -> None:
        """The consent is for what was shown, and the second write needs its own."""
        self.say(Message(answer="yes", asks=(wanted,)), fault, fates=[fate])

    @precondition(lambda self: self.model.active is not None)
    @rule(fault=FAULT)
    def refuses(self, fault: Fault) -> None:
        """In words."""
        self.say(Message(answer="no"), fault)

    @precondition(lambda self: self.model.active is not None)
    @rule(wanted=WANTED, fault=FAULT)
    def refuses_and_asks_for_another(self, wanted: tuple[str, str], fault: Fault) -> None:
        """A changed mind in one message."""
        self.say(Message(answer="no", asks=(wanted,)), fault)

    @precondition(lambda self: self.model.active is not None)
    @rule(yes=st.booleans(), fault=FAULT, fate=FATE)
    def clicks(self, *, yes: bool, fault: Fault, fate: Fate) -> None:
        """A verified click needs no model."""
        asked = len(self.actor.gateway.requests)
        answer: Message = Message(answer="yes" if yes else "no")
        self.say(answer, fault, text="Yes" if yes else "No", click=self.click(answer.answer or ""), fates=[fate])
        understanding = [r for r in self.actor.gateway.requests[asked:] if not r.task.startswith("response.")]
        assert understanding == []

    @precondition(lambda self: self.model.active is not None)
    @rule(words=st.sampled_from(("", "maybe later")))
    def answers_with_neither_yes_nor_no(self, words: str) -> None:
        """A click of another type: the question stays as it is."""
        assert self.checkpoint is not None
        asked = self.checkpoint.interaction
        assert isinstance(asked, dict)
        self.say(Message(), "none", text=words, click={"interactionId": asked["id"], "action": "later"})

    @precondition(lambda self: self.closed)
    @rule(pick=PICK)
    def clicks_what_is_not_open(self, pick: int) -> None:
        """A late click is no consent, for the question that is open now as little as for the old one. It asks no model."""
        asked = len(self.actor.gateway.requests)
        before = self.checkpoint
        stale = self.closed[pick % len(self.closed)]
        turn_id = self.next_turn()
        self.deliver(turn_id, Message(answer="yes"), "Yes", {"interactionId": stale, "optionId": "yes"}, "none", [])
        assert len(self.actor.gateway.requests) == asked
        assert before is not None
        self.look([])
        assert self.checkpoint is not None
        assert self.checkpoint.agenda == before.agenda

    @rule(capability_id=st.sampled_from(WRITES), fault=FAULT)
    def gives_up(self, capability_id: str, fault: Fault) -> None:
        """A cancellation; what may have happened already cannot be given up."""
        if any(work.capability_id == capability_id for work in self.model.works):
            self.say(Message(cancels=capability_id), fault)

    @rule(seconds=st.sampled_from((1, BUY_SECONDS // 2, BUY_SECONDS)))
    def time_goes_by(self, seconds: int) -> None:
        """A question may be over at the next message."""
        self.at_ms += seconds * 1000

    @rule(version=st.sampled_from(VERSIONS))
    def is_deployed(self, version: int) -> None:
        """A new process of the same build, or one whose shop.buy is another."""
        self.do(lambda actor: actor.deploy(version))
        self.model.version = version
        self.whole = True

    @precondition(lambda self: self.model.open_keys)
    @rule(pick=PICK)
    def settles(self, pick: int) -> None:
        """In any order."""
        key = sorted(self.model.open_keys)[pick % len(self.model.open_keys)]
        self.model.settled[key] = self.do(lambda actor: actor.settle(key))
        del self.model.open_keys[key]
        self.look([])

    @precondition(lambda self: self.model.settled)
    @rule(fate=FATE)
    def goes_on(self, fate: Fate) -> None:
        """Continuations of what was settled; a build that does not fit leaves them."""
        at_ms, calls_before = self.at_ms, len(self.actor.ledger.calls)
        self.do(lambda actor: actor.go_on(at_ms, [fate]))
        calls = iter(self.actor.ledger.calls[calls_before:])
        ended: list[Ended] = []
        for key in list(self.model.settled):
            ended += self.model.go_on(key, calls)
        assert next(calls, None) is None, "a write that nobody expected"
        self.look(ended)

    @precondition(lambda self: self.users)
    @rule(pick=PICK, other=st.booleans())
    def a_turn_comes_again(self, *, pick: int, other: bool) -> None:
        """Replayed byte for byte, whatever happened since; other content under its id is refused. Nothing else happens."""
        turn_id = sorted(self.users)[pick % len(self.users)]
        thread_id = self.actor.conversation.thread_id
        asked = len(self.actor.gateway.requests)
        before = self.run(snapshot(self.actor.boundary, thread_id))
        if other:
            changed = self.actor.requests[turn_id].replace(b'"text":"', b'"text":"other ')
            delivery = self.actor.conversation.delivery(changed, self.at_ms)
            assert isinstance(self.run(self.actor.conversation.deliver(delivery)), TurnConflict)
        else:
            again = self.run(self.actor.redeliver(turn_id, self.at_ms))
            assert isinstance(again, TurnReplayed)
            assert again.result == self.users[turn_id]
            assert self.run(snapshot(self.actor.boundary, thread_id)) == before
        assert len(self.actor.gateway.requests) == asked
        assert self.actor.ledger.calls == self.model.calls


def check_conversations(
    open_boundary: Callable[[], BoundaryHarness], loop: asyncio.AbstractEventLoop, *, examples: int, steps: int
) -> None:
    """Run the machine that often, always the same way; raises what it finds, with the steps that lead there."""

    class Machine(ConversationMachine):
        def __init__(self) -> None:
            super().__init__(open_boundary(), loop)

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=PHASES,
        ),
    )
