"""What a model asked, what the kernel decided and what happened, call by call (design 7).

A row's `state` is `as_planned`, `altered_by_policy` (other arguments, or a question first), `dropped` (it does not run),
`carried_on` (an earlier turn proposed it: it was confirmed, or what it waited for is there), `added_by_retry` (it met an
effect of an earlier attempt again), `no_plan` (a Program's, which has none), or `unknown`: nobody knows what became of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from intention_kernel.contracts.event import rfc3339
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.reconciliation.trace_events import Members, Told, listed, members, milliseconds, text

_OPEN = ("prepared", "uncertain")
_MOST_CHANGES = 50
_ENDS = ("capability.completed", "capability.failed", "capability.skipped", "capability.blocked")


@dataclass(slots=True)
class _Happening:
    """What became of one step that was begun."""

    capability_id: str | None
    started: Told
    ended: Told | None = None
    effects: list[Told] = field(default_factory=list)


def comparison(events: Sequence[Told], receipts: Sequence[Members]) -> list[JsonValue]:
    """A row for each call that was proposed, planned or begun, in that order."""
    known = {text(receipt.get("receiptId")): receipt for receipt in receipts}
    happened = _happenings(events)
    rows: list[JsonValue] = []
    proposals = _proposals(events)
    for step in _planned(events):
        proposal = _take(proposals, step) if step.get("trigger") == "user" else None
        rows.append(_row(proposal, step, happened.pop(text(step.get("id")), None), known))
    rows.extend(_row(proposal, None, None, known) for proposal in proposals)
    rows.extend(_row(None, None, met, known) for met in happened.values())
    return rows


def effects_alone(receipts: Sequence[Members]) -> list[JsonValue]:
    """The rows of a Program: what its receipts say happened."""
    return [_alone(receipt) for receipt in receipts]


def changes(asked: JsonValue, decided: JsonValue, path: str = "") -> Iterator[Members]:
    """Where two values differ, by JSON pointer. A member that was not `asked` for is a default of the capability's input."""
    if isinstance(asked, dict) and isinstance(decided, dict):
        for name in asked:
            yield from changes(asked[name], decided.get(name), f"{path}/{_escaped(name)}")
        for name in decided:
            if name not in asked and decided[name] is not None:
                yield {"path": f"{path}/{_escaped(name)}", "asked": False, "proposed": None, "planned": decided[name]}
    elif isinstance(asked, list) and isinstance(decided, list) and len(asked) == len(decided):
        for index, (before, after) in enumerate(zip(asked, decided, strict=True)):
            yield from changes(before, after, f"{path}/{index}")
    elif asked != decided:
        yield {"path": path, "asked": True, "proposed": asked, "planned": decided}


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _proposals(events: Sequence[Told]) -> list[Members]:
    """What the last answer of a model that is a batch of intentions holds, as it came; else the batch that was accepted."""
    found: list[Members] = []
    for event in events:
        if event.type == "model.completed":
            batch = members(event.data.get("proposal")).get("intentions")
        elif event.type == "intention.interpreted" and not found:
            batch = event.data.get("intentions")
        else:
            continue
        if isinstance(batch, list):
            found = [members(intention) for intention in batch]
    return found


def _planned(events: Sequence[Told]) -> list[Members]:
    steps: dict[JsonValue, Members] = {}
    for event in events:
        if event.type == "plan.created":
            for step in map(members, listed(event.data.get("steps"))):
                steps[text(step.get("id")) or f"/{len(steps)}"] = step
    return list(steps.values())


def _take(proposals: list[Members], step: Members) -> Members | None:
    """The proposal that the step came from: of that capability, with those arguments if there is one."""
    same = [proposal for proposal in proposals if proposal.get("proposedCapability") == step.get("capabilityId")]
    if not same:
        return None
    alike = next((proposal for proposal in same if proposal.get("input") == step.get("input")), same[0])
    proposals[:] = [proposal for proposal in proposals if proposal is not alike]
    return alike


def _happenings(events: Sequence[Told]) -> dict[str | None, _Happening]:
    steps: dict[str | None, _Happening] = {}
    for event in events:
        met = steps.get(event.step_id)
        if event.type == "step.started" and met is None:
            steps[event.step_id] = _Happening(text(event.data.get("capabilityId")), event)
        elif met is not None and event.type == "effect.recorded":
            met.effects.append(event)
        elif met is not None and event.type in _ENDS:
            met.ended = event
    return steps


