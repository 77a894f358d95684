"""What is stored by which build: asked before a deploy, by people and by `turn-runner check`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ThreadsOfBuild:
    """The live threads that one build left: how many, and how many turns of theirs hold a journal."""

    agent_id: str
    fingerprint: str
    schema_revision: int
    threads: int
    journals: int


@dataclass(frozen=True, slots=True)
class OpenEffect:
    """An effect with receipts that are not settled."""

    agent_id: str
    effect_id: str
    prepared: int
    uncertain: int


class StoredBuilds(Protocol):
    """Both calls only read, and raise InfrastructureError where the store cannot answer."""

    async def threads_of_builds(self) -> tuple[ThreadsOfBuild, ...]:
        """Every build that live threads belong to, by agent and fingerprint. Reads all threads."""
        ...

    async def open_effects(self) -> tuple[OpenEffect, ...]:
        """Every effect with prepared or uncertain receipts, by agent and effect."""
        ...
