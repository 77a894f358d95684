"""A history as a file: JSON lines, one value a line, bytes as base64. It is the evidence that a failed campaign leaves."""

from __future__ import annotations

import base64
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from intention_kernel.history.values import (
    Applied,
    Head,
    History,
    Item,
    Move,
    Receipt,
    Record,
    Rejected,
    Sent,
    SetAside,
    Turn,
    WireEvent,
)

_ROWS: Mapping[str, Callable[..., object]] = {
    "sent": Sent,
    "requests": Record,
    "events": Record,
    "rejections": Record,
    "turns": Turn,
    "set_aside": SetAside,
    "rejected": Rejected,
    "heads": Head,
    "receipts": Receipt,
    "moves": Move,
    "items": Item,
    "ledger": Applied,
}


def save_history(history: History, path: Path) -> None:
    """Write the file anew. Raises OSError."""
    with path.open("w", encoding="ascii") as file:
        for name, value in _lines(history):
            file.write(json.dumps({name: _plain(value)}) + "\n")


def load_history(path: Path) -> History:
    """What `save_history` wrote. Raises OSError, and ValueError, KeyError or TypeError where the file is no history."""
    rows: dict[str, list[object]] = defaultdict(list)
    rest: dict[str, Any] = {}
    with path.open(encoding="ascii") as file:
        for line in file:
            for name, value in json.loads(line).items():
                if name in _ROWS:
                    rows[name].append(_row(name, value))
                else:
                    rest[name] = value
    return History(
        **{name: tuple(rows[name]) for name in _ROWS},  # type: ignore[arg-type]  # each list has its row's type
        offsets={int(partition): (done, end) for partition, (done, end) in rest["offsets"].items()},
        left=tuple(rest["left"]),
        incarnation=rest["incarnation"],
        recoveries=rest["recoveries"],
    )


def _lines(history: History) -> Iterator[tuple[str, object]]:
    for name in ("offsets", "left", "incarnation", "recoveries"):
        yield name, getattr(history, name)
    for name in _ROWS:
        rows: Iterable[object] = getattr(history, name)
        yield from ((name, row) for row in rows)


def _plain(value: object) -> object:
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    return value


def _row(name: str, value: Mapping[str, object]) -> object:
    members = {member: _restored(one) for member, one in value.items()}
    if name == "turns":
        members["events"] = tuple(WireEvent(**event) for event in members["events"])
    return _ROWS[name](**members)


def _restored(value: object) -> Any:  # noqa: ANN401  # any member of any row
    if isinstance(value, dict):
        if value.keys() == {"base64"}:
            return base64.b64decode(value["base64"])
        return {name: _restored(one) for name, one in value.items()}
    return tuple(map(_restored, value)) if isinstance(value, list) else value
