"""Rows of the reconciler's statements as values, and values as parameters."""

from __future__ import annotations

from datetime import datetime

import asyncpg

from intention_kernel.contracts.json_codec import JsonValue, loads
from intention_kernel.contracts.receipt import Receipt, Summary
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
