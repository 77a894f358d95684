"""`intention send`."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import click

from intention_kernel.application.loading import VARIABLE
from intention_kernel.cli.arguments import identifier, json_or_file
from intention_kernel.cli.default_agent import default_agent
from intention_kernel.cli.send_outcome import await_outcome, show_outcome
from intention_kernel.cli.settings import Addresses, addresses
from intention_kernel.client import Client
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.turn_request import MAX_DEADLINE_SECONDS, TurnInput, TurnRequest
from intention_kernel.ids import random_id


@dataclass(frozen=True, slots=True)
class _Options:
    """What the command line says of a request, beside thread and text."""

    turn_id: str | None
    agent: str | None
    tenant: str | None
    deadline: float | None
    host_context: dict[str, JsonValue]


def _host_context(context: click.Context, parameter: click.Parameter, value: str | None) -> dict[str, JsonValue]:
    if value is None:
        return {}
    document = json_or_file("--host-context", value)
    if not isinstance(document, dict):
        raise click.BadParameter("it is not a JSON object", context, parameter)
    return document


@click.command()
@click.argument("thread_id", metavar="THREAD", callback=identifier)
@click.argument("text")
@click.option("--turn-id", callback=identifier, help="An id of your own: the same id with the same content runs once.")
@click.option("--agent", callback=identifier, help=f"The agent; by default the only or first one of {VARIABLE}.")
@click.option("--tenant", callback=identifier, help="The tenant that the thread belongs to.")
@click.option(
    "--deadline",
    type=click.FloatRange(0, MAX_DEADLINE_SECONDS, min_open=True),
    metavar="SECONDS",
    help="How long one attempt of the turn may take.",
)
@click.option("--host-context", callback=_host_context, metavar="JSON|@FILE", help="What the host tells the program.")
@click.option(
    "--wait", type=click.FloatRange(0, min_open=True), metavar="SECONDS", help="Wait so long for the turn's outcome."
)
@click.pass_context
def send(context: click.Context, /, thread_id: str, text: str, wait: float | None, **options: object) -> None:
    """Send a message to a thread, and print the id of its turn once the broker has it.

    With --wait the outcome follows as one line of JSON, and the exit code tells it: 0 committed or replayed, 9 blocked,
    5 conflict, 1 rejected or set aside, 8 not known in time.

    Example: intention send thread-7 "reserve 2 FILTER-A for FAN-7" --wait 30
    """
    where = addresses(kafka=True)
    request = _request(where, thread_id, text, _Options(**options))  # type: ignore[arg-type]  # click checked them
    context.exit(asyncio.run(_send(where, request, wait)))


async def _send(where: Addresses, request: TurnRequest, wait_seconds: float | None) -> int:
    async with Client(where.kafka_bootstrap_servers, where.topic_prefix) as client:
        if wait_seconds is None:
            click.echo(await client.send(request))
            return 0
        return show_outcome(await await_outcome(client, request, wait_seconds, where.database_url))


def _request(where: Addresses, thread_id: str, text: str, options: _Options) -> TurnRequest:
    return TurnRequest(
        schema_version=1,
        thread_id=thread_id,
        turn_id=options.turn_id or str(random_id()),
        agent_id=options.agent or default_agent(where.application),
        tenant_id=options.tenant,
        input=TurnInput(text=text),
        host_context=options.host_context,
        deadline_seconds=options.deadline,
    )
