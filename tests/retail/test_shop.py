"""The shop over HTTP: what is answered to whom, and what faults do to it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
from pydantic import JsonValue

from examples.retail.shop_app import shop_app
from examples.retail.shop_store import IN_MEMORY, ShopStore
from tests.retail.small_shop import DELIVERED, PENDING, RED, shop

CANCEL = "/operations/cancel_pending_order"
REFUND = {"order_id": PENDING, "reason": "no longer needed"}


@pytest.fixture
def store() -> Iterator[ShopStore]:
    with ShopStore(IN_MEMORY, shop()) as store:
        yield store


@pytest.fixture
async def http(store: ShopStore) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app=shop_app(store))
    async with httpx.AsyncClient(transport=transport, base_url="http://shop", headers={"X-World": "a"}) as http:
        yield http


async def cancel(http: httpx.AsyncClient, key: str = "k", **kwargs: JsonValue) -> httpx.Response:
    return await http.post(CANCEL, json={**REFUND, **kwargs}, headers={"Idempotency-Key": key})


async def turn(http: httpx.AsyncClient, **switches: JsonValue) -> dict[str, dict[str, int]]:
    answer: dict[str, dict[str, int]] = (await http.post("/faults", json=switches)).raise_for_status().json()
    return answer


def code(response: httpx.Response) -> tuple[int, str]:
    body = response.json()
    assert sorted(body) == ["code", "message"]
    return response.status_code, body["code"]


async def test_a_write_its_repeat_and_its_lookup_are_the_same_bytes(http: httpx.AsyncClient) -> None:
    first, second = await cancel(http), await cancel(http)
    found = await http.get("/operations/k")
    assert (first.status_code, second.status_code, found.status_code) == (200, 200, 200)
    assert first.content == second.content == found.content
    assert first.json()["result"]["status"] == "cancelled"
    assert first.json()["reference"] == "SHOP-000001"


async def test_another_payload_under_the_key_is_a_conflict(http: httpx.AsyncClient) -> None:
    await cancel(http)
    assert code(await cancel(http, reason="ordered by mistake")) == (409, "key_taken")


async def test_a_refusal_tells_its_code_and_is_not_kept(http: httpx.AsyncClient) -> None:
    assert code(await cancel(http, reason="too dear")) == (422, "reason_not_allowed")
    assert code(await cancel(http, order_id=DELIVERED)) == (422, "order_not_pending")
    assert code(await http.get("/operations/k")) == (404, "absent")
    assert (await cancel(http)).status_code == 200


async def test_reads_need_no_key_and_see_their_own_world(http: httpx.AsyncClient) -> None:
    await cancel(http)
    for world, status in (("a", "cancelled"), ("b", "pending")):
        read = await http.post("/operations/get_order_details", json={"order_id": PENDING}, headers={"X-World": world})
        assert read.json()["result"]["status"] == status
    missing = await http.post("/operations/get_order_details", json={"order_id": "#W9"})
    assert code(missing) == (422, "order_not_found")


async def test_the_changes_of_a_world_are_as_in_the_published_files(http: httpx.AsyncClient) -> None:
    await cancel(http)
    changes = (await http.get("/worlds/a/changes")).json()
    assert list(changes) == ["orders"]
    assert changes["orders"][PENDING]["cancel_reason"] == "no longer needed"
    assert (await http.get("/worlds/b/changes")).json() == {}


async def test_the_ledger_lists_every_effect_of_all_worlds(http: httpx.AsyncClient) -> None:
    await cancel(http)
    await cancel(http)
    await http.post(CANCEL, json=REFUND, headers={"Idempotency-Key": "k", "X-World": "b"})
    ledger = (await http.get("/ledger")).json()
    assert [(entry["sequence"], entry["world"], entry["key"]) for entry in ledger] == [(1, "a", "k"), (2, "b", "k")]
    assert (ledger[0]["operation"], ledger[0]["kwargs"]) == ("cancel_pending_order", REFUND)


async def test_keys_and_worlds_are_percent_encoded_everywhere(http: httpx.AsyncClient) -> None:
    headers = {"Idempotency-Key": "cancel%2F%D1%8F%3A1", "X-World": "w%2F%C3%BC"}
    assert (await http.post(CANCEL, json=REFUND, headers=headers)).json()["key"] == "cancel/я:1"
    assert (await http.get("/operations/cancel%2F%D1%8F%3A1", headers=headers)).status_code == 200
    assert (await http.get("/worlds/w%2F%C3%BC/changes")).json() != {}


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"Idempotency-Key": ""}, b"{}", 400),
        ({"X-World": ""}, b"{}", 400),
        ({"X-World": "%FF"}, b"{}", 400),
        ({"Idempotency-Key": "k" * 1025}, b"{}", 400),
        ({}, b"[]", 400),
        ({}, b"{", 400),
        ({}, b'{"reason": "a", "reason": "b"}', 400),
        ({}, b" " * 70_000, 400),
        ({}, b'{"order_id": 1, "reason": "a"}', 422),
        ({}, b'{"order_id": "#W1"}', 422),
        ({}, json.dumps({**REFUND, "user_id": "other"}).encode(), 422),
    ],
)
async def test_a_malformed_request_changes_nothing(
    http: httpx.AsyncClient, store: ShopStore, headers: dict[str, str], body: bytes, status: int
) -> None:
    response = await http.post(CANCEL, content=body, headers={"Idempotency-Key": "k", **headers})
    assert response.status_code == status
    assert sorted(response.json()) == ["code", "message"]
    assert store.ledger() == []


async def test_paths_that_are_none_of_the_shops_are_told_apart_from_absence(http: httpx.AsyncClient) -> None:
    unknown = await http.post("/operations/delete_order", json={}, headers={"Idempotency-Key": "k"})
    assert code(unknown) == (404, "operation_not_found")
    assert code(await http.get("/nothing")) == (404, "not_found")
    assert code(await http.delete("/ledger")) == (405, "method_not_allowed")
    assert (await http.get("/healthz")).json() == {"status": "ready"}


async def test_a_failure_before_and_after_the_commit_look_the_same_and_are_not(http: httpx.AsyncClient) -> None:
    await turn(http, failBeforeCommit={"count": 1})
    before = await cancel(http)
    assert code(await http.get("/operations/k")) == (404, "absent")
    await turn(http, failAfterCommit={"count": 1})
    after = await cancel(http)
    assert (await http.get("/operations/k")).status_code == 200
    assert (before.status_code, before.content) == (500, after.content)
    assert (await cancel(http)).status_code == 200
    assert (await turn(http))["struck"] == {"failBeforeCommit": 1, "failAfterCommit": 1}


async def test_a_refused_request_did_nothing_and_says_so(http: httpx.AsyncClient) -> None:
    await turn(http, refuse={"count": 2})
    assert [code(await cancel(http)) for _ in range(2)] == [(503, "unavailable")] * 2
    assert code(await http.get("/operations/k")) == (404, "absent")
    assert (await cancel(http)).status_code == 200


async def test_a_fault_after_the_commit_is_not_spent_on_a_write_that_changes_nothing(http: httpx.AsyncClient) -> None:
    await turn(http, failAfterCommit={"count": 1})
    assert (await cancel(http, reason="too dear")).status_code == 422
    assert (await cancel(http)).status_code == 500


async def test_a_write_that_waits_has_done_nothing_yet_and_delays_no_other(http: httpx.AsyncClient) -> None:
    await turn(http, delay={"count": 1, "seconds": 600})
    slow = asyncio.create_task(cancel(http, key="slow"))
    while "delay" not in (await turn(http))["struck"]:
        assert not slow.done()
        await asyncio.sleep(0)  # in one process nobody else gives the other task its turn
    assert code(await http.get("/operations/slow")) == (404, "absent")
    assert (await cancel(http, key="quick")).status_code == 200
    assert not slow.done()
    slow.cancel()


async def test_a_probability_strikes_the_same_attempts_for_the_same_seed(http: httpx.AsyncClient) -> None:
    async def statuses(seed: int, keys: list[str]) -> dict[str, list[int]]:
        await turn(http, seed=seed, failBeforeCommit={"probability": 0.5})
        return {key: [(await cancel(http, key=key, order_id="#W9")).status_code for _ in range(3)] for key in keys}

    keys = [f"k{number}" for number in range(20)]
    first = await statuses(1, keys)
    assert await statuses(1, keys[::-1]) == first
    assert await statuses(2, keys) != first
    struck = [status for each in first.values() for status in each].count(500)
    assert 15 < struck < 45


@pytest.mark.parametrize(
    "switches",
    [
        {"refuse": {}},
        {"refuse": {"count": 1, "probability": 0.5}},
        {"refuse": {"count": -1}},
        {"refuse": {"probability": 1.5}},
        {"delay": {"count": 1}},
        {"explode": {"count": 1}},
    ],
)
async def test_a_switch_that_nobody_has_is_refused(http: httpx.AsyncClient, switches: JsonValue) -> None:
    assert code(await http.post("/faults", json=switches)) == (400, "bad_request")


async def test_a_switch_is_turned_off_and_others_stay(http: httpx.AsyncClient) -> None:
    await turn(http, refuse={"probability": 1.0}, failBeforeCommit={"count": 1})
    await turn(http, refuse={"count": 0})
    assert [(await cancel(http)).status_code for _ in range(2)] == [500, 200]


async def test_items_that_were_changed_cannot_be_cancelled_any_more(http: httpx.AsyncClient) -> None:
    kwargs = {"order_id": PENDING, "item_ids": [RED], "new_item_ids": ["blue"], "payment_method_id": "gift_card_1"}
    changed = await http.post("/operations/modify_pending_order_items", json=kwargs, headers={"Idempotency-Key": "1"})
    assert changed.json()["result"]["status"] == "pending (item modified)"
    assert code(await cancel(http)) == (422, "order_not_pending")
    assert sorted((await http.get("/worlds/a/changes")).json()) == ["orders", "users"]
