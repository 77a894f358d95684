"""Listing, showing and working on receipts over HTTP."""

from __future__ import annotations

import asyncio
import re
from typing import Any
from urllib.parse import quote

import httpx
from intention_kernel.ports.identity import Scope
from receipt_reconciler.web.api.application import ROUTES

from tests.api.bench import APPLIED, OTHER_EFFECT, VALUE, api, code, problem
from tests.reconciliation.bench import EFFECT_ID


async def test_a_list_is_filtered_and_paged_and_links_to_its_next_page(fresh_database: str) -> None:
    async with api(fresh_database) as app:
        ana = await app.caller()
        made = [await app.uncertain(f"t{number}") for number in range(5)]
        seen: list[str] = []
        path = "/v1/receipts?q=status:uncertain&limit=2"
        while path:
            page = await ana.get(path)
            assert page.status_code == 200
            seen += [item["receiptId"] for item in page.json()["items"]]
            link = page.headers.get("link")
            assert (link is None) == (page.json()["cursor"] is None)
            path = "" if link is None else link.partition(">")[0].removeprefix("<")
        assert sorted(seen) == sorted(made)
        assert len(seen) == 5
        nobody = await ana.get("/v1/receipts", params={"q": 'thread:t1 owner:"x y"'})
        assert nobody.json() == {"items": [], "cursor": None}


async def test_a_filter_that_is_none_is_told_with_its_place_and_the_nearest_word(fresh_database: str) -> None:
    async with api(fresh_database) as app:
        ana = await app.caller()
        refused = problem(await ana.get("/v1/receipts", params={"q": "owner:me stauts:open"}))
        assert (refused["code"], refused["position"], refused["suggestion"]) == ("invalid_filter", 9, "status")
        assert code(await ana.get("/v1/receipts?cursor=bm8")) == (400, "bad_cursor")
        assert code(await ana.get("/v1/receipts?limit=201")) == (422, "invalid_request")


async def test_a_parameter_that_is_not_declared_is_refused_before_anything_is_done(fresh_database: str) -> None:
    """`?dryrun=true` would be a decision that its sender takes for a trial."""
    async with api(fresh_database) as app:
        ana = await app.caller()
        receipt = await app.uncertain()
        path, tag = f"/v1/receipts/{receipt}/decisions", {"If-Match": '"r2"'}
        for name in ("dryrun", "dry_run", "DRYRUN"):
            refused = problem(await ana.post(f"{path}?{name}=true", APPLIED, headers=tag))
            told = (refused["status"], refused["code"], refused["parameter"], refused["suggestion"])
            assert told == (400, "unknown_parameter", name, "dryRun")
        twice = problem(await ana.post(f"{path}?dryRun=true&dryRun=false", APPLIED, headers=tag))
        assert (twice["code"], twice["errors"][0]["query"]) == ("invalid_request", "dryRun")
        assert (await app.db.receipt(receipt))["state"] == "uncertain"
        assert await app.db.all("decisions") == []


async def test_every_route_refuses_a_parameter_that_it_does_not_declare(shared_database: str) -> None:
    async with api(shared_database) as app:
        ana = await app.caller()
        for route in ROUTES:
            path = re.sub(r"{[^}]*}", "x", route.path)
            for method in route.methods or ():
                answer = await app.http.request(method, f"{path}?zzz=1", headers={"Authorization": ana.secret})
                refused = problem(answer)
                assert (refused["code"], refused["suggestion"]) == ("unknown_parameter", None), (method, path)
        assert code(await ana.get("/v1/openapi.json?zzz")) == (400, "unknown_parameter")


async def test_a_receipt_is_shown_with_its_values_masked_and_a_tag(fresh_database: str) -> None:
    async with api(fresh_database) as app:
        ana = await app.caller()
        receipt = await app.uncertain()
        shown = await ana.get(f"/v1/receipts/{receipt}")
        assert shown.status_code == 200
        document = shown.json()
        assert document["payload"] == {"amount": "a number"}
        assert (document["title"], document["amount"], document["currency"]) == ("Charge 12 EUR", "12", "EUR")
        assert document["mayDecide"]["applied"]["admitted"] is True
        tag = shown.headers["etag"]
        assert tag.startswith(f'"r{document["version"]}.')
        again = await ana.get(f"/v1/receipts/{receipt}", headers={"If-None-Match": tag})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == tag
        await ana.post(f"/v1/receipts/{receipt}/comments", {"text": "the bank is asked"})
        changed = await ana.get(f"/v1/receipts/{receipt}", headers={"If-None-Match": tag})
        assert changed.status_code == 200
        assert changed.headers["etag"] != tag
        assert changed.json()["version"] == document["version"]


