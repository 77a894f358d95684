"""One measured figure with its reference, and the line that says it (interface 7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import cast

from intention_kernel.contracts.json_codec import JsonValue, dumps, loads


@dataclass(frozen=True, slots=True)
class Result:
    """`ratio` is ours ÷ reference, the median over rounds; both None where there is no reference. `n`: how many were measured.

    Rates where more is better; a time or a cost says so by its unit. `detail` is what the page shows beside it.
    """

    name: str
    ours: float
    reference: float | None
    ratio: float | None
    unit: str
    n: int
    detail: Mapping[str, JsonValue] = field(default_factory=dict)

    def line(self, machine: Mapping[str, JsonValue]) -> str:
        """One JSON object; `machine` says where and when it was measured."""
        members = {name: _rounded(value) for name, value in asdict(self).items()}
        return dumps({**members, "machine": dict(machine)}).decode()


def read_results(file: Path) -> list[tuple[Result, Mapping[str, JsonValue]]]:
    """What `line` wrote, each with its machine."""
    lines = [cast("dict[str, JsonValue]", loads(line)) for line in file.read_bytes().splitlines() if line.strip()]
    return [(_result(members), cast("dict[str, JsonValue]", members["machine"])) for members in lines]


def compared(
    name: str, unit: str, n: int, ours: Sequence[float], reference: Sequence[float], detail: Mapping[str, JsonValue]
) -> Result:
    """Rates of rounds that went side by side: medians, the ratio being the median of each round's own."""
    ratios = [one / other for one, other in zip(ours, reference, strict=True)]
    rounds: list[JsonValue] = [[one, other] for one, other in zip(ours, reference, strict=True)]
    spread: dict[str, JsonValue] = {"rounds": rounds, "ratios": [*sorted(ratios)]}
    return Result(name, median(ours), median(reference), median(ratios), unit, n, {**spread, **detail})


def percentile(values: Iterable[float], share: float) -> float:
    """The value that `share` of them do not exceed."""
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


def _result(members: Mapping[str, JsonValue]) -> Result:
    return Result(
        name=cast("str", members["name"]),
        ours=cast("float", members["ours"]),
        reference=cast("float | None", members["reference"]),
        ratio=cast("float | None", members["ratio"]),
        unit=cast("str", members["unit"]),
        n=cast("int", members["n"]),
        detail=cast("dict[str, JsonValue]", members["detail"]),
    )


def _rounded(value: JsonValue) -> JsonValue:
    """Four digits are more than any of these figures hold."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {name: _rounded(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_rounded(member) for member in value]
    return value
