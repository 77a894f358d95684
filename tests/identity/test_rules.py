"""The pure parts: names, passwords, secrets, how often somebody may try, and what a principal may."""

from __future__ import annotations

import asyncio
import hashlib
import re
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Literal

import pytest
from argon2 import PasswordHasher
from hypothesis import given
from hypothesis import strategies as st
from intention_kernel.clock import ManualClock
from intention_kernel.identity.accounts import MOST_DAYS, Access, Order, access_problem, order_problem
from intention_kernel.identity.names import name_problem
from intention_kernel.identity.passwords import Passwords, Right, Wrong, password_problem
from intention_kernel.identity.principal import by_session, by_token
from intention_kernel.identity.rate_limit import Attempts, Terms
from intention_kernel.identity.secrets import (
    base62,
    new_session_secret,
    new_token_secret,
    session_hash,
    token_hash,
    token_secret,
)
from intention_kernel.identity.signing_in import address_key
from intention_kernel.ports.identity import PERMISSIONS, Permission, Scope, Token, User

CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
START = datetime(2026, 1, 1, tzinfo=UTC)
SOME = st.frozensets(st.sampled_from(PERMISSIONS))
IDS = st.frozensets(st.sampled_from(("a", "b", "c")))
SCOPES = st.builds(Scope, st.none() | IDS, st.none() | IDS)
PREFIXES = st.text("0123456789abcXYZ", min_size=8, max_size=8)


def user_of(permissions: frozenset[Permission], scope: Scope, name: str = "ana") -> User:
    return User(name, ("any",), permissions, scope, disabled=False, has_password=True, created_at=START)


def token_of(permissions: frozenset[Permission] | None) -> Token:
    return Token("id", "ana", "ci", "Ab12Cd34", permissions, START, START, None, None)


@given(SOME, SCOPES, st.none() | SOME)
def test_a_principal_never_may_more_than_its_user(
    held: frozenset[Permission], scope: Scope, ordered: frozenset[Permission] | None
) -> None:
    user = user_of(held, scope)
    by_password, by_secret = by_session(user), by_token(token_of(ordered), user)
    for permission in PERMISSIONS:
        assert by_password.may(permission) == (permission in held)
        assert by_secret.may(permission) == (permission in held and (ordered is None or permission in ordered))
    assert by_password.scope == by_secret.scope == scope
    assert (by_password.user, by_secret.user, by_secret.token_id) == ("ana", "ana", "id")


@given(SCOPES, st.none() | st.sampled_from("abc"), st.sampled_from("abc"))
def test_a_scope_covers_what_it_names_and_no_scope_covers_all(scope: Scope, tenant: str | None, effect: str) -> None:
    expected = (scope.tenants is None or tenant in scope.tenants) and (scope.effects is None or effect in scope.effects)
    assert scope.covers(tenant, effect) == expected
    assert Scope().covers(tenant, effect)
    assert not Scope(tenants=frozenset({"a"})).covers(None, effect)


@given(st.binary(min_size=32, max_size=32), st.binary(min_size=32, max_size=32), PREFIXES)
def test_no_two_random_values_make_one_secret(one: bytes, other: bytes, prefix: str) -> None:
    made = token_secret(prefix, one)
    assert re.fullmatch(rf"ik_{prefix}_[0-9A-Za-z]{{43}}", made.secret)
    assert (made.secret == token_secret(prefix, other).secret) == (one == other)
    assert made.secret_hash == token_hash(made.secret) == hashlib.sha256(made.secret.encode()).digest()
    digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    number = 0
    for digit in base62(one):
        number = number * 62 + digits.index(digit)
    assert number == int.from_bytes(one, "big")


def test_new_secrets_are_new_and_not_shown() -> None:
    tokens, sessions = [new_token_secret() for _ in range(50)], [new_session_secret() for _ in range(50)]
    assert len({made.secret for made in tokens} | {made.secret for made in sessions}) == 100
    assert len({made.prefix for made in tokens}) == 50
    for token in tokens:
        assert token.secret not in repr(token)
        assert token_hash(token.secret) == token.secret_hash
        assert session_hash(token.secret) is None
    for session in sessions:
        assert session.secret not in repr(session)
        assert session_hash(session.secret) == session.secret_hash
        assert token_hash(session.secret) is None


