"""The contract suites of the durable boundary, over one Postgres: every test of every suite, one after the other."""

from __future__ import annotations

import inspect
import re
from collections.abc import AsyncIterator, Iterable

from intention_kernel.testing.boundary_contract import (
    ContinuationContract,
    EffectStoreContract,
    ManyThreadsContract,
    RedrivesContract,
    RejectionsContract,
    RetentionContract,
    SettlementContract,
    TurnStoreContract,
    ValueContract,
)
from intention_kernel.testing.postgres_harness import open_boundary
from intention_kernel.testing.program_continuation_contract import ProgramContinuationContract
from intention_kernel.testing.program_effect_contract import ProgramEffectContract
from intention_kernel.testing.program_retry_contract import ProgramRetryContract
from intention_kernel.testing.program_turn_contract import ProgramTurnContract
from intention_kernel.verification.checks import Check, Outcome
from intention_kernel.verification.judging import judge

SUITES: dict[str, type] = {
    suite.__name__: suite
    for suite in (
        TurnStoreContract,
        EffectStoreContract,
        SettlementContract,
        ContinuationContract,
        RedrivesContract,
        RejectionsContract,
        RetentionContract,
        ValueContract,
        ManyThreadsContract,
        ProgramTurnContract,
        ProgramEffectContract,
        ProgramRetryContract,
        ProgramContinuationContract,
    )
}
"""The suite about programs that misbehave is not among them: it asks nothing of a database."""

_SECONDS = 60.0
_RULES = re.compile(r"R(\d+)(?:-R(\d+))?")


def contract_checks() -> tuple[Check, ...]:
    """Every test of every suite, in the order in which they are written."""
    return tuple(_check(name, suite, test) for name, suite in SUITES.items() for test in vars(suite) if _is_test(test))


async def run_contracts(checks: Iterable[Check], database_url: str) -> AsyncIterator[Outcome]:
    """Each outcome as it comes; the database is migrated and nobody else's. Raises InfrastructureError at its opening."""
    async with open_boundary(database_url) as boundary:
        for check in checks:
            test = getattr(SUITES[check.group](), check.name.rpartition(".")[2])
            yield await judge(check, test(boundary), _SECONDS)


def _check(name: str, suite: type, test: str) -> Check:
    said = inspect.getdoc(getattr(suite, test)) or ""
    title = test.removeprefix("test_").replace("_", " ")
    return Check(f"{name}.{test}", "contract", name, title, _rules_of(said))


def _is_test(member: str) -> bool:
    return member.startswith("test_")


def _rules_of(said: str) -> frozenset[str]:
    """The rules that the docstring's first words name: `R1, R3-R5: …`."""
    head = said.partition(":")[0]
    return frozenset(
        f"R{number}" for first, last in _RULES.findall(head) for number in range(int(first), int(last or first) + 1)
    )
