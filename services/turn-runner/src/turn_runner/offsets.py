"""Which offset of a partition may be committed: the end of the contiguous finished prefix, in delivery order.

One `Epoch` object stands for one assignment of one partition. A completion that arrives after its epoch has ended
changes nothing, so that an old turn can never move the offset of a later assignment.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class Delivered:
    """A record that was handed out: finished or not."""

    offset: int
    size_bytes: int
    finished: bool = False


class Epoch:
    """One assignment of one partition. Offsets may have gaps (control records, compaction): delivery order counts.

    `refused`: why nothing of it may run (protocol R39); records before `restore_until` may have run on a lost database.
    """

    __slots__ = (
        "_admitted",
        "_delivered",
        "_ended",
        "_finished_up_to",
        "partition",
        "refused",
        "restore_until",
        "revoking",
        "unfinished_bytes",
        "unfinished_records",
    )

    def __init__(self, partition: int, *, admitted: bool = True) -> None:
        self.partition = partition
        self.revoking = False
        self.refused: str | None = None
        self.restore_until = 0
        self._admitted = admitted
        self.unfinished_records = 0
        self.unfinished_bytes = 0
        self._delivered: deque[Delivered] = deque()
        self._finished_up_to: int | None = None
        self._ended = False

    @property
    def ended(self) -> bool:
        """No longer ours: completions are ignored and nothing may be committed."""
        return self._ended

    @property
    def accepts(self) -> bool:
        """Its records may still be started."""
        return self._admitted and not (self._ended or self.revoking)

    @property
    def undecided(self) -> bool:
        """Whether the database has not said yet if it may run."""
        return not (self._admitted or self._ended or self.refused)

    def admit(self, restore_until: int, refused: str | None) -> None:
        """The database's word: it may run, or why not."""
        self.restore_until = restore_until
        self.refused = refused
        self._admitted = refused is None

    @property
    def span_records(self) -> int:
        """Records from the first unfinished one to the last delivered one: what a crash would repeat."""
        return len(self._delivered)

    def deliver(self, offset: int, size_bytes: int) -> Delivered:
        """Note the next record of the partition."""
        delivered = Delivered(offset, size_bytes)
        self._delivered.append(delivered)
        self.unfinished_records += 1
        self.unfinished_bytes += size_bytes
        return delivered

    def finish(self, delivered: Delivered) -> bool:
        """Note that a record's outcome is a committed row (protocol R4). False: the epoch had ended, nothing noted."""
        if self._ended:
            return False
        if not delivered.finished:
            delivered.finished = True
            self.unfinished_records -= 1
            self.unfinished_bytes -= delivered.size_bytes
        while self._delivered and self._delivered[0].finished:
            self._finished_up_to = self._delivered.popleft().offset + 1
        return True

    def committable(self) -> int | None:
        """The offset to commit (the first unfinished record's, or one past the last); None before any has finished."""
        return None if self._ended else self._finished_up_to

    def end(self) -> None:
        """The assignment is over."""
        self._ended = True
        self._delivered.clear()
        self.unfinished_records = 0
        self.unfinished_bytes = 0