@given(st.text())
def test_what_has_another_form_is_no_secret(text: str) -> None:
    assert token_hash(text) is None
    assert (session_hash(text) is None) == (re.fullmatch("[0-9A-Za-z_-]{43}", text) is None)


@pytest.mark.parametrize(
    ("password", "words"),
    [
        ("", "at least 12 characters"),
        ("eleven char", "at least 12 characters"),
        ("twelve chars", None),
        ("é" * 512, None),
        ("é" * 513, "at most 1024 bytes"),
        ("Ana.Of.Accounting", "is no password"),
        ("ana.of.accounting!", None),
    ],
)
def test_a_password_is_long_enough_and_not_the_name(password: str, words: str | None) -> None:
    problem = password_problem(password, "ana.of.accounting")
    assert (problem is None) == (words is None), problem
    assert words is None or (problem is not None and words in problem)


async def test_what_is_too_long_for_a_password_takes_no_time() -> None:
    """Composing marks takes time with their square: these would take an hour."""
    endless = "a" + "\u0315" * 500_000 + "\u0300" * 500_000
    passwords = Passwords(CHEAP)
    try:
        assert "at most 1024 bytes" in (password_problem(endless, "ana") or "")
        assert await passwords.verify(endless, await passwords.hash("twelve chars")) == Wrong()
    finally:
        passwords.close()


async def test_a_password_is_verified_against_its_hash_and_nobodys_never() -> None:
    passwords = Passwords(CHEAP)
    try:
        stored = await passwords.hash("Pa\u0308ssword \ud800 long")
        assert stored.startswith("$argon2id$")
        assert stored != await passwords.hash("Pa\u0308ssword \ud800 long")
        assert await passwords.verify("P\u00e4ssword \ud800 long", stored) == Right(None)
        assert await passwords.verify("P\u00e4ssword \ud800 lonG", stored) == Wrong()
        assert await passwords.verify("the password of nobody", None) == Wrong()
        assert await passwords.verify("anything", "no hash at all") == Wrong()
        better = await passwords.verify("x", PasswordHasher(time_cost=2, memory_cost=8, parallelism=1).hash("x"))
        assert isinstance(better, Right)
        assert better.better_hash is not None
        assert better.better_hash not in repr(better)
        assert await passwords.verify("x", better.better_hash) == Right(None)
    finally:
        passwords.close()


async def test_so_many_passwords_are_hashed_at_once_and_the_loop_goes_on() -> None:
    """Also where whoever asked has gone: a thread is not free before its hash is made."""
    began, release, running = threading.Semaphore(0), threading.Event(), list[int]()

    class Slow(PasswordHasher):
        def verify(self, hash: str | bytes, password: str | bytes) -> Literal[True]:
            running.append(threading.get_ident())
            began.release()
            release.wait(10)
            return super().verify(hash, password)

    passwords = Passwords(Slow(time_cost=1, memory_cost=8, parallelism=1), at_once=2)
    try:
        asked = [asyncio.create_task(passwords.verify("x", None)) for _ in range(6)]
        for _ in range(2):
            assert await asyncio.to_thread(began.acquire, timeout=10)
        asked[0].cancel()
        assert not await asyncio.to_thread(began.acquire, timeout=0.1)
        release.set()
        answers = await asyncio.gather(*asked, return_exceptions=True)
        assert isinstance(answers[0], asyncio.CancelledError)
        assert answers[1:] == [Wrong()] * 5
        assert len(set(running)) == 2
    finally:
        release.set()
        passwords.close()


TERMS = st.builds(Terms, st.integers(1, 6), st.sampled_from((0.5, 1.0, 30.0)))
STEPS = st.lists(st.sampled_from(("try", "back")) | st.sampled_from((0.25, 0.5, 1.0, 7.0, 100.0)), max_size=60)


