"""Which steps of a plan run next: a pure decision over what is done (contract 2.9)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from intention_kernel.agent.capability import FactRequirement
from intention_kernel.agent.compiled import CompiledAgent
from intention_kernel.agent.results import Completed, NeedsConfirmation, NeedsDependency, NeedsInput
from intention_kernel.contracts.agenda import MissingFact
from intention_kernel.contracts.facts import Facts
from intention_kernel.errors import TurnLimitError
from intention_kernel.runtime.stages.outcomes import BlockedResult, Skipped, StepOutcome
from intention_kernel.runtime.stages.turn_plan import PlanStep

Done = Mapping[str, StepOutcome]
"""By step id."""


@dataclass(frozen=True, slots=True)
class Round:
    """What comes next: skipped steps have their outcome at once, `reads` run side by side, `writes` after one another.

    Nothing in it: every executable step is done.
    """

    skipped: tuple[StepOutcome, ...] = ()
    reads: tuple[PlanStep, ...] = ()
    writes: tuple[PlanStep, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.skipped or self.reads or self.writes)


def executable(steps: Iterable[PlanStep], *, left: int) -> tuple[PlanStep, ...]:
    """The steps that a plan executes. Raises TurnLimitError where they are more than the turn has left."""
    found = tuple(step for step in steps if step.disposition == "execute")
    if len(found) > left:
        raise TurnLimitError(f"the turn would execute {len(found)} steps more, the most is {left}")
    return found


def next_round(agent: CompiledAgent, steps: tuple[PlanStep, ...], done: Done, facts: Facts) -> Round:
    """The steps whose dependencies are settled. Independent reads run first, then writes in the order of the plan."""
    left = [step for step in steps if step.id not in done]
    ids = {step.id for step in steps}
    skipped = tuple(
        StepOutcome(step, reason) for step in left if (reason := _skip(agent, step, ids, done, facts)) is not None
    )
    if skipped:
        return Round(skipped=skipped)
    ready = [step for step in left if all(_completed(done.get(needed)) for needed in step.depends_on)]
    reads = tuple(step for step in ready if not is_write(agent, step))
    return Round(reads=reads) if reads else Round(writes=tuple(ready))


def is_write(agent: CompiledAgent, step: PlanStep) -> bool:
    """Whether the step's capability may change something outside."""
    capability = agent.capabilities[step.capability_id or ""]
    return capability.definition.effect == "write"


def _completed(outcome: StepOutcome | None) -> bool:
    return outcome is not None and isinstance(outcome.result, Completed)


def _waits(outcome: StepOutcome) -> bool:
    result = outcome.result
    if isinstance(result, Skipped):
        return result.code == "DEPENDENCY_PENDING"
    return isinstance(result, NeedsInput | NeedsDependency | NeedsConfirmation | BlockedResult)


def _skip(agent: CompiledAgent, step: PlanStep, ids: set[str], done: Done, facts: Facts) -> Skipped | None:
    """Why the step cannot run in this turn, once all that it depends on is settled; a failed one beats a waiting one."""
    needed = [done.get(dependency) for dependency in step.depends_on]
    if any(dependency not in ids for dependency in step.depends_on):
        return Skipped("DEPENDENCY_NOT_COMPLETED")
    settled = [outcome for outcome in needed if outcome is not None]
    if any(not _completed(outcome) and not _waits(outcome) for outcome in settled):
        return Skipped("DEPENDENCY_NOT_COMPLETED")
    if len(settled) < len(needed) or all(_completed(outcome) for outcome in settled):
        return None
    pending = _pending_facts(agent, step, [outcome for outcome in settled if _waits(outcome)], facts)
    return Skipped("DEPENDENCY_PENDING", pending) if pending else Skipped("DEPENDENCY_NOT_COMPLETED")


def _pending_facts(
    agent: CompiledAgent, step: PlanStep, waiting: list[StepOutcome], facts: Facts
) -> tuple[MissingFact, ...]:
    providers = {outcome.step.capability_id for outcome in waiting}
    requirements: tuple[FactRequirement, ...] = agent.capabilities[step.capability_id or ""].definition.requires
    return tuple(
        requirement.missing
        for requirement in requirements
        if requirement.reference.key not in facts and agent.providers.get(requirement.reference.key) in providers
    )
