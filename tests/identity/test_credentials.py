"""Sessions and tokens in the store: known by hashes, judged on the database's clock (design 7)."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import asyncpg
from intention_kernel.ports.identity import NewToken, NoSuchUser

from tests.identity.bench import HASH, People


async def test_a_session_is_its_secrets_until_it_ends(db: People) -> None:
    """On the database's clock."""
    ana = await db.user()
    opened = await db.session(b"cookie", seconds=60.0)
    assert opened is not None
    assert opened.user == ana
    assert abs(opened.expires_at - opened.created_at - timedelta(seconds=60)) < timedelta(seconds=1)
    assert await db.identity.session(b"cookie") == opened
    assert await db.identity.session(b"cookies") is None
    await db.connection.execute("update sessions set expires_at = clock_timestamp()")
    assert await db.identity.session(b"cookie") is None


async def test_sessions_that_are_over_are_deleted_as_others_are_opened(db: People) -> None:
    await db.user()
    for secret in (b"1", b"2"):
        await db.session(secret, seconds=-1.0)
    await db.session(b"3")
    assert [row["secret_hash"] for row in await db.connection.fetch("select secret_hash from sessions")] == [b"3"]


async def test_a_session_is_closed_once(db: People) -> None:
    await db.user()
    await db.session()
    await db.identity.close_session(b"cookie")
    await db.identity.close_session(b"cookie")
    assert await db.identity.session(b"cookie") is None
    assert await db.actions() == [("root", "user_added"), ("ana", "sign_in"), ("ana", "sign_out")]


async def test_no_session_is_opened_on_a_password_that_is_another_by_now(db: People) -> None:
    await db.user()
    await db.user("bot", password_hash=None)
    await db.identity.set_password("ana", "another", "ana")
    assert await db.session() is None
    assert await db.session(b"new", verified_hash="another") is not None
    assert await db.session(name="bot") is None
    assert await db.session(name="nobody") is None
    assert [action for _, action in await db.actions()].count("sign_in") == 1


async def test_no_session_outlives_the_password_that_is_changed_while_it_is_opened(db: People) -> None:
    """Whoever opens one waits for the change, and then sees it."""
    await db.user()
    other = await asyncpg.connect(db.url)
    try:
        async with other.transaction():
            await other.execute("select set_password_v1('ana', 'another', 'id', 'ben')")
            opening = asyncio.create_task(db.session())
            while not await db.connection.fetchval(
                "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
            ):
                assert not opening.done()
                await asyncio.sleep(0.01)
        assert await opening is None
    finally:
        await other.close()
    assert await db.connection.fetchval("select count(*) from sessions") == 0


async def test_a_session_may_bring_the_same_passwords_better_hash(db: People) -> None:
    await db.user()
    assert await db.session(better_hash="better") is not None
    account = await db.identity.account("ana")
    assert account is not None
    assert account.password_hash == "better"
    assert await db.session(b"late", better_hash="worse") is None
    assert await db.session(b"new", verified_hash="better") is not None


async def test_a_session_that_is_opened_again_with_its_secret_is_the_same(db: People) -> None:
    await db.user()
    assert await db.session() == await db.session()
    assert [action for _, action in await db.actions()] == ["user_added", "sign_in"]


async def test_a_token_is_its_secrets_until_it_ends_or_is_revoked(db: People) -> None:
    ana = await db.user("ana", "operator")
    kept = await db.token(b"secret", permissions=frozenset({"receipts:read"}), seconds=60.0)
    assert (kept.user, kept.label, kept.prefix) == ("ana", "ci", "Ab12Cd34")
    assert kept.permissions == frozenset({"receipts:read"})
    assert abs(kept.expires_at - kept.created_at - timedelta(seconds=60)) < timedelta(seconds=1)
    assert await db.identity.bearer(b"secret") == (kept, ana)
    assert await db.identity.bearer(b"other") is None
    await db.connection.execute("update tokens set expires_at = clock_timestamp()")
    assert await db.identity.bearer(b"secret") is None
    other = await db.token(b"other")
    assert other.permissions is None
    revoked = await db.identity.revoke_token(other.token_id, "ben")
    assert revoked is not None
    assert revoked.revoked_at is not None
    assert await db.identity.bearer(b"other") is None
    assert await db.identity.revoke_token(other.token_id, "ben") == revoked
    assert await db.identity.revoke_token("none", "ben") is None
    assert [line[:2] for line in await db.lines()][-1] == ("ben", "token_revoked")
    assert [action for _, action in await db.actions()].count("token_revoked") == 1


