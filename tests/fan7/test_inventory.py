"""The inventory of FAN-7: keyed writes happen once, whatever is repeated, lost, killed or said wrongly."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples.fan7.inventory_app import inventory_app
from examples.fan7.inventory_client import InventoryClient, InventoryConflict, InventoryRefused
from examples.fan7.inventory_store import IN_MEMORY, Applied, Conflict, InventoryStore, Outcome, Refused, Repeated
from tests.fan7.inventory_process import InventoryProcess, run_to_end

KEY = "inventory.reserve:FAN-7"
ORDER_KEY = "inventory.work_order:FAN-7"
FILTER = {"sku": "FILTER-A", "quantity": 2}


@dataclass(frozen=True, slots=True)
class Reserve:
    key: str
    sku: str
    quantity: int

    def apply(self, store: InventoryStore) -> Outcome:
        return store.reserve(self.key, self.sku, self.quantity)


@dataclass(frozen=True, slots=True)
class WriteWorkOrder:
    key: str
    reservation: str
    task: str

    def apply(self, store: InventoryStore) -> Outcome:
        return store.write_work_order(self.key, self.reservation, self.task)


Action = Reserve | WriteWorkOrder


@dataclass(slots=True)
class Model:
    """The inventory in ten lines: what each key is bound to, and the units left."""

    available: int = 4
    reservations: dict[str, Reserve] = field(default_factory=dict)
    work_orders: dict[str, WriteWorkOrder] = field(default_factory=dict)

    def apply(self, action: Action) -> type[Outcome]:
        if isinstance(action, Reserve):
            if action.key in self.reservations:
                return Repeated if self.reservations[action.key] == action else Conflict
            if action.sku != "FILTER-A" or action.quantity > self.available:
                return Refused
            self.available -= action.quantity
            self.reservations[action.key] = action
            return Applied
        if action.key in self.work_orders:
            return Repeated if self.work_orders[action.key] == action else Conflict
        if action.reservation not in self.reservations:
            return Refused
        self.work_orders[action.key] = action
        return Applied


keys = st.sampled_from(["inventory.reserve:FAN-7", "a/b", "a%2Fb", "ключ ü", "\0\n?#"])
actions = st.one_of(
    st.builds(Reserve, keys, st.sampled_from(["FILTER-A", "FILTER-A", "FILTER-B"]), st.integers(1, 5)),
    st.builds(WriteWorkOrder, keys, keys, st.sampled_from(["replace", "inspect"])),
)

ALL_TABLES = ("stock", "reservations", "work_orders", "ledger")


def world_of(store: InventoryStore) -> list[list[tuple[object, ...]]]:
    connection = store._connection
    return [connection.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall() for table in ALL_TABLES]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[InventoryStore]:
    with InventoryStore(tmp_path / "inventory.sqlite") as opened:
        yield opened


@pytest.fixture
def inventory(tmp_path: Path) -> Iterator[InventoryProcess]:
    with InventoryProcess(tmp_path / "inventory.sqlite") as process:
        process.start()
        yield process


def in_process(store: InventoryStore) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=inventory_app(store)), base_url="http://inventory")


# --- the store


@settings(max_examples=150, deadline=None)
@given(st.lists(actions, max_size=12))
def test_applying_a_keyed_action_twice_leaves_the_world_as_applying_it_once(sequence: list[Action]) -> None:
    """F(F(W)) = F(W), and the same against a model: conflicts and refusals change nothing, stock is conserved."""
    model = Model()
    with InventoryStore(IN_MEMORY) as store:
        for action in sequence:
            before = world_of(store)
            expected = model.apply(action)
            first = action.apply(store)
            once = world_of(store)
            second = action.apply(store)
            assert world_of(store) == once
            assert type(first) is expected
            if isinstance(first, Applied | Repeated):
                assert second == Repeated(first.receipt)
            else:
                assert second == first
            assert (once == before) == (not isinstance(first, Applied))
            assert store.available("FILTER-A") == model.available >= 0
            assert model.available + sum(one.quantity for one in model.reservations.values()) == 4
        ledger = store.ledger()
        assert [entry.id for entry in ledger] == list(range(1, len(ledger) + 1))
        assert {(entry.kind, entry.key) for entry in ledger} == {
            *(("reservation", key) for key in model.reservations),
            *(("work_order", key) for key in model.work_orders),
        }
        assert len(ledger) == len(model.reservations) + len(model.work_orders)


def test_the_world_of_fan_7_survives_closing_the_file(tmp_path: Path) -> None:
    path = tmp_path / "inventory.sqlite"
    with InventoryStore(path) as store:
        outcome = store.reserve(KEY, "FILTER-A", 2)
        assert isinstance(outcome, Applied)
    with InventoryStore(path) as store:
        assert store.available("FILTER-A") == 2
        assert store.reserve(KEY, "FILTER-A", 2) == Repeated(outcome.receipt)
        assert store.reservation(KEY) == outcome.receipt


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ledger SET key = 'other'",
        "DELETE FROM ledger",
        "INSERT OR REPLACE INTO ledger SELECT * FROM ledger",
        "INSERT OR REPLACE INTO ledger SELECT id + 1, kind, key, '', '', '', '' FROM ledger",
    ],
)
def test_the_ledger_refuses_to_be_changed(store: InventoryStore, tmp_path: Path, statement: str) -> None:
    store.reserve(KEY, "FILTER-A", 2)
    with (
        closing(sqlite3.connect(tmp_path / "inventory.sqlite")) as other,
        pytest.raises(sqlite3.IntegrityError, match="append-only"),
    ):
        other.execute(statement)
    assert [entry.key for entry in store.ledger()] == [KEY]


def test_an_effect_whose_ledger_row_fails_has_not_happened(store: InventoryStore, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "inventory.sqlite")) as other:
        other.execute("CREATE TRIGGER fail BEFORE INSERT ON ledger BEGIN SELECT RAISE(ABORT, 'disk'); END")
        before = world_of(store)
        with pytest.raises(sqlite3.IntegrityError, match="disk"):
            store.reserve(KEY, "FILTER-A", 2)
        assert world_of(store) == before
        other.execute("DROP TRIGGER fail")
    assert isinstance(store.reserve(KEY, "FILTER-A", 2), Applied)


def test_a_commit_is_on_disk_before_it_is_answered(store: InventoryStore) -> None:
    assert store._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert store._connection.execute("PRAGMA synchronous").fetchone() == (2,)


@pytest.mark.parametrize("same_payload", [True, False])
def test_writers_that_race_for_one_key_reserve_once(tmp_path: Path, same_payload: bool) -> None:
    path = tmp_path / "inventory.sqlite"
    InventoryStore(path).close()
    writers = 6
    start = threading.Barrier(writers)
    outcomes: list[Outcome] = []

    def write(number: int) -> None:
        with InventoryStore(path) as own:
            start.wait(timeout=30)
            outcomes.append(own.reserve(KEY, "FILTER-A", 2 if same_payload or number % 2 else 1))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == writers
    applied = [outcome for outcome in outcomes if isinstance(outcome, Applied)]
    assert len(applied) == 1
    repeats = [outcome for outcome in outcomes if isinstance(outcome, Repeated)]
    assert len(repeats) == (writers - 1 if same_payload else writers // 2 - 1)
    assert {repeat.receipt for repeat in repeats} == {applied[0].receipt}
    with InventoryStore(path) as store:
        assert len(store.ledger()) == 1
        assert store.available("FILTER-A") == 4 - int(json.loads(applied[0].receipt)["quantity"])


# --- the API


@settings(max_examples=20, deadline=None)
@given(st.lists(actions, max_size=6))
def test_repeating_any_keyed_request_changes_nothing_over_http(sequence: list[Action]) -> None:
    """F(F(W)) = F(W) through the wire: the repeat answers as the first did, byte for byte."""

    async def play() -> None:
        model = Model()
        statuses = {Applied: 200, Repeated: 200, Conflict: 409, Refused: 422}
        with InventoryStore(IN_MEMORY) as store:
            async with in_process(store) as http:
                for action in sequence:
                    expected = model.apply(action)
                    first = await put(http, action)
                    world = world_of(store)
                    second = await put(http, action)
                    assert world_of(store) == world
                    assert first.status_code == second.status_code == statuses[expected]
                    assert first.content == second.content

    asyncio.run(play())


async def put(http: httpx.AsyncClient, action: Action) -> httpx.Response:
    if isinstance(action, Reserve):
        path, body = "reservations", {"sku": action.sku, "quantity": action.quantity}
    else:
        path, body = "work-orders", {"reservation": action.reservation, "task": action.task}
    return await http.put(f"/{path}/{quote(action.key, safe='')}", json=body)


async def test_the_worked_example_reserves_two_refuses_one_under_the_same_key_and_keeps_its_receipt(
    store: InventoryStore,
) -> None:
    async with in_process(store) as http:
        first = await http.put(f"/reservations/{KEY}", json=FILTER)
        receipt = first.json()
        assert set(receipt) == {"key", "sku", "quantity", "reference", "fingerprint", "reservedAt"}
        assert (receipt["key"], receipt["sku"], receipt["quantity"]) == (KEY, "FILTER-A", 2)
        conflict = await http.put(f"/reservations/{KEY}", json={"sku": "FILTER-A", "quantity": 1})
        assert conflict.status_code == 409
        assert conflict.headers["content-type"] == "application/problem+json"
        assert "use a new key" in conflict.json()["detail"]
        assert (await http.get("/stock/FILTER-A")).json() == {"sku": "FILTER-A", "available": 2}
        assert (await http.get(f"/reservations/{KEY}")).content == first.content
        reordered = await http.put(f"/reservations/{KEY}", content=b'{ "quantity": 2, "sku": "FILTER-A" }')
        assert reordered.content == first.content
        too_many = await http.put("/reservations/another", json={"sku": "FILTER-A", "quantity": 3})
        assert too_many.status_code == 422
        assert "2 of FILTER-A available" in too_many.json()["detail"]
        assert (await http.get("/reservations/another")).status_code == 404
        assert len((await http.get("/ledger")).json()) == 1


async def test_a_work_order_needs_its_reservation_and_is_written_once(store: InventoryStore) -> None:
    async with in_process(store) as http:
        body = {"reservation": KEY, "task": "replace the filter of FAN-7"}
        assert (await http.put(f"/work-orders/{ORDER_KEY}", json=body)).status_code == 422
        assert (await http.get(f"/work-orders/{ORDER_KEY}")).status_code == 404
        await http.put(f"/reservations/{KEY}", json=FILTER)
        written = await http.put(f"/work-orders/{ORDER_KEY}", json=body)
        assert written.json()["reservation"] == KEY
        assert (await http.put(f"/work-orders/{ORDER_KEY}", json=body)).content == written.content
        other = await http.put(f"/work-orders/{ORDER_KEY}", json={**body, "task": "inspect"})
        assert other.status_code == 409
        assert (await http.get(f"/work-orders/{ORDER_KEY}")).content == written.content
        ledger = (await http.get("/ledger")).json()
    assert [(entry["id"], entry["kind"], entry["key"]) for entry in ledger] == [
        (1, "reservation", KEY),
        (2, "work_order", ORDER_KEY),
    ]
    assert ledger[0]["payload"] == FILTER
    assert ledger[1]["payload"] == body
    assert ledger[0]["appliedAt"] <= ledger[1]["appliedAt"]


@pytest.mark.parametrize(
    "key", ["a/b", "a%2Fb", "ключ ü 漢字", "🪛:x", "a?b#c", "...", "\0", "line\nbreak", "x" * 1024]
)
async def test_a_key_is_any_text_and_no_other_key(store: InventoryStore, key: str) -> None:
    async with in_process(store) as http:
        path = f"/reservations/{quote(key, safe='')}"
        receipt = await http.put(path, json=FILTER)
        assert receipt.json()["key"] == key
        assert (await http.get(path)).content == receipt.content
    assert store.reservation(key) == receipt.content
    assert [entry.key for entry in store.ledger()] == [key]


@pytest.mark.parametrize("path", ["%FF", "%C3%28", "%ED%A0%80", "", "x" * 1025])
async def test_a_key_that_is_no_text_is_refused(store: InventoryStore, path: str) -> None:
    async with in_process(store) as http:
        refused = await http.put(f"/reservations/{path}", json=FILTER)
        assert refused.status_code == 422
        assert "key" in refused.json()["detail"]
    assert store.ledger() == []


BAD_RESERVATIONS = [
    b"",
    b"nonsense",
    b"\xff",
    b"null",
    b"[]",
    b'"FILTER-A"',
    b"{}",
    b'{"sku": "FILTER-A"}',
    b'{"quantity": 2}',
    b'{"sku": "FILTER-A", "quantity": true}',
    b'{"sku": "FILTER-A", "quantity": 0}',
    b'{"sku": "FILTER-A", "quantity": -2}',
    b'{"sku": "FILTER-A", "quantity": 2.0}',
    b'{"sku": "FILTER-A", "quantity": 2e0}',
    b'{"sku": "FILTER-A", "quantity": "2"}',
    b'{"sku": "FILTER-A", "quantity": null}',
    b'{"sku": "FILTER-A", "quantity": NaN}',
    b'{"sku": "FILTER-A", "quantity": 1000001}',
    b'{"sku": "FILTER-A", "quantity": 18446744073709551618}',
    b'{"sku": "FILTER-A", "quantity": 1' + b"0" * 5000 + b"}",
    b'{"sku": 7, "quantity": 2}',
    b'{"sku": "", "quantity": 2}',
    b'{"sku": "\\ud800", "quantity": 2}',
    b'{"sku": "FILTER-A", "quantity": 2, "Quantity": 2}',
    b'{"sku": "FILTER-A", "quantity": 2, "\\ud800": 2}',
    b'{"sku": "FILTER-A", "quantity": 1, "quantity": 2}',
    b'\xef\xbb\xbf{"sku": "FILTER-A", "quantity": 2}',
    b"[" * 50_000,
    b'{"sku": "FILTER-A", "quantity": 2}' + b" " * 70_000,
]


@pytest.mark.parametrize("body", BAD_RESERVATIONS, ids=lambda body: str(body[:60]))
async def test_a_body_that_is_not_exactly_right_is_refused_and_changes_nothing(
    store: InventoryStore, body: bytes
) -> None:
    before = world_of(store)
    async with in_process(store) as http:
        refused = await http.put(f"/reservations/{KEY}", content=body)
    assert refused.status_code == 422
    assert refused.headers["content-type"] == "application/problem+json"
    assert "send" in refused.json()["detail"].lower()
    assert world_of(store) == before


@pytest.mark.parametrize(
    "body", [{"dropReplies": -1}, {"dropReplies": True}, {"dropReplies": 1.0}, {"dropReply": 1}, [], {"refuse": "1"}]
)
async def test_faults_that_cannot_be_are_refused(store: InventoryStore, body: object) -> None:
    async with in_process(store) as http:
        assert (await http.post("/faults", json=body)).status_code == 422
        assert (await http.post("/faults", json={})).json() == {"dropReplies": 0, "refuse": 0}


async def test_a_refusal_on_request_happens_before_the_commit(store: InventoryStore) -> None:
    async with in_process(store) as http:
        await http.post("/faults", json={"refuse": 1})
        assert (await http.put(f"/reservations/{KEY}", json=FILTER)).status_code == 503
        assert store.ledger() == []
        assert (await http.put(f"/reservations/{KEY}", json=FILTER)).status_code == 200


async def test_unknown_paths_skus_and_methods_are_problems_too(store: InventoryStore) -> None:
    async with in_process(store) as http:
        replies = [
            await http.get("/stock/FILTER-B"),
            await http.get("/nothing"),
            await http.delete("/reservations/K"),
            await http.put("/reservations/K", json={"sku": "FILTER-B", "quantity": 1}),
        ]
    assert [reply.status_code for reply in replies] == [404, 404, 405, 422]
    assert {reply.headers["content-type"] for reply in replies} == {"application/problem+json"}


# --- the process and the client


async def test_a_dropped_reply_has_committed_and_the_repeat_gets_the_original_receipt(
    inventory: InventoryProcess,
) -> None:
    async with InventoryClient(inventory.url) as client:
        await client.drop_replies(2)
        for _ in range(2):
            with pytest.raises(httpx.RemoteProtocolError):
                await client.reserve(KEY, "FILTER-A", 2)
        found = await client.find_reservation(KEY)
        assert await client.reserve(KEY, "FILTER-A", 2) == found
        assert await client.stock("FILTER-A") == 2
        assert len(await client.ledger()) == 1


async def test_a_dropped_reply_is_not_spent_on_a_write_that_changes_nothing(inventory: InventoryProcess) -> None:
    async with InventoryClient(inventory.url) as client:
        await client.drop_replies(1)
        with pytest.raises(InventoryRefused):
            await client.reserve(KEY, "FILTER-A", 5)
        with pytest.raises(httpx.RemoteProtocolError):
            await client.reserve(KEY, "FILTER-A", 2)


async def test_the_client_tells_refusals_from_conflicts_and_absence(inventory: InventoryProcess) -> None:
    odd = "a/b?ü#:%2F"
    async with InventoryClient(inventory.url) as client:
        assert await client.find_reservation(odd) is None
        assert await client.find_work_order(odd) is None
        assert await client.stock("FILTER-B") is None
        with pytest.raises(InventoryRefused) as refused:
            await client.write_work_order(odd, odd, "inspect")
        assert refused.value.status == 422
        reserved = await client.reserve(odd, "FILTER-A", 2)
        assert reserved == await client.find_reservation(odd)
        with pytest.raises(InventoryConflict) as conflict:
            await client.reserve(odd, "FILTER-A", 1)
        assert conflict.value.status == 409
        written = await client.write_work_order(odd, odd, "inspect")
        assert written == await client.find_work_order(odd)
        assert [entry["reference"] for entry in await client.ledger()] == [reserved["reference"], written["reference"]]


async def test_the_client_takes_only_the_inventorys_own_absent_for_absence(inventory: InventoryProcess) -> None:
    async with InventoryClient(f"{inventory.url}/wrong") as client:
        with pytest.raises(httpx.HTTPStatusError):
            await client.find_reservation(KEY)
    async with InventoryClient(inventory.url) as client:
        with pytest.raises(ValueError, match="cannot be a key"):
            await client.find_reservation("..")


async def test_identical_requests_at_the_same_moment_reserve_once(inventory: InventoryProcess) -> None:
    async with InventoryClient(inventory.url) as client:
        receipts = await asyncio.gather(*(client.reserve(KEY, "FILTER-A", 2) for _ in range(8)))
        assert receipts == [receipts[0]] * 8
        assert await client.stock("FILTER-A") == 2
        assert len(await client.ledger()) == 1


async def test_a_process_killed_between_commit_and_reply_has_reserved_once(tmp_path: Path) -> None:
    with InventoryProcess(tmp_path / "inventory.sqlite") as process:
        process.start(failpoints="provider.after_commit=kill")
        async with InventoryClient(process.url) as client:
            with pytest.raises(httpx.TransportError):
                await client.reserve(KEY, "FILTER-A", 2)
        assert process.wait() == -signal.SIGKILL
        process.start()
        async with InventoryClient(process.url) as client:
            assert await client.stock("FILTER-A") == 2
            found = await client.find_reservation(KEY)
            assert found is not None
            assert await client.reserve(KEY, "FILTER-A", 2) == found
            with pytest.raises(InventoryConflict):
                await client.reserve(KEY, "FILTER-A", 1)
            assert await client.stock("FILTER-A") == 2
            assert [entry["reference"] for entry in await client.ledger()] == [found["reference"]]


def test_sigterm_ends_the_process_in_order_also_with_a_connection_open(inventory: InventoryProcess) -> None:
    with httpx.Client(base_url=inventory.url, trust_env=False) as http:
        assert http.get("/stock/FILTER-A").json()["available"] == 4
        inventory.terminate()
        assert inventory.wait() == 0


@pytest.mark.parametrize(
    ("arguments", "failpoints", "says"),
    [
        ("--database {folder}/missing/inventory.sqlite", "", "name a file in a folder that exists"),
        ("--database {folder}", "", "name a file in a folder that exists"),
        ("", "", "--database"),
        ("--port 70000 --database {folder}/x", "", "--port"),
        ("--database {folder}/x", "provider.nothing=kill", "provider.nothing"),
    ],
)
def test_wrong_settings_give_one_message_and_exit_code_2(
    tmp_path: Path, arguments: str, failpoints: str, says: str
) -> None:
    code, message = run_to_end(*arguments.format(folder=tmp_path).split(), failpoints=failpoints)
    assert code == 2
    assert says in message
    assert "Traceback" not in message
