"""One receipt worked and decided by forms alone: claim, snooze, note, decide in two steps, propose, approve, contest."""

from __future__ import annotations

import hashlib
import re
from decimal import Decimal

import pytest
from intention_kernel.ports.approvals import ApprovalRule
from intention_kernel.postgres.packing import pack
from intention_kernel.reconciliation import work
from intention_kernel.reconciliation.queue import Decision, Resolved, resolve
from intention_kernel.reconciliation.work import Task

from tests.console.bench import Browser, Console, Page, console

APPLIED = {"resolution": "applied", "value.charge": "ch-9", "reference": "re_3Q", "reason": "it is in the bank's list"}
NOT_APPLIED = {"resolution": "not_applied", "reason": "it is not in the bank's list"}


async def _opened(made: Console, who: str, **more: object) -> tuple[str, Browser, Page]:
    receipt = await made.db.uncertain(**{"returned": True, **more})  # type: ignore[arg-type]
    await made.db.receipts.scan(10)
    browser = await made.signed_in(who)
    return receipt, browser, await browser.get(f"/receipts/{receipt}")


async def test_a_receipt_is_decided_in_two_steps_and_only_the_second_writes(fresh_database: str) -> None:
    async with console(fresh_database) as made:
        receipt, _, page = await _opened(made, "operator")
        decide = f"/receipts/{receipt}/decide"
        shown = await page.send(decide, **APPLIED, reason_code="provider_confirms", evidence="https://bank.example/1")
        assert shown.status == 200
        for words in (
            "What will happen",
            "The receipt gets version 3",
            "No other attempt is made",
            '{"charge":"ch-9"}',
        ):
            assert words in shown.words
        assert (await made.db.receipt(receipt))["state"] == "uncertain"
        assert not await made.db.all("decisions")
        done = await shown.send(decide, step="confirm")
        assert done.url.endswith(f"/receipts/{receipt}?said=decided")
        assert "The conversation has not gone on yet" in done.words
        [made_decision] = await made.db.all("decisions")
        assert (made_decision["actor"], made_decision["reason_code"]) == ("operator", "provider_confirms")
        assert await made.db.value(receipt) == {"charge": "ch-9"}
        again = await shown.send(decide, step="confirm")
        assert again.url == done.url
        assert len(await made.db.all("decisions")) == 1
        await made.db.commit_continuation()
        await made.db.connection.execute("update reconciliation_items set phase = 'done', closed_at = now()")
        assert "The conversation has gone on." in (await done.browser.get(f"/receipts/{receipt}")).words


async def test_what_was_typed_stays_where_it_is_changed_or_refused(fresh_database: str) -> None:
    async with console(fresh_database) as made:
        receipt, _, page = await _opened(made, "operator")
        decide = f"/receipts/{receipt}/decide"
        refused = await page.send(decide, **APPLIED | {"reason": " "})
        assert refused.status == 422
        assert "a reason is needed" in refused.words
        assert refused.form(decide)["value.charge"] == "ch-9"
        shown = await page.send(decide, **APPLIED)
        edited = await shown.send(decide, step="edit")
        assert {name: edited.form(decide)[name] for name in APPLIED} == APPLIED


async def test_a_value_that_is_left_empty_settles_nothing(fresh_database: str) -> None:
    async with console(fresh_database) as made:
        receipt, _, page = await _opened(made, "operator")
        decide = f"/receipts/{receipt}/decide"
        for step in ("", "confirm"):
            refused = await page.send(decide, **APPLIED | {"value.charge": "", "step": step})
            assert refused.status == 422
            assert "is missing: charge." in refused.words
            assert "charge (missing)" in refused.words
            assert refused.form(decide)["reason"] == APPLIED["reason"]
        assert (await made.db.receipt(receipt))["state"] == "uncertain"
        assert not await made.db.all("decisions")


async def test_what_changed_meanwhile_is_told_and_not_decided(fresh_database: str) -> None:
    async with console(fresh_database) as made:
        receipt, _, page = await _opened(made, "operator")
        decide = f"/receipts/{receipt}/decide"
        shown = await page.send(decide, **APPLIED)
        other = await resolve(made.db.receipts, Decision(receipt, "not_applied", "gone", "ben", workers_stopped=True))
        assert isinstance(other, Resolved), other
        stale = await shown.send(decide, step="confirm")
        assert stale.status == 409
        assert "What changed since you looked" in stale.words
        assert "Version 3" in stale.words
        assert "Decided by ben" in stale.words
        assert [decision["actor"] for decision in await made.db.all("decisions")] == ["ben"]