async def test_real_values_are_shown_for_a_reason_that_is_on_record(fresh_database: str) -> None:
    async with api(fresh_database) as app:
        ana = await app.caller()
        receipt = await app.uncertain()
        assert code(await ana.post(f"/v1/receipts/{receipt}/reveal", {"reason": " "})) == (422, "invalid_request")
        shown = await ana.post(f"/v1/receipts/{receipt}/reveal", {"reason": "the customer disputes it"})
        assert shown.json()["payload"] == {"amount": 12}
        [line] = await app.lines("revealed")
        assert (line["actor"], b"the customer disputes it" in line["detail"]) == ("ana", True)


async def test_work_is_done_once_a_key_and_another_persons_claim_is_honoured(fresh_database: str) -> None:
    async with api(fresh_database) as app:
        ana, ben = await app.caller(), await app.caller("ben")
        receipt = await app.uncertain()
        path = f"/v1/receipts/{receipt}"
        first = await ana.post(f"{path}/claim", {"seconds": 600}, key="k1")
        assert (first.status_code, first.json()["workVersion"]) == (200, 1)
        assert (await ana.post(f"{path}/claim", {"seconds": 600}, key="k1")).json() == first.json()
        assert code(await ana.post(f"{path}/claim", {"seconds": 700}, key="k1")) == (409, "idempotency_key_reused")
        held = problem(await ben.post(f"{path}/claim", {}))
        assert (held["code"], held["owner"], held["until"]) == ("leased_by", "ana", first.json()["until"])
        assert code(await ben.post(f"{path}/takeover", {})) == (422, "invalid_request")
        taken = await ben.post(f"{path}/takeover", {"reason": "ana is away"})
        assert taken.json()["workVersion"] == 2
        stale = problem(await ana.post(f"{path}/snooze", {"expectedVersion": 1, "seconds": 60}))
        assert (stale["code"], stale["workVersion"]) == ("version_conflict", 2)
        assert (await ben.post(f"{path}/snooze", {"seconds": 60, "reason": "later"})).status_code == 200
        assert (await ben.post(f"{path}/wake")).json()["until"] is None
        assert (await ben.post(f"{path}/release")).status_code == 200
        assert code(await ben.post(f"{path}/release")) == (409, "not_possible")
        assert code(await ben.post(f"{path}/probe")) == (409, "not_possible")
        actions = [line["action"] for line in await app.db.all("audit_log") if line["thread_id"]]
        assert actions == ["claim", "takeover", "snooze", "wake", "release"]


async def test_notes_are_kept_once_a_key(fresh_database: str) -> None:
    async with api(fresh_database) as app:
        ana = await app.caller()
        receipt = await app.uncertain()
        path = f"/v1/receipts/{receipt}"
        for _ in range(2):
            kept = await ana.post(f"{path}/comments", {"text": "asked"}, key="k")
            assert kept.status_code == 201
        assert code(await ana.post(f"{path}/comments", {"text": "other"}, key="k")) == (409, "idempotency_key_reused")
        link = {"kind": "link", "text": "https://bank.example/7"}
        assert (await ana.post(f"{path}/evidence", link)).status_code == 201
        assert code(await ana.post(f"{path}/evidence", link | {"text": "no link"})) == (422, "invalid_request")
        assert len(await app.db.all("receipt_notes")) == 2


