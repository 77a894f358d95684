"""`intention recover`: go on from a database that was restored or lost its last writes (protocol R39)."""

from __future__ import annotations

import asyncio
import getpass

import click

from intention_kernel.cli.exit_codes import DENIED, OK
from intention_kernel.cli.recovering import Recovery, Situation
from intention_kernel.cli.settings import Addresses, addresses
from intention_kernel.contracts.topics import Topics
from intention_kernel.postgres.recovery import open_recovery


@click.command()
@click.option("--yes", is_flag=True, help="Do it; without, only look and tell what would be done.")
@click.option(
    "--restored",
    is_flag=True,
    help="The database was restored or failed over, though no offset shows it: leave what may have run to the resolvers.",
)
@click.option(
    "--group",
    envvar="INTENTION_CONSUMER_GROUP",
    default="turn-runner",
    show_default=True,
    help="The turn-runners' consumer group, without the prefix.",
)
@click.option(
    "--as", "actor", metavar="NAME", default=getpass.getuser, show_default="your user name", help="Who recovers."
)
@click.pass_context
def recover(context: click.Context, *, yes: bool, restored: bool, group: str, actor: str) -> None:
    """Go on from a database that is older than Kafka.

    Requests that it knows no outcome of run again. Their effects are not called: each becomes uncertain, and the resolvers
    find out what it was. Events get a new incarnation and sequences above those on the topic. Stop every process first. Safe
    to repeat after an interruption; docs/recovery.md says what is lost.

    Example: intention recover, then intention recover --yes
    """
    where = addresses(database=True, kafka=True)
    context.exit(asyncio.run(_recover(where, group, actor, yes=yes, restored=restored)))


async def _recover(where: Addresses, group: str, actor: str, *, yes: bool, restored: bool) -> int:
    topics = Topics(where.topic_prefix)
    async with open_recovery(where.database_url) as store:
        recovery = Recovery(store, where.kafka_bootstrap_servers, topics, topics.consumer_group(group))
        found = await recovery.situation()
        _tell(found)
        if not (found.is_behind or found.facts.recovering or restored):
            click.echo("nothing to do: the database knows of all that the group has passed")
            return OK
        if not yes:
            click.echo("nothing was changed; stop every process and run `intention recover --yes`")
            return OK
        if found.alive:
            click.echo("refused, these are alive: " + "; ".join(found.alive), err=True)
            return DENIED
        await recovery.run(found, actor, click.echo)
        click.echo("done: start the processes; `intention queue ls` lists what the resolvers cannot find out")
    return OK


def _tell(found: Situation) -> None:
    for one in found.partitions:
        if one.is_ahead:
            again = f"partition {one.number}: the group has passed offset {one.group}, the database knows of {one.done}"
            click.echo(f"{again}: requests from {one.again_from} on run again, those before {one.until} without calls")
        if one.gone:
            click.echo(f"partition {one.number}: {one.gone} of these requests are no longer on the topic, and are lost")
    if found.facts.recovering:
        click.echo("a recovery was begun and is not finished: it goes on")
    for text in found.alive:
        click.echo(f"alive: {text}")
