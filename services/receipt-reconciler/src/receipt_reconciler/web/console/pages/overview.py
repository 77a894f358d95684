"""`/`: what needs a person."""

from __future__ import annotations

from intention_kernel.reconciliation.filtering import FilterProblem
from intention_kernel.reconciliation.listing import BadCursor, Page, list_items
from intention_kernel.reconciliation.rules import unsatisfiable
from starlette.responses import Response

from receipt_reconciler.web.console.asking import Ask
from receipt_reconciler.web.console.rendering import url
from receipt_reconciler.web.console.views.overview import MOST, Tile, expiring, first_rows, plain_tile, tile
from receipt_reconciler.web.console.views.wording import Tone

_TILES: tuple[tuple[str, str, str, Tone, str], ...] = (
    ("Contradicted", "an answer or a person disagrees with what is recorded", "status:contradicted", "alarm", "⚠"),
    ("Key window closing", "the provider forgets the key within an hour", "status:open window<1h", "wait", "⚠"),
    ("Orphaned", "held by a turn that was set aside", "status:open kind:orphaned", "alarm", "⚑"),
    ("Continuation failed", "decided, but the conversation did not go on", "status:failed", "bad", "✗"),
    ("Decided", "the conversation goes on next, by itself", "status:decided", "quiet", "…"),
    ("Mine", "claimed by you", "owner:me", "quiet", "▸"),
)


async def overview(ask: Ask) -> Response:
    """Counts that lead into the queue, with the filter in the address."""
    if not ask.who.may("receipts:read"):
        return ask.page("overview.html", tiles=(), rows=(), waiting=None, may_read=False)
    waiting = await _page(ask, "status:open")
    tiles = [tile("Needs a person", "nobody knows, or something disagrees", "status:open", waiting, "wait", "?")]
    for title, text, words, tone, sign in _TILES:
        tiles.append(tile(title, text, words, await _page(ask, words), tone, sign))
    tiles.insert(2, await _proposals(ask))
    if ask.who.may("rules:manage") and ask.who.may("users:manage"):
        tiles.append(await _rules(ask))
    if ask.who.may("turns:read"):
        tiles.append(await _given_up(ask))
    return ask.page(
        "overview.html",
        tiles=tuple(tiles),
        rows=first_rows(waiting, ask.who),
        waiting=tiles[0],
        may_read=True,
    )


async def _page(ask: Ask, words: str) -> Page:
    found = await list_items(ask.desk.queue, words, reader=ask.who.user, scope=ask.who.scope, limit=MOST)
    assert not isinstance(found, (FilterProblem, BadCursor)), found
    return found


async def _proposals(ask: Ask) -> Tile:
    found = await ask.desk.queue.proposals(ask.who.scope, MOST + 1)
    text = expiring([proposal.expires_at for proposal in found], ask.clock.now())
    return plain_tile("Proposals", text, "/proposals", len(found), "wait", "⚑")


async def _rules(ask: Ask) -> Tile:
    nobody = unsatisfiable(await ask.desk.queue.rules(), await ask.desk.identity.users())
    text = "add a second user with receipts:approve" if nobody else "every rule's second person is there"
    return plain_tile("Rules nobody can satisfy", text, "/rules", len(nobody), "bad", "✗")


async def _given_up(ask: Ask) -> Tile:
    found = await ask.desk.conversations.given_up(ask.who.scope, None, MOST + 1)
    waiting = [one for one in found if one.document.get("state") == "open"]
    href = url("/rejected")
    return plain_tile(
        "Set aside or rejected", "turns that failed, requests that never ran", href, len(waiting), "bad", "✗"
    )
