"""The lookup resolver: ask the provider by key, and settle on what it proves (protocol R22, R23)."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from intention_kernel.agent.effect import Absent, Answer, Effect, Found, Inconclusive, Lookup, ReceiptView
from intention_kernel.containment import contained
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.durability.operations import finish_or_cancel
from intention_kernel.errors import words_of
from intention_kernel.failpoints import failpoint
from intention_kernel.ports.receipt_ledger import OpenReceipt
from intention_kernel.reconciliation.admissible import Admitted, Look, not_applied, terms_of
from intention_kernel.reconciliation.results import result_problem
from intention_kernel.reconciliation.workbench import Workbench, Worked, settlement_of, view_of

SOURCE = "lookup"
ACTOR = "resolver:lookup"


async def work_lookup(bench: Workbench, due: OpenReceipt, effect: Effect, lookup: Lookup) -> Worked:
    """Look once. `due` was read before, so that what it compares with is older than what the provider says."""
    answer = await _ask(bench, lookup, view_of(due))
    await failpoint("reconciler.after_lookup")
    match answer:
        case Found(value=value, reference=reference):
            return await _found(bench, due, effect, value, reference)
        case Absent():
            return await _absent(bench, due, effect)
        case Inconclusive(reason=reason):
            await bench.observe(due, SOURCE, "inconclusive", reason)
            return await bench.wait(due, f"the lookup proves nothing: {reason}")
        case str():
            await bench.observe(due, SOURCE, "error", answer)
            return await bench.wait(due, f"the lookup failed: {answer}")


async def _ask(bench: Workbench, lookup: Lookup, view: ReceiptView) -> Answer | str:
    """The provider's answer, or what went wrong. A lookup that ignores its cancellation is left to itself."""

    async def find() -> Answer:
        return await contained(lambda: lookup.find(view, bench.ports))

    task = asyncio.get_running_loop().create_task(find())
    try:
        await finish_or_cancel(task, bench.pace.lookup_seconds)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if not task.done() or task.cancelled():
        return f"no answer within {bench.pace.lookup_seconds:g} s"
    error = task.exception()
    if error is not None:
        return words_of(error)
    answer: object = task.result()
    if isinstance(answer, (Found, Absent, Inconclusive)):
        return answer
    return f"the lookup returned {type(answer).__name__}, which is none of Found, Absent, Inconclusive"


async def _found(bench: Workbench, due: OpenReceipt, effect: Effect, value: JsonValue, reference: str | None) -> Worked:
    problem = result_problem(effect, value)
    if problem is not None:
        await bench.observe(due, SOURCE, "inconclusive", problem, reference=reference)
        return await bench.wait(due, f"the provider has it, but {problem}")
    await bench.observe(due, SOURCE, "found", "the provider has it", value, reference)
    settlement = settlement_of(due, ACTOR, "applied", "the provider has it", value, reference)
    return await bench.settle(settlement, due.receipt.receipt_id)


async def _absent(bench: Workbench, due: OpenReceipt, effect: Effect) -> Worked:
    look = Look(started_at=due.looked_at, closed_key=effect.lookup_closes_key)
    # The store's clock at the claim: a little early, and the settlement itself compares with the window's end again.
    verdict = not_applied(due.attempts, terms_of(effect), look, due.looked_at)
    await bench.observe(due, SOURCE, "absent", verdict.reason)
    if isinstance(verdict, Admitted):
        settlement = settlement_of(due, ACTOR, "not_applied", f"the provider does not have it, and {verdict.reason}")
        return await bench.settle(replace(settlement, not_after=verdict.not_after), due.receipt.receipt_id)
    soon = None if verdict.not_before is None else (verdict.not_before - due.looked_at).total_seconds()
    return await bench.wait(due, f"the provider does not have it yet: {verdict.reason}", at_most_seconds=soon)
