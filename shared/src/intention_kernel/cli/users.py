"""`intention users add | ls | show | password | access | disable | enable` and `intention roles ls`: who may work the queue.

Exit codes: 0 done, 2 usage, 4 no such user, 5 there is one of that name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import click

from intention_kernel.cli.exit_codes import CONFLICT, USAGE
from intention_kernel.cli.identity_running import fail_no_role, fail_no_user, password_option, read_password, run
from intention_kernel.cli.output import Document, Format, output_option, visible
from intention_kernel.cli.queue_running import actor_option, fail, table_or_json, text
from intention_kernel.cli.tables import print_list
from intention_kernel.identity import accounts
from intention_kernel.identity.document import role_document, user_document
from intention_kernel.identity.passwords import Passwords
from intention_kernel.ports.identity import Exists, Identity, NoSuchRole, NoSuchUser, Scope, User

_COLUMNS = {
    "NAME": "name",
    "ROLES": "roles",
    "TENANTS": "tenants",
    "EFFECTS": "effects",
    "DISABLED": "disabled",
    "PASSWORD": "hasPassword",
    "CREATED": "createdAt",
}
_NAME = click.argument("name", metavar="NAME")
_roles = click.option("--role", "roles", metavar="ROLE", multiple=True, help="A role; several may be given.")
_tenants = click.option(
    "--tenant", "tenants", metavar="ID", multiple=True, help="Only this tenant; several may be given."
)
_effects = click.option(
    "--effect", "effects", metavar="ID", multiple=True, help="Only this effect; several may be given."
)


@click.group()
def users() -> None:
    """Who may work the queue, by console and API."""


@click.group()
def roles() -> None:
    """What a role allows."""


@roles.command("ls")
@output_option
def list_roles(output: Format) -> None:
    """List the roles with their permissions.

    Example: intention roles ls
    """
    documents = [role_document(role) for role in run(lambda identity: identity.roles())]
    _print(documents, output, {"ROLE": "name", "PERMISSIONS": "permissions"})


@users.command("add")
@_NAME
@_roles
@_tenants
@_effects
@password_option
@click.option("--no-password", is_flag=True, help="They use tokens only, until a password is set.")
@actor_option
@table_or_json
def add(
    name: str,
    *,
    roles: tuple[str, ...],
    tenants: tuple[str, ...],
    effects: tuple[str, ...],
    password_stdin: bool,
    no_password: bool,
    actor: str,
    output: str,
) -> None:
    """Add a user. Without --tenant and --effect all of the queue is within their reach.

    Example: intention users add ana --role operator --tenant acme
    """
    if password_stdin and no_password:
        raise click.UsageError("say one of --password-stdin and --no-password")
    access = accounts.Access(roles, Scope(_chosen(tenants), _chosen(effects)))
    password = None if no_password else read_password(stdin=password_stdin)

    async def added(identity: Identity) -> User | Exists | NoSuchRole | accounts.Invalid:
        return await accounts.add_user(identity, Passwords(), name, access, password, actor)

    _tell(name, run(added), output, "added")


@users.command("ls")
@output_option
def ls(output: Format) -> None:
    """List all users, disabled ones too.

    Example: intention users ls -o json
    """
    _print([user_document(user) for user in run(lambda identity: identity.users())], output, _COLUMNS)


@users.command("show")
@_NAME
@table_or_json
def show(name: str, *, output: str) -> None:
    """Show a user: what they may, and what is within their reach.

    Example: intention users show ana
    """
    account = run(lambda identity: identity.account(name))
    if account is None:
        fail_no_user(name)
    _show(account.user, output)


@users.command("password")
@_NAME
@password_option
@actor_option
def password(name: str, *, password_stdin: bool, actor: str) -> None:
    """Give a user another password. It ends every session of theirs; their tokens stay.

    Example: intention users password ana
    """
    given = read_password(stdin=password_stdin)

    async def changed(identity: Identity) -> User | NoSuchUser | accounts.Invalid:
        return await accounts.set_password(identity, Passwords(), name, given, actor)

    _tell(name, run(changed), "table", "has another password, and no session")


@dataclass(frozen=True, slots=True)
class _Change:
    """What of somebody's access is to be another; what is empty stays as it is."""

    roles: tuple[str, ...]
    tenants: tuple[str, ...]
    effects: tuple[str, ...]
    all_tenants: bool
    all_effects: bool

    def of(self, user: User) -> accounts.Access:
        tenants = None if self.all_tenants else _chosen(self.tenants) or user.scope.tenants
        effects = None if self.all_effects else _chosen(self.effects) or user.scope.effects
        return accounts.Access(self.roles or user.roles, Scope(tenants, effects))


