"""What people write on the command line: ids, and JSON in place or in a file."""

from __future__ import annotations

from pathlib import Path

import click

from intention_kernel.contracts.identifiers import identifier_problem
from intention_kernel.contracts.json_codec import JsonValue, loads
from intention_kernel.errors import JsonError


def identifier(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """A click callback: the argument is a thread, turn, agent or tenant id (interface 2)."""
    problem = None if value is None else identifier_problem(value)
    if problem:
        raise click.BadParameter(problem, context, parameter)
    return value


def json_or_file(option: str, given: str) -> JsonValue:
    """The JSON that `option` was given, in place or as @FILE. Raises click.BadParameter."""
    try:
        return loads(Path(given[1:]).read_bytes() if given.startswith("@") else given)
    except OSError as error:
        raise click.BadParameter(f"{given[1:]}: {error.strerror}", param_hint=option) from error
    except JsonError as error:
        raise click.BadParameter(f"it is not JSON: {error}", param_hint=option) from error
