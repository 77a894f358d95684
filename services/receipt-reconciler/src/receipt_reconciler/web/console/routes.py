"""Every address of the console, with the permission that it needs, in one table."""

from __future__ import annotations

from collections.abc import Iterator

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from receipt_reconciler.web.console.asking import action, open_action, open_page, page
from receipt_reconciler.web.console.pages import (
    audit,
    deciding,
    live,
    overview,
    proposals,
    queue,
    receipt,
    rejected,
    rules,
    settings,
    signing_in,
    threads,
    users,
    work,
)
from receipt_reconciler.web.console.rendering import STATIC

_FOR_GOOD = "public, max-age=31536000, immutable"
"""A static file's address changes with its content."""


def console_routes() -> list[BaseRoute]:
    """All of them."""
    return [*_entrance(), *_queue(), *_receipt(), *_conversations(), *_people()]


def _entrance() -> Iterator[Route]:
    yield Route("/static/{version}/{name}", _static, methods=["GET"], include_in_schema=False)
    yield open_page("/login", signing_in.login_page)
    yield open_action("/login", signing_in.login)
    yield open_action("/logout", signing_in.logout)
    yield open_action("/theme", signing_in.theme)


def _queue() -> Iterator[Route]:
    yield page("/", overview.overview)
    yield page("/queue", queue.queue, "receipts:read")
    yield page("/live", live.live, "receipts:read")
    yield page("/proposals", proposals.proposals, "receipts:read")
    yield action("/proposals/{proposal_id:id}/approve", proposals.approve, "receipts:approve")
    yield action("/proposals/{proposal_id:id}/reject", proposals.reject, "receipts:approve")
    yield action("/proposals/{proposal_id:id}/withdraw", proposals.withdraw, "receipts:resolve")
    yield page("/audit", audit.audit, "receipts:read")
    yield page("/audit/export", audit.export, "audit:export")


def _receipt() -> Iterator[Route]:
    yield page("/receipts/{receipt_id:id}", receipt.receipt, "receipts:read")
    yield action("/receipts/{receipt_id:id}/reveal", receipt.reveal, "payload:reveal")
    yield action("/receipts/{receipt_id:id}/claim", work.claim, "receipts:work")
    yield action("/receipts/{receipt_id:id}/takeover", work.takeover, "receipts:work")
    yield action("/receipts/{receipt_id:id}/release", work.release, "receipts:work")
    yield action("/receipts/{receipt_id:id}/snooze", work.snooze, "receipts:work")
    yield action("/receipts/{receipt_id:id}/wake", work.wake, "receipts:work")
    yield action("/receipts/{receipt_id:id}/probe", work.probe, "receipts:work")
    yield action("/receipts/{receipt_id:id}/note", work.note, "receipts:work")
    yield action("/receipts/{receipt_id:id}/decide", deciding.decide, "receipts:resolve")
    yield action("/receipts/{receipt_id:id}/contest", deciding.open_contest, "receipts:resolve")


def _conversations() -> Iterator[Route]:
    yield page("/threads", threads.threads, "turns:read")
    yield page("/threads/{thread:id}", threads.thread, "turns:read")
    yield page("/threads/{thread:id}/events", threads.tail, "turns:read")
    yield action("/threads/{thread:id}/reveal", threads.reveal_thread, "payload:reveal")
    yield page("/threads/{thread:id}/turns/{turn:id}", threads.turn, "turns:read")
    yield action("/threads/{thread:id}/turns/{turn:id}/reveal", threads.reveal_one_turn, "payload:reveal")
    yield page("/rejected", rejected.rejected, "turns:read")
    yield page("/rejected/{record:id}", rejected.one, "turns:read")
    yield action("/rejected/{record:id}/redrive", rejected.redrive, "turns:redrive")
    yield action("/rejected/{record:id}/drop", rejected.drop, "turns:redrive")


def _people() -> Iterator[Route]:
    yield page("/settings", settings.settings)
    yield action("/settings/tokens", settings.issue)
    yield action("/settings/tokens/{token_id:id}/revoke", settings.revoke)
    yield action("/settings/password", settings.password)
    yield page("/users", users.users, "users:manage")
    yield action("/users", users.add, "users:manage")
    yield action("/users/{name:id}/access", users.access, "users:manage")
    yield action("/users/{name:id}/disabled", users.disabled, "users:manage")
    yield action("/users/{name:id}/password", users.password, "users:manage")
    yield page("/rules", rules.rules, "rules:manage")
    yield action("/rules", rules.set_rule, "rules:manage")


async def _static(request: Request) -> Response:
    found = STATIC.get(request.path_params["name"])
    if found is None:
        return Response(status_code=404)
    content, media_type = found
    return Response(content, media_type=media_type, headers={"Cache-Control": _FOR_GOOD})
