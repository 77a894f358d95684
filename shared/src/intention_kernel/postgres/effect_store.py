"""The EffectStore port in Postgres: prepare and end, each one function call, coalesced (protocol 3 and 9)."""

from __future__ import annotations

from collections.abc import Callable

from intention_kernel.ports.effect_store import EndAnswer, EndAttempt, Prepare, PrepareAnswer
from intention_kernel.ports.turn_store import Contended
from intention_kernel.postgres.boundary import Boundary
from intention_kernel.postgres.effect_rows import end_answer, end_columns, prepare_answer, prepare_columns
from intention_kernel.postgres.pool import Pool, StatementConnection


class PostgresEffectStore:
    """See the port. `wake` is called after each settlement, which leaves a request in the outbox."""

    def __init__(
        self, *, prepares: StatementConnection, ends: StatementConnection, pool: Pool, wake: Callable[[], None]
    ) -> None:
        self._wake = wake
        self._prepare: Boundary[Prepare, PrepareAnswer] = Boundary(
            "prepare_effects", prepares, pool, prepare_columns, prepare_answer
        )
        self._end: Boundary[EndAttempt, EndAnswer] = Boundary("end_effects", ends, pool, end_columns, end_answer)

    async def prepare(self, prepare: Prepare) -> PrepareAnswer:
        return await self._prepare.answer(prepare, prepare.thread_id) or Contended()

    async def end(self, end: EndAttempt) -> EndAnswer | Contended:
        # Attempts of one thread may end in one batch; those of one receipt may not (R10). NUL sorts before any key.
        answer = await self._end.answer(end, f"{end.thread_id}\0{end.effect_key}")
        if answer is not None and answer.how == "settled":
            self._wake()
        return answer or Contended()

    async def drained(self) -> None:
        """Return when nothing is waiting or in flight."""
        await self._prepare.drained()
        await self._end.drained()
