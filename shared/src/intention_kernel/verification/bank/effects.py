"""The three effects of `payer`, one for each way in which "not applied" can be proved (protocol R22)."""

from __future__ import annotations

from decimal import Decimal
from typing import cast

from pydantic import ConfigDict, with_config
from typing_extensions import TypedDict

from intention_kernel.agent import (
    Absent,
    Effect,
    EffectAuthority,
    EffectNotAppliedError,
    Found,
    IdempotentRetry,
    Inconclusive,
    Lookup,
    Ports,
    ReceiptView,
    Summary,
)
from intention_kernel.contracts.json_codec import JsonValue, dumps
from intention_kernel.failpoints import failpoint
from intention_kernel.verification.bank.client import BankClient
from intention_kernel.verification.bank.messages import Known, Operation, Refused, Unknown

PORT = "bank"
CALL_TIMEOUT_SECONDS = 2.0
QUIET_SECONDS = 3.0
"""Twice the longest delay that the bank can be asked for."""

KEYS_KEPT_SECONDS = 86_400.0
"""The bank keeps its keys for good; a day is more than any retry takes."""


@with_config(ConfigDict(extra="forbid"))
class BankReceipt(TypedDict):
    """The value of every effect; `reference` is the ledger's."""

    reference: str


async def send(client: BankClient, op: Operation, authority: EffectAuthority, payload: JsonValue) -> JsonValue:
    """The external write. Only the bank's own refusal proves that nothing was done."""
    await failpoint("runner.before_send")
    answer = await client.write(op, authority.thread_id, authority.idempotency_key, authority.attempt, payload)
    if isinstance(answer, Refused):
        raise EffectNotAppliedError(answer.detail)
    return {"reference": answer.reference}


async def notify_again(payload: JsonValue, authority: EffectAuthority, ports: Ports) -> JsonValue:
    """The identical call, as the reconciler repeats it."""
    return await send(client_of(ports), "notify", authority, payload)


async def find_charge(receipt: ReceiptView, ports: Ports) -> Found | Absent | Inconclusive:
    """Ask by key."""
    return _answer(receipt, await client_of(ports).find("charge", receipt.thread_id, receipt.key))


async def find_or_close_reservation(receipt: ReceiptView, ports: Ports) -> Found | Absent | Inconclusive:
    """Ask by key; where there is nothing, this attempt and those before it will not do anything any more."""
    return _answer(receipt, await client_of(ports).close(receipt.thread_id, receipt.key, receipt.attempt))


def client_of(ports: Ports) -> BankClient:
    """The bank that the application opened."""
    return cast("BankClient", ports[PORT])


def _answer(receipt: ReceiptView, known: Known | Unknown) -> Found | Absent | Inconclusive:
    if isinstance(known, Unknown):
        return Absent()
    if dumps(known.payload) != dumps(receipt.payload):
        return Inconclusive(f"{known.reference} has another payload")
    return Found({"reference": known.reference}, known.reference)


def _describe_charge(payload: JsonValue) -> Summary:
    wanted = cast("dict[str, JsonValue]", payload)
    return Summary(f"the charge {wanted['key']}", "bank", Decimal(cast("int", wanted["amount"])), "EUR")


def _describe_reservation(payload: JsonValue) -> Summary:
    wanted = cast("dict[str, JsonValue]", payload)
    return Summary(f"the reservation {wanted['key']}", "bank", Decimal(cast("int", wanted["amount"])), "pieces")


def _describe_notice(payload: JsonValue) -> Summary:
    return Summary(f"the notice {cast('dict[str, JsonValue]', payload)['key']}", "bank")


CHARGE = Effect(
    id="bank.charge",
    result=BankReceipt,
    describe=_describe_charge,
    resolver=Lookup(find_charge),
    call_timeout_seconds=CALL_TIMEOUT_SECONDS,
    quiet_period_seconds=QUIET_SECONDS,
)
RESERVE = Effect(
    id="bank.reserve",
    result=BankReceipt,
    describe=_describe_reservation,
    resolver=Lookup(find_or_close_reservation),
    call_timeout_seconds=CALL_TIMEOUT_SECONDS,
    lookup_closes_key=True,
)
NOTIFY = Effect(
    id="bank.notify",
    result=BankReceipt,
    describe=_describe_notice,
    resolver=IdempotentRetry(),
    call=notify_again,
    call_timeout_seconds=CALL_TIMEOUT_SECONDS,
    provider_deduplicates=True,
    key_window_seconds=KEYS_KEPT_SECONDS,
)
REFUND = Effect(
    id="bank.refund", result=BankReceipt, describe=_describe_charge, call_timeout_seconds=CALL_TIMEOUT_SECONDS
)
"""Build b declares it and nothing asks for it: it makes another fingerprint."""
