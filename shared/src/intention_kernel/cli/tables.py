"""Lists on stdout: a table for people, JSON or ids for scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from intention_kernel.cli.output import Document, Format, pretty, visible
from intention_kernel.contracts.json_codec import JsonValue, dumps

_WIDE = 10_000


def print_list(documents: Sequence[Document], output: Format, *, columns: Mapping[str, str], id_member: str) -> None:
    """Print a list; `columns` are the table's headings and the members under them."""
    match output:
        case "table":
            _print_table(documents, columns)
        case "json":
            click.echo(pretty(cast("list[JsonValue]", list(documents))))
        case "jsonl":
            for document in documents:
                click.echo(dumps(document))
        case "ids":
            for document in documents:
                click.echo(visible(document[id_member]))


def _print_table(documents: Sequence[Document], columns: Mapping[str, str]) -> None:
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDE)  # a pipe has no width: nothing is cut or wrapped
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in columns:
        table.add_column(heading, overflow="fold")
    for document in documents:
        table.add_row(*(Text(visible(document[member])) for member in columns.values()))
    console.print(table)
