"""Who is let in, what they may, and that whatever goes wrong is a problem that tells nothing."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import asyncpg
import httpx
import pytest
from intention_kernel.clock import SystemClock
from intention_kernel.identity.rate_limit import Attempts, Terms
from intention_kernel.ports.identity import PERMISSIONS, Scope
from receipt_reconciler.web import opening
from receipt_reconciler.web.api.application import ROUTES, api_application
from receipt_reconciler.web.api.callers import Rates
from receipt_reconciler.web.api.openapi import permission_of
from receipt_reconciler.web.api.problems import CODES, PROBLEMS
from starlette.types import Message

from tests.api.bench import APPLIED, Api, Caller, api, code, problem
from tests.support.servers import with_database


def bearing(caller: Caller) -> dict[str, str]:
    """The header of somebody's token."""
    return {"Authorization": f"Bearer {caller.secret}"}


async def test_each_route_refuses_without_its_permission(fresh_database: str) -> None:
    """With every other permission it is refused, on record; with that one alone it is not."""
    async with api(fresh_database) as app:
        await app.caller()
        for permission in PERMISSIONS:
            without = await app.caller(permissions=set(PERMISSIONS) - {permission})
            alone = await app.caller(permissions={permission})
            for route in (one for one in ROUTES if permission_of(one) == permission):
                if route.operation_id == "streamQueue":
                    continue  # it does not end; see test_stream
                method = next(iter(route.methods or ()))
                path = re.sub(r"\{[^}]+\}", "x", route.path_format)
                refused = await app.http.request(method, path, headers=bearing(without))
                assert code(refused) == (403, "forbidden"), route.operation_id
                assert problem(refused)["permission"] == permission
                allowed = await app.http.request(method, path, headers=bearing(alone))
                assert allowed.status_code not in (401, 403), route.path
            without = await app.caller(permissions=set(PERMISSIONS) - {permission})
            assert permission not in (await without.get("/v1/me")).json()["permissions"]
        assert len(await app.lines("denied")) >= 30


def test_each_route_asks_who_and_names_a_permission() -> None:
    asking = {str(route.operation_id): permission_of(route) for route in ROUTES}
    assert [name for name, permission in asking.items() if permission is None] == ["getMe"]
    assert set(asking.values()) == {None, *PERMISSIONS}


async def test_a_token_that_is_none_opens_nothing(fresh_database: str) -> None:
    async with api(fresh_database) as app:
        ana = await app.caller()
        ben = await app.caller("ben", role="operator")
        short = await app.caller("ben", seconds=1.0)
        await app.db.connection.execute("update tokens set expires_at = now() where token_id = $1", short.token_id)
        revoked = await app.caller("ben")
        assert (await ana.delete(f"/v1/tokens/{revoked.token_id}")).status_code == 200
        wrong = [
            {},
            {"Authorization": ""},
            {"Authorization": "Bearer"},
            {"Authorization": f"Basic {ana.secret}"},
            {"Authorization": f"Bearer {ana.secret}x"},
            {"Authorization": f"Bearer {ana.secret[3:]}"},
            {"Authorization": f"Bearer ik_AAAAAAAA_{ana.secret[12:]}"},
            {"Authorization": f"Bearer {short.secret}"},
            {"Authorization": f"Bearer {revoked.secret}"},
            {"Authorization": "Bearer \xfc"},
            {"Cookie": f"session={ana.secret}"},
        ]
        for headers in wrong:
            raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
            refused = await app.http.get("/v1/me", headers=raw)
            assert code(refused) == (401, "unauthenticated"), headers
            assert refused.headers["www-authenticate"].startswith("Bearer ")
        assert (await ben.get("/v1/me")).json()["user"] == "ben"
        assert (await ana.put("/v1/users/ben/disabled", {"disabled": True})).status_code == 200
        assert code(await ben.get("/v1/me")) == (401, "unauthenticated")
        assert (await ana.put("/v1/users/ben/disabled", {"disabled": False})).status_code == 200
        assert (await ben.get("/v1/me")).status_code == 200
        assert {line["actor"] for line in await app.lines("denied")} == {"anybody"}


async def test_a_token_of_less_permission_never_has_more_than_its_user(fresh_database: str) -> None:
    async with api(fresh_database) as app:
        ana = await app.caller()
        ben = await app.caller("ben", role="operator", permissions={"receipts:read", "receipts:resolve"})
        assert (await ben.get("/v1/me")).json()["permissions"] == ["receipts:read", "receipts:resolve"]
        await ana.put("/v1/users/ben/access", {"roles": ["viewer"]})
        assert (await ben.get("/v1/me")).json()["permissions"] == ["receipts:read"]
        receipt = await app.uncertain()
        assert code(await ben.decide(receipt, 2)) == (403, "forbidden")
        beyond = {"user": "ben", "label": "l", "days": 1, "permissions": ["users:manage"]}
        assert code(await ana.post("/v1/tokens", beyond)) == (422, "invalid_request")


