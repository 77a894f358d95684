"""A small campaign's evidence in which everything agrees, for tests that spoil one thing and look who notices."""

from __future__ import annotations

from intention_kernel.contracts.event import WireRecord
from intention_kernel.contracts.turn_request import TurnInput, TurnRequest

from examples.retail.campaign.evidence import Evidence, Moves, Receipt, Turn
from examples.retail.campaign.player import Outcome, Played
from examples.retail.conversations import Action, Conversation
from examples.retail.shop_client import LedgerMember

THREAD = "c-1"
KEY = "cancel_pending_order:1"
REFERENCE = "SHOP-000001"

CANCEL: Action = {"name": "cancel_pending_order", "kwargs": {"order_id": "#W1"}, "write": True, "error": None}
REFUSED: Action = {"name": "cancel_pending_order", "kwargs": {"order_id": "#W2"}, "write": True, "error": "no"}
READ: Action = {"name": "calculate", "kwargs": {"expression": "1 + 1"}, "write": False, "error": None}


def event(sequence: int, kind: str = "turn.completed") -> WireRecord:
    """An event of THREAD."""
    return WireRecord((("ce_type", kind.encode()), ("ce_sequence", b"%d" % sequence)), b"{}")


def entry(sequence: int = 1, world: str = THREAD, key: str = KEY) -> LedgerMember:
    """An effect that the shop applied."""
    return {
        "sequence": sequence,
        "world": world,
        "key": key,
        "operation": CANCEL["name"],
        "kwargs": CANCEL["kwargs"],
        "fingerprint": "f",
        "reference": f"SHOP-{sequence:06d}",
        "appliedAt": "2030-01-01T00:00:00.000Z",
    }


def receipt(state: str = "completed", key: str = KEY, *, listed: bool = False, contradicted: bool = False) -> Receipt:
    """A receipt of ours; a completed one has the shop's reference."""
    return Receipt(THREAD, key, state, contradicted, listed, REFERENCE if state == "completed" else None)


def turn(turn_id: str, revision: int, status: str = "completed") -> Turn:
    """A committed turn with one event."""
    return Turn(turn_id, revision, status, (event(revision),))


def played() -> Played:
    """A conversation that cancels, is refused, reads, and was told so; the first turn was blocked for a while."""
    conversation: Conversation = {
        "id": THREAD,
        "user_id": "u",
        "actions": [CANCEL, REFUSED, READ],
        "expected_changes": {},
    }
    outcomes = {
        0: Outcome((CANCEL["name"], CANCEL["name"]), ()),
        1: Outcome((REFUSED["name"],), ("order_not_pending",)),
        2: Outcome((READ["name"],), ()),
    }
    return Played(conversation, requests=[_request(id) for id in ("a", "b", "c")], outcomes=outcomes, ended=True)


def _request(turn_id: str) -> TurnRequest:
    return TurnRequest(
        schema_version=1, thread_id=THREAD, turn_id=turn_id, agent_id="retail", input=TurnInput(text=turn_id)
    )


def agreeing() -> Evidence:
    """Nothing in it disagrees."""
    turns = (turn("a", 1, "blocked"), turn("reconciliation:r:1:1", 2), turn("b", 3), turn("c", 4))
    return Evidence(
        played=[played()],
        changes={THREAD: {}},
        ledger=[entry()],
        receipts=[receipt(), receipt("failed", "cancel_pending_order:2")],
        turns={THREAD: turns},
        published={THREAD: [one for turn in turns for one in turn.events]},
        unread=(),
        given_up=(),
        left=(),
        moves=Moves(1, 1, 0),
    )