async def test_a_token_is_somebodys_and_its_line_has_no_secret(db: People) -> None:
    await db.user()
    made = await db.token(b"secret", permissions=frozenset({"turns:read", "receipts:read"}))
    nobody = NewToken("id", "nobody", "ci", "Ab12Cd34", b"s", None, 60.0)
    assert await db.identity.issue_token(nobody, "root") == NoSuchUser()
    assert (await db.lines())[1:] == [
        (
            "root",
            "token_issued",
            {
                "user": "ana",
                "tokenId": made.token_id,
                "label": "ci",
                "prefix": "Ab12Cd34",
                "permissions": ["receipts:read", "turns:read"],
                "expiresAt": made.expires_at.isoformat(),
            },
        )
    ]


async def test_tokens_are_listed_newest_first_of_one_or_of_all(db: People) -> None:
    await db.user()
    await db.user("ben")
    made = [await db.token(secret, name) for secret, name in ((b"1", "ana"), (b"2", "ben"), (b"3", "ana"))]
    assert await db.identity.tokens(None) == tuple(reversed(made))
    assert await db.identity.tokens("ana") == (made[2], made[0])
    assert await db.identity.tokens("nobody") == ()


async def test_the_use_of_a_token_is_noted_once_a_minute(db: People) -> None:
    await db.user()
    await db.token()

    async def used() -> object:
        return await db.connection.fetchval("select last_used_at from tokens")

    assert await used() is None
    await asyncio.gather(*(db.identity.bearer(b"secret") for _ in range(4)))
    first = await used()
    assert first is not None
    await db.identity.bearer(b"secret")
    assert await used() == first
    await db.connection.execute("update tokens set last_used_at = last_used_at - interval '61 seconds'")
    await db.identity.bearer(b"secret")
    assert await used() != first
    await db.identity.bearer(b"wrong")
    assert await db.actions() == [("root", "user_added"), ("root", "token_issued")]


async def test_what_was_refused_is_on_record_and_a_name_that_is_nobodys_is_not(db: People) -> None:
    """People type their password where their name belongs."""
    await db.user()
    await db.identity.note_denied("ana", "receipts:resolve", {"receiptId": "r"})
    await db.identity.note_sign_in("ana", "192.0.2.1")
    await db.identity.note_sign_in("correct horse\0battery\ud800", "192.0.2.1")
    assert (await db.lines())[1:] == [
        ("ana", "denied", {"what": "receipts:resolve", "detail": {"receiptId": "r"}}),
        ("ana", "denied", {"what": "sign_in", "address": "192.0.2.1"}),
        ("(unknown)", "denied", {"what": "sign_in", "address": "192.0.2.1"}),
    ]


async def test_secrets_are_stored_as_hashes_only(db: People) -> None:
    """No column of the tables could hold another secret, and no line of the audit log has a hash."""
    await db.user()
    await db.session()
    await db.token()
    assert all(HASH not in str(line) and "secret" not in str(line) for line in await db.lines())
    columns = await db.connection.fetch(
        "select table_name, column_name from information_schema.columns where table_schema = 'public'"
        " and column_name ~ 'secret|password' order by 1, 2"
    )
    assert [tuple(row) for row in columns] == [
        ("sessions", "secret_hash"),
        ("tokens", "secret_hash"),
        ("users", "password_hash"),
    ]