async def test_guessing_tokens_is_bounded_and_floods_no_log(fresh_database: str) -> None:
    clock = SystemClock()
    few = Rates(
        requests=Attempts(Terms(3, 60.0), clock),
        strangers=Attempts(Terms(4, 60.0), clock),
        refusals=Attempts(Terms(2, 60.0), clock),
    )
    async with api(fresh_database, rates=few) as app:
        ana = await app.caller()
        wrong = {"Authorization": f"Bearer {ana.secret[:-1]}"}
        answers = [await app.http.get("/v1/me", headers=wrong) for _ in range(6)]
        assert [answer.status_code for answer in answers] == [401] * 4 + [429] * 2
        assert code(answers[-1]) == (429, "too_many_requests")
        assert 0 < int(answers[-1].headers["retry-after"]) <= 60
        assert len(await app.lines("denied")) == 2
        # The address is shut out for a while, whatever it sends then.
        assert (await ana.get("/v1/me")).status_code == 429


async def test_a_callers_requests_are_bounded(fresh_database: str) -> None:
    clock = SystemClock()
    rates = Rates(*(Attempts(Terms(2, 60.0), clock) for _ in range(3)))
    async with api(fresh_database, rates=rates) as app:
        ana, ben = await app.caller(), await app.caller("ben")
        assert [(await ana.get("/v1/me")).status_code for _ in range(3)] == [200, 200, 429]
        assert (await ben.get("/v1/me")).status_code == 200


async def test_a_server_that_only_shows_changes_nothing(fresh_database: str) -> None:
    async with api(fresh_database, read_only=True) as app:
        ana = await app.caller()
        receipt = await app.uncertain()
        tag = {"If-Match": '"r2"'}
        before = len(await app.db.all("audit_log"))
        for route in ROUTES:
            method = next(iter(route.methods or ()))
            if method == "GET":
                continue
            path = re.sub(r"\{receipt\}", receipt, route.path_format)
            path = re.sub(r"\{[^}]+\}", "x", path)
            body = APPLIED if "decisions" in path else {}
            headers = {"Authorization": f"Bearer {ana.secret}", "Idempotency-Key": "k", **tag}
            refused = await app.http.request(method, path, json=body, headers=headers)
            assert code(refused) == (403, "read_only"), route.operation_id
        dry = await ana.post(f"/v1/receipts/{receipt}/decisions?dryRun=true", APPLIED, headers=tag)
        assert dry.json()["outcome"] == "would_resolve"
        assert (await ana.get("/v1/me")).json()["readOnly"] is True
        assert len(await app.db.all("audit_log")) == before


@pytest.mark.parametrize(
    ("content", "headers", "expected"),
    [
        (b"{", {}, (400, "not_json")),
        (b"\xff\xfe", {}, (400, "not_json")),
        (b'{"seconds": 5, "seconds": 6}', {}, (400, "not_json")),
        (b'{"seconds": NaN}', {}, (400, "not_json")),
        (b"[" * 100_000, {}, (400, "not_json")),
        (b"1" * 10_000, {}, (400, "not_json")),
        (b"[]", {}, (422, "invalid_request")),
        (b"null", {}, (422, "invalid_request")),
        (b"", {}, (422, "invalid_request")),
        (b'{"seconds": "5"}', {}, (422, "invalid_request")),
        (b'{"seconds": 1e400}', {}, (400, "not_json")),
        (b'{"other": 1}', {}, (422, "invalid_request")),
        (b"{}", {"Content-Type": "text/plain"}, (415, "not_json_type")),
        (b"{}", {"Content-Type": "application/x-www-form-urlencoded"}, (415, "not_json_type")),
        (b"{}", {"Idempotency-Key": "k" * 201}, (422, "invalid_request")),
        (b"{}", {"Idempotency-Key": "a b"}, (422, "invalid_request")),
        (b"{}", {"Idempotency-Key": ""}, (422, "invalid_request")),
        (b" " * 262_145, {}, (413, "too_large")),
        (b"{}" + b" " * 262_142, {}, (404, "not_found")),
    ],
)
async def test_a_body_that_is_none_is_a_problem(
    body_app: Api, content: bytes, headers: dict[str, str], expected: tuple[int, str]
) -> None:
    ana = await body_app.caller()
    known = {"Authorization": f"Bearer {ana.secret}", "Content-Type": "application/json", "Idempotency-Key": "k"}
    answer = await body_app.http.post("/v1/receipts/none/claim", content=content, headers=known | headers)
    assert code(answer) == expected
    if expected[1] == "invalid_request":
        assert problem(answer)["errors"]


