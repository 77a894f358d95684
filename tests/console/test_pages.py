"""Every page, for every role: it is shown or refused by name, and never fails."""

from __future__ import annotations

import pytest

from tests.console.bench import ROLES, console

PAGES = {
    "/": None,
    "/queue": "receipts:read",
    "/queue?q=status:uncertain": "receipts:read",
    "/proposals": "receipts:read",
    "/threads": "turns:read",
    "/threads/t": "turns:read",
    "/rejected": "turns:read",
    "/audit": "receipts:read",
    "/audit/export": "audit:export",
    "/settings": None,
    "/users": "users:manage",
    "/rules": "rules:manage",
}


@pytest.mark.parametrize("role", ROLES)
async def test_every_page_is_shown_or_refused_by_name(fresh_database: str, role: str) -> None:
    async with console(fresh_database) as made:
        receipt = await made.db.uncertain()
        await made.db.receipts.scan(10)
        account = await made.desk.identity.account(role)
        assert account is not None
        browser = await made.signed_in(role)
        for path, permission in {**PAGES, f"/receipts/{receipt}": "receipts:read"}.items():
            page = await browser.get(path)
            if permission is None or permission in account.user.permissions:
                assert page.status == 200, (path, page.words)
            else:
                assert page.status == 403, path
                assert permission in page.words
        nowhere = await browser.get("/no-such-page")
        assert nowhere.status == 404
        assert any(name == "a" and more.get("href") == "/queue" for name, more in nowhere.elements)
        assert any(name == "nav" and more.get("aria-label") == "Pages" for name, more in nowhere.elements)
