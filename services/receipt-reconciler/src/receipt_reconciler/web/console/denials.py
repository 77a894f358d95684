"""Refused attempts on record, up to a bound: nobody can flood the audit log."""

from __future__ import annotations

from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.identity.rate_limit import Attempts, Terms
from starlette.requests import Request

from receipt_reconciler.web.desk import Desk

OF_A_USER = Terms(burst=30, seconds=2.0)
"""What is written down of one person's."""


async def note_denied(request: Request, desk: Desk, user: str, what: str, detail: dict[str, JsonValue]) -> None:
    """An audit line, unless they had too many of late."""
    denials: Attempts = request.app.state.denials
    if denials.wait_seconds(user) > 0.0:
        return
    denials.take(user)
    await desk.identity.note_denied(user, what, detail)
