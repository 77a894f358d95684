"""What every request asks for is found by its key, however many users, sessions and tokens there are."""

from __future__ import annotations

import re

import asyncpg
import pytest
from intention_kernel.ports.identity import Scope
from intention_kernel.postgres.identity import open_identity

from tests.identity.bench import People
from tests.postgres.test_plans import EXPLAIN, query, scans

_FILL = """
insert into users (name, roles) select 'filler-' || n, '{viewer}' from generate_series(1, 3000) as n;
insert into sessions (secret_hash, user_name, expires_at)
select sha256(n::text::bytea), 'filler-' || n, now() + interval '1 hour' from generate_series(1, 3000) as n;
insert into tokens (token_id, user_name, label, prefix, secret_hash, expires_at)
select 'filler-' || n, 'filler-' || n, '', '', sha256(n::text::bytea), now() from generate_series(1, 3000) as n;
insert into audit_log (actor, action, detail) select 'ana', 'settle', '{}' from generate_series(1, 3000) as n;
analyze;
"""
# A few rows in all, read whole.
_SMALL = {"installation", "roles"}


@pytest.mark.parametrize("filled", [True, False], ids=["filled", "empty"])
async def test_nobody_is_looked_for_by_reading_everybody(
    db: People, monkeypatch: pytest.MonkeyPatch, filled: bool
) -> None:
    plans: list[str] = []
    connect = asyncpg.connect

    async def explaining_connect(*arguments: object, **options: object) -> asyncpg.Connection:
        connection: asyncpg.Connection = await connect(*arguments, **options)  # type: ignore[call-overload]
        if "server_settings" in options:  # the store's own
            connection.add_log_listener(lambda _, message: plans.append(str(message.message)))
            await connection.execute(EXPLAIN)
        return connection

    if filled:
        await db.connection.execute(_FILL)
    monkeypatch.setattr("intention_kernel.postgres.pool.asyncpg.connect", explaining_connect)
    async with open_identity(db.url) as identity:
        known = People(db.url, db.connection, identity)
        await known.user()
        await known.session()
        token = await known.token()
        await identity.session(b"cookie")
        await identity.bearer(b"secret")
        await identity.set_access("ana", ("viewer",), Scope(), "root")
        await identity.set_password("ana", "another", "root")
        await identity.set_disabled("ana", "root", disabled=True)
        await identity.tokens("ana")
        await identity.revoke_token(token.token_id, "root")
        await identity.close_session(b"cookie")
        await identity.note_denied("ana", "what", None)
        await identity.note_sign_in("ana", "192.0.2.1")
    problems, looked_at = set(), 0
    for plan in plans:
        for line, node in scans(plan):
            table = re.search(r" on (\w+)", line)
            if table is None or table[1] in _SMALL or table[1].startswith("pg_"):
                continue
            looked_at += 1
            if "Index Cond" not in node:
                problems.add(f"{line.split('  (')[0]} in {query(plan)}")
    assert not problems, "\n".join(sorted(problems))
    assert looked_at > 20