@users.command("access")
@_NAME
@_roles
@_tenants
@_effects
@click.option("--all-tenants", is_flag=True, help="Every tenant, and what has none.")
@click.option("--all-effects", is_flag=True, help="Every effect.")
@actor_option
@table_or_json
def access(
    name: str,
    *,
    roles: tuple[str, ...],
    tenants: tuple[str, ...],
    effects: tuple[str, ...],
    all_tenants: bool,
    all_effects: bool,
    actor: str,
    output: str,
) -> None:
    """Change what a user may and what is within their reach, from their next request on. What is not named stays.

    Example: intention users access ana --role operator --role approver --all-tenants
    """
    change = _Change(roles, tenants, effects, all_tenants, all_effects)
    if not any((roles, tenants, effects, all_tenants, all_effects)):
        raise click.UsageError("say what to change: --role, --tenant, --effect, --all-tenants or --all-effects")
    if (tenants and all_tenants) or (effects and all_effects):
        raise click.UsageError("say which, or all of them")

    async def changed(identity: Identity) -> User | NoSuchUser | NoSuchRole | accounts.Invalid:
        account = await identity.account(name)
        if account is None:
            return NoSuchUser()
        return await accounts.set_access(identity, name, change.of(account.user), actor)

    _tell(name, run(changed), output, "has that access from the next request on")


@users.command("disable")
@_NAME
@actor_option
def disable(name: str, *, actor: str) -> None:
    """End a user's sessions and refuse their tokens, until they are enabled again.

    Example: intention users disable ana
    """
    answer = run(lambda identity: identity.set_disabled(name, actor, disabled=True))
    _tell(name, answer, "table", "can do nothing, and has no session")


@users.command("enable")
@_NAME
@actor_option
def enable(name: str, *, actor: str) -> None:
    """Let a disabled user in again: their tokens at once, themselves as they sign in.

    Example: intention users enable ana
    """
    _tell(name, run(lambda identity: identity.set_disabled(name, actor, disabled=False)), "table", "is enabled")


def _tell(
    name: str, answer: User | Exists | NoSuchUser | NoSuchRole | accounts.Invalid, output: str, words: str
) -> None:
    match answer:
        case User():
            click.echo(text(user_document(answer)) if output == "json" else f"{name} {words}")
        case Exists():
            fail(CONFLICT, f"there is a user {name} already; `intention users access` changes what they may")
        case NoSuchUser():
            fail_no_user(name)
        case NoSuchRole():
            fail_no_role(answer)
        case accounts.Invalid(problem=problem):
            fail(USAGE, problem)


def _show(user: User, output: str) -> None:
    document = user_document(user)
    if output == "json":
        click.echo(text(document))
        return
    for line in (
        f"{user.name}{', disabled' if user.disabled else ''}",
        f"roles: {_words(document['roles'])}",
        f"permissions: {_words(document['permissions'])}",
        f"tenants: {_words(document['tenants'])}",
        f"effects: {_words(document['effects'])}",
        f"password: {'yes' if user.has_password else 'none'}",
        f"since: {document['createdAt']}",
    ):
        click.echo(line)


def _print(documents: Sequence[Document], output: Format, columns: dict[str, str]) -> None:
    if output == "table":
        documents = [{name: _words(value) for name, value in one.items()} for one in documents]
    print_list(documents, output, columns=columns, id_member="name")


def _words(value: object) -> str:
    match value:
        case None:
            return "all"
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(map(visible, value))
        case _:
            return visible(str(value))


def _chosen(ids: tuple[str, ...]) -> frozenset[str] | None:
    return frozenset(ids) if ids else None
