"""What can be known of an application's functions without calling them."""

from __future__ import annotations

import inspect


def async_problem(function: object, parameters: str) -> str | None:
    """Why `function` is no `async def` that takes these parameters (comma-separated), or None."""
    if not callable(function):
        return f"is no function but {_kind(function)}; write async def f({parameters})"
    if not _is_async(function):
        return f"is not async; write async def f({parameters})"
    return _arity_problem(function, parameters)


def sync_problem(function: object, parameters: str) -> str | None:
    """Why `function` is no plain function that takes these parameters (comma-separated), or None."""
    if not callable(function):
        return f"is no function but {_kind(function)}; write def f({parameters})"
    if _is_async(function) or _is_generator(function):
        return f"has to be a plain function, neither async nor a generator; write def f({parameters})"
    return _arity_problem(function, parameters)


def _is_async(function: object) -> bool:
    return any(inspect.iscoroutinefunction(called) for called in _called(function))


def _is_generator(function: object) -> bool:
    return any(
        inspect.isgeneratorfunction(called) or inspect.isasyncgenfunction(called) for called in _called(function)
    )


def _called(function: object) -> tuple[object, object]:
    """The function, and what an instance with `__call__` runs."""
    return function, type(function).__call__


def _arity_problem(function: object, parameters: str) -> str | None:
    if not callable(function):
        return None
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError, NameError):
        # A built-in that does not say, or annotations that only a type checker can resolve.
        return None
    try:
        signature.bind(*(None for _ in parameters.split(",")))
    except TypeError as error:
        return f"is called with ({parameters}), and {signature} does not take that: {error}"
    return None


def _kind(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"
