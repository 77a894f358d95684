"""What people see of values before they say why they need to see more: shapes (design 7).

A shape keeps the names of members, the length of lists, booleans and null, and of a text its length; it is made of nothing
else that the value holds.
"""

from __future__ import annotations

from intention_kernel.contracts.json_codec import JsonValue

MOST_ELEMENTS = 100
"""Of a list, and members of an object; how many more there are is said."""

DEEPEST = 40
"""Lists and objects inside each other; what is deeper is said to be there."""

A_NUMBER = "a number"


def masked(value: JsonValue, depth: int = DEEPEST) -> JsonValue:
    """A value's shape. It never raises, and of two values of one shape it makes the same."""
    match value:
        case None | bool():
            return value
        case str():
            return f"text of {len(value)} character{'' if len(value) == 1 else 's'}"
        case int() | float():
            return A_NUMBER
        case _ if depth == 0:
            return "more, too deep to show"
        case list():
            shown = [masked(element, depth - 1) for element in value[:MOST_ELEMENTS]]
            return shown if len(value) <= MOST_ELEMENTS else [*shown, f"and {len(value) - MOST_ELEMENTS} more"]
        case dict():
            return _masked_object(value, depth - 1)


def masked_text(text: str) -> str:
    """The shape of a text, in the middle of words."""
    return f"[text of {len(text)} character{'' if len(text) == 1 else 's'}]"


def _masked_object(value: dict[str, JsonValue], depth: int) -> dict[str, JsonValue]:
    shown: dict[str, JsonValue] = {}
    for name in list(value)[:MOST_ELEMENTS]:
        shown[name] = masked(value[name], depth)
    if len(value) > MOST_ELEMENTS:
        shown["…"] = f"and {len(value) - MOST_ELEMENTS} more"
    return shown