async def test_a_body_of_chunks_is_bounded_too(body_app: Api) -> None:
    ana = await body_app.caller()

    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(300):
            yield b" " * 1_024

    headers = {"Authorization": f"Bearer {ana.secret}", "Content-Type": "application/json"}
    answer = await body_app.http.post("/v1/receipts/none/claim", content=chunks(), headers=headers)
    assert code(answer) == (413, "too_large")
    assert answer.headers["connection"] == "close"


@pytest.fixture
async def body_app(shared_database: str) -> AsyncIterator[Api]:
    async with api(shared_database) as app:
        yield app


async def test_paths_and_methods_that_are_none_are_problems(body_app: Api) -> None:
    http = body_app.http
    assert code(await http.get("/v1")) == (404, "no_such_route")
    assert code(await http.get("/v1/nothing")) == (404, "no_such_route")
    assert code(await http.get("/v1/receipts/")) == (404, "no_such_route")
    assert code(await http.get("/v1/receipts/a%00b")) == (401, "unauthenticated")
    wrong = await http.delete("/v1/receipts")
    assert code(wrong) == (405, "wrong_method")
    assert wrong.headers["allow"] == "GET"
    assert (await http.get("/v1/openapi.json")).json()["openapi"].startswith("3.1")
    ana = await body_app.caller()
    for odd in ("a%00b", "%FF%FE", "x" * 3_000, "%ED%A0%80", "%0A"):
        assert code(await ana.get(f"/v1/receipts/{odd}")) == (404, "not_found"), odd
        assert code(await ana.get(f"/v1/threads/{odd}")) == (404, "not_found"), odd
        assert code(await ana.get(f"/v1/turns/{odd}/{odd}/trace")) == (404, "not_found"), odd
        assert code(await ana.get(f"/v1/rejected/{odd}")) == (404, "not_found"), odd
        assert code(await ana.get(f"/v1/proposals/{odd}")) == (404, "not_found"), odd
        assert code(await ana.delete(f"/v1/tokens/{odd}")) == (404, "not_found"), odd
        assert (await ana.get(f"/v1/audit?actor={odd}&action={odd}")).status_code in (200, 422), odd


async def test_every_response_is_uncached_and_unsniffed(body_app: Api) -> None:
    ana = await body_app.caller()
    for answer in (await ana.get("/v1/me"), await body_app.http.get("/v1/nothing")):
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"


async def test_an_absent_database_is_a_problem_that_may_be_tried_again(
    fresh_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "_PATIENCE_SECONDS", 0.2)
    async with api(fresh_database) as app:
        ana = await app.caller()
        name = urlsplit(fresh_database).path[1:]
        admin = await asyncpg.connect(with_database(fresh_database, "postgres"))
        try:
            await admin.execute(f'alter database "{name}" allow_connections false')
            await admin.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", name)
            absent = await ana.get("/v1/me")
            assert code(absent) == (503, "unavailable")
            assert (problem(absent)["retryable"], absent.headers["retry-after"]) == (True, "2")
            assert name not in absent.text
        finally:
            await admin.execute(f'alter database "{name}" allow_connections true')
            await admin.close()
        assert (await ana.get("/v1/me")).status_code == 200


