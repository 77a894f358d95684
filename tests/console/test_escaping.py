"""Nothing that an application, a provider or a person wrote becomes markup, and nothing that is masked is in a page."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from intention_kernel.contracts.json_codec import dumps
from intention_kernel.ports.approvals import ApprovalRule
from intention_kernel.postgres.packing import pack
from intention_kernel.reconciliation import work
from intention_kernel.reconciliation.queue import Decision, NeedsSecondPerson, resolve
from intention_kernel.reconciliation.work import Task

from tests.console.bench import Console, console

EVIL = "<img src=x onerror=alert(1)>\"'&{{ 7*7 }}</script><script>alert(2)</script>"
SECRET = "4111-1111-SECRET"
WORDS = "10.0.0.7 did not answer"
THREAD = 'a/b?c#d"><script>alert(3)</script>'


async def _evil_receipt(made: Console) -> str:
    """Every text that somebody else writes, in one receipt."""
    db = made.db
    receipt = await db.uncertain(THREAD, "shop.charge:<b>1</b>", returned=True)
    await db.receipts.scan(10)
    await db.connection.execute(
        "update receipts set title = $2, provider = $2, currency = $2, payload = $3, reference = $2, tenant_id = $2"
        " where receipt_id = $1",
        receipt,
        EVIL,
        pack(dumps({"card": SECRET, "note": EVIL, EVIL: 1, "lone": "\ud800"})),
    )
    await db.connection.execute(
        "insert into observations (thread_id, effect_key, settlement, receipt_version, source, finding, detail, value,"
        " reference, started_at, at) select thread_id, effect_key, 1, version, $2, 'found', $3, $4, $2, now(), now()"
        " from receipts where receipt_id = $1",
        receipt,
        EVIL,
        WORDS.encode(),
        pack(dumps({"charge": SECRET})),
    )
    await db.connection.execute("update reconciliation_items set reason = $1", f"the lookup failed: {WORDS}{EVIL}")
    await work.comment(db.receipts, Task(receipt, EVIL), EVIL)
    await work.evidence(db.receipts, Task(receipt, "ana"), "link", "https://bank.example/?a=1&b=<b>")
    await work.evidence(db.receipts, Task(receipt, "ana"), "quotation", "javascript:alert(4)")
    await work.claim(db.receipts, Task(receipt, "operator"), 900)
    return receipt


async def test_nothing_that_others_wrote_becomes_markup(fresh_database: str) -> None:
    async with console(fresh_database) as made:
        receipt = await _evil_receipt(made)
        await made.db.receipts.set_rule(ApprovalRule(EVIL, effects=frozenset({"shop.charge"})), EVIL)
        more: dict[str, Any] = {"value": {"charge": SECRET}, "reference": EVIL, "evidence": EVIL}
        proposed = await resolve(made.db.receipts, Decision(receipt, "applied", EVIL, "operator", **more), None)
        browser = await made.signed_in("admin")
        pages = ["/", "/queue", f"/receipts/{receipt}", "/proposals", "/audit", "/rules", "/rejected"]
        thread = "a%2Fb%3Fc%23d%22%3E%3Cscript%3Ealert(3)%3C%2Fscript%3E"
        pages += [f"/threads/{thread}", f"/threads/{thread}/turns/turn-1", f"/queue?q={thread}", f"/{thread}"]
        for path in pages:
            page = await browser.get(path)
            assert "<img" not in page.text, path
            assert not page.inline, path
            assert SECRET not in page.text, path
            assert "49" not in page.words or "{{ 7*7 }}" in page.words, path
        page = await browser.get(f"/receipts/{receipt}")
        assert page.status == 200
        assert EVIL in page.words
        assert isinstance(proposed, NeedsSecondPerson), proposed


async def test_why_it_is_there_is_read_by_who_works_on_it_and_a_shape_for_others(fresh_database: str) -> None:
    async with console(fresh_database) as made:
        receipt = await _evil_receipt(made)
        for role, reads in (("operator", True), ("admin", True), ("viewer", False), ("approver", False)):
            browser = await made.signed_in(role)
            for path in ("/", "/queue", f"/receipts/{receipt}"):
                page = await browser.get(path)
                assert page.status == 200
                assert (WORDS in page.words) == reads, (role, path)
                assert "the lookup failed: " in page.words.lower(), (role, path)
                assert SECRET not in page.text, (role, path)


async def test_links_lead_only_where_evidence_says_and_tell_nothing_of_us(fresh_database: str) -> None:
    async with console(fresh_database) as made:
        receipt = await _evil_receipt(made)
        page = await (await made.signed_in("viewer")).get(f"/receipts/{receipt}")
        links = re.findall(r'<a href="([^"]*)"([^>]*)>', page.text)
        outside = [(href, more) for href, more in links if not href.startswith(("/", "#"))]
        assert [href for href, _ in outside] == ["https://bank.example/?a=1&amp;b=&lt;b&gt;"]
        assert all('rel="noopener noreferrer nofollow"' in more for _, more in outside)


async def test_real_values_are_shown_for_a_reason_that_is_on_record(fresh_database: str) -> None:
    async with console(fresh_database) as made:
        receipt = await _evil_receipt(made)
        admin = await made.signed_in("admin")
        page = await admin.get(f"/receipts/{receipt}")
        account = await made.desk.identity.account("admin")
        assert account is not None
        assert "payload:reveal" in account.user.permissions
        refused = await page.send(f"/receipts/{receipt}/reveal", reason=" ")
        assert refused.status == 422
        assert SECRET not in refused.text
        shown = await page.send(f"/receipts/{receipt}/reveal", reason="the bank asks for the card")
        assert SECRET in shown.text
        assert shown.headers["cache-control"] == "no-store"
        assert "<img" not in shown.text
        lines = [line for line in await made.db.all("audit_log") if line["action"] == "revealed"]
        assert [line["actor"] for line in lines] == ["admin"]
        assert SECRET not in (await admin.get(f"/receipts/{receipt}")).text
        viewer = await made.signed_in("viewer")
        assert not (await viewer.get(f"/receipts/{receipt}")).has_form(f"/receipts/{receipt}/reveal")
        denied = await viewer.post(f"/receipts/{receipt}/reveal", {"reason": "I want to"})
        assert denied.status == 403
        assert "payload:reveal" in denied.words
        assert SECRET not in denied.text


async def test_every_response_has_the_strict_policy_and_is_not_kept(fresh_database: str) -> None:
    async with console(fresh_database) as made:
        browser = await made.signed_in("viewer")
        for path in ("/", "/queue", "/login", "/nothing", "/users"):
            page = await browser.get(path)
            policy = page.headers["content-security-policy"]
            assert "unsafe" not in policy
            assert "default-src 'none'" in policy
            assert page.headers["cache-control"] == "no-store"
        style = re.search(r'href="(/static/[^"]+\.css)"', (await browser.get("/")).text)
        assert style is not None
        answer = await browser.client.get(style[1])
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert (await browser.client.get("/static/x/..%2Frendering.py")).status_code == 404


async def test_what_is_out_of_reach_looks_like_what_is_not_there(fresh_database: str) -> None:
    async with console(fresh_database) as made:
        receipt = await made.db.uncertain()
        await made.db.receipts.scan(10)
        user = await made.user("bounded", "operator")
        scope = replace(user.scope, tenants=frozenset({"another"}))
        await made.desk.identity.set_access("bounded", ("operator",), scope, "test")
        browser = await made.signed_in("bounded")
        page, nothing = await browser.get(f"/receipts/{receipt}"), await browser.get("/receipts/" + "0" * 32)
        assert (page.status, nothing.status) == (404, 404)
        assert page.text.replace(receipt, "") == nothing.text.replace("0" * 32, "")
        assert receipt not in (await browser.get("/queue")).text
        assert (await browser.get("/threads/t")).status == 404
        assert receipt not in (await browser.get("/audit")).text
        assert (await browser.get(f"/audit?receipt={receipt}")).status == 404
        for act in ("claim", "release", "snooze", "probe", "note", "decide", "contest"):
            sent = await browser.post(f"/receipts/{receipt}/{act}", {"text": "x", "reason": "x"})
            assert sent.status == 404, act
        assert not await made.db.all("receipt_work")
