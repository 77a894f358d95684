"""What must hold: after every statement, after every move, and when nothing can move any more."""

from __future__ import annotations

from typing import Any

from intention_kernel.contracts.receipt import LEGAL_TRANSITIONS
from intention_kernel.durability.outcome import BeginAgain, TurnCommitted
from intention_kernel.ports.effect_store import EndAnswer, EndAttempt, Prepare, Prepared
from intention_kernel.ports.turn_store import Begin, Begun, Commit, Committed, Exhausted

from tests.stress.gates import Parked
from tests.stress.runner import Record
from tests.stress.state import State
from tests.stress.world import World


async def after_statement(world: World, parked: Parked, answer: Any) -> None:
    """Right after a statement was executed, whoever hears its answer."""
    before, now = world.state, await world.look()
    request = parked.request
    if isinstance(request, Begin) and isinstance(answer, Begun | Exhausted) and request.turn_id in before.turns:
        raise world.violation(f"SECOND RUN: {request.turn_id} is begun although it is committed")
    if isinstance(request, Prepare) and isinstance(answer, Prepared):
        _prepared(world, request, answer, before)
    elif isinstance(request, EndAttempt) and isinstance(answer, EndAnswer):
        _ended(world, request, answer, now)
    elif isinstance(request, Commit) and isinstance(answer, Committed) and request.turn_id not in before.turns:
        _committed(world, request, before)
    safe(world)


def _prepared(world: World, request: Prepare, answer: Prepared, before: State) -> None:
    world.attempts[request.attempt_id] = answer.attempt
    world.prepared_by.setdefault(request.turn_id, set()).add(request.effect_key)
    known = before.receipts.get(request.effect_key)
    if known is not None and known["contradicted"]:
        raise world.violation(f"CONTRADICTED: {request.effect_key} is attempted again although an answer disagrees")


def _ended(world: World, request: EndAttempt, answer: EndAnswer, now: State) -> None:
    receipt = now.receipts[request.effect_key]
    number = world.attempts.get(request.attempt_id)  # none where its prepare never arrived
    if answer.how in ("recorded", "settled") and receipt["attempt"] != number:
        raise world.violation(
            f"WRONG ATTEMPT: {request.effect_key}: attempt {number} ended attempt {receipt['attempt']}"
        )
    if request.outcome == "completed" and receipt["state"] != "completed" and not receipt["contradicted"]:
        raise world.violation(f"UNTOLD: {request.effect_key} is applied, its receipt is {receipt['state']}")


def after_absence(world: World, parked: Parked) -> None:
    """There is no such receipt: only what was never prepared, whatever its process was told, may hear that."""
    request = parked.request
    if not isinstance(request, EndAttempt) or request.attempt_id in world.attempts:
        raise world.violation(f"ABSENT: {parked} finds no row")
    world.absent.add(request.attempt_id)


def _committed(world: World, commit: Commit, before: State) -> None:
    turn = commit.turn_id
    lost = world.prepared_by.get(turn, set()) - set(commit.claimed)
    if lost:
        raise world.violation(f"UNACCOUNTED: {turn} commits without {sorted(lost)}, which an attempt of it prepared")
    if any(row["turn_id"] == turn and row["state"] == "open" for row in before.asides):
        raise world.violation(f"BOTH: {turn} is set aside and committed")
    order = [record.name for record in world.log if record.name in world.scenario.log]
    given_up = {row["turn_id"] for row in before.asides}
    if turn not in order or turn in given_up:
        return
    place = order.index(turn)
    missing = [name for name in order[:place] if name not in before.outcomes]
    later = [name for name in order[place + 1 :] if name in before.turns]
    if missing or later:
        raise world.violation(f"ORDER: {turn} commits before {missing} and after {later}")


def safe(world: World) -> None:
    """What no moment may break."""
    state, provider = world.state, world.provider
    if world.scenario.wire_only:
        return
    for key, times in provider.ledger.items():
        if times > 1:
            raise world.violation(f"DOUBLE EFFECT: {key} is applied {times} times")
    for turn in {turn for turn, _ in provider.applied_for}:
        keys = sorted(key for by, key in provider.applied_for if by == turn)
        most = max(len(plan) for plan in world.scenario.plans[turn])
        most += turn in world.scenario.on_uncertain
        if len(keys) > most:
            raise world.violation(f"ORPHAN EFFECT: {turn} applied {keys}, a plan has {most}")
    both = [row["turn_id"] for row in state.asides if row["state"] == "open" and row["turn_id"] in state.turns]
    if both:
        raise world.violation(f"BOTH: {both} are committed and set aside")


def after_delivery(world: World, record: Record, result: object, stored: bytes | None) -> None:
    """What a delivery came to."""
    if isinstance(result, TurnCommitted) and stored != result.result:
        raise world.violation(f"ANSWER: {record.name} is said to be {result.result!r}, stored is {stored!r}")
    if isinstance(result, BeginAgain) and result.why == "attempt_failed" and "ProgramFailed" not in result.detail:
        raise world.violation(f"PROGRAM: {record.name}: {result.detail}")
    if isinstance(result, BeginAgain) and result.why == "held" and not world.scenario.opaque:
        raise world.violation(f"HELD: {record.name} can never go on: {result.detail}")


