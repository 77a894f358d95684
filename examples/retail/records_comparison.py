"""Where the changes of a world differ from the published ones. Money is compared at two decimals, all else exactly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

_HALF_A_CENT = 0.005


def differences(expected: object, actual: object, path: str = "") -> list[str]:
    """A line for every member that differs, with its path and both values; empty where they agree."""
    return list(_differences(expected, actual, path))


def _differences(expected: object, actual: object, path: str) -> Iterator[str]:
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        for name in sorted({*expected, *actual}):
            yield from _member(expected, actual, name, f"{path}/{name}")
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for place, pair in enumerate(zip(expected, actual, strict=True)):
            yield from _differences(*pair, f"{path}/{place}")
    elif not _equal(expected, actual):
        yield f"{path}: expected {expected!r}, found {actual!r}"


def _member(expected: Mapping[str, object], actual: Mapping[str, object], name: str, path: str) -> Iterator[str]:
    if name not in actual:
        yield f"{path}: missing"
    elif name not in expected:
        yield f"{path}: not expected"
    else:
        yield from _differences(expected[name], actual[name], path)


def _equal(expected: object, actual: object) -> bool:
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(expected, int | float) and isinstance(actual, int | float):
        return abs(expected - actual) < _HALF_A_CENT
    return expected == actual
