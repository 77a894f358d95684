"""Who asks, and whether they may: bearer tokens only, bounded in how often, refused attempts on record."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass

from fastapi import Depends
from fastapi.params import Depends as Dependency
from intention_kernel.clock import Clock
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import InfrastructureError
from intention_kernel.identity.principal import Principal
from intention_kernel.identity.principals import principal_of_token
from intention_kernel.identity.rate_limit import Attempts, Terms
from intention_kernel.ports.identity import Permission
from starlette.requests import Request

from receipt_reconciler.web.api.problems import ProblemError
from receipt_reconciler.web.desk import Desk

logger = logging.getLogger(__name__)

_ANYBODY = "anybody"
_CHALLENGE = 'Bearer realm="intention"'


@dataclass(frozen=True, slots=True)
class Rates:
    """Requests of one user; wrong bearers of one address; and what is written down of refusals, of one user and of all
    strangers together, so that nobody can flood the audit log."""

    requests: Attempts
    strangers: Attempts
    refusals: Attempts

    @classmethod
    def of(cls, clock: Clock) -> Rates:
        """Those that are served with."""
        return cls(
            requests=Attempts(Terms(burst=400, seconds=0.01), clock),
            strangers=Attempts(Terms(burst=20, seconds=2.0), clock),
            refusals=Attempts(Terms(burst=30, seconds=2.0), clock),
        )


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who was recognised and holds the route's permission; `route` names method and path, ids among it."""

    who: Principal
    desk: Desk
    rates: Rates
    route: str
    bearer: str

    @property
    def name(self) -> str:
        """The actor of what they do."""
        return self.who.user

    async def refuse(self, why: str, detail: dict[str, JsonValue]) -> None:
        """Put a refused attempt on record, unless they had too many of late."""
        await _note(self.desk, self.rates, self.name, self.name, why, {"route": self.route, **detail})

    async def not_found(self, *, out_of_reach: bool = False) -> ProblemError:
        """What is out of reach looks like what is not there; only the audit log knows."""
        if out_of_reach:
            await self.refuse("out of reach", {})
        return ProblemError("not_found")


def needs(permission: Permission | None, *, changes: bool = False) -> Dependency:
    """The caller of a route that needs this permission; `changes`: it is refused where nothing may be changed.

    None: whoever is recognised.
    """

    async def caller(request: Request) -> Caller:
        found = await recognised(request)
        if permission is not None and not found.who.may(permission):
            await found.refuse("not allowed", {"permission": permission})
            raise ProblemError("forbidden", f"It needs {permission}.", permission=permission)
        if changes:
            refuse_where_read_only(found)
        return found

    caller.__dict__["permission"] = permission
    dependency = Depends(caller)
    assert isinstance(dependency, Dependency)
    return dependency


def refuse_where_read_only(caller: Caller) -> None:
    """Raise where nothing may be changed."""
    if caller.desk.read_only:
        raise ProblemError("read_only")


async def recognised(request: Request) -> Caller:
    """Who a request's bearer token belongs to. Raises ProblemError."""
    desk: Desk = request.app.state.desk
    rates: Rates = request.app.state.rates
    address = "unknown" if request.client is None else request.client.host
    route = f"{request.method} {request.scope['path']}"
    secret = _bearer(request)
    if secret is None:
        raise ProblemError("unauthenticated", headers={"WWW-Authenticate": _CHALLENGE})
    _within(rates.strangers, address)
    who = await principal_of_token(desk.identity, secret)
    if who is None:
        rates.strangers.take(address)
        await _note(desk, rates, _ANYBODY, _ANYBODY, "wrong bearer", {"route": route, "address": address})
        raise ProblemError(
            "unauthenticated",
            "The token is not one, is revoked or expired, or its user is disabled.",
            headers={"WWW-Authenticate": f'{_CHALLENGE}, error="invalid_token"'},
        )
    _within(rates.requests, who.user)
    rates.requests.take(who.user)
    return Caller(who, desk, rates, route, secret)


def _bearer(request: Request) -> str | None:
    """The secret; None where there is none. A cookie is never looked at, so that no other site's page can ask anything."""
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    secret = secret.strip()
    return secret if scheme.lower() == "bearer" and secret else None


def _within(attempts: Attempts, key: str) -> None:
    wait_seconds = attempts.wait_seconds(key)
    if wait_seconds > 0.0:
        raise ProblemError("too_many_requests", headers={"Retry-After": str(math.ceil(wait_seconds))})


async def _note(desk: Desk, rates: Rates, bucket: str, actor: str, what: str, detail: dict[str, JsonValue]) -> None:
    """A refusal stands whether or not it can be written down."""
    if rates.refusals.wait_seconds(bucket) > 0.0:
        return
    rates.refusals.take(bucket)
    try:
        await desk.identity.note_denied(actor, what, detail)
    except InfrastructureError as error:
        logger.warning("a refused attempt of %s is not on record: %s", actor, error)
