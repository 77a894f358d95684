"""Group commit: while one call is in flight, the rows of other callers collect, and go out together as the next one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Row = TypeVar("Row")
Answer = TypeVar("Answer")

MAX_BATCH = 64
"""Measured: larger batches make all callers march in step and are slower."""


class Coalescer(Generic[Row, Answer]):
    """Collects rows for a call over many. There is no linger: a lone row goes out at once.

    A batch holds at most one row of each key, sorted by key; later rows of a key wait for the next batch, in order
    (protocol R10). Answers are matched by place. The call runs in a task of its own, so a cancelled caller cancels
    nothing that is under way; a row whose caller was cancelled before it went out is dropped.
    """

    def __init__(
        self, call: Callable[[Sequence[Row]], Awaitable[Sequence[Answer | Exception]]], *, max_batch: int = MAX_BATCH
    ) -> None:
        """`call` answers row by row; an exception in its answer is that row's, one that it raises is everybody's."""
        self._call = call
        self._max_batch = max_batch
        self._waiting: list[tuple[str, Row, asyncio.Future[Answer]]] = []
        self._worker: asyncio.Task[None] | None = None

    async def submit(self, row: Row, key: str) -> Answer:
        """The answer to this row."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Answer] = loop.create_future()
        self._waiting.append((key, row, future))
        if self._worker is None:
            self._worker = loop.create_task(self._work())
        return await future

    async def drained(self) -> None:
        """Return when nothing is waiting or in flight."""
        while self._worker is not None:
            await asyncio.wait({self._worker})

    async def _work(self) -> None:
        try:
            while batch := self._take():
                await self._answer(batch)
        finally:
            self._worker = None

    async def _answer(self, batch: list[tuple[str, Row, asyncio.Future[Answer]]]) -> None:
        try:
            answers = await self._call([row for _, row, _ in batch])
            if len(answers) != len(batch):
                raise RuntimeError(f"{len(answers)} answers to {len(batch)} rows")
        except Exception as error:  # noqa: BLE001 - whatever it is, every caller of this batch has to hear of it
            answers = [error] * len(batch)
        for (_, _, future), answer in zip(batch, answers, strict=True):
            if future.done():
                continue
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(answer)

    def _take(self) -> list[tuple[str, Row, asyncio.Future[Answer]]]:
        batch: dict[str, tuple[str, Row, asyncio.Future[Answer]]] = {}
        later: list[tuple[str, Row, asyncio.Future[Answer]]] = []
        for entry in self._waiting:
            if entry[2].done():
                continue
            if entry[0] in batch or len(batch) == self._max_batch:
                later.append(entry)
            else:
                batch[entry[0]] = entry
        self._waiting = later
        return [batch[key] for key in sorted(batch)]
