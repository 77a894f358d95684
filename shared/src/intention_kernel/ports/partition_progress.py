"""How far the request topic is done, as the database knows it (protocol R39)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class PartitionProgress:
    """Every record before `done_offset` has its row in the database.

    One before `restore_until` may have had another outcome in a database that is lost: its new effects are uncertain.
    """

    done_offset: int = 0
    restore_until: int = 0


@dataclass(frozen=True, slots=True)
class Progress:
    """The rows of the partitions that were asked for; one without a row was never done anything of.

    `recovering`: a recovery was begun and is not finished, so that nothing may run.
    """

    partitions: Mapping[int, PartitionProgress] = field(default_factory=dict)
    recovering: bool = False

    def of(self, partition: int) -> PartitionProgress:
        """The partition's row."""
        return self.partitions.get(partition, PartitionProgress())


class ProgressStore(Protocol):
    """Both raise InfrastructureError; both may be repeated."""

    async def progress(self, topic: str, partitions: Collection[int]) -> Progress: ...

    async def store_progress(self, topic: str, done_offsets: Mapping[int, int]) -> None:
        """Durable when it returns. Called before the group is told; an offset never goes back."""
        ...