async def test_what_is_unexpected_is_logged_and_tells_nothing(
    body_app: Api, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ana = await body_app.caller()

    async def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a secret of the server")

    monkeypatch.setattr(type(body_app.desk.queue), "rules", broken)
    failed = await ana.get("/v1/rules")
    assert code(failed) == (500, "internal")
    assert "secret" not in failed.text
    assert "a secret of the server" in caplog.text


async def test_no_other_socket_is_opened(body_app: Api) -> None:
    sent: list[str] = []

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        sent.append(message["type"])

    path = {"path": "/v1/stream", "raw_path": b"/v1/stream", "query_string": b"", "headers": []}
    await api_application(body_app.desk)({"type": "websocket", **path}, receive, send)
    assert sent == ["websocket.close"]


def test_the_table_of_problems_is_closed_and_whole() -> None:
    assert set(PROBLEMS) == set(CODES)
    assert all(400 <= one.status < 600 and one.title and one.hint for one in PROBLEMS.values())


async def test_users_are_managed_and_a_secret_is_shown_once(fresh_database: str) -> None:
    async with api(fresh_database) as app:
        ana = await app.caller()
        new = {"name": "cleo", "roles": ["operator"], "tenants": ["acme"]}
        made = await ana.post("/v1/users", new, key="k")
        assert (made.status_code, made.json()["tenants"], made.json()["hasPassword"]) == (201, ["acme"], False)
        assert (await ana.post("/v1/users", new, key="k")).json() == made.json()
        assert code(await ana.post("/v1/users", new | {"roles": ["admin"]})) == (409, "exists")
        assert code(await ana.post("/v1/users", new | {"name": "Cleo"})) == (422, "invalid_request")
        assert code(await ana.post("/v1/users", new | {"name": "dan", "roles": ["none"]})) == (422, "invalid_request")
        assert code(await ana.put("/v1/users/nobody/access", {"roles": ["viewer"]})) == (404, "not_found")
        order = {"user": "cleo", "label": "report", "days": 30}
        issued = await ana.post("/v1/tokens", order, key="t")
        secret = issued.json()["secret"]
        again = await ana.post("/v1/tokens", order, key="t")
        assert again.json() == issued.json() | {"secret": None}
        assert code(await ana.post("/v1/tokens", order | {"label": "x"}, key="t")) == (409, "idempotency_key_reused")
        whoami = await app.http.get("/v1/me", headers={"Authorization": f"Bearer {secret}"})
        assert (whoami.json()["user"], whoami.json()["tenants"]) == ("cleo", ["acme"])
        listed = await ana.get("/v1/tokens?user=cleo")
        assert [token["prefix"] for token in listed.json()["items"]] == [issued.json()["prefix"]]
        assert secret not in listed.text
        assert {role["name"] for role in (await ana.get("/v1/roles")).json()["items"]} >= {"viewer", "admin"}
        assert [user["name"] for user in (await ana.get("/v1/users")).json()["items"]] == ["ana", "cleo"]
        stored = b"".join(line["detail"] for line in await app.db.all("audit_log"))
        assert secret.encode() not in stored


async def test_the_log_is_read_within_a_reach_and_exported_as_lines(fresh_database: str) -> None:
    async with api(fresh_database) as app:
        ana = await app.caller()
        bound = await app.caller("bo", scope=Scope(frozenset({"tenant"})))
        viewer = await app.caller("vic", role="viewer")
        receipt = await app.uncertain("mine")
        other = await app.uncertain("other")
        await app.db.connection.execute("update receipts set tenant_id = 'another' where receipt_id = $1", other)
        for one in (receipt, other):
            for _ in range(2):
                assert (await ana.post(f"/v1/receipts/{one}/claim", {})).status_code == 200
        everything = [line["id"] for line in (await ana.get("/v1/audit?limit=200")).json()["items"]]
        assert everything == sorted((line["id"] for line in await app.db.all("audit_log")), reverse=True)
        paged = []
        path = "/v1/audit?limit=2&action=claim"
        while path:
            page = await ana.get(path)
            paged += [line["threadId"] for line in page.json()["items"]]
            path = page.headers.get("link", "").partition(">")[0].removeprefix("<")
        assert paged == ["other", "other", "mine", "mine"]
        seen = (await bound.get("/v1/audit")).json()["items"]
        assert [line["threadId"] for line in seen] == ["mine", "mine"]
        plain = (await viewer.get("/v1/audit")).json()["items"]
        assert {line["action"] for line in plain} == {"claim"}
        assert code(await viewer.get("/v1/audit/export")) == (403, "forbidden")
        exported = await ana.get("/v1/audit/export")
        assert exported.headers["content-type"].startswith("application/jsonl")
        lines = [httpx.Response(200, content=line).json() for line in exported.content.splitlines()]
        assert len(lines) == len(await app.db.all("audit_log"))
        assert [line["id"] for line in lines] == sorted((line["id"] for line in lines), reverse=True)
        mine = (await bound.get("/v1/audit/export")).content.splitlines()
        assert len(mine) == 2
        assert code(await ana.get("/v1/audit?cursor=W10")) == (400, "bad_cursor")


async def test_a_query_that_is_no_utf8_is_answered(fresh_database: str) -> None:
    async with api(fresh_database) as app:
        ana = await app.caller()
        await app.uncertain("one")
        await app.uncertain("two")
        told: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            told.append(message)

        headers = [(b"authorization", f"Bearer {ana.secret}".encode())]
        scope: dict[str, object] = {
            "type": "http",
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": "/v1/receipts",
        }
        scope |= {
            "raw_path": b"/v1/receipts",
            "query_string": b"limit=1&q=-\xff",
            "headers": headers,
            "server": ("x", 80),
        }
        await api_application(app.desk)(scope, receive, send)
        assert told[0]["status"] == 200
        link = dict(told[0]["headers"])[b"link"].decode()
        assert (await ana.get(link[1 : link.index(">")])).status_code == 200
