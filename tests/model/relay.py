"""The outbox of one thread, two relays and a topic: rows, sequences and deletes (R35-R37).

Nothing of the turn is here: turns commit events in order, a relay may pause anywhere, and a reader accepts `last + 1` alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from tests.model.explorer import Result


class Row(NamedTuple):
    """An outbox row: the turn that wrote it, its sequence, its shard."""

    turn: str
    sequence: int
    shard: int


class Relay(NamedTuple):
    """A relay: whether it believes that it has the lease, what it fetched, what was acknowledged."""

    believes: bool
    fetched: tuple[Row, ...] = ()
    acknowledged: tuple[Row, ...] = ()


class Outbox(NamedTuple):
    """The world: rows, the topic, who has the lease, and what a waiting commit believes the next sequence to be."""

    rows: tuple[Row, ...]
    committed: int
    next_sequence: int
    begun: int
    topic: tuple[int, ...]
    relays: tuple[Relay, Relay]
    owner: int
    pauses: int
    refusals: int
    notices: int


@dataclass(frozen=True, slots=True)
class RelayRules:
    """The relay's rules; a comment says what is done where the rule is off."""

    delete_by_sequence: bool = True  # R35: rows are deleted by their turn's id
    delete_a_prefix: bool = True  # R35, R37: rows are sent and deleted past one that was refused
    shards_are_fixed: bool = True  # R35: the shard count changes while rows wait
    commit_compares_sequences: bool = True  # R36: a commit numbers from what its begin read


_TURNS = ("T1", "T2", "T1")  # T1 was set aside, and is redriven after T2

RELAY_RULES = {
    "delete_by_sequence": "R35",
    "delete_a_prefix": "R37",
    "shards_are_fixed": "R35",
    "commit_compares_sequences": "R36",
}


def _with(state: Outbox, index: int, relay: Relay) -> Outbox:
    first, second = state.relays
    return state._replace(relays=(relay, second) if index == 0 else (first, relay))


def _turns(rules: RelayRules, state: Outbox) -> Iterator[tuple[str, Outbox]]:
    if state.committed < len(_TURNS) and not state.begun:
        yield f"begins turn {state.committed + 1}", state._replace(begun=state.next_sequence)
    if state.begun:
        sequence = state.begun
        if sequence != state.next_sequence and rules.commit_compares_sequences:
            yield "resequence: the bytes are rendered again", state._replace(begun=state.next_sequence)
        else:
            yield (
                f"commits turn {state.committed + 1} with {sequence}",
                _written(rules, state, sequence, _TURNS[state.committed]),
            )
    if state.notices:
        after = _written(rules, state, state.next_sequence, "notice")
        yield (
            "another writer's event, under the head lock",
            after._replace(notices=0, committed=state.committed, begun=state.begun),
        )


def _written(rules: RelayRules, state: Outbox, sequence: int, turn: str) -> Outbox:
    shard = 0 if rules.shards_are_fixed or sequence < 3 else 1
    return state._replace(
        rows=(*state.rows, Row(turn, sequence, shard)),
        committed=state.committed + 1,
        next_sequence=sequence + 1,
        begun=0,
    )


def _mine(rules: RelayRules, state: Outbox, index: int) -> tuple[Row, ...]:
    if rules.shards_are_fixed:
        return state.rows if state.relays[index].believes else ()
    return tuple(row for row in state.rows if row.shard == index)


def _relay(rules: RelayRules, state: Outbox, index: int) -> Iterator[tuple[str, Outbox]]:
    relay, name = state.relays[index], "AB"[index]
    if rules.shards_are_fixed and relay.believes and index != state.owner:
        yield f"{name} learns that its lease is over", _with(state, index, Relay(False))
    mine = _mine(rules, state, index)
    if mine and not relay.fetched and not relay.acknowledged:
        yield f"{name} fetches {[row.sequence for row in mine]}", _with(state, index, relay._replace(fetched=mine))
    if relay.fetched:
        row, rest = relay.fetched[0], relay.fetched[1:]
        sent = relay._replace(fetched=rest, acknowledged=(*relay.acknowledged, row))
        yield f"{name} sends {row.sequence}", _with(state, index, sent)._replace(topic=(*state.topic, row.sequence))
        if state.refusals:
            left = relay._replace(fetched=() if rules.delete_a_prefix else rest)
            yield f"{name} sends {row.sequence}: refused", _with(state, index, left)._replace(refusals=0)
    elif relay.acknowledged:
        yield (
            f"{name} deletes",
            _with(state, index, relay._replace(acknowledged=()))._replace(rows=_kept(rules, state, relay)),
        )


def _kept(rules: RelayRules, state: Outbox, relay: Relay) -> tuple[Row, ...]:
    if rules.delete_by_sequence:
        return tuple(row for row in state.rows if row not in relay.acknowledged)
    turns = {row.turn for row in relay.acknowledged}
    return tuple(row for row in state.rows if row.turn not in turns)


def _steps(rules: RelayRules, state: Outbox) -> Iterator[tuple[str, Outbox]]:
    yield from _turns(rules, state)
    if state.pauses and rules.shards_are_fixed:
        taken = _with(state, 1, Relay(True))._replace(owner=1, pauses=0)
        yield "A's lease is over, B has the shard", taken
    for index in (0, 1):
        yield from _relay(rules, state, index)


def _broken(state: Outbox) -> str | None:
    last = 0
    for sequence in state.topic:
        if sequence > last + 1:
            return f"GAP: the topic reads {state.topic}"
        last = max(last, sequence)
    written = [row.sequence for row in state.rows]
    if len(written) != len(set(written)):
        return f"TWICE: two events have one sequence, {written}"
    if state.committed == len(_TURNS) and not state.rows and not any(r.fetched for r in state.relays):
        missing = set(range(1, state.next_sequence)) - set(state.topic)
        if missing:
            return f"LOST: the topic lacks {sorted(missing)}"
    return None


def explore_relay(rules: RelayRules, pauses: int = 1, refusals: int = 1, notices: int = 1) -> Result:
    """Breadth first to the end, or to a shortest counterexample."""
    both = not rules.shards_are_fixed
    start = Outbox((), 0, 1, 0, (), (Relay(True), Relay(both)), 0, pauses, refusals, notices)
    paths: dict[Outbox, tuple[str, ...]] = {start: ()}
    frontier = deque([start])
    seen = depth = 0
    while frontier:
        state = frontier.popleft()
        seen, depth = seen + 1, len(paths[state])
        broken = _broken(state)
        if broken:
            return Result(seen, depth, False, broken, paths[state])
        for label, after in _steps(rules, state):
            if after not in paths:
                paths[after] = (*paths[state], label)
                frontier.append(after)
    return Result(seen, depth, True)


def all_on() -> dict[str, Result]:
    """The relay with all its rules."""
    return {"relay": explore_relay(RelayRules())}


def all_off() -> dict[str, Result]:
    """The relay without one rule at a time."""
    return {name: explore_relay(replace(RelayRules(), **{name: False})) for name in RELAY_RULES}
