"""Journal entries as columns of the array statements, and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import asyncpg

from intention_kernel.ports.turn_store import JournalEntry
from intention_kernel.postgres.packing import pack, unpack
from intention_kernel.postgres.text import escape, unescape


def journal_columns(journals: Sequence[tuple[JournalEntry, ...]]) -> tuple[list[Any], ...]:
    """One element an entry: ordinal of its row, entry, kind, key, outcome, request digest, body.

    An entry's name may hold anything that a program chose, so it is escaped.
    """
    ords: list[int] = []
    entries: list[JournalEntry] = []
    for place, journal in enumerate(journals, 1):
        ords.extend([place] * len(journal))
        entries.extend(journal)
    return (
        ords,
        [escape(entry.entry) for entry in entries],
        [entry.kind for entry in entries],
        [entry.effect_key for entry in entries],
        [entry.outcome for entry in entries],
        [entry.request_digest for entry in entries],
        [pack(entry.body) for entry in entries],
    )


def journal_entry(values: Sequence[Any]) -> JournalEntry:
    """One stored entry of six columns; the table's constraints hold kind and outcome to their words."""
    entry, kind, effect_key, outcome, request_digest, body = values
    return JournalEntry(unescape(entry), kind, effect_key, outcome, request_digest, unpack(body))


def journal_of_arrays(record: asyncpg.Record) -> tuple[JournalEntry, ...]:
    """The journal in a row of begin_turns_v1, as arrays side by side."""
    if record["entries"] is None:
        return ()
    columns = ("entries", "kinds", "effect_keys", "outcomes", "request_digests", "bodies")
    return tuple(journal_entry(row) for row in zip(*(record[column] for column in columns), strict=True))


def journal_of_rows(records: Iterable[asyncpg.Record]) -> tuple[JournalEntry, ...]:
    """The journal in rows of sql/turn_journal.sql."""
    return tuple(journal_entry(tuple(record)) for record in records)