async def test_a_stale_form_about_what_is_still_open_keeps_what_was_typed(fresh_database: str) -> None:
    async with console(fresh_database) as made:
        receipt, browser, page = await _opened(made, "operator")
        decide = f"/receipts/{receipt}/decide"
        stale = await browser.post(decide, {**page.form(decide), **APPLIED, "expected_version": "1", "step": "confirm"})
        assert stale.status == 409
        assert stale.form(decide)["value.charge"] == "ch-9"
        assert stale.form(decide)["expected_version"] == "2"
        assert not await made.db.all("decisions")


async def test_not_applied_says_why_not_and_takes_the_statement(fresh_database: str) -> None:
    async with console(fresh_database) as made:
        receipt, _, page = await _opened(made, "operator", returned=False)
        decide = f"/receipts/{receipt}/decide"
        assert "the attempt was never seen to end" in page.words
        refused = await page.send(decide, **NOT_APPLIED)
        assert refused.status == 409
        assert "the attempt was never seen to end" in refused.words
        shown = await page.send(decide, **NOT_APPLIED, workers_stopped="yes")
        assert "The program may make another attempt" in shown.words
        assert not [line for line in await made.db.all("audit_log") if line["effect_key"] is not None]
        done = await shown.send(decide, step="confirm")
        assert done.url.endswith("said=decided")
        assert (await made.db.receipt(receipt))["state"] == "failed"


async def test_a_value_that_a_resolver_found_is_taken_over_unseen(fresh_database: str) -> None:
    async with console(fresh_database) as made:
        receipt, browser, _ = await _opened(made, "operator")
        await made.db.connection.execute(
            "insert into observations (thread_id, effect_key, settlement, receipt_version, source, finding, detail, value,"
            " started_at, at) select thread_id, effect_key, 1, version, 'lookup', 'found', '', $2, now(), now()"
            " from receipts where receipt_id = $1",
            receipt,
            pack(b'{"charge":"ch-secret"}'),
        )
        page = await browser.get(f"/receipts/{receipt}")
        found = re.search(r'name="value_from" value="([0-9][^"]*)"', page.text)
        assert found is not None
        form = {**APPLIED, "value.charge": "", "value_from": found[1].replace("&#43;", "+")}
        shown = await page.send(f"/receipts/{receipt}/decide", **form)
        assert "ch-secret" not in shown.text
        await shown.send(f"/receipts/{receipt}/decide", step="confirm")
        assert await made.db.value(receipt) == {"charge": "ch-secret"}


async def test_a_second_person_approves_exactly_what_was_proposed_and_nobody_their_own(fresh_database: str) -> None:
    async with console(fresh_database) as made:
        rule = ApprovalRule("large", least_amount=Decimal(10), currency="EUR")
        await made.db.receipts.set_rule(rule, "admin")
        await made.user("both", "operator", "approver")
        receipt, both, page = await _opened(made, "both")
        shown = await page.send(f"/receipts/{receipt}/decide", **APPLIED)
        assert "by the rule large" in shown.words
        assert not await made.db.all("proposals")
        proposed = await shown.send(f"/receipts/{receipt}/decide", step="confirm")
        assert proposed.url.endswith("said=proposed")
        assert "You cannot approve your own proposal" in proposed.words
        [row] = await made.db.all("proposals")
        approve = f"/proposals/{row['proposal_id']}/approve"
        assert not proposed.has_form(approve)
        own = await both.post(approve, {"hash": row["decision_hash"]})
        assert own.status == 403
        assert "nobody approves their own proposal" in own.words
        approver = await made.signed_in("approver")
        listed = await approver.get("/proposals")
        other = await approver.post(approve, {"hash": "0" * 64})
        assert other.status == 409
        assert (await made.db.receipt(receipt))["state"] == "uncertain"
        done = await listed.send(approve)
        assert done.url.endswith(f"/receipts/{receipt}?said=approved")
        assert (await made.db.receipt(receipt))["state"] == "completed"
        operator = await made.signed_in("operator")
        assert (await operator.post(approve, {"hash": row["decision_hash"]})).status == 403