def _row(
    proposal: Members | None, step: Members | None, met: _Happening | None, known: dict[str | None, Members]
) -> Members:
    plan = None if step is None else _plan(step, proposal)
    happened = None if met is None else _happened(met, known)
    named = step.get("capabilityId") if step is not None else (proposal or {}).get("proposedCapability")
    return {
        "state": _state(proposal, plan, happened),
        "capabilityId": text(named) or (met.capability_id if met is not None else None),
        "stepId": text(step.get("id")) if step is not None else (met.started.step_id if met is not None else None),
        "proposal": None if proposal is None else _proposal(proposal),
        "plan": plan,
        "happened": happened,
    }


def _proposal(proposal: Members) -> Members:
    return {
        "objective": text(proposal.get("objective")),
        "resolution": text(proposal.get("resolution")),
        "input": proposal.get("input"),
    }


def _plan(step: Members, proposal: Members | None) -> Members:
    reason = members(step.get("reason"))
    differs = [] if proposal is None else list(changes(proposal.get("input"), step.get("input")))
    return {
        "disposition": text(step.get("disposition")),
        "trigger": text(step.get("trigger")),
        "input": step.get("input"),
        "changes": list(differs[:_MOST_CHANGES]),
        "asksConfirmation": reason.get("code") == "CONFIRMATION_REQUIRED",
        "reasonCode": text(reason.get("code")),
        "reason": text(reason.get("message")),
        "missingFacts": step.get("missingFacts"),
    }


def _happened(met: _Happening, known: dict[str | None, Members]) -> Members:
    ended = met.ended
    return {
        "status": None if ended is None else text(ended.data.get("status")),
        "startedAt": None if met.started.at is None else rfc3339(met.started.at),
        "durationMs": None if ended is None else milliseconds(met.started.at, ended.at),
        "issueCode": None if ended is None else text(members(ended.data.get("issue")).get("code")),
        "effects": [_effect(event, known) for event in met.effects],
    }


def _effect(event: Told, known: dict[str | None, Members]) -> Members:
    receipt_id = text(event.data.get("effectId"))
    return {
        "receiptId": receipt_id,
        "effectKey": text(event.data.get("idempotencyKey")),
        "status": text(event.data.get("status")),
        "receipt": known.get(receipt_id),
    }


def _alone(receipt: Members) -> Members:
    state = text(receipt.get("state"))
    effect: Members = {name: receipt.get(name) for name in ("receiptId", "effectKey")}
    effects: list[JsonValue] = [{**effect, "status": state, "receipt": receipt}]
    return {
        "state": "unknown" if _is_open(receipt) else "no_plan",
        "capabilityId": None,
        "stepId": None,
        "proposal": None,
        "plan": None,
        "happened": {"status": state, "startedAt": None, "durationMs": None, "issueCode": None, "effects": effects},
    }


def _is_open(receipt: Members) -> bool:
    return receipt.get("state") in _OPEN or receipt.get("contradicted") is True


def _state(proposal: Members | None, plan: Members | None, happened: Members | None) -> str:
    """What is not known outweighs everything."""
    if happened is not None and _is_unknown(happened):
        return "unknown"
    if plan is None:
        return "added_by_retry" if proposal is None else "dropped"
    if plan["disposition"] == "reject" or (happened is not None and happened["status"] == "skipped"):
        return "dropped"
    if plan["disposition"] != "execute" or any(members(change).get("asked") for change in listed(plan["changes"])):
        return "altered_by_policy"
    if happened is None:
        return "unknown"
    if plan["trigger"] == "reconciliation":
        return "added_by_retry"
    return "carried_on" if proposal is None else "as_planned"


def _is_unknown(happened: Members) -> bool:
    """Not ended, blocked, or with an effect whose outcome is not known: by its receipt now, else by what was told then."""
    effects = [members(effect) for effect in listed(happened["effects"])]
    receipts = [members(effect.get("receipt")) for effect in effects]
    if any(map(_is_open, receipts)):
        return True
    if effects and all(receipts):
        return False
    return happened["status"] in (None, "blocked") or any(effect.get("status") in _OPEN for effect in effects)
