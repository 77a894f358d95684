"""What a deploy of this build would leave behind: threads that it does not fit, receipts of effects that it does not know.

A thread that no build fits holds its turns for a while and then sets them aside (protocol R8), so it is better known before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from intention_kernel.agent.compiled import AnyAgent
from intention_kernel.contracts.checkpoint import SCHEMA_REVISION
from intention_kernel.ports.stored_builds import OpenEffect, ThreadsOfBuild


def stranded_by(
    agents: Iterable[AnyAgent], builds: Iterable[ThreadsOfBuild], effects: Iterable[OpenEffect]
) -> tuple[str, ...]:
    """One sentence for each group of threads and each effect that these agents cannot go on with, with what to do."""
    declared = {agent.id: agent for agent in agents}
    return (
        *(words for build in builds for words in _threads(build, declared.get(build.agent_id))),
        *(words for effect in effects for words in _receipts(effect, declared.get(effect.agent_id))),
    )


def _threads(build: ThreadsOfBuild, agent: AnyAgent | None) -> Iterator[str]:
    found = f"agent {build.agent_id}: {_counted(build.threads, 'stranded thread')} of fingerprint {build.fingerprint}"
    found += f" ({_counted(build.journals, 'open journal')})"
    if agent is None:
        yield f"{found}: this application has no such agent; keep it in the application while its threads live"
    elif build.schema_revision != SCHEMA_REVISION:
        yield (
            f"{found}: their checkpoints have schema revision {build.schema_revision} and this build reads "
            f"{SCHEMA_REVISION}; deploy a build that reads theirs"
        )
    elif build.fingerprint not in (agent.fingerprint, *agent.accepts_fingerprints):
        yield (
            f"{found}: this build has {agent.fingerprint} and does not accept theirs; name theirs in the agent's "
            "accepts_fingerprints, with migrate= where their facts or agenda have to change, or restore the contract"
        )
        if build.journals:
            yield (
                f"agent {build.agent_id}: let the build of fingerprint {build.fingerprint} finish the turns of its "
                f"{_counted(build.journals, 'open journal')} first: another contract may ask other things than they hold"
            )


def _receipts(effect: OpenEffect, agent: AnyAgent | None) -> Iterator[str]:
    if agent is not None and any(known.id == effect.effect_id for known in agent.effects):
        return
    yield (
        f"agent {effect.agent_id}: {_counted(effect.prepared + effect.uncertain, 'open receipt')} of effect "
        f"{effect.effect_id} ({effect.prepared} prepared, {effect.uncertain} uncertain), which this build does not "
        "declare: no resolver of it can settle them; settle them first (`intention queue ls`) or keep the effect"
    )


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