async def test_an_approver_sees_the_proposed_value_before_approving_it(fresh_database: str) -> None:
    async with console(fresh_database) as made:
        await made.db.receipts.set_rule(ApprovalRule("all"), "admin")
        receipt, _, page = await _opened(made, "operator")
        evidence = "https://bank.example/1"
        shown = await page.send(f"/receipts/{receipt}/decide", **APPLIED, evidence=evidence)
        await shown.send(f"/receipts/{receipt}/decide", step="confirm")
        [row] = await made.db.all("proposals")
        approve, reveal = f"/proposals/{row['proposal_id']}/approve", f"/receipts/{receipt}/reveal"
        approver = await made.signed_in("approver")
        listed = await approver.get("/proposals")
        assert "ch-9" not in listed.text
        assert any(name == "a" and more.get("href") == evidence for name, more in listed.elements)
        seen = await listed.send(reveal, reason="to approve it")
        assert '"charge": "ch-9"' in seen.words
        assert row["decision_hash"] in seen.words
        assert "That is its shape" not in seen.words
        assert ("approver", "revealed") in [(line["actor"], line["action"]) for line in await made.db.all("audit_log")]
        assert (await seen.send(approve)).url.endswith("said=approved")
        viewer = await made.signed_in("viewer")
        assert not (await viewer.get("/proposals")).has_form(reveal)


async def test_a_proposal_is_rejected_with_a_reason_or_withdrawn_by_its_proposer(fresh_database: str) -> None:
    async with console(fresh_database) as made:
        await made.db.receipts.set_rule(ApprovalRule("all"), "admin")
        receipt, operator, page = await _opened(made, "operator")
        decide = f"/receipts/{receipt}/decide"
        proposed = await (await page.send(decide, **APPLIED)).send(decide, step="confirm")
        [row] = await made.db.all("proposals")
        approver = await made.signed_in("approver")
        reject = f"/proposals/{row['proposal_id']}/reject"
        assert (await approver.post(reject, {"reason": ""})).status == 422
        withdrawn = await proposed.send(f"/proposals/{row['proposal_id']}/withdraw")
        assert withdrawn.url.endswith("said=withdrawn")
        assert (await approver.post(reject, {"reason": "too late"})).status == 409
        page = await operator.get(f"/receipts/{receipt}")
        await (await page.send(decide, **APPLIED)).send(decide, step="confirm")
        listed = await approver.get("/proposals")
        [action] = re.findall(r'action="(/proposals/[^"]+/reject)"', listed.text)
        assert (await listed.send(action, reason="another order's")).url.endswith("said=rejected")
        assert (await made.db.receipt(receipt))["state"] == "uncertain"


async def test_a_contest_is_opened_by_one_person_and_decided_by_another(fresh_database: str) -> None:
    async with console(fresh_database) as made:
        receipt, operator, page = await _opened(made, "operator")
        decide = f"/receipts/{receipt}/decide"
        done = await (await page.send(decide, **APPLIED)).send(decide, step="confirm")
        contested = await done.send(f"/receipts/{receipt}/contest", reason="the customer says no")
        assert contested.url.endswith("said=contested")
        assert "You opened this contest; another person decides it." in contested.words
        assert "the customer says no" in contested.words
        assert not contested.has_form(decide)
        alone = await operator.post(
            decide, {**NOT_APPLIED, "contested": "yes", "evidence": "x", "expected_version": "4"}
        )
        assert alone.status == 409
        admin = await (await made.signed_in("admin")).get(f"/receipts/{receipt}")
        assert admin.form(decide)["contested"] == "yes"
        without = await admin.send(decide, **NOT_APPLIED)
        assert (without.status, "evidence is needed" in without.words) == (422, True)
        shown = await admin.send(decide, **NOT_APPLIED, evidence="statement of May", workers_stopped="yes")
        assert (await shown.send(decide, step="confirm")).url.endswith("said=decided")
        assert (await made.db.receipt(receipt))["state"] == "failed"


