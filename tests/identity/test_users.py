"""Users and roles in the store: what they may, what ends with a change, and the line that each change leaves (design 7)."""

from __future__ import annotations

import asyncio
from typing import get_args

import asyncpg
import pytest
from intention_kernel.errors import InfrastructureError, IntentionKernelError
from intention_kernel.ports.identity import (
    PERMISSIONS,
    Exists,
    NewUser,
    NoSuchRole,
    NoSuchUser,
    Permission,
    Scope,
    User,
)
from intention_kernel.postgres.statements import statement

from tests.identity.bench import HASH, People

READS = {"receipts:read", "turns:read"}
ROLES: dict[str, set[str]] = {
    "admin": set(PERMISSIONS),
    "approver": READS | {"receipts:approve", "payload:reveal", "audit:export"},
    "operator": READS | {"receipts:work", "receipts:resolve", "payload:reveal", "turns:redrive", "audit:export"},
    "viewer": READS,
}


async def test_the_roles_of_a_migrated_database(db: People) -> None:
    assert {role.name: set(role.permissions) for role in await db.identity.roles()} == ROLES


async def test_a_role_holds_permissions_that_there_are_and_no_others(db: People) -> None:
    await db.connection.execute("insert into roles values ('all', $1)", list(get_args(Permission)))
    with pytest.raises(asyncpg.CheckViolationError):
        await db.connection.execute("insert into roles values ('more', '{receipts:read,receipts:burn}')")


async def test_a_user_may_what_their_roles_may_together(db: People) -> None:
    made = await db.user("ana", "viewer", "approver", scope=Scope(frozenset({"acme"}), frozenset({"pay"})))
    assert made.permissions == ROLES["approver"] | ROLES["viewer"]
    assert (made.name, made.roles, made.disabled, made.has_password) == ("ana", ("viewer", "approver"), False, True)
    assert made.scope == Scope(frozenset({"acme"}), frozenset({"pay"}))
    account = await db.identity.account("ana")
    assert account is not None
    assert (account.user, account.password_hash) == (made, HASH)
    machine = await db.user("ben", "viewer", password_hash=None)
    assert (machine.has_password, machine.scope) == (False, Scope())
    assert await db.identity.users() == (made, machine)
    assert await db.identity.account("nobody") is None
    assert await db.identity.account("a\0b\ud800") is None


async def test_a_changed_role_counts_at_once(db: People) -> None:
    await db.user("ana", "viewer")
    await db.connection.execute("update roles set permissions = '{turns:read}' where name = 'viewer'")
    [ana] = await db.identity.users()
    assert ana.permissions == {"turns:read"}


async def test_a_name_is_one_users(db: People) -> None:
    made = await db.user("ana", "viewer")
    again = await db.identity.add_user(NewUser("ana", ("admin",), Scope(), None), "eve")
    assert again == Exists()
    assert await db.identity.users() == (made,)
    assert await db.actions() == [("root", "user_added")]


@pytest.mark.parametrize("name", ["", "Ana", "ana b", "-ana", "anä", "a" * 101, "(unknown)", "a\nb"])
async def test_a_name_that_cannot_be_one_is_refused_by_the_database_too(db: People, name: str) -> None:
    with pytest.raises(IntentionKernelError) as error:
        await db.identity.add_user(NewUser(name, ("viewer",), Scope(), None), "root")
    assert not isinstance(error.value, InfrastructureError)
    assert await db.identity.users() == ()
    assert await db.actions() == []


async def test_a_role_that_there_is_not_is_named_and_nothing_is_changed(db: People) -> None:
    assert await db.identity.add_user(NewUser("ana", ("viewer", "king"), Scope(), None), "root") == NoSuchRole("king")
    made = await db.user("ana", "viewer")
    assert await db.identity.set_access("ana", ("king",), Scope(), "root") == NoSuchRole("king")
    assert await db.identity.users() == (made,)
    assert await db.actions() == [("root", "user_added")]


async def test_nobody_is_changed_who_is_not_there(db: People) -> None:
    assert await db.identity.set_password("ana", HASH, "root") == NoSuchUser()
    assert await db.identity.set_access("ana", ("viewer",), Scope(), "root") == NoSuchUser()
    assert await db.identity.set_disabled("ana", "root", disabled=True) == NoSuchUser()
    assert await db.actions() == []


async def test_another_password_ends_every_session_of_theirs(db: People) -> None:
    await db.user("ana")
    await db.user("ben")
    for secret, name in ((b"1", "ana"), (b"2", "ana"), (b"3", "ben")):
        assert await db.session(secret, name) is not None
    assert isinstance(await db.identity.set_password("ana", "another", "ben"), User)
    assert [await db.identity.session(secret) is not None for secret in (b"1", b"2", b"3")] == [False, False, True]
    account = await db.identity.account("ana")
    assert account is not None
    assert account.password_hash == "another"
    assert (await db.actions())[-1] == ("ben", "password_set")


