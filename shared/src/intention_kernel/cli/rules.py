"""`intention rules ls | set | disable`: which decisions need a second person (interface 4).

Exit codes: 0 done, 2 usage, 4 no such rule.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import get_args

import click

from intention_kernel.cli.exit_codes import NOT_FOUND, USAGE
from intention_kernel.cli.output import Document, Format, output_option
from intention_kernel.cli.queue_running import actor_option, fail, run
from intention_kernel.cli.queue_work import Span
from intention_kernel.cli.settings import addresses
from intention_kernel.cli.tables import print_list
from intention_kernel.ports.approvals import ApprovalRule, DecidingQueue, EffectClass
from intention_kernel.ports.identity import User
from intention_kernel.postgres.identity import open_identity
from intention_kernel.reconciliation.document import rule_document
from intention_kernel.reconciliation.rules import rule_problem, unsatisfiable
from intention_kernel.reconciliation.workbench import EffectOf

_COLUMNS = {
    "RULE": "ruleId",
    "ENABLED": "enabled",
    "CLASSES": "classes",
    "RESOLUTIONS": "resolutions",
    "WINDOW CLOSED": "windowClosed",
    "AT LEAST": "leastAmount",
    "CURRENCY": "currency",
    "EFFECTS": "effects",
    "TENANTS": "tenants",
    "EXPIRES (S)": "expiresSeconds",
}


class _Amount(click.ParamType[Decimal]):
    """A decimal number."""

    name = "amount"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:
        try:
            return Decimal(str(value))
        except InvalidOperation:
            self.fail(f"{value!r} is not a number", param, ctx)


@click.group()
def rules() -> None:
    """Which decisions about receipts need a second person."""


@rules.command("ls")
@output_option
def ls(*, output: Format) -> None:
    """List the rules. Where users are set up, those that nobody could satisfy are named on stderr.

    Example: intention rules ls
    """
    found = run(lambda store, _: store.rules())
    documents: list[Document] = [rule_document(rule) for rule in found]
    print_list(documents, output, columns=_COLUMNS, id_member="ruleId")
    users = asyncio.run(_users())
    for rule in unsatisfiable(found, users) if users else ():
        click.echo(f"{rule.rule_id}: nobody but who proposes could approve what it asks for", err=True)


@rules.command("set")
@click.argument("rule_id", metavar="RULE")
@click.option("--effect", "effects", metavar="ID", multiple=True, help="Only decisions about these effects.")
@click.option("--tenant", "tenants", metavar="ID", multiple=True, help="Only those of these tenants.")
@click.option(
    "--class",
    "classes",
    type=click.Choice(get_args(EffectClass)),
    multiple=True,
    help="keyed: the provider certified that the same key is the same effect; single: a repeat is another.",
)
@click.option(
    "--resolution",
    "resolutions",
    type=click.Choice(["applied", "not_applied"]),
    multiple=True,
    help="Only decisions that say so.",
)
@click.option(
    "--at-least", "least_amount", type=_Amount(), metavar="AMOUNT", help="Only from this amount on, of --currency."
)
@click.option("--currency", metavar="CODE", help="The currency of --at-least.")
@click.option("--window-closed", is_flag=True, help="Only once the provider cannot be relied on to know the key.")
@click.option(
    "--expires", "expires_seconds", type=Span(), default="24h", show_default=True, help="How long a proposal waits."
)
@actor_option
def set_rule(
    rule_id: str,
    *,
    least_amount: Decimal | None,
    currency: str | None,
    window_closed: bool,
    expires_seconds: float,
    actor: str,
    **given: Sequence[str],
) -> None:
    """Make a rule, or replace the one of that name: a decision that meets all of it needs a second person.

    Example: intention rules set large-refunds --effect bank.refund --at-least 200 --currency EUR
    """
    sets = {name: frozenset(words) if words else None for name, words in given.items()}
    rule = ApprovalRule(
        rule_id,
        **sets,  # type: ignore[arg-type]  # click has checked the words
        least_amount=least_amount,
        currency=currency,
        window_closed=window_closed,
        expires_seconds=expires_seconds,
    )
    problem = rule_problem(rule)
    if problem is not None:
        fail(USAGE, problem)
    run(lambda store, _: store.set_rule(rule, actor))
    click.echo("set")


@rules.command("disable")
@click.argument("rule_id", metavar="RULE")
@actor_option
def disable(rule_id: str, *, actor: str) -> None:
    """Let a rule ask nothing any more. What was proposed waits for its second person all the same.

    Example: intention rules disable large-refunds
    """

    async def disabled(store: DecidingQueue, _: EffectOf | None) -> bool:
        found = next((rule for rule in await store.rules() if rule.rule_id == rule_id), None)
        if found is not None:
            await store.set_rule(replace(found, enabled=False), actor)
        return found is not None

    if not run(disabled):
        fail(NOT_FOUND, f"there is no rule {rule_id}")
    click.echo("disabled")


async def _users() -> tuple[User, ...]:
    async with open_identity(addresses(database=True).database_url) as identity:
        return await identity.users()
