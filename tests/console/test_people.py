"""Tokens, passwords, users and rules by forms."""

from __future__ import annotations

import re

from intention_kernel.identity.principals import principal_of_token
from intention_kernel.ports.approvals import ApprovalRule
from intention_kernel.reconciliation.rules import unsatisfiable

from tests.console.bench import PASSWORD, console

NEW = "another battery staple"


async def test_a_tokens_secret_is_shown_once_and_revoked_it_answers_nothing(fresh_database: str) -> None:
    async with console(fresh_database) as made:
        browser = await made.signed_in("operator")
        page = await browser.get("/settings")
        shown = await page.send("/settings/tokens", label="nightly", days="7", permission="receipts:read")
        found = re.search(r"<code class=\"secret\"[^>]*>([^<]+)</code>", shown.text)
        assert found is not None
        who = await principal_of_token(made.desk.identity, found[1])
        assert who is not None
        assert (who.user, who.permissions) == ("operator", frozenset({"receipts:read"}))
        again = await browser.get("/settings")
        assert found[1] not in again.text
        [revoke] = re.findall(r'action="(/settings/tokens/[^"]+/revoke)"', again.text)
        other = await made.signed_in("admin")
        assert (await other.post(revoke, {})).status == 404
        await again.send(revoke)
        assert await principal_of_token(made.desk.identity, found[1]) is None
        assert (await browser.post("/settings/tokens", {"label": "x", "days": "9999", "all": "yes"})).status == 422
        assert (await browser.post("/settings/tokens", {"label": "x", "days": "1"})).status == 422


async def test_a_password_is_changed_by_who_knows_it_and_ends_every_session(fresh_database: str) -> None:
    async with console(fresh_database) as made:
        browser, elsewhere = await made.signed_in("viewer"), await made.signed_in("viewer")
        page = await browser.get("/settings")
        change = "/settings/password"
        assert (await page.send(change, old="wrong", new=NEW, again=NEW)).status == 403
        assert (await page.send(change, old=PASSWORD, new=NEW, again="other")).status == 422
        assert (await page.send(change, old=PASSWORD, new="short", again="short")).status == 422
        done = await page.send(change, old=PASSWORD, new=NEW, again=NEW)
        assert "/login" in done.url
        other = await made.signed_in("operator")
        tried = [(await other.post(change, {"old": "wrong", "new": NEW, "again": NEW})).status for _ in range(12)]
        assert (tried[0], tried[-1]) == (403, 429)
        assert "/login" in (await elsewhere.get("/queue")).url
        assert (await made.stranger().sign_in("viewer")).status == 401
        assert (await made.stranger().sign_in("viewer", NEW)).status == 200


async def test_an_admin_adds_users_gives_roles_and_disables(fresh_database: str) -> None:
    async with console(fresh_database) as made:
        admin = await made.signed_in("admin")
        page = await admin.get("/users")
        added = await page.send("/users", name="ana", password=NEW, role="viewer", tenants="acme, beta")
        assert added.url.endswith("/users?said=user_added")
        assert "tenants acme, beta" in added.words
        assert (await added.send("/users", name="ana", password=NEW, role="viewer")).status == 422
        assert (await added.send("/users", name="Ana Ü", password=NEW, role="viewer")).status == 422
        ana = made.stranger()
        assert (await ana.sign_in("ana", NEW)).status == 200
        assert (await ana.get("/users")).status == 403
        await admin.post("/users/ana/access", {"role": ["viewer", "admin"], "tenants": "", "effects": ""})
        assert (await ana.get("/users")).status == 200
        await admin.post("/users/ana/disabled", {"disabled": "yes"})
        assert "/login" in (await ana.get("/queue")).url
        await admin.post("/users/ana/disabled", {"disabled": "no"})
        await admin.post("/users/ana/password", {"password": PASSWORD})
        assert (await made.stranger().sign_in("ana")).status == 200
        assert (await admin.post("/users/nobody/password", {"password": PASSWORD})).status == 404


async def test_rules_are_made_by_a_form_and_say_who_could_approve(fresh_database: str) -> None:
    async with console(fresh_database) as made:
        admin = await made.signed_in("admin")
        new = {"rule_id": "large", "least_amount": "200", "currency": "EUR", "hours": "2"}
        done = await admin.post("/rules", new)
        assert "amount: 200 EUR or more" in done.words
        assert "approver" in done.words
        [rule] = [rule for rule in await made.db.receipts.rules() if rule.rule_id == "large"]
        assert rule == ApprovalRule("large", least_amount=rule.least_amount, currency="EUR", expires_seconds=7200)
        for wrong in ({"least_amount": "many", "currency": "EUR"}, {"least_amount": "3"}, {"rule_id": " "}):
            assert (await admin.post("/rules", {"rule_id": "x", **wrong})).status == 422
        for name in ("approver", "admin"):
            await made.desk.identity.set_disabled(name, "test", disabled=name == "approver")
        again = await admin.get("/rules")
        assert "nobody can satisfy it" not in again.words
        await made.desk.identity.set_disabled("operator", "test", disabled=True)
        assert unsatisfiable(await made.db.receipts.rules(), await made.desk.identity.users())
        again = await admin.get("/rules")
        assert "nobody can satisfy it add a second user with receipts:approve" in again.words
        assert "nobody: admin alone may propose and approve" in again.words
        assert "add a second user with receipts:approve" in (await admin.get("/")).words
        await again.browser.post(
            "/rules", {"rule_id": "large", "least_amount": "200", "currency": "EUR", "enabled": "no"}
        )
        assert {rule.rule_id: rule.enabled for rule in await made.db.receipts.rules()}["large"] is False
