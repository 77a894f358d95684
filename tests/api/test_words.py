"""What resolvers and errors said in words: for who works on receipts, and a shape for others."""

from __future__ import annotations

from intention_kernel.contracts.json_codec import dumps
from intention_kernel.postgres.packing import pack

from tests.api.bench import api

WORDS = "10.0.0.7 did not answer"


async def test_why_a_receipt_waits_is_told_to_who_works_on_it(fresh_database: str) -> None:
    async with api(fresh_database) as app:
        receipt = await app.uncertain()
        await app.db.connection.execute(
            "insert into observations (thread_id, effect_key, settlement, receipt_version, source, finding, detail, value,"
            " started_at, at) select thread_id, effect_key, 1, version, 'lookup', 'found', $2, $3, now(), now()"
            " from receipts where receipt_id = $1",
            receipt,
            WORDS.encode(),
            pack(dumps({"charge": "ch-secret"})),
        )
        reason = f"the lookup failed: {WORDS}"
        await app.db.connection.execute("update reconciliation_items set reason = $1", reason)
        hidden, shape = "the lookup failed: [text of 23 characters]", "text of 23 characters"
        for name, told, detail in (("operator", reason, WORDS), ("viewer", hidden, shape), ("approver", hidden, shape)):
            caller = await app.caller(name, role=name)
            [item] = (await caller.get("/v1/receipts")).json()["items"]
            document = (await caller.get(f"/v1/receipts/{receipt}")).json()
            assert (item["reason"], document["items"][-1]["reason"]) == (told, told)
            [seen] = [one for one in document["observations"] if one["source"] == "lookup"]
            assert (seen["detail"], seen["value"]) == (detail, {"charge": "text of 9 characters"})