async def test_other_access_counts_for_sessions_and_tokens_from_the_next_request_on(db: People) -> None:
    await db.user("ana", "admin")
    await db.session()
    await db.token()
    there = Scope(frozenset({"acme"}), None)
    assert isinstance(await db.identity.set_access("ana", ("viewer",), there, "root"), User)
    session, bearer = await db.identity.session(b"cookie"), await db.identity.bearer(b"secret")
    assert session is not None
    assert bearer is not None
    for user in (session.user, bearer[1]):
        assert user.permissions == READS
        assert user.scope == there


async def test_a_disabled_user_is_nobody_and_comes_back_without_their_sessions(db: People) -> None:
    await db.user()
    await db.session()
    await db.token()
    for _ in range(2):
        disabled = await db.identity.set_disabled("ana", "root", disabled=True)
        assert isinstance(disabled, User)
        assert disabled.disabled
        assert await db.identity.session(b"cookie") is None
        assert await db.identity.bearer(b"secret") is None
        assert await db.session(b"new") is None
    await db.identity.set_disabled("ana", "root", disabled=False)
    assert await db.identity.session(b"cookie") is None
    assert await db.identity.bearer(b"secret") is not None
    assert [action for _, action in await db.actions()] == [
        *("user_added", "sign_in", "token_issued", "user_disabled", "user_enabled"),
    ]


async def test_each_change_is_one_transaction_with_its_audit_line(db: People) -> None:
    """What is in the line is who did what to whom, never a secret nor a hash."""
    await db.user("ana", "viewer", scope=Scope(frozenset({"acme"}), None))
    assert await db.writers("users") == await db.writers("audit_log")
    await db.session()
    await db.identity.set_access("ana", ("operator",), Scope(), "ben")
    await db.identity.set_password("ana", "another", "ben")
    await db.identity.set_disabled("ana", "ben", disabled=True)
    [last] = await db.connection.fetch("select xmin::text::bigint as w from audit_log order by id desc limit 1")
    assert await db.writers("users") == {last["w"]}
    before = {"roles": ["viewer"], "tenants": ["acme"], "effects": None}
    now = {"roles": ["operator"], "tenants": None, "effects": None}
    assert await db.lines() == [
        ("root", "user_added", {"user": "ana", **before, "hasPassword": True}),
        ("ana", "sign_in", {"address": "192.0.2.1"}),
        ("ben", "access_set", {"user": "ana", **now, "before": before}),
        ("ben", "password_set", {"user": "ana"}),
        ("ben", "user_disabled", {"user": "ana"}),
    ]


async def test_without_its_audit_line_no_change_is_made(db: People) -> None:
    made = await db.user("ana", "viewer")
    await db.session()
    token = await db.token()
    await db.connection.execute("alter table audit_log add constraint full_up check (id < 0) not valid")
    change = db.identity
    for refused in (
        change.add_user(NewUser("ben", ("viewer",), Scope(), None), "root"),
        change.set_access("ana", ("admin",), Scope(), "root"),
        change.set_password("ana", "another", "root"),
        change.set_disabled("ana", "root", disabled=True),
        change.revoke_token(token.token_id, "root"),
        change.close_session(b"cookie"),
        db.session(b"another"),
        db.token(b"another"),
    ):
        with pytest.raises(IntentionKernelError):
            await refused
    assert await db.identity.users() == (made,)
    assert await db.identity.session(b"cookie") is not None
    assert await db.identity.session(b"another") is None
    assert await db.identity.tokens(None) == (token,)
    assert await db.connection.fetchval("select password_hash from users") == HASH


async def test_a_change_that_is_repeated_with_its_id_is_done_once(db: People) -> None:
    """What a store does that lost its connection and cannot know whether the first was done (protocol R11)."""
    changes = {
        "add_user": ("ana", ["viewer"], None, None, HASH),
        "set_access": ("ana", ["admin"], None, None),
        "set_password": ("ana", "another"),
    }
    for name, values in changes.items():
        sql, given = statement(f"identity_{name}"), (*values, f"id of {name}", "root")
        assert [await db.connection.fetchval(sql, *given) for _ in range(2)] == ["done", "done"], name
    assert await db.actions() == [("root", "user_added"), ("root", "access_set"), ("root", "password_set")]


async def test_of_two_who_add_a_name_at_once_one_does(db: People) -> None:
    new = NewUser("ana", ("viewer",), Scope(), None)
    answers = await asyncio.gather(*(db.identity.add_user(new, "root") for _ in range(4)))
    assert sorted(type(answer).__name__ for answer in answers) == ["Exists", "Exists", "Exists", "User"]
    assert await db.actions() == [("root", "user_added")]