async def test_work_is_done_by_forms(fresh_database: str) -> None:
    async with console(fresh_database) as made:
        receipt, operator, page = await _opened(made, "operator")
        base = f"/receipts/{receipt}"
        claimed = await page.send(f"{base}/claim", minutes="60")
        assert "you, until" in claimed.words
        stale = await page.send(f"{base}/snooze", until="change")
        assert (stale.status, "somebody worked on it meanwhile" in stale.words) == (409, True)
        snoozed = await (await operator.get(base)).send(f"{base}/snooze", until="change")
        assert "snoozed until a resolver says something else" in snoozed.words
        awake = await snoozed.send(f"{base}/wake")
        assert "snoozed until" not in awake.words
        probed = await awake.send(f"{base}/probe")
        assert probed.url.endswith("said=probed")
        noted = await probed.send(f"{base}/note", kind="comment", text="the bank calls back")
        assert "the bank calls back" in noted.words
        assert (await noted.send(f"{base}/note", kind="link", text="javascript:alert(1)")).status == 422
        file = await operator.post(f"{base}/note", {"kind": "digest", "text": ""}, files={"file": ("a.pdf", b"%PDF-1")})
        assert f"sha256:{hashlib.sha256(b'%PDF-1').hexdigest()} a.pdf" in file.words
        admin = await (await made.signed_in("admin")).get(base)
        assert "operator works on it" in admin.words.replace("  ", " ")
        assert not admin.has_form(f"{base}/claim")
        assert (await admin.send(f"{base}/takeover", reason=" ")).status == 422
        taken = await admin.send(f"{base}/takeover", reason="operator is ill")
        assert "you, until" in taken.words
        lost = await (await operator.get(base)).browser.post(f"{base}/claim", {})
        assert (lost.status, "admin works on it until" in lost.words) == (409, True)
        assert (await taken.send(f"{base}/release")).url.endswith("said=released")


async def test_what_another_person_has_is_not_decided(fresh_database: str) -> None:
    async with console(fresh_database) as made:
        receipt, operator, _ = await _opened(made, "operator")
        await work.claim(made.db.receipts, Task(receipt, "admin"), 900)
        page = await operator.get(f"/receipts/{receipt}")
        assert "admin works on it: nobody else decides it" in page.words
        refused = await page.send(f"/receipts/{receipt}/decide", **APPLIED)
        assert (refused.status, "admin works on it until" in refused.words) == (409, True)


@pytest.mark.parametrize("role", ["viewer", "approver"])
async def test_who_may_not_decide_is_told_what_it_needs(fresh_database: str, role: str) -> None:
    async with console(fresh_database) as made:
        receipt, browser, page = await _opened(made, role)
        assert not page.has_form(f"/receipts/{receipt}/decide")
        denied = await browser.post(f"/receipts/{receipt}/decide", APPLIED)
        assert (denied.status, "receipts:resolve" in denied.words) == (403, True)
        lines = [line for line in await made.db.all("audit_log") if line["action"] == "denied"]
        assert [line["actor"] for line in lines] == [role]


async def test_a_console_that_is_read_only_has_no_forms_and_takes_none(fresh_database: str) -> None:
    async with console(fresh_database) as started:
        made = started.read_only()
        receipt, browser, page = await _opened(made, "admin")
        assert "Read-only." in page.words
        base = f"/receipts/{receipt}"
        before = len(await made.db.all("audit_log"))
        for path in (base, "/users", "/rules", "/settings", "/proposals"):
            actions = set(re.findall(r'action="([^"]*)"', (await browser.get(path)).text))
            assert actions <= {"/theme", "/logout", "/queue"}, path
        for act in ("claim", "takeover", "snooze", "wake", "probe", "note", "reveal", "decide", "contest"):
            sent = await browser.post(f"{base}/{act}", {**APPLIED, "expected_version": "2", "text": "x"})
            assert (sent.status, "nothing was changed" in sent.words) == (403, True), act
        for path in ("/users", "/rules", "/settings/tokens", "/settings/password", "/users/viewer/disabled"):
            assert (await browser.post(path, {"rule_id": "x", "name": "x", "disabled": "yes"})).status == 403
        assert len(await made.db.all("audit_log")) == before


async def test_a_forms_own_id_is_its_senders_alone(fresh_database: str) -> None:
    """However long it is; nobody takes another's."""
    async with console(fresh_database) as made:
        receipt = await made.db.uncertain(returned=True)
        await made.db.receipts.scan(10)
        first = {"operation_id": "0123456789abcdef" * 4_000, "text": "mine"}
        for name in ("operator", "operator", "admin"):
            page = await (await made.signed_in(name)).post(f"/receipts/{receipt}/note", first)
            assert page.status == 200, page.words
        assert sorted(note["actor"] for note in await made.db.all("receipt_notes")) == ["admin", "operator"]
