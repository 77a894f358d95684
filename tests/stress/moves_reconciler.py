"""Moves of the reconciler and of people: scan, look, settle, care for continuations (protocol 4 and 5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from intention_kernel.contracts.json_codec import dumps
from intention_kernel.ids import random_id
from intention_kernel.ports.receipt_ledger import CareTerms, OpenReceipt, Resolution, Settlement
from intention_kernel.reconciliation.admissible import Admitted, Look, Terms, not_applied

from tests.stress.world import Move, World

_CARE = CareTerms(first_seconds=0.0, again_seconds=1e9, longest_seconds=0.0, most_issues=10)
_QUIET_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Looked:
    """What a resolver saw and has not written yet."""

    due: OpenReceipt
    found: bool
    quiet: bool


def reconciler_moves(world: World) -> Iterator[Move]:
    """What may happen now."""
    if world.state.unattended():
        yield Move("scanner", f"scan: {', '.join(world.state.unattended())}", lambda: _scan(world))
    if any(_given_up(world, item["turn_id"]) for item in world.state.items if item["phase"] == "decided"):
        yield Move("scanner", "care: a continuation was set aside", lambda: world.bench.receipts.care(100, _CARE))
    for looked in world.looks:
        word = "found" if looked.found else "absent"
        key = looked.due.receipt.effect_key
        yield Move("resolver", f"the resolver settles {key}: {word}", lambda looked=looked: _decide(world, looked))  # type: ignore[misc]
    for key, row in world.state.receipts.items():
        if row["state"] == "uncertain" and not row["contradicted"]:
            yield from _uncertain(world, key)


def _uncertain(world: World, key: str) -> Iterator[Move]:
    pending = any(looked.due.receipt.effect_key == key for looked in world.looks)
    yield Move("resolver", f"the resolver looks up {key}", lambda: _look(world, key), "lookups")
    if world.scenario.wire_only:
        yield Move("people", f"somebody says that {key} was not applied", lambda: _lie(world, key), "lie")
    if not (world.provider.ledger[key] or _stopped(world, key)):
        return
    yield Move("people", f"a person settles {key}", lambda: _person(world, key), "operators")
    if not pending and not world.left["lookups"] and not world.left["operators"] and not world.left["lie"]:
        yield Move("people", f"a person settles {key} with the truth", lambda: _person(world, key))


def _stopped(world: World, key: str) -> bool:
    """Nothing of the key is on its way and no runner is about to send it: what a person sees who stopped the workers."""
    about = any(
        parked.kind == "send" and parked.subject.startswith(f"{key}#")
        for runner in world.runners
        if runner.alive
        for parked in runner.gates.parked
    )
    return not about and not world.provider.on_the_way(key)


def _given_up(world: World, turn_id: str | None) -> bool:
    return turn_id not in world.state.turns and any(
        row["turn_id"] == turn_id and row["state"] == "open" for row in world.state.asides
    )


async def _scan(world: World) -> None:
    await world.bench.receipts.scan(1_000)


async def _case(world: World, key: str) -> OpenReceipt:
    case = await world.bench.receipts.case(world.state.receipts[key]["receipt_id"])
    assert case is not None
    return case.open


async def _look(world: World, key: str) -> None:
    due = await _case(world, key)
    quiet = not world.provider.on_the_way(key)
    world.looks.append(Looked(due, bool(world.provider.ledger[key]), quiet))


async def _decide(world: World, looked: Looked) -> None:
    """As the look-up resolver does, with the real verdict (R22); only the length of the quiet period is the schedule's."""
    world.looks.remove(looked)
    due = looked.due
    if looked.found:
        await _settle(world, due, "applied")
        return
    facts = replace(due.attempts, call_deadline=due.attempts.prepared_at)
    terms = Terms(quiet_period_seconds=0.0 if looked.quiet else _QUIET_SECONDS)
    verdict = not_applied(facts, terms, Look(started_at=due.looked_at), due.looked_at)
    if isinstance(verdict, Admitted):
        await _settle(world, due, "not_applied")
    else:
        world.schedule.append(f"    -> inconclusive: {verdict.reason}")


async def _person(world: World, key: str) -> None:
    """A person with evidence: found, or the workers are stopped and nothing is on its way (R22 c)."""
    due = await _case(world, key)
    await _settle(world, due, "applied" if world.provider.ledger[key] else "not_applied")


async def _lie(world: World, key: str) -> None:
    await _settle(world, await _case(world, key), "not_applied")


async def _settle(world: World, due: OpenReceipt, resolution: Resolution) -> None:
    key = due.receipt.effect_key
    answer = await world.bench.receipts.settle(
        Settlement(
            thread_id=world.thread_id,
            effect_key=key,
            seen_version=due.receipt.version,
            resolution=resolution,
            value=dumps({"key": key}) if resolution == "applied" else None,
            reference=None,
            decision_id=random_id().hex,
            reason_code=None,
            reason="stress",
            evidence=None,
            actor="stress",
        )
    )
    world.schedule.append(f"    -> {answer}")
