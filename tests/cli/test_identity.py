"""Users, roles and tokens through the command: what it prints, how it ends, and what a password may never touch (design 7)."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator

import pytest
from intention_kernel.identity.passwords import Passwords, Right
from intention_kernel.identity.principals import principal_of_token
from intention_kernel.ports.identity import PERMISSIONS

from tests.cli.invoking import Said, environment, intention, intention_beside
from tests.identity.bench import People, people

ROOT = ("--as", "root")
PASSWORD = "correct horse battery"


@pytest.fixture
async def db(fresh_database: str) -> AsyncIterator[People]:
    async with people(fresh_database) as opened:
        yield opened


async def said(db: People, *words: str, stdin: str = "") -> Said:
    return await intention_beside(*words, env=environment(db.url), stdin=stdin)


async def test_a_user_is_added_shown_and_listed(db: People) -> None:
    options = ("--role", "operator", "--role", "approver", "--tenant", "acme", "--effect", "pay", "--password-stdin")
    added = await said(db, "users", "add", "ana", *options, *ROOT, stdin=f"{PASSWORD}\nmore\n")
    assert (added.code, added.lines, added.err) == (0, ["ana added"], ""), added
    await db.user("bot", "viewer", password_hash=None)
    account = await db.identity.account("ana")
    assert account is not None
    passwords = Passwords()
    assert isinstance(await passwords.verify(PASSWORD, account.password_hash), Right)
    passwords.close()
    shown = json.loads((await said(db, "users", "show", "ana", "-o", "json")).out)
    assert shown.pop("createdAt") == account.user.created_at.isoformat()
    assert shown == {
        "name": "ana",
        "roles": ["operator", "approver"],
        "permissions": [one for one in PERMISSIONS if one not in ("users:manage", "rules:manage")],
        "tenants": ["acme"],
        "effects": ["pay"],
        "disabled": False,
        "hasPassword": True,
    }
    lines = (await said(db, "users", "show", "bot")).lines
    assert lines[:-1] == [
        "bot",
        "roles: viewer",
        "permissions: receipts:read, turns:read",
        "tenants: all",
        "effects: all",
        "password: none",
    ]
    assert (await said(db, "users", "ls", "-o", "ids")).lines == ["ana", "bot"]
    [first, second] = (await said(db, "users", "ls", "-o", "jsonl")).lines
    assert (json.loads(first)["name"], json.loads(second)["hasPassword"]) == ("ana", False)
    assert len(json.loads((await said(db, "users", "ls", "-o", "json")).out)) == 2
    [_, ana, bot] = (await said(db, "users", "ls")).lines
    assert re.split(r"\s{2,}", ana)[:6] == ["ana", "operator, approver", "acme", "pay", "no", "yes"]
    assert re.split(r"\s{2,}", bot)[:6] == ["bot", "viewer", "all", "all", "no", "no"]
    assert (await db.actions())[0] == ("root", "user_added")


async def test_a_password_comes_from_stdin_and_ends_sessions(db: People) -> None:
    await db.user()
    await db.session()
    changed = await said(db, "users", "password", "ana", "--password-stdin", *ROOT, stdin=PASSWORD)
    assert (changed.code, changed.lines) == (0, ["ana has another password, and no session"]), changed
    assert await db.identity.session(b"cookie") is None
    nobody = await said(db, "users", "password", "ana", *ROOT)
    assert (nobody.code, "--password-stdin" in nobody.err) == (2, True), nobody
    told = await said(db, "users", "password", "ana", PASSWORD, *ROOT)
    assert (told.code, "unexpected extra argument" in told.err) == (2, True), told
    assert [action for _, action in await db.actions()].count("password_set") == 1


async def test_access_is_changed_where_it_is_named_and_else_stays(db: People) -> None:
    await db.user("ana", "viewer")

    async def changed(*options: str) -> tuple[list[str], list[str] | None, list[str] | None]:
        done = await said(db, "users", "access", "ana", *options, *ROOT, "-o", "json")
        assert done.code == 0, done
        document = json.loads(done.out)
        return document["roles"], document["tenants"], document["effects"]

    assert await changed("--tenant", "b", "--tenant", "a") == (["viewer"], ["a", "b"], None)
    assert await changed("--role", "operator") == (["operator"], ["a", "b"], None)
    assert await changed("--effect", "pay", "--all-tenants") == (["operator"], None, ["pay"])
    assert await changed("--all-effects") == (["operator"], None, None)
    for options in ((), ("--tenant", "a", "--all-tenants"), ("--role", "king")):
        refused = await said(db, "users", "access", "ana", *options, *ROOT)
        assert refused.code == 2, refused
    assert [action for _, action in await db.actions()].count("access_set") == 4


async def test_a_disabled_user_can_do_nothing_until_they_are_enabled(db: People) -> None:
    await db.user()
    await db.session()
    assert (await said(db, "users", "disable", "ana", *ROOT)).lines == ["ana can do nothing, and has no session"]
    assert await db.identity.session(b"cookie") is None
    assert (await said(db, "users", "show", "ana")).lines[0] == "ana, disabled"
    assert (await said(db, "users", "enable", "ana", *ROOT)).lines == ["ana is enabled"]
    assert [action for _, action in await db.actions()][2:] == ["user_disabled", "user_enabled"]


async def test_roles_are_listed_with_their_permissions(db: People) -> None:
    assert (await said(db, "roles", "ls", "-o", "ids")).lines == ["admin", "approver", "operator", "viewer"]
    listed = json.loads((await said(db, "roles", "ls", "-o", "json")).out)
    assert {"name": "viewer", "permissions": ["receipts:read", "turns:read"]} in listed
    assert "receipts:read, turns:read" in (await said(db, "roles", "ls")).out


async def test_a_tokens_secret_is_printed_once_and_alone(db: People) -> None:
    await db.user("ana", "operator")
    options = ("--label", "nightly", "--permission", "turns:read", "--days", "30", *ROOT)
    issued = await said(db, "tokens", "issue", "ana", *options)
    assert issued.code == 0, issued
    [secret] = issued.lines
    assert re.fullmatch("ik_[0-9A-Za-z]{8}_[0-9A-Za-z]{43}", secret)
    assert secret not in issued.err
    assert "is not shown again" in issued.err
    who = await principal_of_token(db.identity, secret)
    assert who is not None
    assert (who.user, set(who.permissions)) == ("ana", {"turns:read"})
    [token] = await db.identity.tokens("ana")
    assert round((token.expires_at - token.created_at).total_seconds() / 86_400) == 30
    for output in ("table", "json", "jsonl", "ids"):
        listed = await said(db, "tokens", "ls", "-o", output)
        assert (token.token_id in listed.out, secret in listed.out, secret[-43:] in listed.out) == (True, False, False)
    assert token.prefix in (await said(db, "tokens", "ls", "--user", "ana")).out
    assert (await said(db, "tokens", "ls", "--user", "ben", "-o", "ids")).lines == []
    for _ in range(2):
        revoked = await said(db, "tokens", "revoke", token.token_id, *ROOT)
        assert (revoked.code, revoked.lines) == (0, [f"token {token.token_id} of ana is revoked"])
    assert await principal_of_token(db.identity, secret) is None
    assert await db.actions() == [("root", "user_added"), ("root", "token_issued"), ("root", "token_revoked")]
    assert secret not in str(await db.lines())


async def test_a_token_lasts_ninety_days_by_default_and_allows_what_its_user_may(db: People) -> None:
    await db.user("ana", "viewer")
    assert (await said(db, "tokens", "issue", "ana", "--label", "ci")).code == 0
    [token] = await db.identity.tokens(None)
    assert round((token.expires_at - token.created_at).total_seconds() / 86_400) == 90
    assert token.permissions is None
    assert "all of its user's" in (await said(db, "tokens", "ls")).out


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("users", "show", "eve"), 4, "there is no user eve"),
        (("users", "password", "eve", "--password-stdin"), 4, "there is no user eve"),
        (("users", "access", "eve", "--role", "viewer"), 4, "there is no user eve"),
        (("users", "disable", "eve"), 4, "there is no user eve"),
        (("users", "enable", "eve"), 4, "there is no user eve"),
        (("users", "add", "ana", "--role", "viewer", "--no-password"), 5, "there is a user ana already"),
        (("users", "add", "ben", "--role", "king", "--no-password"), 2, "there is no role king"),
        (("users", "add", "ben", "--no-password"), 2, "at least one role"),
        (("users", "add", "Ben", "--role", "viewer", "--no-password"), 2, "begins with a letter or a digit"),
        (("users", "add", "ben", "--role", "viewer"), 2, "--password-stdin"),
        (("users", "add", "ben", "--role", "viewer", "--no-password", "--password-stdin"), 2, "say one of"),
        (("tokens", "issue", "eve", "--label", "ci"), 4, "there is no user eve"),
        (("tokens", "issue", "ana", "--label", "ci", "--days", "367"), 2, "--days"),
        (("tokens", "issue", "ana", "--label", "ci", "--permission", "users:manage"), 2, "has not the permission"),
        (("tokens", "issue", "ana", "--label", "ci", "--permission", "all"), 2, "--permission"),
        (("tokens", "issue", "ana"), 2, "--label"),
        (("tokens", "revoke", "none"), 4, "there is no token none"),
    ],
)
async def test_the_exit_code_says_why_no_user_and_no_token_was_changed(
    db: People, arguments: tuple[str, ...], code: int, words: str
) -> None:
    await db.user("ana", "viewer")
    refused = await said(db, *arguments, stdin=f"{PASSWORD}\n")
    assert (refused.code, refused.out, words in refused.err) == (code, "", True), refused
    assert await db.actions() == [("root", "user_added")]


async def test_a_password_that_cannot_be_one_is_refused(db: People) -> None:
    for given in ("", "too short\n", "x" * 1025):
        refused = await said(db, "users", "add", "ana", "--role", "viewer", "--password-stdin", stdin=given)
        assert (refused.code, "a password has at" in refused.err) == (2, True), refused
    assert await db.identity.users() == ()


@pytest.mark.parametrize(
    "command",
    [
        *("users add", "users ls", "users show", "users password", "users access", "users disable", "users enable"),
        *("tokens issue", "tokens ls", "tokens revoke", "roles ls"),
    ],
)
def test_every_command_of_identity_has_an_example(command: str) -> None:
    shown = intention(*command.split(), "--help")
    assert (shown.code, f"Example: intention {command}" in " ".join(shown.out.split())) == (0, True), shown
    assert "--password " not in shown.out
