"""The journal of an unfinished turn as its next attempt sees it (protocol R15-R17)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from intention_kernel.contracts.json_codec import JsonValue, dumps, loads
from intention_kernel.ports.turn_store import Continuation, JournalEntry


class Journal:
    """What earlier attempts recorded, to be replayed, and what this one has to append with its next prepare or end."""

    def __init__(self, entries: Iterable[JournalEntry], resumed: ResumedTurn | None = None) -> None:
        """`entries` are this turn's own, in order; `resumed` is what a continuation goes on with."""
        own = {entry.entry: entry for entry in entries}
        self._own = frozenset(own)
        self._earlier = {entry.entry: entry for entry in resumed.entries} | own if resumed else own
        self._pending: list[JournalEntry] = []
        self._settled_key = resumed.settled_key if resumed else None
        self.stand_ins: Mapping[str, str] = resumed.stand_ins if resumed else {}
        self.waived = resumed.waived if resumed else frozenset()
        self.claims = frozenset(_claimed_keys(self._earlier.values()))

    def find(self, entry: str) -> JournalEntry | None:
        """What an earlier attempt recorded under that identity."""
        return self._earlier.get(entry)

    def binds(self, entry: str, met: Collection[str]) -> bool:
        """Whether another request under that identity is a divergence (R8), once these keys were met.

        What a resumed turn recorded after it saw the settled key may follow from an outcome that the settlement replaced:
        such a request is another one now, and is made.
        """
        return entry in self._own or self._settled_key not in met

    def append(self, entry: JournalEntry) -> None:
        """Keep an entry for the next transaction of this attempt."""
        self._pending.append(entry)

    def take(self) -> tuple[JournalEntry, ...]:
        """The pending entries, to ride on a transaction; give them `back` if it did not write them."""
        taken, self._pending = tuple(self._pending), []
        return taken

    @property
    def pending(self) -> tuple[JournalEntry, ...]:
        """What a commit keeps if the turn stays blocked."""
        return tuple(self._pending)

    def back(self, entries: tuple[JournalEntry, ...]) -> None:
        """Entries that no transaction wrote: they go before newer ones."""
        self._pending = [*entries, *self._pending]


@dataclass(frozen=True, slots=True)
class ResumedTurn:
    """What a continuation replays of the turn it resumes, without what that turn saw of the settled key.

    `stand_ins`: a step that waited for a twin's receipt (R20) never asks for the twin's key; meeting its own key meets that
    one too, so that a continuation can claim what was settled (R15). `waived` are effects that the turn made after it had
    seen the settled key: they followed from an outcome that the settlement replaced, and its commit has told of them.
    """

    entries: tuple[JournalEntry, ...]
    settled_key: str
    stand_ins: Mapping[str, str]
    waived: frozenset[str]


def resumed_turn(continuation: Continuation) -> ResumedTurn:
    """Read the journal of the resumed turn, which is in the order in which it was written."""
    settled_key, entries = continuation.effect_key, continuation.journal
    superseded = [entry for entry in entries if _is_superseded(entry, settled_key)]
    seen_at = next((place for place, entry in enumerate(entries) if _tells_of(entry, settled_key)), len(entries))
    return ResumedTurn(
        entries=tuple(entry for entry in entries if entry not in superseded),
        settled_key=settled_key,
        stand_ins={entry.effect_key: settled_key for entry in superseded if entry.effect_key is not None},
        waived=frozenset(_claimed_keys(entries[seen_at:])) - {settled_key},
    )


def _claimed_keys(entries: Iterable[JournalEntry]) -> Iterator[str]:
    return (entry.effect_key for entry in entries if entry.kind == "claim" and entry.effect_key is not None)


def _tells_of(entry: JournalEntry, settled_key: str) -> bool:
    return entry.effect_key == settled_key or _is_superseded(entry, settled_key)


def _is_superseded(entry: JournalEntry, settled_key: str) -> bool:
    if entry.kind != "outcome":
        return False
    return entry.effect_key == settled_key or body_of(entry).get("waitsFor") == settled_key


RESTORED = JournalEntry(entry="restored", kind="claim")
"""Marks a turn that a database that is lost may have had: a claim without a key. It stays with the turn while something waits,
so that its continuations and redrives, which are requests of their own, know it too (R39); a recovery marks who waits then."""


def claim_entry(effect_key: str) -> JournalEntry:
    """This turn prepares `effect_key`; every later attempt has to meet it (R15)."""
    return JournalEntry(entry=f"claim:{effect_key}", kind="claim", effect_key=effect_key)


def outcome_name(effect_key: str, ordinal: int) -> str:
    """The identity of what the program saw at its nth call of the key."""
    return f"outcome:{effect_key}:{ordinal}"


def value_entry(effect_key: str, ordinal: int, fingerprint: bytes, value: JsonValue, attempt: int) -> JournalEntry:
    """The program saw a value."""
    body = dumps({"attempt": attempt, "value": value})
    return JournalEntry(outcome_name(effect_key, ordinal), "outcome", effect_key, "value", fingerprint, body)


def uncertain_entry(effect_key: str, ordinal: int, fingerprint: bytes, receipt_id: str, waits_for: str) -> JournalEntry:
    """The program saw that nobody knows; the receipt, and the key it has, may be a twin's (R20)."""
    body = dumps({"receiptId": receipt_id, "waitsFor": waits_for})
    return JournalEntry(outcome_name(effect_key, ordinal), "outcome", effect_key, "uncertain", fingerprint, body)


def failed_entry(effect_key: str, ordinal: int, fingerprint: bytes, detail: str) -> JournalEntry:
    """The program saw that it was not applied."""
    body = dumps({"detail": detail})
    return JournalEntry(outcome_name(effect_key, ordinal), "outcome", effect_key, "failed", fingerprint, body)


def recorded_entry(name: str, request_digest: bytes, result: JsonValue) -> JournalEntry:
    """A model's or step's result under `name`, which holds its ordinal."""
    return JournalEntry(entry=name, kind="recorded", request_digest=request_digest, body=dumps(result))


def recorded_name(name: str, ordinal: int) -> str:
    """The identity of the nth recorded result of that name."""
    return f"recorded:{name}:{ordinal}"


def body_of(entry: JournalEntry) -> dict[str, JsonValue]:
    """An outcome's document; empty where the store wrote `uncertain` in its place (R25)."""
    document = loads(entry.body) if entry.body else {}
    return document if isinstance(document, dict) else {}
