"""How the commands of users and tokens reach the store, and what they have in common."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import NoReturn, TypeVar

import click

from intention_kernel.cli.exit_codes import NOT_FOUND, USAGE
from intention_kernel.cli.queue_running import fail
from intention_kernel.cli.settings import addresses
from intention_kernel.ports.identity import Identity, NoSuchRole
from intention_kernel.postgres.identity import open_identity

_Answer = TypeVar("_Answer")
password_option = click.option(
    "--password-stdin", is_flag=True, help="Read the password from the first line of stdin instead of asking for it."
)


def run(work: Callable[[Identity], Awaitable[_Answer]]) -> _Answer:
    """The answer of the store."""

    async def connected() -> _Answer:
        async with open_identity(addresses(database=True).database_url) as identity:
            return await work(identity)

    return asyncio.run(connected())


def read_password(*, stdin: bool) -> str:
    """The password, from stdin or, twice and unseen, from a person; never from an argument, which others can read."""
    if stdin:
        return sys.stdin.readline().rstrip("\r\n")
    if not sys.stdin.isatty():
        raise click.UsageError("there is nobody to ask for the password: give it with --password-stdin")
    password: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    return password


def fail_no_user(name: str) -> NoReturn:
    """Exit code 4."""
    fail(NOT_FOUND, f"there is no user {name}; `intention users ls` lists them")


def fail_no_role(role: NoSuchRole) -> NoReturn:
    """Exit code 2."""
    fail(USAGE, f"there is no role {role.name}; `intention roles ls` lists them")
