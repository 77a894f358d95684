"""What must hold of a thread after every step, whatever was said: events, bounds, secrets, the provider's own book."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from intention_kernel.contracts.checkpoint import MAX_FACTS, MAX_MESSAGES, MAX_RECENT_RECEIPTS, Checkpoint
from intention_kernel.contracts.json_codec import JsonValue, dumps
from intention_kernel.ports.model_gateway import ModelRequest
from intention_kernel.testing.agent_machine_model import Ended, Model
from intention_kernel.testing.agent_machine_world import (
    CONTINUATION,
    HIDDEN,
    HOST,
    PORT,
    PROTECTED,
    REDACTED,
    Ledger,
)

Event = Mapping[str, JsonValue]

_NO_MODEL = (HOST, PORT, PROTECTED, CONTINUATION, REDACTED, HIDDEN)
_NO_EVENT = (HOST, PORT, CONTINUATION)


def check_ledger(ledger: Ledger, model: Model) -> None:
    """No write without its consent, each effect once, and one effect for each consent."""
    assert ledger.calls == model.calls
    assert all(ledger.applied(key) <= 1 for key in {call.key for call in ledger.calls})
    effects = Counter(what for _, what in {(call.key, call.what) for call in ledger.calls})
    assert effects <= Counter(model.consents), "more effects than consents"


def check_agenda(checkpoint: Checkpoint, model: Model) -> None:
    """Exactly the work that is unfinished, in order; at most one question, which an item of the agenda waits with."""
    assert [_shown(item) for item in checkpoint.agenda] == [
        (*work.what, "waiting_confirmation" if work.status == "waiting" else "blocked") for work in model.works
    ]
    for item, work in zip(checkpoint.agenda, model.works, strict=True):
        assert (item.get("blocked") is not None) == (work.status == "blocked")
        assert (item.get("interaction") is not None) == (work.status == "waiting")
    asked = checkpoint.interaction
    holders = [
        w for i, w in zip(checkpoint.agenda, model.works, strict=True) if asked and i.get("interaction") == asked
    ]
    assert holders == ([model.active] if model.active is not None else [])
    assert (asked is None) == (model.active is None)


def check_bounds(checkpoint: Checkpoint, stored: bytes) -> None:
    """The memory is bounded, and what belongs to the host is not in it."""
    assert len(checkpoint.messages) <= MAX_MESSAGES
    assert len(checkpoint.facts) <= MAX_FACTS
    ids = [receipt["receiptId"] for receipt in checkpoint.receipts]
    assert len(ids) == len(set(ids)) <= MAX_RECENT_RECEIPTS + len(checkpoint.agenda) + len(checkpoint.facts)
    assert_without(stored, (HOST, PORT))


def check_left(before: Checkpoint | None, after: Checkpoint, events: Iterable[Event], ended: Sequence[Ended]) -> None:
    """Nothing leaves the agenda without a word of why, and why is what the model says."""
    told: dict[str, str] = {}
    for event in events:
        if event["type"] == "facts.reduced":
            data = cast("dict[str, JsonValue]", event["data"])
            ended_items = cast("list[dict[str, str]]", data["ended"])
            told |= {entry["agendaItemId"]: entry["reason"] for entry in ended_items}
    items = {str(item["id"]): item for item in before.agenda} if before is not None else {}
    kept = {str(item["id"]) for item in after.agenda}
    gone = items.keys() - kept
    assert gone <= told.keys(), "an item left without a word"
    assert not kept & told.keys()
    assert Counter((*_shown(items[i])[:2], told[i]) for i in gone) == Counter(ended)


@dataclass(slots=True)
class EventCheck:
    """The events of a thread so far, each looked at once."""

    earlier: dict[str, Event] = field(default_factory=dict)
    answered: set[str] = field(default_factory=set)

    def check(self, events: Iterable[Event]) -> None:
        """No gap, causes that exist and come before, every answer of a model beside its question, no secret."""
        for event in events:
            assert event["sequence"] == len(self.earlier) + 1
            cause = event.get("causationId")
            assert cause is None or self.earlier[str(cause)]["turnId"] == event["turnId"]
            if event["type"] in ("model.completed", "model.failed"):
                assert self.earlier[str(cause)]["type"] == "model.invoked"
                assert str(cause) not in self.answered
                self.answered.add(str(cause))
            assert str(event["id"]) not in self.earlier
            self.earlier[str(event["id"])] = event
            check_secrets_of(event)
        asked = {event_id for event_id, event in self.earlier.items() if event["type"] == "model.invoked"}
        assert asked == self.answered


def check_secrets_of(event: Event) -> None:
    """A text for the user alone is in the response; what models may not read is in no event about them."""
    data = dumps(event["data"])
    assert_without(data, _NO_EVENT)
    if event["type"] != "turn.completed":
        assert_without(data, (PROTECTED,))
    if str(event["type"]).startswith("model."):
        assert_without(data, _NO_MODEL)


def check_requests(requests: Iterable[ModelRequest]) -> None:
    """Nothing private is sent to a model."""
    for request in requests:
        assert_without(dumps(request.to_json()), _NO_MODEL)


def assert_without(data: bytes, secrets: Iterable[str]) -> None:
    """None of these is in it."""
    found = [secret for secret in secrets if secret.encode() in data]
    assert not found, f"{found} in {data.decode()[:2000]}"


def _shown(item: Mapping[str, JsonValue]) -> tuple[str, str, str]:
    intention = item["intention"]
    assert isinstance(intention, dict)
    given = intention["input"]
    assert isinstance(given, dict)
    return str(item["capabilityId"]), str(given["name"]), str(item["status"])
