"""What an effect may declare, and the keys it gives to providers (protocol R21, R26)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from intention_kernel.agent import Agent, Effect, EffectAuthority, IdempotentRetry, ReceiptView, Summary, TurnResult
from intention_kernel.application import Application
from intention_kernel.errors import ConfigurationError

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def authority(thread_id: str) -> EffectAuthority:
    return EffectAuthority("charge:order-7", "0" * 32, thread_id, 1, NOW)


async def program(context: object) -> TurnResult:
    return TurnResult(response=None)


def effect(**members: Any) -> Effect:
    return Effect(**{"id": "charge", "result": dict, "describe": lambda payload: Summary("the charge"), **members})


def test_the_plain_key_holds_neither_thread_nor_tenant_and_the_scoped_one_does() -> None:
    """R21: two threads with order-7 at one provider are one charge or two; the host says which."""
    one, two = authority("thread-1"), authority("thread-2")
    assert one.idempotency_key == two.idempotency_key == "charge:order-7"
    assert one.scoped("bank") != two.scoped("bank")
    assert one.scoped("bank") != one.scoped("other bank")
    assert one.scoped("bank") == authority("thread-1").scoped("bank")


def test_a_resolver_sees_the_keys_that_the_operation_was_given() -> None:
    """R21."""
    view = ReceiptView(
        receipt_id="0" * 32,
        thread_id="thread-1",
        turn_id="t",
        agent_id="a",
        tenant_id=None,
        key="charge:order-7",
        payload={},
        state="uncertain",
        version=2,
        attempt=1,
        prepared_at=NOW,
        call_deadline=NOW,
        host_context={},
    )
    assert view.idempotency_key == authority("thread-1").idempotency_key
    assert view.scoped("bank") == authority("thread-1").scoped("bank")


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ({"id": ""}, "not empty"),
        ({"id": "a:b"}, "no colon"),
        ({"call_timeout_seconds": 0}, "call_timeout_seconds"),
        ({"resolver": IdempotentRetry()}, "needs call="),
        ({"resolver": IdempotentRetry(), "call": program}, "provider_deduplicates=True"),
        ({"provider_deduplicates": True}, "key_window_seconds="),
    ],
)
def test_an_effect_that_cannot_work_is_refused_with_what_to_do(members: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        effect(**members)


def test_the_fingerprint_depends_on_ids_and_result_types_and_on_nothing_else() -> None:
    """Interface 1: never of code, nor of the order of declarations."""
    notify = effect(id="notify")
    plain = Agent("shop", program, effects=(effect(), notify))
    assert plain.fingerprint == Agent("shop", program, effects=(notify, effect(twins=True))).fingerprint
    assert plain.fingerprint != Agent("shop", program, effects=(effect(),)).fingerprint
    assert plain.fingerprint != Agent("shop", program, effects=(effect(result=int), notify)).fingerprint
    assert plain.fingerprint == "8a667bc61cc5e1ccf5d24ccf4e6c9b6aa5593dde0eddb380359207bd3eece91a", (
        "pinned: it may not change between processes or Python versions"
    )


def test_two_effects_or_agents_of_one_id_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="declared twice"):
        Agent("shop", program, effects=(effect(), effect()))
    with pytest.raises(ConfigurationError, match="declared twice"):
        Application(agents=[Agent("shop", program), Agent("shop", program)])
    with pytest.raises(ConfigurationError, match="at least one"):
        Application(agents=[])
