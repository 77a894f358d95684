"""Rows of the reconciler's statements as values, and values as parameters."""

from __future__ import annotations

from datetime import datetime

import asyncpg

from intention_kernel.contracts.json_codec import JsonValue, loads
from intention_kernel.contracts.receipt import Receipt, ReceiptTransition, Summary
from intention_kernel.ports.operator_queue import (
    ContestAnswer,
    Contested,
    Decided,
    ItemHistory,
    NotSettled,
    QueueItem,
    Seen,
)
from intention_kernel.ports.receipt_ledger import (
    AttemptFacts,
    Changed,
    Late,
    OpenReceipt,
    SettleAnswer,
    Settled,
    Settlement,
    Unknown,
)
from intention_kernel.postgres.packing import pack, unpack
from intention_kernel.postgres.text import clean, clean_or_none


def json_of(stored: bytes | None) -> JsonValue:
    """The value of a packed column; None where there is none."""
    return None if stored is None else loads(unpack(stored))


def packed(value: bytes | None) -> bytes | None:
    """JSON bytes as a packed column."""
    return None if value is None else pack(value)


def raw(text: str | None) -> bytes | None:
    """Text from outside as bytes, lone surrogates included."""
    return None if text is None else text.encode("utf-8", "surrogatepass")


def text_of(stored: bytes | None) -> str:
    """What `raw` made; what is no text is shown as it can be."""
    return "" if stored is None else stored.decode("utf-8", "replace")


def summary_of(row: asyncpg.Record) -> Summary:
    return Summary(row["title"], row["provider"], row["amount"], row["currency"])


def open_receipt(row: asyncpg.Record) -> OpenReceipt:
    """A row of reconciler_claim.sql or reconciler_queue_receipt.sql."""
    return OpenReceipt(
        receipt=_receipt(row),
        host_context=json_of(row["host_context"]),
        attempts=_attempts(row),
        settlement=row["settlement"],
        looks=row["looks"],
        looked_at=row["looked_at"],
    )


def _receipt(row: asyncpg.Record) -> Receipt:
    return Receipt(
        receipt_id=row["receipt_id"],
        thread_id=row["thread_id"],
        effect_key=row["effect_key"],
        effect_id=row["effect_id"],
        turn_id=row["turn_id"],
        agent_id=row["agent_id"],
        tenant_id=row["tenant_id"],
        state=row["state"],
        attempt=row["attempt"],
        version=row["version"],
        settlements=row["settlements"],
        contradicted=row["contradicted"],
        summary=summary_of(row),
        payload=json_of(row["payload"]),
        value=json_of(row["value"]),
        reference=row["reference"],
        prepared_at=row["prepared_at"],
        call_deadline=row["call_deadline"],
    )


def _attempts(row: asyncpg.Record) -> AttemptFacts:
    retry_until: datetime = row["retry_until"]
    return AttemptFacts(
        first_prepared_at=row["first_prepared_at"],
        prepared_at=row["prepared_at"],
        call_deadline=row["call_deadline"],
        returned_at=row["returned_at"],
        instance=row["instance"],
        died_at=row["died_at"],
        deduplicates=row["deduplicates"],
        key_window_seconds=row["key_window_seconds"],
        # The driver reads -infinity as the smallest time that there is.
        retry_unfinished=retry_until.year > 1,
    )


def settlement_columns(settlement: Settlement) -> tuple[object, ...]:
    """From the resolution to who decided: the parameters that all settling functions share."""
    return (
        settlement.resolution,
        packed(settlement.value),
        clean_or_none(settlement.reference),
        settlement.decision_id,
        clean_or_none(settlement.reason_code),
        raw(settlement.reason),
        raw(settlement.evidence),
        clean(settlement.actor),
    )


def settle_answer(row: asyncpg.Record) -> SettleAnswer:
    """What settle_receipt_v1 said."""
    match row["outcome"]:
        case "settled":
            return Settled(row["settlement"], row["state"], row["version"])
        case "late":
            return Late()
        case "not_found":
            return Unknown()
        case outcome:
            return Changed(row["state"], row["version"], retrying=outcome == "retrying")


def contest_answer(row: asyncpg.Record) -> ContestAnswer:
    """What contest_receipt_v1 said."""
    match row["outcome"]:
        case "contested":
            return Contested(row["version"])
        case "not_settled":
            return NotSettled(row["state"])
        case "not_found":
            return Unknown()
        case outcome:
            return Changed(row["state"], row["version"], retrying=outcome == "retrying")


def queue_item(row: asyncpg.Record) -> QueueItem:
    """A row of reconciler_queue_list.sql."""
    return QueueItem(
        receipt_id=row["receipt_id"],
        thread_id=row["thread_id"],
        turn_id=row["turn_id"],
        effect_key=row["effect_key"],
        effect_id=row["effect_id"],
        kind=row["kind"],
        phase=row["phase"],
        settlement=row["settlement"],
        reason=row["reason"],
        opened_at=row["opened_at"],
        looks=row["looks"],
        next_look_at=row["next_look_at"],
        waits_for=row["waits_for"],
        state=row["state"],
        contradicted=row["contradicted"],
        version=row["version"],
        summary=summary_of(row),
        now=row["now"],
    )


def item_history(row: asyncpg.Record) -> ItemHistory:
    """A row of reconciler_queue_items.sql."""
    return ItemHistory(**dict(row))


def seen(row: asyncpg.Record) -> Seen:
    """A row of reconciler_queue_observations.sql."""
    return Seen(**dict(row) | {"detail": text_of(row["detail"]), "value": json_of(row["value"])})


def decided(row: asyncpg.Record) -> Decided:
    """A row of reconciler_queue_decisions.sql."""
    evidence = None if row["evidence"] is None else text_of(row["evidence"])
    return Decided(**dict(row) | {"reason": text_of(row["reason"]), "evidence": evidence})


def transition(row: asyncpg.Record) -> ReceiptTransition:
    """A row of reconciler_queue_transitions.sql."""
    return ReceiptTransition(**dict(row))
