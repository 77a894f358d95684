"""The closing table: what the inventory's database, our database and the topic each say, and whether they agree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from intention_kernel.client import Client, Event
from intention_kernel.testing.system import System

from examples.demo.story import SettledBy, Told
from examples.fan7.inventory_client import InventoryClient

_HOW: Mapping[SettledBy, str] = {"lookup": "lookup", "retry": "the identical call", "operator": "an operator"}
_AGREEMENT = "Inventory, shop, database and topic agree in every run, and the shop is in the published state."


@dataclass(frozen=True, slots=True)
class Account:
    """What was played, counted in three places, and where they disagree with each other or with what was expected."""

    name: str
    turns: int
    effects: str
    uncertain: str
    events: int
    differences: tuple[str, ...]


async def account(name: str, told: Told, system: System, client: Client, inventory: InventoryClient) -> Account:
    """Count a FAN-7 run that is over."""
    ledger = await inventory.ledger()
    kinds = [entry["kind"] for entry in ledger]
    turns = await system.fetch(
        "select turn_id, first_sequence, event_count from turns where thread_id = $1 order by revision", told.thread_id
    )
    receipts = await system.fetch(
        "select effect_key, state, attempt, settlements from receipts where thread_id = $1 order by 1", told.thread_id
    )
    feed = client.events(told.thread_id, from_beginning=True, follow=False)
    events = [item async for item in feed]
    reserved, orders = kinds.count("reservation"), kinds.count("work_order")
    numbers = [event.sequence for event in events if isinstance(event, Event)]
    stored = [row["first_sequence"] + place for row in turns for place in range(row["event_count"])]
    checks = {
        f"stock went {told.stock}, not 4, 2, 2": told.stock == [4, 2, 2],
        f"{reserved} reservations, not 1": reserved == 1,
        f"{orders} work orders, not 1": orders == 1,
        f"{told.orders_while_uncertain} work orders while uncertain": told.orders_while_uncertain == 0,
        f"{len(turns)} turns, not {len(told.requests) + 1}": len(turns) == len(told.requests) + 1,
        f"the ledger has {len(ledger)} effects, {len(receipts)} receipts": len(ledger) == len(receipts),
        "a receipt is not completed": all(row["state"] == "completed" for row in receipts),
        "the topic has other events than the database": numbers == stored and len(numbers) == len(events),
        "the ledger has other keys than the receipts": {entry["key"] for entry in ledger}
        == {row["effect_key"] for row in receipts},
    }
    return Account(
        name=name,
        turns=len(turns),
        effects=f"{reserved} reservation, {orders} work order (stock {told.stock[0]} → {told.stock[1]})",
        uncertain=f"{sum(row['settlements'] for row in receipts)}: by {_HOW[told.plan.settled_by]}",
        events=len(numbers),
        differences=tuple(problem for problem, fine in checks.items() if not fine),
    )


def closing_lines(accounts: Iterable[Account]) -> list[str]:
    """The table, and a line for each difference."""
    rows: list[tuple[str, ...]] = [("run", "turns", "effects", "uncertain, settled", "events", "differences")]
    problems: list[str] = []
    for one in accounts:
        differences = str(len(one.differences) or "none")
        rows.append((one.name, str(one.turns), one.effects, one.uncertain, str(one.events), differences))
        problems += [f"{one.name}: {problem}" for problem in one.differences]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return [*table, "", *(problems or [_AGREEMENT])]
