"""`intention tokens issue | ls | revoke`: secrets for programs (design 7).

Exit codes: 0 done, 2 usage, 4 no such user or token.
"""

from __future__ import annotations

import click

from intention_kernel.cli.exit_codes import NOT_FOUND, USAGE
from intention_kernel.cli.identity_running import fail_no_user, run
from intention_kernel.cli.output import Document, Format, output_option
from intention_kernel.cli.queue_running import actor_option, fail
from intention_kernel.cli.tables import print_list
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.identity import accounts
from intention_kernel.identity.document import token_document
from intention_kernel.ports.identity import PERMISSIONS, NoSuchUser, Permission

_COLUMNS = {
    "TOKEN": "tokenId",
    "PREFIX": "prefix",
    "USER": "user",
    "LABEL": "label",
    "PERMISSIONS": "permissions",
    "EXPIRES": "expiresAt",
    "REVOKED": "revokedAt",
    "LAST USED": "lastUsedAt",
}


@click.group()
def tokens() -> None:
    """Secrets by which programs use the API."""


@tokens.command("issue")
@click.argument("user", metavar="USER")
@click.option("--label", metavar="TEXT", required=True, help="What it is for.")
@click.option(
    "--permission",
    "permissions",
    type=click.Choice(PERMISSIONS),
    multiple=True,
    help="At most this; several may be given. By default all that its user may.",
)
@click.option(
    "--days",
    type=click.IntRange(1, accounts.MOST_DAYS),
    default=90,
    show_default=True,
    help="How long it lasts.",
)
@actor_option
def issue(user: str, *, label: str, permissions: tuple[Permission, ...], days: int, actor: str) -> None:
    """Issue a token. Its secret is printed once, alone on stdout; only its hash is kept.

    It never allows more than its user may when it is used, and reaches what they reach.

    Example: intention tokens issue ana --label "nightly report" --permission receipts:read --days 30
    """
    order = accounts.Order(user, label, frozenset(permissions) if permissions else None, days)
    match run(lambda identity: accounts.issue_token(identity, order, actor)):
        case accounts.Issued(token=token, secret=secret):
            click.echo(secret)
            ends = token.expires_at.isoformat(timespec="seconds")
            click.echo(f"token {token.token_id} until {ends}; its secret is not shown again", err=True)
        case NoSuchUser():
            fail_no_user(user)
        case accounts.Invalid(problem=problem):
            fail(USAGE, problem)


@tokens.command("ls")
@click.option("--user", metavar="NAME", help="Only theirs.")
@output_option
def ls(*, user: str | None, output: Format) -> None:
    """List tokens, the newest first; revoked ones too. A secret begins with ik_ and its token's prefix.

    Example: intention tokens ls --user ana
    """
    documents = [token_document(token) for token in run(lambda identity: identity.tokens(user))]
    if output == "table":
        documents = [_row(document) for document in documents]
    print_list(documents, output, columns=_COLUMNS, id_member="tokenId")


@tokens.command("revoke")
@click.argument("token_id", metavar="TOKEN")
@actor_option
def revoke(token_id: str, *, actor: str) -> None:
    """Make a token worthless, from the next request on. A repeat changes nothing.

    Example: intention tokens revoke 3f0c2b9d1e5a4c7f8a6b5d4e3f2a1b0c
    """
    token = run(lambda identity: identity.revoke_token(token_id, actor))
    if token is None:
        fail(NOT_FOUND, f"there is no token {token_id}; `intention tokens ls` lists them")
    click.echo(f"token {token.token_id} of {token.user} is revoked")


def _row(document: Document) -> Document:
    allowed = document["permissions"]
    words: JsonValue = ", ".join(map(str, allowed)) if isinstance(allowed, list) else "all of its user's"
    return {**document, "permissions": words}