async def test_a_decision_is_made_once_a_key_on_the_version_that_was_seen(fresh_database: str) -> None:
    async with api(fresh_database) as app:
        ana = await app.caller()
        receipt = await app.uncertain()
        path = f"/v1/receipts/{receipt}/decisions"
        seen = await ana.get(f"/v1/receipts/{receipt}")
        tag = {"If-Match": seen.headers["etag"]}
        assert code(await ana.post(path, APPLIED)) == (428, "if_match_missing")
        assert code(await ana.post(path, APPLIED, headers={"If-Match": "*"})) == (428, "if_match_missing")
        for tag_of_none in ("banana", "r2", '"x"', "", '"r2", "r3"', tag["If-Match"].strip('"')):
            assert code(await ana.post(path, APPLIED, headers={"If-Match": tag_of_none})) == (400, "bad_etag")
        assert code(await ana.post(path, APPLIED, key=None, headers=tag)) == (400, "idempotency_key_missing")
        dry = await ana.post(f"{path}?dryRun=true", APPLIED, key=None, headers=tag)
        assert dry.json()["outcome"] == "would_resolve"
        assert (await app.db.receipt(receipt))["state"] == "uncertain"
        stale = problem(await ana.decide(receipt, seen.json()["version"] - 1))
        assert (stale["code"], stale["version"]) == ("stale_if_match", seen.json()["version"])
        made = await ana.post(path, APPLIED, key="k", headers=tag)
        assert (made.status_code, made.json()["outcome"]) == (200, "resolved")
        assert made.json()["version"] == dry.json()["consequences"]["version"]
        assert (await ana.post(path, APPLIED, key="k", headers=tag)).json() == made.json()
        other = await ana.post(path, APPLIED | {"reason": "another"}, key="k", headers=tag)
        assert code(other) == (409, "idempotency_key_reused")
        assert code(await ana.post(path, APPLIED, headers=tag)) == (412, "stale_if_match")
        late = problem(await ana.decide(receipt, made.json()["version"]))
        assert (late["code"], late["state"]) == ("version_conflict", "completed")
        assert await app.db.value(receipt) == VALUE
        assert len(await app.db.all("decisions")) == 1


async def test_a_decision_that_is_not_admitted_or_cannot_be_one_says_why(fresh_database: str) -> None:
    async with api(fresh_database) as app:
        ana = await app.caller()
        receipt = await app.uncertain()
        version = await app.version(receipt)
        absent: dict[str, Any] = {"resolution": "not_applied", "value": None, "reference": None}
        refused = problem(await ana.decide(receipt, version, **absent))
        assert (refused["code"], "never seen to end" in refused["detail"]) == ("not_admitted", True)
        wrong = problem(await ana.decide(receipt, version, value={"charge": 7}))
        assert (wrong["code"], "charge" in wrong["detail"]) == ("invalid_request", True)
        assert code(await ana.decide(receipt, version, workersStopped="yes")) == (422, "invalid_request")
        assert code(await ana.decide(receipt, version, unknown=1)) == (422, "invalid_request")
        assert (await ana.decide(receipt, version, **absent, workersStopped=True)).status_code == 200


async def test_of_two_who_decide_over_http_at_once_one_does(fresh_database: str) -> None:
    async with api(fresh_database) as app:
        ana, ben = await app.caller(), await app.caller("ben")
        for number in range(5):
            receipt = await app.uncertain(f"t{number}")
            version = await app.version(receipt)
            answers = await asyncio.gather(
                ana.decide(receipt, version, value={"charge": "a"}), ben.decide(receipt, version, value={"charge": "b"})
            )
            won = [answer for answer in answers if answer.status_code == 200]
            lost = [answer for answer in answers if answer.status_code != 200]
            assert (len(won), len(lost)) == (1, 1)
            assert code(lost[0]) in [(412, "stale_if_match"), (409, "version_conflict")]
            winner = "a" if won[0] is answers[0] else "b"
            assert await app.db.value(receipt) == {"charge": winner}


async def test_the_same_request_twice_at_once_is_one_decision(fresh_database: str) -> None:
    async with api(fresh_database) as app:
        ana = await app.caller()
        receipt = await app.uncertain()
        version = await app.version(receipt)
        answers = await asyncio.gather(*(ana.decide(receipt, version, key="k") for _ in range(4)))
        assert {answer.status_code for answer in answers} == {200}
        assert len({answer.text for answer in answers}) == 1
        assert len(await app.db.all("decisions")) == 1


