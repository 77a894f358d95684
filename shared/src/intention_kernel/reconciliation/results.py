"""Values that come from elsewhere than the operation itself, checked against the effect's declared result (interface 1)."""

from __future__ import annotations

from functools import cache

from pydantic import TypeAdapter, ValidationError

from intention_kernel.agent.effect import Effect
from intention_kernel.contracts.json_codec import JsonValue, dumps
from intention_kernel.errors import JsonError


def result_problem(effect: Effect, value: JsonValue) -> str | None:
    """Why `value` cannot be a result of the effect; None where it can."""
    try:
        _adapter(effect.result).validate_json(dumps(value), strict=True)
    except JsonError as error:
        return f"the value is not JSON: {error}"
    except ValidationError as error:
        problems = (
            _problem(entry["loc"], entry["msg"]) for entry in error.errors(include_url=False, include_input=False)
        )
        return f"the value is not a result of {effect.id}: " + "; ".join(problems)
    return None


@cache
def _adapter(result: type) -> TypeAdapter[object]:
    return TypeAdapter(result)


def _problem(place: tuple[int | str, ...], message: str) -> str:
    where = ".".join(str(part) for part in place)
    return f"{where}: {message}" if where else message
