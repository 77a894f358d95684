"""Four eyes over HTTP."""

from __future__ import annotations

from typing import Any

from intention_kernel.ports.identity import Scope

from tests.api.bench import Api, Caller, api, code, problem
from tests.reconciliation.bench import EFFECT_ID


async def proposed(app: Api, ana: Caller, thread_id: str = "t") -> dict[str, Any]:
    """A proposal of ana's about a receipt of that thread."""
    receipt = await app.uncertain(thread_id)
    answer = await ana.decide(receipt, await app.version(receipt), key=f"k-{thread_id}")
    assert answer.status_code == 202, answer.text
    assert answer.json()["outcome"] == "proposed"
    proposal: dict[str, Any] = answer.json()["proposal"]
    return proposal


async def test_a_decision_that_needs_two_is_proposed_and_approved_by_another_by_its_hash(fresh_database: str) -> None:
    async with api(fresh_database) as app:
        ana, ben = await app.caller(), await app.caller("ben")
        made = await ana.put("/v1/rules/big", {"leastAmount": "10", "currency": "EUR"})
        assert (made.status_code, made.json()["leastAmount"]) == (200, "10")
        assert code(await ana.put("/v1/rules/odd", {"leastAmount": "10"})) == (422, "invalid_request")
        assert "big" in [rule["ruleId"] for rule in (await ben.get("/v1/rules")).json()["items"]]
        one = await proposed(app, ana)
        receipt = one["receiptId"]
        assert one["value"] == {"charge": "text of 4 characters"}
        again = await ana.decide(receipt, await app.version(receipt), key="k-t")
        assert (again.status_code, again.json()["proposal"]) == (202, one)
        assert code(await ben.decide(receipt, await app.version(receipt), value={"charge": "x"})) == (
            409,
            "other_proposal",
        )
        path = f"/v1/proposals/{one['proposalId']}"
        assert (await ben.get(path)).json() == one
        assert (await ben.get("/v1/proposals")).json() == {"items": [one], "complete": True}
        approval = {"decisionHash": one["decisionHash"], "reason": "seen"}
        assert code(await ana.post(f"{path}/approve", approval)) == (403, "self_approval")
        assert code(await ben.post(f"{path}/approve", approval | {"decisionHash": "0" * 64})) == (409, "hash_differs")
        assert code(await ben.post(f"{path}/withdraw")) == (403, "not_proposer")
        first = await ben.post(f"{path}/approve", approval, key="a")
        assert (first.status_code, first.json()["version"]) == (200, await app.version(receipt))
        assert (await ben.post(f"{path}/approve", approval, key="a")).json() == first.json()
        over = problem(await ben.post(f"{path}/reject", {"reason": "late"}))
        assert (over["code"], over["state"]) == ("closed", "approved")
        assert (await app.db.receipt(receipt))["state"] == "completed"
        denied = {line["actor"] for line in await app.lines("denied")}
        assert denied == {"ana", "ben"}


async def test_a_proposal_is_rejected_by_another_and_withdrawn_by_its_proposer(fresh_database: str) -> None:
    async with api(fresh_database) as app:
        ana, ben = await app.caller(), await app.caller("ben")
        await ana.put("/v1/rules/all", {})
        one, two = await proposed(app, ana, "one"), await proposed(app, ana, "two")
        assert code(await ben.post(f"/v1/proposals/{one['proposalId']}/reject", {})) == (422, "invalid_request")
        rejected = await ben.post(f"/v1/proposals/{one['proposalId']}/reject", {"reason": "another order's"})
        assert (rejected.json()["state"], rejected.json()["closedBy"]) == ("rejected", "ben")
        withdrawn = await ana.post(f"/v1/proposals/{two['proposalId']}/withdraw")
        assert withdrawn.json()["state"] == "withdrawn"
        assert (await ana.get("/v1/proposals")).json() == {"items": [], "complete": True}
        for receipt in (one["receiptId"], two["receiptId"]):
            assert (await app.db.receipt(receipt))["state"] == "uncertain"


async def test_proposals_out_of_reach_are_not_there(fresh_database: str) -> None:
    async with api(fresh_database) as app:
        ana = await app.caller()
        bound = await app.caller("bo", scope=Scope(frozenset({"another"}), frozenset({EFFECT_ID})))
        await ana.put("/v1/rules/all", {})
        one = await proposed(app, ana)
        approval = {"decisionHash": one["decisionHash"]}
        for path in (one["proposalId"], "0" * 32):
            assert code(await bound.get(f"/v1/proposals/{path}")) == (404, "not_found")
            assert code(await bound.post(f"/v1/proposals/{path}/approve", approval)) == (404, "not_found")
            assert code(await bound.post(f"/v1/proposals/{path}/reject", {"reason": "r"})) == (404, "not_found")
        assert (await bound.get("/v1/proposals")).json()["items"] == []
        assert (await app.db.receipt(one["receiptId"]))["state"] == "uncertain"


async def test_rules_tell_nothing_of_what_is_out_of_reach(fresh_database: str) -> None:
    async with api(fresh_database) as app:
        ana = await app.caller()
        for rule, body in {
            "all": {},
            "theirs": {"tenants": ["acme"], "effects": ["shop.mail", "bank.pay"]},
            "mine": {"tenants": ["acme", "tenant"], "effects": ["bank.pay", "shop.charge"]},
        }.items():
            assert (await ana.put(f"/v1/rules/{rule}", body)).status_code == 200
        reach = Scope(frozenset({"tenant"}), frozenset({"shop.charge"}))
        ben = await app.caller("ben", role="operator", scope=reach)
        shown = {rule["ruleId"]: rule for rule in (await ben.get("/v1/rules")).json()["items"]}
        assert set(shown) == {"all", "mine", "key-window-closed"}
        assert (shown["mine"]["tenants"], shown["mine"]["effects"]) == (["tenant"], ["shop.charge"])
        assert (shown["all"]["tenants"], shown["all"]["effects"]) == (None, None)
        assert len((await ana.get("/v1/rules")).json()["items"]) == 4
