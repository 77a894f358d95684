"""The idempotent retry: repeat the identical call inside the provider's window (protocol R26)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

from intention_kernel.agent.effect import Effect, EffectAuthority
from intention_kernel.containment import contained
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.durability.operations import finish_or_cancel
from intention_kernel.errors import LONGEST_DETAIL, EffectNotAppliedError, words_of
from intention_kernel.failpoints import failpoint
from intention_kernel.ids import random_id
from intention_kernel.ports.receipt_ledger import OpenReceipt, RetryAnswer, RetryBegun, RetryRefused, Settlement
from intention_kernel.reconciliation.admissible import WINDOW_MARGIN_SECONDS, Admitted, Look, not_applied, terms_of
from intention_kernel.reconciliation.results import result_problem
from intention_kernel.reconciliation.workbench import Workbench, Worked, logger, settlement_of

SOURCE = "retry"
ACTOR = "resolver:idempotent_retry"


async def work_retry(bench: Workbench, due: OpenReceipt, effect: Effect) -> Worked:
    """Record the retry, repeat the call once, and take its answer as an answer of the attempt."""
    begun = await bench.ledger.begin_retry(due, effect.call_timeout_seconds, WINDOW_MARGIN_SECONDS)
    if isinstance(begun, RetryRefused):
        return await _refused(bench, due, begun)
    task = asyncio.get_running_loop().create_task(_call(bench, due, effect))
    await finish_or_cancel(task, effect.call_timeout_seconds)
    await failpoint("reconciler.after_lookup")
    if not task.done():
        bench.abandoned.watch(task, lambda: _take_late(bench, due, effect, begun, task))
        await bench.observe(due, SOURCE, "error", "the call ignored its cancellation and may still be sent")
        return await bench.wait(due, "the repeated call does not end")
    return await _take(bench, due, effect, begun, task)


async def _call(bench: Workbench, due: OpenReceipt, effect: Effect) -> JsonValue:
    call = effect.call
    if call is None:
        raise AssertionError("an effect with IdempotentRetry declares call=")
    authority = EffectAuthority(
        idempotency_key=due.receipt.effect_key,
        receipt_id=due.receipt.receipt_id,
        thread_id=due.receipt.thread_id,
        attempt=due.receipt.attempt,
        not_after=bench.clock.now() + timedelta(seconds=effect.call_timeout_seconds),
    )
    return await contained(lambda: call(due.receipt.payload, authority, bench.ports))


async def _refused(bench: Workbench, due: OpenReceipt, refused: RetryRefused) -> Worked:
    if refused.window_closed:
        return await bench.ask_person(due, "the provider does not promise to know our key any more")
    return await bench.wait(due, "the receipt changed, or another repeat of the call is running")


async def _take_late(
    bench: Workbench, due: OpenReceipt, effect: Effect, begun: RetryBegun, task: asyncio.Task[JsonValue]
) -> None:
    await _take(bench, due, effect, begun, task)


async def _take(
    bench: Workbench, due: OpenReceipt, effect: Effect, begun: RetryBegun, task: asyncio.Task[JsonValue]
) -> Worked:
    """Nothing is proved by any error but the one that says so."""
    if task.cancelled():
        return await _no_answer(bench, due, begun, f"no answer within {effect.call_timeout_seconds:g} s")
    error = task.exception()
    if isinstance(error, EffectNotAppliedError):
        return await _absent(bench, due, effect, begun, str(error.detail)[:LONGEST_DETAIL])
    if error is not None:
        return await _no_answer(bench, due, begun, words_of(error))
    value = task.result()
    problem = result_problem(effect, value)
    if problem is not None:
        return await _no_answer(bench, due, begun, problem)
    await bench.observe(due, SOURCE, "found", "the provider answered the same call", value)
    settlement = settlement_of(due, ACTOR, "applied", "the provider answered the same call", value)
    return await _answered(bench, due, begun, settlement)


async def _absent(bench: Workbench, due: OpenReceipt, effect: Effect, begun: RetryBegun, detail: str) -> Worked:
    """This call did nothing, which is a look that found nothing: the attempt's own may yet be applied (R22)."""
    await bench.observe(due, SOURCE, "absent", detail)
    verdict = not_applied(due.attempts, terms_of(effect), Look(started_at=due.looked_at), due.looked_at)
    reason = f"the provider refused the same call: {detail}"
    if isinstance(verdict, Admitted):
        return await _answered(bench, due, begun, settlement_of(due, ACTOR, "not_applied", reason))
    await bench.ledger.end_retry(due, begun, ended=not begun.earlier_unfinished)
    soon = None if verdict.not_before is None else (verdict.not_before - due.looked_at).total_seconds()
    return await bench.wait(due, f"{reason}; {verdict.reason}", at_most_seconds=soon)


async def _no_answer(bench: Workbench, due: OpenReceipt, begun: RetryBegun, problem: str) -> Worked:
    await bench.ledger.end_retry(due, begun, ended=not begun.earlier_unfinished)
    await bench.observe(due, SOURCE, "error", problem)
    return await bench.wait(due, f"the repeated call failed: {problem}")


async def _answered(bench: Workbench, due: OpenReceipt, begun: RetryBegun, settlement: Settlement) -> Worked:
    answer = RetryAnswer(
        settlement=replace(settlement, seen_version=begun.version),
        attempt=due.receipt.attempt,
        retry_id=random_id(),
        ended=not begun.earlier_unfinished,
    )
    how = await bench.ledger.answer_retry(answer)
    if how != "settled":
        logger.warning(
            "the repeated call's answer %s what is recorded", how, extra={"receipt_id": due.receipt.receipt_id}
        )
        return "waiting"
    await failpoint("reconciler.after_settle")
    logger.info("settled: %s", settlement.reason, extra={"receipt_id": due.receipt.receipt_id})
    return "settled"
