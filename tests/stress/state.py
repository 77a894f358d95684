"""What the database says about one thread, read in one statement."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import asyncpg

_READ = """
select json_build_object(
  'head', (select row_to_json(h) from (
    select revision, next_sequence, fence, lease_nonce, turn_id, attempts,
           lease_nonce is not null and lease_until > clock_timestamp() as live
    from threads where thread_id = $1) as h),
  'receipts', (select coalesce(json_agg(r), '[]') from (
    select effect_key, receipt_id, state, attempt, attempt_id, fence, contradicted, version, settlements, turn_id
    from receipts where thread_id = $1 order by effect_key) as r),
  'items', (select coalesce(json_agg(i), '[]') from (
    select effect_key, settlement, kind, phase, turn_id from reconciliation_items where thread_id = $1) as i),
  'requests', (select coalesce(json_agg(o), '[]') from (
    select dedupe, convert_from(value, 'UTF8') as value from outbox
    where thread_id = $1 and topic = 'turns.requests' order by id) as o),
  'turns', (select coalesce(json_agg(u), '[]') from (
    select turn_id, revision, status, first_sequence, event_count, fence from turns
    where thread_id = $1 order by revision) as u),
  'asides', (select coalesce(json_agg(s), '[]') from (
    select turn_id, revision, state from set_aside_turns where thread_id = $1 order by revision) as s),
  'rejected', (select coalesce(json_agg(x), '[]') from (
    select turn_id, revision, reason from rejected_requests where thread_id = $1) as x),
  'blocked', (select coalesce(json_agg(b), '[]') from (
    select effect_key, turn_id from blocked_steps where thread_id = $1 order by revision) as b),
  'claims', (select coalesce(json_agg(j), '[]') from (
    select turn_id, effect_key from turn_journal where thread_id = $1 and kind = 'claim') as j))
"""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class State:
    """One moment. Rows are as the tables have them."""

    head: Row | None
    receipts: dict[str, Row]
    items: list[Row]
    requests: list[Row]
    turns: dict[str, Row]
    asides: list[Row]
    rejected: list[Row]
    blocked: list[Row]
    claims: list[Row]

    @property
    def lease_is_live(self) -> bool:
        """Somebody holds the thread."""
        return self.head is not None and bool(self.head["live"])

    @property
    def outcomes(self) -> set[str]:
        """Turn ids with a row: committed, set aside at any time, rejected."""
        return set(self.turns) | {row["turn_id"] for row in self.asides} | {row["turn_id"] for row in self.rejected}

    def holds(self, fence: int) -> bool:
        """Whether the attempt with this fence holds the thread."""
        return self.lease_is_live and self.head is not None and self.head["fence"] == fence

    def unattended(self) -> list[str]:
        """Receipts that a scan has to do something about (R27), by the rule and not by the scanner's own word."""
        open_items = {(item["effect_key"], item["settlement"]) for item in self.items if item["kind"] == "effect"}
        return [
            key
            for key, row in self.receipts.items()
            if (row["state"] == "prepared" and not self.holds(row["fence"]))
            or (
                (row["state"] == "uncertain" or row["contradicted"]) and (key, row["settlements"] + 1) not in open_items
            )
        ]


async def read_state(connection: asyncpg.Connection, thread_id: str) -> State:
    """The thread now."""
    document = json.loads(await connection.fetchval(_READ, thread_id))
    return State(
        head=document["head"],
        receipts={row["effect_key"]: row for row in document["receipts"]},
        items=document["items"],
        requests=document["requests"],
        turns={row["turn_id"]: row for row in document["turns"]},
        asides=document["asides"],
        rejected=document["rejected"],
        blocked=document["blocked"],
        claims=document["claims"],
    )
