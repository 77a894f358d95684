"""`/settings`: one's own tokens and password."""

from __future__ import annotations

from intention_kernel.identity.accounts import Invalid, Issued, Order, issue_token, set_password
from intention_kernel.identity.passwords import Passwords, Right
from intention_kernel.identity.rate_limit import Attempts
from intention_kernel.ports.identity import PERMISSIONS, NoSuchUser, Permission
from starlette.responses import RedirectResponse, Response

from receipt_reconciler.web.console.asking import Ask
from receipt_reconciler.web.console.refusal import not_found
from receipt_reconciler.web.console.rendering import url
from receipt_reconciler.web.console.views.people import token_view

_DAYS = 30


async def settings(ask: Ask) -> Response:
    """Tokens by their prefixes, and the forms."""
    return await _page(ask)


async def issue(ask: Ask) -> Response:
    """A new one; its secret is on this page and nowhere else."""
    wanted = frozenset(one for one in PERMISSIONS if one in ask.form.every("permission"))
    permissions: frozenset[Permission] | None = None if ask.form.is_set("all") else wanted
    days = ask.form.number("days")
    order = Order(ask.who.user, ask.form.line("label"), permissions, _DAYS if days is None else days)
    if permissions is not None and not permissions:
        return await _page(ask, status=422, problem="Say what the token may do.")
    match await issue_token(ask.desk.identity, order, ask.who.user):
        case Issued(secret=secret):
            return await _page(ask, secret=secret)
        case Invalid(problem=problem):
            return await _page(ask, status=422, problem=f"No token was made: {problem}.")
        case NoSuchUser():
            raise not_found("user")


async def revoke(ask: Ask) -> Response:
    """One of one's own."""
    mine = await ask.desk.identity.tokens(ask.who.user)
    token_id = ask.part("token_id")
    if token_id not in {token.token_id for token in mine}:
        raise not_found("token")
    await ask.desk.identity.revoke_token(token_id, ask.who.user)
    return ask.sent_on("/settings", "revoked")


async def password(ask: Ask) -> Response:
    """Who knows the old one may set another; every session ends, this one too."""
    passwords: Passwords = ask.request.app.state.passwords
    attempts: Attempts = ask.request.app.state.attempts
    if attempts.wait_seconds(ask.who.user) > 0:
        return await _page(ask, status=429, problem="That was tried too often. Try again in a minute.")
    attempts.take(ask.who.user)
    account = await ask.desk.identity.account(ask.who.user)
    known = await passwords.verify(ask.form.text("old"), None if account is None else account.password_hash)
    if not isinstance(known, Right):
        await ask.desk.identity.note_denied(ask.who.user, "wrong password", {"path": "/settings/password"})
        return await _page(ask, status=403, problem="The password is not the one that you have now.")
    if ask.form.text("new") != ask.form.text("again"):
        return await _page(ask, status=422, problem="The two new passwords differ.")
    match await set_password(ask.desk.identity, passwords, ask.who.user, ask.form.text("new"), ask.who.user):
        case Invalid(problem=problem):
            return await _page(ask, status=422, problem=f"The password was not changed: {problem}.")
        case NoSuchUser():
            raise not_found("user")
        case _:
            return RedirectResponse(url("/login", said="password", next="/settings"), 303)


async def _page(ask: Ask, *, status: int = 200, problem: str | None = None, secret: str | None = None) -> Response:
    now = ask.clock.now()
    tokens = await ask.desk.identity.tokens(ask.who.user)
    return ask.page(
        "settings.html",
        status=status,
        tokens=tuple(token_view(token, now) for token in tokens),
        permissions=tuple(one for one in PERMISSIONS if one in ask.who.permissions),
        scope=ask.who.scope,
        secret=secret,
        problem=problem,
        form=ask.form,
    )
