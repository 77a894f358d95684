"""Routes of users, their tokens and roles, and of who asks."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.identity.accounts import MOST_DAYS, Access, Order, access_problem, order_problem
from intention_kernel.identity.document import permissions_in_order, role_document, token_document, user_document
from intention_kernel.identity.names import name_problem
from intention_kernel.identity.secrets import new_token_secret
from intention_kernel.ports.identity import (
    Exists,
    NewToken,
    NewUser,
    NoSuchRole,
    NoSuchUser,
    Permission,
    Scope,
    User,
)
from pydantic import Field
from starlette.responses import Response

from receipt_reconciler.web.api.answering import answer
from receipt_reconciler.web.api.callers import Caller, needs
from receipt_reconciler.web.api.idempotency import IdempotencyKey, reused
from receipt_reconciler.web.api.outcomes import invalid
from receipt_reconciler.web.api.problems import ProblemError
from receipt_reconciler.web.api.routes import router_of
from receipt_reconciler.web.api.shapes import Body, IssuedToken, MeShape, Roles, Tokens, TokenShape, Users, UserShape

_SECONDS_PER_DAY = 86_400.0

router: APIRouter = router_of("people")
Manager = Annotated[Caller, needs("users:manage")]
Changer = Annotated[Caller, needs("users:manage", changes=True)]
Names = Annotated[list[Annotated[str, Field(min_length=1, max_length=200)]], Field(max_length=1_000)]


class AccessBody(Body):
    """Roles, and what is within reach: `tenants` and `effects` null: all. It counts from the next request on."""

    roles: Annotated[Names, Field(min_length=1, examples=[["operator"]])]
    tenants: Names | None = None
    effects: Names | None = None


class UserBody(AccessBody):
    """Somebody new. They use tokens; a password for the console is set with `intention users`."""

    name: Annotated[str, Field(min_length=1, max_length=100, examples=["ana"])]


class DisabledBody(Body):
    """Whether they can do nothing at all."""

    disabled: bool


class TokenBody(Body):
    """Whose, what for, for how long, and what it may at most: `permissions` null: all that its user may."""

    user: Annotated[str, Field(min_length=1, max_length=100, examples=["ana"])]
    label: Annotated[str, Field(min_length=1, max_length=200, examples=["nightly report"])]
    days: Annotated[int, Field(ge=1, le=MOST_DAYS, examples=[30])]
    permissions: list[Permission] | None = None


@router.get("/me", operation_id="getMe", response_model=MeShape)
async def me(caller: Annotated[Caller, needs(None)]) -> Response:
    """Who you are, what you may, and what is within your reach."""
    who, scope = caller.who, caller.who.scope
    return answer(
        {
            "user": who.user,
            "permissions": permissions_in_order(who.permissions),
            "tenants": _sorted(scope.tenants),
            "effects": _sorted(scope.effects),
            "tokenId": who.token_id,
            "readOnly": caller.desk.read_only,
        }
    )


@router.get("/users", operation_id="listUsers", response_model=Users)
async def users(caller: Manager) -> Response:
    """Everybody, disabled ones too."""
    return answer({"items": [user_document(user) for user in await caller.desk.identity.users()]})


@router.post("/users", operation_id="addUser", response_model=UserShape, status_code=201)
async def add_user(body: UserBody, caller: Changer, key: IdempotencyKey) -> Response:
    """Add somebody. A repeat answers the same while they are as they were added."""
    del key  # a name is taken once
    problem, access = name_problem(body.name), _access(body)
    if problem is not None:
        raise invalid(problem, "/name")
    new = NewUser(body.name, access.roles, access.scope, None)
    match await caller.desk.identity.add_user(new, caller.name):
        case User() as user:
            return answer(user_document(user), 201)
        case NoSuchRole(name=name):
            raise _no_such_role(name)
        case Exists():
            found = await caller.desk.identity.account(body.name)
            if found is None or (set(found.user.roles), found.user.scope) != (set(new.roles), new.scope):
                raise ProblemError("exists", f"There is a user {body.name!r} already.")
            return answer(user_document(found.user), 201)


@router.put("/users/{user:id}/access", operation_id="setAccess", response_model=UserShape)
async def set_access(user: str, body: AccessBody, caller: Changer) -> Response:
    """Give them these roles and this reach, and no others."""
    access = _access(body)
    told = await caller.desk.identity.set_access(user, access.roles, access.scope, caller.name)
    return await _changed(caller, told)


@router.put("/users/{user:id}/disabled", operation_id="setDisabled", response_model=UserShape)
async def set_disabled(user: str, body: DisabledBody, caller: Changer) -> Response:
    """Disable or enable them: who is disabled can do nothing, by session or by token."""
    return await _changed(caller, await caller.desk.identity.set_disabled(user, caller.name, disabled=body.disabled))


@router.get("/roles", operation_id="listRoles", response_model=Roles)
async def roles(caller: Manager) -> Response:
    """The roles and their permissions."""
    return answer({"items": [role_document(role) for role in await caller.desk.identity.roles()]})


@router.get("/tokens", operation_id="listTokens", response_model=Tokens)
async def tokens(
    caller: Manager, user: Annotated[str | None, Query(max_length=100, description="Only theirs")] = None
) -> Response:
    """Tokens by their prefixes, the newest first, revoked ones too; nobody sees a secret again."""
    return answer({"items": [token_document(token) for token in await caller.desk.identity.tokens(user)]})


@router.post("/tokens", operation_id="issueToken", response_model=IssuedToken, status_code=201)
async def issue_token(body: TokenBody, caller: Changer, key: IdempotencyKey) -> Response:
    """Issue one. `secret` is shown here and never again: a repeat of the request answers with null in its place."""
    new, secret = await _new_token(caller, body, key.operation(caller.name))
    issued = await caller.desk.identity.issue_token(new, caller.name)
    if isinstance(issued, NoSuchUser):
        raise _no_such_user()
    if (issued.user, issued.label, issued.permissions) != (new.user, new.label, new.permissions):
        raise reused()
    return answer({**token_document(issued), "secret": secret if issued.prefix == new.prefix else None}, 201)


@router.delete("/tokens/{token:id}", operation_id="revokeToken", response_model=TokenShape)
async def revoke_token(token: str, caller: Changer) -> Response:
    """It answers nothing any more, from the next request on. It stays in the list."""
    revoked = await caller.desk.identity.revoke_token(token, caller.name)
    if revoked is None:
        raise await caller.not_found()
    return answer(token_document(revoked))


async def _new_token(caller: Caller, body: TokenBody, token_id: str) -> tuple[NewToken, str]:
    account = await caller.desk.identity.account(body.user)
    if account is None:
        raise _no_such_user()
    permissions = None if body.permissions is None else frozenset(body.permissions)
    order = Order(body.user, body.label, permissions, body.days)
    problem = order_problem(order, account.user)
    if problem is not None:
        raise invalid(problem)
    made = new_token_secret()
    seconds = body.days * _SECONDS_PER_DAY
    new = NewToken(token_id, body.user, body.label, made.prefix, made.secret_hash, permissions, seconds)
    return new, made.secret


async def _changed(caller: Caller, told: User | NoSuchUser | NoSuchRole) -> Response:
    match told:
        case User() as user:
            return answer(user_document(user))
        case NoSuchRole(name=name):
            raise _no_such_role(name)
        case NoSuchUser():
            raise await caller.not_found()


def _no_such_role(name: str) -> ProblemError:
    return invalid(f"there is no role {name!r}", "/roles")


def _no_such_user() -> ProblemError:
    return invalid("there is no such user", "/user")


def _access(body: AccessBody) -> Access:
    tenants = None if body.tenants is None else frozenset(body.tenants)
    effects = None if body.effects is None else frozenset(body.effects)
    access = Access(tuple(body.roles), Scope(tenants, effects))
    problem = access_problem(access)
    if problem is not None:
        raise invalid(problem)
    return access


def _sorted(words: frozenset[str] | None) -> JsonValue:
    return None if words is None else [*sorted(words)]
