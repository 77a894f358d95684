"""A compiled agent goes on with the threads of the builds that it accepts, through `migrate`, and with no others."""

from __future__ import annotations

from dataclasses import replace

import pytest
from intention_kernel.agent import AgentDefinition, CompiledAgent, RunTurnInput, RunTurnResult, compile_agent
from intention_kernel.contracts.checkpoint import Checkpoint
from intention_kernel.errors import TurnNotCommittedError
from intention_kernel.models.scripted import ScriptedGateway
from intention_kernel.testing.in_process import MemoryDurability

from tests.support.kernel import capability

FIRST = compile_agent(AgentDefinition(id="agent", identity="A helpful agent.", capabilities=(capability("find"),)))
SECOND = replace(FIRST.definition, version=2)


@pytest.fixture
def durability() -> MemoryDurability:
    gateway = ScriptedGateway()
    gateway.on("turn.interpret", {"intentions": [], "contradictions": []})
    gateway.on("response.compose", {"parts": [{"text": "Hello.", "evidenceIds": []}]})
    gateway.on(
        "response.grounding-review",
        {
            "verdict": "supported",
            "continuityVerdict": "supported",
            "decisionVerdict": "supported",
            "unsupportedClaims": [],
            "approvedClaimIndexes": [],
        },
    )
    return MemoryDurability(gateway)


async def turn(durability: MemoryDurability, agent: CompiledAgent, turn_id: str) -> RunTurnResult:
    return await agent.run(RunTurnInput(thread_id="thread", turn_id=turn_id, text="hello"), durability=durability)


async def test_a_thread_of_an_accepted_build_goes_on_through_migrate_once(durability: MemoryDurability) -> None:
    migrated: list[str] = []

    def migrate(checkpoint: Checkpoint) -> Checkpoint:
        migrated.append(checkpoint.fingerprint)
        return replace(checkpoint, unknown={"movedBy": "migrate"})

    await turn(durability, FIRST, "t1")
    newer = compile_agent(replace(SECOND, accepts_fingerprints=(FIRST.fingerprint,), migrate=migrate))
    assert newer.fingerprint != FIRST.fingerprint
    went_on = await turn(durability, newer, "t2")
    await turn(durability, newer, "t3")
    assert migrated == [FIRST.fingerprint]
    assert went_on.checkpoint.fingerprint == newer.fingerprint
    assert went_on.checkpoint.unknown == {"movedBy": "migrate"}
    assert [message["turnId"] for message in went_on.checkpoint.messages] == ["t1", "t1", "t2", "t2"]


async def test_a_build_that_accepts_nothing_else_holds_the_turns_of_older_threads(durability: MemoryDurability) -> None:
    """R8: it is held, and nothing of the thread changes."""
    done = await turn(durability, FIRST, "t1")
    with pytest.raises(TurnNotCommittedError, match="held"):
        await turn(durability, compile_agent(SECOND), "t2")
    assert durability.checkpoint("thread") == done.checkpoint
