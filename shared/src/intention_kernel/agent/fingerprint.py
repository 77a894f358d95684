"""The fingerprint of a compiled agent: which checkpoints it can go on with (contract 7.4)."""

from __future__ import annotations

from collections.abc import Mapping

from intention_kernel.agent.compiled import Capability
from intention_kernel.agent.definition import AgentDefinition
from intention_kernel.contracts.digest import digest


def fingerprint(definition: AgentDefinition, capabilities: Mapping[str, Capability]) -> str:
    """64 hex digits."""
    return digest({"id": definition.id, "capabilities": sorted(capabilities)}).hex()