@given(TERMS, STEPS)
def test_nobody_tries_more_often_than_the_terms_say(terms: Terms, steps: list[str | float]) -> None:
    """Over every span of time at most the burst and one more for each of its seconds; who waits as told is admitted."""
    clock = ManualClock(START)
    attempts = Attempts(terms, clock)
    admitted: list[float] = []
    for step in steps:
        if isinstance(step, float):
            clock.advance(step)
        elif step == "back" and admitted and admitted[-1] == clock.monotonic_seconds():
            attempts.give_back("k")
            admitted.pop()
        elif step == "try":
            wait = attempts.wait_seconds("k")
            now = clock.monotonic_seconds()
            used = [sum(1 for at in admitted if at >= start) - (now - start) / terms.seconds for start in admitted]
            assert (wait == 0) == (max(used, default=0.0) <= terms.burst - 1), (wait, used)
            if wait:
                clock.advance(wait)
                assert attempts.wait_seconds("k") == pytest.approx(0, abs=1e-6)
            else:
                attempts.take("k")
                admitted.append(now)
        assert attempts.wait_seconds("another") == 0.0


@given(st.lists(st.integers(0, 40), max_size=200), st.integers(1, 8))
def test_attempts_are_remembered_in_so_much_memory(keys: list[int], most: int) -> None:
    """The keys that were used last are."""
    attempts = Attempts(Terms(1, 60.0), ManualClock(START), most_keys=most)
    for key in keys:
        attempts.take(str(key))
        assert len(attempts) <= most
    last = list(dict.fromkeys(reversed(keys)))
    assert [attempts.wait_seconds(str(key)) > 0 for key in last] == [nth < most for nth in range(len(last))]


@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::", "2001:db8:1:3::/64"),
        ("unix", "unix"),
        ("x" * 500, "x" * 100),
    ],
)
def test_an_ipv6_network_is_one_place(address: str, key: str) -> None:
    assert address_key(address) == key


@pytest.mark.parametrize("name", ["ana", "a", "ana.b+c@example.org", "0-bot_1", "a" * 100])
def test_a_name_is_plain(name: str) -> None:
    assert name_problem(name) is None


@pytest.mark.parametrize("name", ["", "Ana", "ana b", "-ana", "anä", "\u0430", "a" * 101, "(unknown)", "a\n"])
def test_a_name_that_could_look_like_another_is_none(name: str) -> None:
    assert name_problem(name) is not None


ORDER: Callable[..., Order] = lambda **more: Order(  # noqa: E731
    **{"user": "ana", "label": "ci", "permissions": None, "days": 90, **more}
)


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (ORDER(), None),
        (ORDER(days=1), None),
        (ORDER(days=MOST_DAYS), None),
        (ORDER(days=0), "from 1 to 366 days"),
        (ORDER(days=367), "from 1 to 366 days"),
        (ORDER(label=""), "the label is empty"),
        (ORDER(label="a\nb"), "the label has a control character"),
        (ORDER(permissions=frozenset({"turns:read"})), None),
        (ORDER(permissions=frozenset({"turns:read", "users:manage"})), "ana has not the permission users:manage"),
    ],
)
def test_a_token_is_ordered_for_what_its_user_may(order: Order, words: str | None) -> None:
    problem = order_problem(order, user_of(frozenset({"turns:read"}), Scope()))
    assert (problem is None) == (words is None), problem
    assert words is None or (problem is not None and words in problem)


@pytest.mark.parametrize(
    ("access", "words"),
    [
        (Access(("viewer",), Scope()), None),
        (Access(("viewer",), Scope(frozenset({"acme"}), frozenset({"pay"}))), None),
        (Access((), Scope()), "at least one role"),
        (Access(("",), Scope()), "role '' is empty"),
        (Access(("viewer",), Scope(frozenset({"a\nb"}))), "has a control character"),
        (Access(("viewer",), Scope(None, frozenset({""}))), "effect '' is empty"),
    ],
)
def test_access_is_roles_and_ids(access: Access, words: str | None) -> None:
    problem = access_problem(access)
    assert (problem is None) == (words is None), problem
    assert words is None or (problem is not None and words in problem)
