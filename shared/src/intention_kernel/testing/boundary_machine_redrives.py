"""The rules about redrives of the boundary's state machine: what was set aside runs again, or never, when a person says so."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from intention_kernel.contracts.identifiers import RESERVED_TURN_PREFIX
from intention_kernel.ids import random_id
from intention_kernel.ports.redrives import (
    Dropped,
    NotOpen,
    ReceiptsOpen,
    Ruling,
    SetAsideRef,
    TurnRedriven,
    WouldRunLate,
)
from intention_kernel.testing.boundary_harness import snapshot
from intention_kernel.testing.boundary_machine_turns import PICK, TurnRules
from intention_kernel.testing.boundary_world import Aside


class RedriveRules(TurnRules):
    """A person may decide at any time, beside attempts that still run and answers that are still to come."""

    @precondition(lambda self: self.world.asides)
    @rule(pick=PICK, is_meant=st.booleans())
    def redrives(self, *, pick: int, is_meant: bool) -> None:
        """R33: once, with no receipt of it open, and after later turns only if that is meant."""
        aside = self.world.asides[pick % len(self.world.asides)]
        ref, ruling = SetAsideRef(self.thread, aside.revision), Ruling(random_id(), "ana", "try again")
        is_open = self.has_open_receipt(aside.turn_id)
        answer = self.run(self.boundary.redrives.redrive_turn(ref, ruling, after_later_turns=is_meant))
        if aside.state != "open":
            assert answer == NotOpen(aside.state)
        elif is_open:
            assert isinstance(answer, ReceiptsOpen)
        elif not is_meant and self.has_later_turns(aside):
            assert isinstance(answer, WouldRunLate)
        elif isinstance(answer, WouldRunLate):
            assert answer.view.is_rebased
            assert not is_meant
        else:
            assert isinstance(answer, TurnRedriven)
            aside.state = "redriven"
            before = self.run(snapshot(self.boundary, self.thread))
            again = self.run(self.boundary.redrives.redrive_turn(ref, ruling, after_later_turns=is_meant))
            assert again == answer
            assert self.run(snapshot(self.boundary, self.thread)) == before

    @precondition(lambda self: self.world.asides)
    @rule(pick=PICK)
    def drops(self, pick: int) -> None:
        """R33: for ever; its receipts stay as they are."""
        aside = self.world.asides[pick % len(self.world.asides)]
        receipts = self.run(self.boundary.receipts(self.thread))
        ruling = Ruling(random_id(), "ana", "nobody wants it")
        answer = self.run(self.boundary.redrives.drop_turn(SetAsideRef(self.thread, aside.revision), ruling))
        if aside.state == "open":
            assert answer == Dropped()
            aside.state = "dropped"
        else:
            assert answer == NotOpen(aside.state)
        assert self.run(self.boundary.receipts(self.thread)) == receipts

    def has_open_receipt(self, turn_id: str) -> bool:
        """Whether nobody knows what became of something that the turn's attempts prepared."""
        entries = self.run(self.boundary.journal(self.thread, turn_id))
        claimed = {entry.effect_key for entry in entries if entry.kind == "claim"}
        receipts = self.run(self.boundary.receipts(self.thread))
        return any(one.effect_key in claimed and one.state in ("prepared", "uncertain") for one in receipts)

    def has_later_turns(self, aside: Aside) -> bool:
        """Whether a message of the user was answered since."""
        turns = self.run(self.boundary.turns(self.thread))
        users = [turn for turn in turns if not turn.turn_id.startswith(RESERVED_TURN_PREFIX)]
        return any(turn.revision > aside.revision for turn in users)
