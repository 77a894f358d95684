"""`/users`: who may do what, for those who manage users."""

from __future__ import annotations

from intention_kernel.identity.accounts import Access, Invalid, add_user, set_access, set_password
from intention_kernel.identity.passwords import Passwords
from intention_kernel.ports.identity import Exists, NoSuchRole, NoSuchUser, Scope, User
from starlette.responses import Response

from receipt_reconciler.web.console.asking import Ask
from receipt_reconciler.web.console.refusal import not_found
from receipt_reconciler.web.console.views.people import user_view


async def users(ask: Ask) -> Response:
    """Everybody, disabled ones too."""
    return await _page(ask)


async def add(ask: Ask) -> Response:
    """Somebody new; without a password they use tokens only."""
    given = ask.form.text("password") or None
    name = ask.form.line("name")
    told = await add_user(ask.desk.identity, _passwords(ask), name, _access(ask), given, ask.who.user)
    return await _told(ask, told, "user_added")


async def access(ask: Ask) -> Response:
    """Roles and reach, from their next request on."""
    told = await set_access(ask.desk.identity, ask.part("name"), _access(ask), ask.who.user)
    return await _told(ask, told, "access")


async def disabled(ask: Ask) -> Response:
    """Whether they may do anything at all."""
    disabling = ask.form.text("disabled") == "yes"
    told = await ask.desk.identity.set_disabled(ask.part("name"), ask.who.user, disabled=disabling)
    return await _told(ask, told, "disabled" if disabling else "enabled")


async def password(ask: Ask) -> Response:
    """Set theirs; every session of theirs ends."""
    new = ask.form.text("password")
    told = await set_password(ask.desk.identity, _passwords(ask), ask.part("name"), new, ask.who.user)
    return await _told(ask, told, "password")


async def _told(ask: Ask, told: User | Exists | NoSuchUser | NoSuchRole | Invalid, said: str) -> Response:
    match told:
        case User():
            return ask.sent_on("/users", said)
        case NoSuchUser():
            raise not_found("user")
        case Exists():
            problem = "There is a user of that name already."
        case NoSuchRole(name=name):
            problem = f"There is no role {name}."
        case Invalid(problem=why):
            problem = f"Nothing was changed: {why}."
    return await _page(ask, status=422, problem=problem)


async def _page(ask: Ask, *, status: int = 200, problem: str | None = None) -> Response:
    now = ask.clock.now()
    return ask.page(
        "users.html",
        status=status,
        users=tuple(user_view(user, now) for user in await ask.desk.identity.users()),
        roles=tuple((role.name, sorted(role.permissions)) for role in await ask.desk.identity.roles()),
        problem=problem,
        form=ask.form,
    )


def _access(ask: Ask) -> Access:
    return Access(ask.form.every("role"), Scope(listed(ask.form.line("tenants")), listed(ask.form.line("effects"))))


def _passwords(ask: Ask) -> Passwords:
    passwords: Passwords = ask.request.app.state.passwords
    return passwords


def listed(text: str) -> frozenset[str] | None:
    """Ids with commas or line ends between them; None: nothing was typed, which is all."""
    words = frozenset(word.strip() for word in text.replace("\n", ",").split(",") if word.strip())
    return words or None