async def test_a_settlement_is_contested_and_decided_by_another_person(fresh_database: str) -> None:
    async with api(fresh_database) as app:
        ana, ben = await app.caller(), await app.caller("ben")
        receipt = await app.uncertain()
        path = f"/v1/receipts/{receipt}"
        assert code(
            await ana.post(
                f"{path}/contest", {"reason": "no"}, headers={"If-Match": f'"r{await app.version(receipt)}"'}
            )
        ) == (409, "version_conflict")
        await ana.decide(receipt, await app.version(receipt))
        tag = {"If-Match": f'"r{await app.version(receipt)}"'}
        first = await ana.post(f"{path}/contest", {"reason": "it is another order's"}, key="k", headers=tag)
        again = await ana.post(f"{path}/contest", {"reason": "it is another order's"}, key="k", headers=tag)
        assert first.json() == again.json() == {"version": await app.version(receipt)}
        other = await ana.post(f"{path}/contest", {"reason": "other"}, key="k", headers=tag)
        assert code(other) == (409, "idempotency_key_reused")
        contested = {"If-Match": f'"r{await app.version(receipt)}"'}
        decision = APPLIED | {"evidence": "https://bank.example/7"}
        alone = await ana.post(f"{path}/contest-decisions", decision, headers=contested)
        assert code(alone) == (409, "not_admitted")
        made = await ben.post(f"{path}/contest-decisions", decision, headers=contested)
        assert made.json()["outcome"] == "resolved"


async def test_out_of_reach_is_what_is_not_there(fresh_database: str) -> None:
    """Byte for byte, for every route that takes a receipt; and lists do not have it."""
    async with api(fresh_database) as app:
        await app.caller("admin")
        bound = await app.caller("bo", scope=Scope(frozenset({"tenant"}), frozenset({OTHER_EFFECT})))
        mine = await app.uncertain("mine", f"{OTHER_EFFECT}:1", effect_id=OTHER_EFFECT)
        other = await app.uncertain("other")
        missing = "0" * 32
        tag = {"If-Match": '"r2"'}
        reason = {"reason": "r"}
        asked = [
            ("claim", {}),
            ("takeover", reason),
            ("release", {}),
            ("snooze", {}),
            ("wake", {}),
            ("probe", {}),
            ("comments", {"text": "x"}),
            ("evidence", {"kind": "ticket", "text": "7"}),
            ("decisions", APPLIED),
            ("decisions?dryRun=true", APPLIED),
            ("contest", reason),
            ("contest-decisions", APPLIED | {"evidence": "e"}),
            ("reveal", reason),
        ]
        for action, body in asked:
            answers = [
                await bound.post(f"/v1/receipts/{receipt}/{action}", body, headers=tag) for receipt in (other, missing)
            ]
            assert code(answers[0]) == (404, "not_found"), action
            assert _same(*answers), action
        answers = [await bound.get(f"/v1/receipts/{receipt}") for receipt in (other, missing)]
        assert answers[0].status_code == 404
        assert _same(*answers)
        assert _same(*[await bound.get(f"/v1/audit?receipt={receipt}") for receipt in (other, missing)])
        listed = (await bound.get("/v1/receipts?limit=1")).json()
        assert ([item["receiptId"] for item in listed["items"]], listed["cursor"]) == ([mine], None)
        assert (await app.db.receipt(other))["version"] == 2
        assert [
            item["receiptId"]
            for item in (await bound.get("/v1/receipts", params={"q": f"effect:{EFFECT_ID}"})).json()["items"]
        ] == []
        denied = [line for line in await app.lines("denied") if line["actor"] == "bo"]
        assert len(denied) == len(asked) + 2


def _same(one: httpx.Response, other: httpx.Response) -> bool:
    return (one.status_code, one.content, dict(one.headers)) == (other.status_code, other.content, dict(other.headers))


async def test_ids_with_slashes_and_percent_signs_are_one_segment_of_a_path(fresh_database: str) -> None:
    async with api(fresh_database) as app:
        ana = await app.caller()
        for odd in ("a/b", "a%2Fb", "a/events", "ünï çødé?#[]", "..", ".", "a//b", "%", "trace"):
            receipt = await app.uncertain(odd)
            page = await ana.get(f"/v1/receipts?q={quote(f'thread:{chr(34)}{odd}{chr(34)}', safe='')}")
            assert [item["receiptId"] for item in page.json()["items"]] == [receipt], odd
            thread = await ana.get(f"/v1/threads/{quote(odd, safe='')}".replace("/..", "/%2E%2E").replace("/.", "/%2E"))
            assert thread.status_code == 200, (odd, thread.text)
            assert thread.json()["threadId"] == odd
            events = await ana.get(f"/v1/threads/{quote(odd, safe='').replace('.', '%2E')}/events")
            assert (events.status_code, events.json()["items"]) == (200, [])
