"""Waiting for the outcome of a turn that was sent, and what is printed of it (interface 3)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import assert_never

import click

from intention_kernel.cli.exit_codes import CONFLICT, FAILED, NEEDS_OPERATOR, OK, STILL_RUNNING
from intention_kernel.client import Client, Committed, Conflict, Failed, Outcome, Rejected, Replayed, Waiting
from intention_kernel.clock import SystemClock
from intention_kernel.contracts.json_codec import JsonValue, dumps
from intention_kernel.contracts.turn_request import TurnRequest
from intention_kernel.postgres.reading import Reading, open_reading

STATUS_CODES = {"completed": OK, "blocked": NEEDS_OPERATOR, "failed": FAILED}
_CONFLICT_DETAIL = "the turn id is taken by other content; nothing was executed"


async def await_outcome(client: Client, request: TurnRequest, wait_seconds: float, database_url: str) -> Outcome | None:
    """Send, print the turn id, and wait for the outcome; None where it is not known in time.

    The topics tell it. With a database also what they do not: that the turn is set aside already, that a result on
    the topic is of another request with the same turn id, and, when time is up, what is stored.
    """
    async with _reading(database_url) as reading:
        aside = await _set_aside(reading, request)
        async with client.sending(request) as waiting:
            click.echo(request.turn_id)
            if aside is not None:
                return aside
            outcome = await _until_ours(waiting, request, wait_seconds, reading)
        return outcome or await _stored(reading, request)


def show_outcome(outcome: Outcome | None) -> int:
    """Print the outcome as one line of JSON, say it on stderr where it is not good, and return the exit code."""
    match outcome:
        case Committed(result) | Replayed(result):
            click.echo(dumps(result))
            return STATUS_CODES.get(outcome.status, OK)
        case Conflict(detail):
            _show_refusal("conflict", "conflict", detail)
            return CONFLICT
        case Rejected(reason, detail):
            _show_refusal("rejected", reason, detail)
            return FAILED
        case Failed(data):
            click.echo(dumps(data))
            click.echo(f"set aside: {outcome.reason}; `intention rejected ls` lists it", err=True)
            return FAILED
        case None:
            click.echo("the wait is over and the turn is not; `intention turn show` tells how it stands", err=True)
            return STILL_RUNNING
        case never:
            assert_never(never)


def _show_refusal(outcome: str, reason: str, detail: str) -> None:
    document: JsonValue = {"outcome": outcome, "reason": reason, "detail": detail}
    click.echo(dumps(document))
    said = detail if reason == outcome else f"{reason}: {detail}"
    click.echo(f"{outcome}: {said}", err=True)


@asynccontextmanager
async def _reading(database_url: str) -> AsyncIterator[Reading | None]:
    if not database_url:
        yield None
        return
    async with open_reading(database_url) as reading:
        yield reading


async def _until_ours(
    waiting: Waiting, request: TurnRequest, wait_seconds: float, reading: Reading | None
) -> Outcome | None:
    """The outcome of this request: a result may be that of an earlier one with the same turn id and other content."""
    clock = SystemClock()
    end = clock.monotonic_seconds() + wait_seconds
    while True:
        outcome = await waiting.outcome(max(0.0, end - clock.monotonic_seconds()))
        if reading is None or not isinstance(outcome, Committed | Replayed):
            return outcome
        stored = await reading.stored_turn(request.thread_id, request.turn_id)
        if stored is None or stored.digest == request.content_digest():
            return outcome


async def _set_aside(reading: Reading | None, request: TurnRequest) -> Failed | None:
    if reading is None:
        return None
    found = await reading.open_set_aside(request.thread_id, request.turn_id, request.content_digest())
    return None if found is None else Failed({"reason": found.reason, "detail": found.detail})


async def _stored(reading: Reading | None, request: TurnRequest) -> Outcome | None:
    """What the database knows when the topics have told nothing, such as while no relay runs."""
    if reading is None:
        return None
    stored = await reading.stored_turn(request.thread_id, request.turn_id)
    if stored is not None:
        return Committed(stored.result) if stored.digest == request.content_digest() else Conflict(_CONFLICT_DETAIL)
    return await _set_aside(reading, request)
