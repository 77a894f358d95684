"""What a confirmation asks consent for: the operation in the application's words and its input, not in a model's."""

from __future__ import annotations

from intention_kernel.agent.compiled import Capability
from intention_kernel.contracts.json_codec import JsonValue, dumps
from intention_kernel.contracts.receipt import Summary
from intention_kernel.runtime.stages.turn_plan import PlanStep

LONGEST_INPUT = 2_000
"""Characters of an input that are shown; of a longer one its beginning."""
_NOTHING: tuple[JsonValue, ...] = (None, "", [], {})


def what_is_confirmed(capability: Capability, step: PlanStep) -> str:
    """The title that the capability gives the operation, and the input that will be carried out.

    Consent is for what was shown, and a model's objective may say something else than what it proposed. Where there is no
    title (a read, or a `describe` that is for another payload than the input) the objective stands beside the input.
    """
    shown = _shown(step.input)
    title = _title(capability, step.input) or step.intention.objective
    return f"{title} ({shown})" if shown else title


def _title(capability: Capability, document: JsonValue) -> str | None:
    if capability.effect is None:
        return None
    try:
        summary: object = capability.effect.describe(document)
    except Exception:  # noqa: BLE001 - it is made for the effect's payload, which need not be the input
        return None
    return summary.title if isinstance(summary, Summary) and isinstance(summary.title, str) else None


def _shown(document: JsonValue) -> str:
    if isinstance(document, dict):
        text = "; ".join(f"{name}: {_value(member)}" for name, member in document.items() if member not in _NOTHING)
    else:
        text = "" if document is None else _value(document)
    return text if len(text) <= LONGEST_INPUT else f"{text[:LONGEST_INPUT]} …"


def _value(value: JsonValue) -> str:
    return value if isinstance(value, str) else dumps(value).decode()