def offset_committed(world: World, before: int) -> None:
    """Nothing without an outcome is passed."""
    for record in world.log[before : world.committed]:
        if record.name not in world.state.outcomes:
            raise world.violation(f"LOST: the offset passed {record.name}, which has no outcome")


async def at_rest(world: World) -> None:
    """Nothing can move any more."""
    state = await world.look()
    safe(world)
    stuck = [record.name for record in world.log if record.name not in state.outcomes]
    if stuck:
        raise world.violation(f"STUCK: {stuck} have no outcome")
    for row in state.blocked:
        receipt = state.receipts[row["effect_key"]]
        if receipt["state"] != "uncertain" and not receipt["contradicted"]:
            raise world.violation(f"STUCK: {row['turn_id']} waits for {row['effect_key']}, which is {receipt['state']}")
    _receipts_tell_the_truth(world)
    _held_receipts_have_an_item(world)
    await _histories_are_legal(world)
    await _numbers_have_no_gaps(world)


def _receipts_tell_the_truth(world: World) -> None:
    for key, row in world.state.receipts.items():
        applied = world.provider.ledger[key]
        if row["state"] == "prepared":
            raise world.violation(f"STUCK: {key} is prepared for ever")
        if row["contradicted"] or world.scenario.wire_only:
            continue
        if row["state"] == "completed" and not applied:
            raise world.violation(f"WRONG: {key} is completed, the ledger has none")
        if row["state"] == "failed" and applied and not world.scenario.keyed:
            raise world.violation(f"WRONG: {key} is failed, the ledger has it, nobody is told")
    for key, times in world.provider.ledger.items():
        if times and key not in world.state.receipts:
            raise world.violation(f"WRONG: the ledger has {key}, which has no receipt")


def _held_receipts_have_an_item(world: World) -> None:
    state = world.state
    for aside in state.asides:
        if aside["state"] != "open":
            continue
        for claim in state.claims:
            receipt = state.receipts[claim["effect_key"]]
            has_item = any(
                item["kind"] == "orphaned" and item["effect_key"] == claim["effect_key"] for item in state.items
            )
            if claim["turn_id"] == aside["turn_id"] and receipt["state"] == "completed" and not has_item:
                raise world.violation(f"ORPHANED: {aside['turn_id']} holds {claim['effect_key']}, nobody is told")


async def _histories_are_legal(world: World) -> None:
    rows = await world.bench.connection.fetch(
        "select effect_key, version, from_state, state, contradicted, attempt, settlements from receipt_transitions"
        " where thread_id = $1 order by effect_key, version",
        world.thread_id,
    )
    last: dict[str, Any] = {}
    for row in rows:
        before = last.get(row["effect_key"])
        place = f"{row['effect_key']} version {row['version']}"
        if row["version"] != (before["version"] + 1 if before else 1):
            raise world.violation(f"HISTORY: {place} after {before and before['version']}")
        if row["from_state"] != (before["state"] if before else None):
            raise world.violation(f"HISTORY: {place} comes from {row['from_state']}")
        moved = (row["from_state"], row["state"])
        if row["from_state"] != row["state"] and moved not in LEGAL_TRANSITIONS:
            raise world.violation(f"HISTORY: {place} goes from {moved[0]} to {moved[1]}")
        if before and before["contradicted"] and (moved[1] == "prepared" or not row["contradicted"]):
            raise world.violation(f"HISTORY: {place} forgets a contradiction")
        last[row["effect_key"]] = row
    for key, receipt in world.state.receipts.items():
        told = [last[key][name] for name in ("state", "version", "attempt")]
        if [receipt["state"], receipt["version"], receipt["attempt"]] != told:
            raise world.violation(f"HISTORY: {key} is not the fold of its transitions")


async def _numbers_have_no_gaps(world: World) -> None:
    state = world.state
    assert state.head is not None
    revisions = [row["revision"] for row in (*state.turns.values(), *state.asides, *state.rejected)]
    if sorted(revisions) != list(range(1, state.head["revision"] + 1)):
        raise world.violation(f"GAP: revisions {sorted(revisions)} of {state.head['revision']}")
    rows = await world.bench.connection.fetch(
        "select first_sequence, record_count from outbox where thread_id = $1 and topic = 'turns.events'"
        " order by first_sequence",
        world.thread_id,
    )
    following = 1
    for row in rows:
        if row["first_sequence"] != following:
            raise world.violation(f"GAP: events from {row['first_sequence']} follow {following - 1}")
        following += row["record_count"]
    if following != state.head["next_sequence"]:
        raise world.violation(f"GAP: events end at {following - 1}, the head says {state.head['next_sequence'] - 1}")
