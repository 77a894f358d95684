"""`intention chat`: talk on a thread."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import click

from intention_kernel.application.loading import VARIABLE
from intention_kernel.cli.arguments import identifier
from intention_kernel.cli.chat_feed import open_feed
from intention_kernel.cli.chat_input import read_lines
from intention_kernel.cli.chat_screen import Screen
from intention_kernel.cli.chat_session import Line, Session, Speaker
from intention_kernel.cli.default_agent import default_agent
from intention_kernel.cli.output import Document
from intention_kernel.cli.settings import Addresses, addresses
from intention_kernel.client import Client
from intention_kernel.errors import InfrastructureError
from intention_kernel.postgres.reading import open_reading


@click.command()
@click.argument("thread_id", metavar="THREAD", callback=identifier)
@click.option("--agent", callback=identifier, help=f"The agent; by default the thread's, else that of {VARIABLE}.")
@click.option("--tenant", callback=identifier, help="The tenant that the thread belongs to.")
@click.option(
    "--wait",
    type=click.FloatRange(0, min_open=True),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long nothing may be heard of a turn before that is said.",
)
@click.pass_context
def chat(context: click.Context, /, thread_id: str, agent: str | None, tenant: str | None, wait: float) -> None:
    """Talk on a thread: each line that you type is a turn, and its answer follows.

    What a turn is doing is shown while it runs. Where options are shown, a number or an option's own words choose it. A turn
    that goes on later by itself, because the outcome of an effect became known, is shown when it does. /help lists what else
    can be typed; /quit and Ctrl-D end.

    The exit code is that of the last turn, as for `intention send --wait`. Of an application with several agents the first
    compiled one is meant where --agent is not given.

    Example: intention chat thread-7
    """
    where = addresses(kafka=True)
    context.exit(asyncio.run(_chat(where, thread_id, agent, tenant, wait)))


async def _chat(where: Addresses, thread_id: str, agent: str | None, tenant: str | None, wait_seconds: float) -> int:
    async def thread() -> Document | None:
        if not where.database_url:
            return None
        async with open_reading(where.database_url) as reading:
            return await reading.thread(thread_id)

    before = await thread()
    bound = before.get("agentId") if before is not None else None
    agent_id = agent or (bound if isinstance(bound, str) else default_agent(where.application, "compiled"))
    speaker = Speaker(thread_id, agent_id, tenant)
    async with (
        Client(where.kafka_bootstrap_servers, where.topic_prefix) as client,
        open_feed(where.kafka_bootstrap_servers, where.topic_prefix, thread_id) as feed,
    ):
        session = Session(client, speaker, Screen(), wait_seconds, thread if where.database_url else None)
        listening = asyncio.create_task(session.listen(feed))
        read_lines(lambda text: session.inbox.put_nowait(Line(text)))
        try:
            return await session.run(before)
        finally:
            listening.cancel()
            with suppress(asyncio.CancelledError, InfrastructureError):
                await listening
