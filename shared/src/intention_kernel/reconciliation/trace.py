"""A committed turn's stored events as one document: a causal tree with times, and three columns to compare.

    {"isProgram", "attempt", "resumes", "status", "startedAt", "durationMs", "tree": [node], "comparison": [row]}

    node  {"kind": "model" | "plan" | "step" | "effect" | "event", "name", "status", "at", "offsetMs", "durationMs",
           "eventId", "sequence", "causedBy", "stepId", "data", "result", "children": [node]}
          of a model also "provider", "model", "usage"; of a step "trigger"; of an effect "receiptId", "effectKey"
    row   {"state", "capabilityId", "stepId",
           "proposal": {"objective", "resolution", "input"} | null,
           "plan": {"disposition", "trigger", "input", "changes": [{"path", "asked", "proposed", "planned"}],
                    "asksConfirmation", "reasonCode", "reason", "missingFacts"} | null,
           "happened": {"status", "startedAt", "durationMs", "issueCode",
                        "effects": [{"receiptId", "effectKey", "status", "receipt": receipt | null}]} | null}

A span without `durationMs` has no end in the events; a moment takes 0. The states of rows are `trace_comparison`'s.
"""

from __future__ import annotations

from collections.abc import Sequence

from intention_kernel.contracts.event import rfc3339
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.reconciliation.trace_comparison import comparison, effects_alone
from intention_kernel.reconciliation.trace_events import Members, milliseconds, text, told
from intention_kernel.reconciliation.trace_tree import moments, tree


def trace_document(events: Sequence[JsonValue], receipts: Sequence[Members] = ()) -> Members:
    """Of whatever events a turn left; never raises. `receipts` are receipt documents, for what is known of effects now."""
    found = told(events)
    first = found[0].data if found and found[0].type == "turn.started" else {}
    last = found[-1] if found else None
    # The kernel tells the revision that a compiled agent's turn began with: no Program can say so in its name.
    is_program = "checkpointRevision" not in first
    start = next((event.at for event in found if event.at is not None), None)
    end = next((event.at for event in reversed(found) if event.at is not None), None)
    attempt = first.get("attempt")
    return {
        "isProgram": is_program,
        "attempt": attempt if isinstance(attempt, int) else None,
        "resumes": text(first.get("resumes")),
        "status": text(last.data.get("status")) if last is not None and last.type == "turn.completed" else None,
        "startedAt": None if start is None else rfc3339(start),
        "durationMs": milliseconds(start, end),
        "tree": moments(found, start) if is_program else tree(found, start),
        "comparison": effects_alone(receipts) if is_program else comparison(found, receipts),
    }
