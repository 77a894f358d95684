"""From a name and a password to a session, and from secrets to who asks (design 7)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from argon2 import PasswordHasher
from intention_kernel.clock import ManualClock
from intention_kernel.identity.accounts import Access, Issued, Order, add_user, issue_token, set_password
from intention_kernel.identity.passwords import Passwords
from intention_kernel.identity.principal import Principal
from intention_kernel.identity.principals import principal_of_session, principal_of_token, sign_out
from intention_kernel.identity.secrets import session_hash, token_hash
from intention_kernel.identity.signing_in import (
    OF_A_NAME,
    OF_AN_ADDRESS,
    Attempt,
    SignedIn,
    SigningIn,
    TooManyAttempts,
    WrongNameOrPassword,
)
from intention_kernel.ports.identity import Scope, User

from tests.identity.bench import People

PASSWORD = "correct horse battery"
CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
HERE = "192.0.2.1"


@pytest.fixture
def passwords() -> Iterator[Passwords]:
    made = Passwords(CHEAP)
    yield made
    made.close()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(datetime(2026, 1, 1, tzinfo=UTC))


@pytest.fixture
def signing_in(db: People, passwords: Passwords, clock: ManualClock) -> SigningIn:
    return SigningIn(db.identity, passwords, clock)


async def known(
    db: People, passwords: Passwords, name: str = "ana", *roles: str, password: str | None = PASSWORD
) -> User:
    made = await add_user(db.identity, passwords, name, Access(roles or ("operator",), Scope()), password, "root")
    assert isinstance(made, User), made
    return made


async def test_who_signs_in_is_known_by_the_secret_until_they_sign_out(
    db: People, passwords: Passwords, signing_in: SigningIn
) -> None:
    ana = await known(db, passwords)
    signed_in = await signing_in.sign_in(Attempt("ana", PASSWORD, HERE))
    assert isinstance(signed_in, SignedIn), signed_in
    assert signed_in.session.user == ana
    who = await principal_of_session(db.identity, signed_in.secret)
    assert who == Principal("ana", ana.permissions, ana.scope)
    assert await db.connection.fetchval("select secret_hash from sessions") == session_hash(signed_in.secret)
    await sign_out(db.identity, signed_in.secret)
    assert await principal_of_session(db.identity, signed_in.secret) is None
    assert (await db.actions())[1:] == [("ana", "sign_in"), ("ana", "sign_out")]
    assert signed_in.secret not in repr(signed_in)
    assert PASSWORD not in repr(Attempt("ana", PASSWORD, HERE))


async def test_what_was_wrong_is_never_told_and_always_on_record(
    db: People, passwords: Passwords, signing_in: SigningIn
) -> None:
    await known(db, passwords)
    await known(db, passwords, "ben")
    await db.identity.set_disabled("ben", "root", disabled=True)
    await known(db, passwords, "bot", password=None)
    attempts = (
        ("ana", "wrong"),
        ("ana", ""),
        ("ben", PASSWORD),
        ("bot", ""),
        ("eve", PASSWORD),
        ("\0\ud800", "\ud800"),
    )
    for name, password in attempts:
        assert await signing_in.sign_in(Attempt(name, password, HERE)) == WrongNameOrPassword(), name
    denied = ("denied", {"what": "sign_in", "address": HERE})
    names = ("ana", "ana", "ben", "bot", "(unknown)", "(unknown)")
    assert (await db.lines())[4:] == [(name, *denied) for name in names]
    assert await db.connection.fetchval("select count(*) from sessions") == 0


async def test_an_unknown_name_takes_the_work_of_a_wrong_password(
    db: People, passwords: Passwords, signing_in: SigningIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One hash is verified, whoever it is and whatever they have."""
    await known(db, passwords)
    await known(db, passwords, "ben")
    await db.identity.set_disabled("ben", "root", disabled=True)
    await known(db, passwords, "bot", password=None)
    verified: list[str] = []
    verify = PasswordHasher.verify

    def counting(self: PasswordHasher, stored: str, password: bytes) -> bool:
        verified.append(stored)
        return verify(self, stored, password)

    monkeypatch.setattr(PasswordHasher, "verify", counting)
    for name, password in (("ana", "wrong"), ("ben", PASSWORD), ("bot", "x"), ("eve", "x"), ("ana", "x" * 2000)):
        await signing_in.sign_in(Attempt(name, password, HERE))
    assert len(verified) == 5
    costs = {stored.split("$")[3] for stored in verified}
    assert costs == {"m=8,t=1,p=1"}


