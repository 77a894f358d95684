"""Signing in and out, the cookie, forms of other sites, and where one is sent on to."""

from __future__ import annotations

import pytest
from intention_kernel.ports.queue_work import AuditQuery
from receipt_reconciler.web.console.denials import OF_A_USER
from receipt_reconciler.web.console.origin import is_own, local_path
from receipt_reconciler.web.console.routes import console_routes
from starlette.routing import Route
from starlette.types import Message

from tests.console.bench import PASSWORD, console

FOREIGN: tuple[dict[str, str], ...] = (
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "none"},
    {"Origin": "http://evil.test"},
    {"Origin": "null"},
    {"Sec-Fetch-Site": "cross-site", "Origin": "http://console.test"},
    {},
)


@pytest.mark.parametrize("headers", FOREIGN)
def test_what_no_page_of_ours_sent_is_not_our_own(headers: dict[str, str]) -> None:
    assert not is_own({name.lower(): value for name, value in headers.items()} | {"host": "console.test"})


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "", "null", "\xff"])
def test_an_origin_that_is_none_is_not_our_own(origin: str) -> None:
    assert not is_own({"origin": origin, "host": "console.test"})
    assert not is_own({"origin": origin, "host": ""})


def test_what_a_page_of_ours_sent_is_our_own() -> None:
    assert is_own({"sec-fetch-site": "same-origin", "host": "console.test"})
    assert is_own({"origin": "https://console.test", "host": "console.test"})
    assert is_own({"origin": "http://Console.test:8443", "host": "console.test:8443"})


@pytest.mark.parametrize(
    "wanted",
    [
        "//evil.test",
        "/\\evil.test",
        "\\\\evil.test",
        "https://evil.test/",
        "evil.test",
        "javascript:alert(1)",
        "/\t/evil.test",
        "/\r\nSet-Cookie: a=b",
        "/ä",
        "",
        None,
    ],
)
def test_nobody_is_sent_to_another_site(wanted: str | None) -> None:
    assert local_path(wanted) == "/"


def test_one_is_sent_on_to_a_path_of_ours() -> None:
    assert local_path("/receipts/abc?x=1#decide") == "/receipts/abc?x=1#decide"


async def test_after_signing_in_one_is_where_one_wanted_to_be(fresh_database: str) -> None:
    async with console(fresh_database) as made:
        browser = made.stranger()
        page = await browser.get("/queue?q=status:uncertain")
        assert page.url.endswith("/login?next=%2Fqueue%3Fq%3Dstatus%3Auncertain")
        page = await page.send("/login", name="viewer", password=PASSWORD)
        assert page.url.endswith("/queue?q=status:uncertain")
        page = await made.stranger().get("/login?next=//evil.test")
        page = await page.send("/login", name="viewer", password=PASSWORD)
        assert page.url == "http://console.test/"


async def test_what_is_wrong_is_not_told_and_too_many_attempts_are_refused(fresh_database: str) -> None:
    async with console(fresh_database) as made:
        await made.desk.identity.set_disabled("operator", "test", disabled=True)
        browser = made.stranger()
        wrong = [
            await browser.sign_in(name, password)
            for name, password in (("viewer", "not the password"), ("nobody", PASSWORD), ("operator", PASSWORD))
        ]
        assert {page.status for page in wrong} == {401}
        assert {page.text.count("The name or the password is wrong.") for page in wrong} == {1}
        assert not browser.client.cookies
        page = wrong[0]
        for _ in range(12):
            page = await browser.sign_in("viewer", "not the password")
        assert page.status == 429
        assert "seconds" in page.words
        assert int(page.headers["retry-after"]) > 0
        assert (await made.stranger().sign_in("viewer")).status == 429
        lines = await made.db.receipts.audit(AuditQuery(action="denied"))
        assert len(lines) >= 3


@pytest.mark.parametrize("secure", [False, True])
async def test_the_cookie_is_for_this_host_and_no_script_and_another_at_every_sign_in(
    fresh_database: str, secure: bool
) -> None:
    async with console(fresh_database) as started:
        made = started.served(secure=secure)
        browser = made.stranger()
        form = {"name": "viewer", "password": PASSWORD, "next": "/"}
        headers = {"Sec-Fetch-Site": "same-origin"}
        first = (await browser.client.post("/login", data=form, headers=headers)).headers["set-cookie"]
        name, _, rest = first.partition("=")
        assert name == ("__Host-intention" if secure else "intention")
        flags = {part.strip().lower() for part in rest.split(";")[1:]}
        assert flags == {"httponly", "path=/", "samesite=lax"} | ({"secure"} if secure else set())
        secret = rest.split(";")[0]
        second = (
            await browser.client.post("/login", data=form, headers=headers | {"Cookie": f"{name}={secret}"})
        ).headers["set-cookie"]
        assert second != first
        answer = await made.stranger().client.get("/queue", headers={"Cookie": f"{name}={secret}"})
        assert answer.status_code == 303