async def test_a_name_is_tried_so_often_and_no_more(
    db: People, passwords: Passwords, signing_in: SigningIn, clock: ManualClock
) -> None:
    """From wherever, and with the right password, too; others are not kept waiting."""
    await known(db, passwords)
    await known(db, passwords, "ben")
    for nth in range(OF_A_NAME.burst):
        assert await signing_in.sign_in(Attempt("ana", "wrong", f"192.0.2.{nth}")) == WrongNameOrPassword()
    lines = len(await db.lines())
    refused = await signing_in.sign_in(Attempt("ana", PASSWORD, "192.0.2.99"))
    assert refused == TooManyAttempts(OF_A_NAME.seconds)
    assert len(await db.lines()) == lines, "the audit log has no end, so an attacker may not fill it"
    assert isinstance(await signing_in.sign_in(Attempt("ben", PASSWORD, "192.0.2.99")), SignedIn)
    clock.advance(OF_A_NAME.seconds)
    assert isinstance(await signing_in.sign_in(Attempt("ana", PASSWORD, "192.0.2.99")), SignedIn)


async def test_an_address_tries_so_often_and_no_more(db: People, passwords: Passwords, signing_in: SigningIn) -> None:
    """Whatever the names; an IPv6 network is one address."""
    await known(db, passwords)
    for nth in range(OF_AN_ADDRESS.burst):
        answer = await signing_in.sign_in(Attempt(f"user-{nth}", "wrong", f"2001:db8::{nth:x}"))
        assert answer == WrongNameOrPassword()
    refused = await signing_in.sign_in(Attempt("ana", PASSWORD, "2001:db8::ffff"))
    assert refused == TooManyAttempts(OF_AN_ADDRESS.seconds)
    assert isinstance(await signing_in.sign_in(Attempt("ana", PASSWORD, "2001:db8:0:1::1")), SignedIn)


async def test_an_attempt_that_succeeds_counts_for_nothing(
    db: People, passwords: Passwords, signing_in: SigningIn
) -> None:
    await known(db, passwords)
    for _ in range(OF_A_NAME.burst + OF_AN_ADDRESS.burst):
        assert isinstance(await signing_in.sign_in(Attempt("ana", PASSWORD, HERE)), SignedIn)


async def test_a_sign_in_brings_the_hash_up_to_todays_cost(
    db: People, passwords: Passwords, clock: ManualClock
) -> None:
    await known(db, passwords)
    dearer = PasswordHasher(time_cost=2, memory_cost=8, parallelism=1)
    today = Passwords(dearer)
    try:
        for _ in range(2):
            signed_in = await SigningIn(db.identity, today, clock).sign_in(Attempt("ana", PASSWORD, HERE))
            assert isinstance(signed_in, SignedIn)
            stored = await db.connection.fetchval("select password_hash from users")
            assert not dearer.check_needs_rehash(stored)
    finally:
        today.close()
    assert [action for _, action in await db.actions()] == ["user_added", "sign_in", "sign_in"]


async def test_another_password_is_the_one_that_counts(db: People, passwords: Passwords, signing_in: SigningIn) -> None:
    await known(db, passwords)
    signed_in = await signing_in.sign_in(Attempt("ana", PASSWORD, HERE))
    assert isinstance(signed_in, SignedIn)
    assert isinstance(await set_password(db.identity, passwords, "ana", "another long one", "ana"), User)
    assert await principal_of_session(db.identity, signed_in.secret) is None
    assert await signing_in.sign_in(Attempt("ana", PASSWORD, HERE)) == WrongNameOrPassword()
    assert isinstance(await signing_in.sign_in(Attempt("ana", "another long one", HERE)), SignedIn)


async def test_a_token_never_allows_more_than_its_user_may_when_it_is_used(db: People, passwords: Passwords) -> None:
    await known(db, passwords, "ana", "operator")
    narrow = await issue_token(
        db.identity, Order("ana", "ci", frozenset({"receipts:resolve", "turns:read"}), 90), "root"
    )
    wide = await issue_token(db.identity, Order("ana", "ci", None, 90), "root")
    assert isinstance(narrow, Issued)
    assert isinstance(wide, Issued)

    async def allowed(issued: Issued) -> set[str]:
        who = await principal_of_token(db.identity, issued.secret)
        assert who is not None
        assert (who.user, who.token_id) == ("ana", issued.token.token_id)
        return set(who.permissions)

    assert await allowed(narrow) == {"receipts:resolve", "turns:read"}
    assert "receipts:work" in await allowed(wide)
    await db.identity.set_access("ana", ("viewer",), Scope(), "root")
    assert await allowed(narrow) == {"turns:read"}
    assert await allowed(wide) == {"receipts:read", "turns:read"}
    assert narrow.secret not in repr(narrow)
    stored = await db.connection.fetch("select secret_hash from tokens order by created_at")
    assert [row["secret_hash"] for row in stored] == [token_hash(narrow.secret), token_hash(wide.secret)]


async def test_what_is_no_secret_is_nobodys(db: People) -> None:
    await db.user()
    for secret in ("", "ik_", "a" * 43, "ik_Ab12Cd34_" + "a" * 43, "ik_Ab12Cd34_" + "a" * 43 + "\n", "\ud800" * 43):
        assert await principal_of_token(db.identity, secret) is None
        assert await principal_of_session(db.identity, secret) is None
        await sign_out(db.identity, secret)
    assert await db.actions() == [("root", "user_added")]