async def test_signing_out_ends_the_session_in_the_store(fresh_database: str) -> None:
    async with console(fresh_database) as made:
        browser = await made.signed_in("viewer")
        cookies = dict(browser.client.cookies)
        page = await (await browser.get("/queue")).send("/logout")
        assert "You are signed out" in page.words
        thief = made.stranger()
        thief.client.cookies.update(cookies)
        assert "/login" in (await thief.get("/queue")).url


async def test_every_form_of_another_site_is_refused(fresh_database: str) -> None:
    """Whatever route takes a form: none is reached without a page of ours."""
    async with console(fresh_database) as made:
        browser = await made.signed_in("admin")
        routes = [route for route in console_routes() if isinstance(route, Route) and "POST" in (route.methods or ())]
        assert len(routes) > 20
        for route in routes:
            path = route.path
            for name in route.param_convertors:
                path = path.replace(f"{{{name}:id}}", "x")
            for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "http://evil.test"}, {}):
                answer = await browser.client.post(path, data={"name": "x"}, headers=headers)
                assert answer.status_code == 403, path
                assert "was not sent by a page of this console" in answer.text
        assert (await browser.get("/queue")).status == 200


async def test_nobody_gets_a_page_without_signing_in(fresh_database: str) -> None:
    async with console(fresh_database) as made:
        browser = made.stranger()
        open_to_all = {"/login", "/logout", "/theme", "/static/{version}/{name}"}
        for route in console_routes():
            assert isinstance(route, Route)
            if route.path in open_to_all:
                continue
            path = route.path
            for name in route.param_convertors:
                path = path.replace(f"{{{name}:id}}", "x")
            method = "POST" if "POST" in (route.methods or ()) else "GET"
            headers = {"Sec-Fetch-Site": "same-origin"}
            answer = await browser.client.request(
                method, path, data={"a": "b"} if method == "POST" else None, headers=headers
            )
            assert (answer.status_code, answer.headers["location"].partition("?")[0]) == (303, "/login"), path


async def test_what_is_too_large_or_no_form_is_refused(fresh_database: str) -> None:
    async with console(fresh_database) as made:
        browser = await made.signed_in("operator")
        large = await browser.post("/theme", {"theme": "x" * 3_000_000})
        assert large.status == 413
        headers = {"Sec-Fetch-Site": "same-origin", "Content-Type": "application/json"}
        assert (await browser.client.post("/theme", content=b"{}", headers=headers)).status_code == 400


async def test_the_theme_is_kept_by_the_browser(fresh_database: str) -> None:
    async with console(fresh_database) as made:
        browser = made.stranger()
        assert 'data-theme="system"' in (await browser.get("/login")).text
        page = await (await browser.get("/login?next=%2Fqueue")).send("/theme", theme="dark")
        assert 'data-theme="dark"' in page.text
        assert page.url.endswith("/login?next=%2Fqueue")
        await browser.post("/theme", {"theme": '"><script>', "next": "/"})
        assert 'data-theme="dark"' in (await browser.get("/login")).text


async def test_whatever_bytes_an_address_has_are_answered(fresh_database: str) -> None:
    """A query that is no UTF-8, which no browser writes."""
    async with console(fresh_database) as made:
        told: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            told.append(message)

        scope: dict[str, object] = {
            "type": "http",
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": "/login",
        }
        scope |= {"raw_path": b"/login", "query_string": b"next=/\xff\xfe&x=%ff", "headers": [], "server": ("x", 80)}
        await made.app(scope, receive, send)
        assert told[0]["status"] == 200


async def test_who_is_nobody_sends_little(fresh_database: str) -> None:
    async with console(fresh_database) as made:
        browser = made.stranger()
        for path in ("/login", "/logout", "/theme"):
            assert (await browser.post(path, {"name": "x" * 70_000})).status == 413
        assert (await browser.post("/login", {"name": "x" * 60_000})).status == 401


async def test_refusals_are_on_record_and_flood_no_log(fresh_database: str) -> None:
    async with console(fresh_database) as made:
        browser = await made.signed_in("viewer")
        for _ in range(OF_A_USER.burst + 5):
            assert (await browser.get("/users")).status == 403
        denied = await made.desk.queue.audit(AuditQuery(action="denied", limit=200))
        assert OF_A_USER.burst <= len(denied) < OF_A_USER.burst + 5
