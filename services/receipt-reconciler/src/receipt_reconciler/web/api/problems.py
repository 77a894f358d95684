"""Every error of the API: one closed table of codes, and the exception that ends a request with one of them (RFC 9457)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from intention_kernel.contracts.json_codec import JsonValue, dumps
from starlette.responses import Response

MEDIA_TYPE = "application/problem+json"
TYPE_PREFIX = "urn:intention-kernel:problem:"

Code = Literal[
    "not_json",
    "bad_cursor",
    "bad_etag",
    "unknown_parameter",
    "idempotency_key_missing",
    "unauthenticated",
    "forbidden",
    "read_only",
    "self_approval",
    "not_proposer",
    "not_found",
    "no_such_route",
    "wrong_method",
    "version_conflict",
    "leased_by",
    "other_proposal",
    "hash_differs",
    "closed",
    "not_admitted",
    "not_possible",
    "exists",
    "idempotency_key_reused",
    "stale_if_match",
    "too_large",
    "not_json_type",
    "invalid_request",
    "invalid_filter",
    "if_match_missing",
    "too_many_requests",
    "too_many_streams",
    "internal",
    "unavailable",
]
CODES: tuple[Code, ...] = get_args(Code)


@dataclass(frozen=True, slots=True)
class Problem:
    """What a code means: its status, a title, what to do, and whether the same request may succeed later."""

    status: int
    title: str
    hint: str
    retryable: bool = False


PROBLEMS: dict[Code, Problem] = {
    "not_json": Problem(400, "The body is not JSON", "Send one JSON object; no member twice, no NaN."),
    "bad_cursor": Problem(
        400,
        "That is no cursor of this list",
        "Begin again without it; a cursor is taken from the page before, as it is.",
    ),
    "bad_etag": Problem(
        400, "If-Match is no ETag of a receipt", "Send the ETag of the receipt's GET as it came, with its quotes."
    ),
    "unknown_parameter": Problem(
        400,
        "No such parameter here",
        "`parameter` is its name, `suggestion` the nearest that there is; /v1/openapi.json has those of every route.",
    ),
    "idempotency_key_missing": Problem(
        400,
        "An Idempotency-Key is needed",
        "Send 1 to 200 visible ASCII characters that you send again when you repeat this request.",
    ),
    "unauthenticated": Problem(
        401, "Nobody is recognised", "Send `Authorization: Bearer TOKEN` with a token that is not revoked or expired."
    ),
    "forbidden": Problem(403, "Not allowed", "It needs the permission that `permission` names."),
    "read_only": Problem(403, "Nothing is changed here", "This server only shows; ask the one that may change things."),
    "self_approval": Problem(403, "Nobody approves their own proposal", "Another person approves or rejects it."),
    "not_proposer": Problem(
        403, "Nobody withdraws another's proposal", "Its `proposer` withdraws it; others reject it."
    ),
    "not_found": Problem(404, "There is none", "Look at the id; what is out of your reach is not found either."),
    "no_such_route": Problem(404, "No such path", "Paths are those of /v1/openapi.json; slashes in ids are %2F."),
    "wrong_method": Problem(405, "No such method here", "`Allow` has the methods of this path."),
    "version_conflict": Problem(
        409, "It is not as you saw it", "Read it again, and decide again on what it says now.", retryable=False
    ),
    "leased_by": Problem(
        409, "Another person works on it", "Wait until `until`, ask `owner`, or take it over with a reason."
    ),
    "other_proposal": Problem(
        409, "Another decision is proposed", "See `proposalId`: approve, reject or withdraw that one first."
    ),
    "hash_differs": Problem(409, "What is proposed is something else", "Read the proposal again."),
    "closed": Problem(409, "It is over already", "`state` says what became of it."),
    "not_admitted": Problem(
        409, "A rule refuses this decision now", "`detail` says why; `notBefore` when a look may change that."
    ),
    "not_possible": Problem(409, "It cannot be done to this receipt as it is", "`detail` says why."),
    "exists": Problem(409, "That name is taken", "Choose another, or change what is there."),
    "idempotency_key_reused": Problem(
        409, "The Idempotency-Key names another request", "Take a new key for every new request."
    ),
    "stale_if_match": Problem(
        412, "The receipt changed since you read it", "Read it again, and decide again on what it says now."
    ),
    "too_large": Problem(413, "The body is too large", "A body has at most 262144 bytes."),
    "not_json_type": Problem(415, "The body's type is not JSON", "Send `Content-Type: application/json`."),
    "invalid_request": Problem(422, "The request is not valid", "`errors` has each place and what is wrong with it."),
    "invalid_filter": Problem(
        422, "The filter is not valid", "`position` is where, in characters from 0; docs/queue.md has the words."
    ),
    "if_match_missing": Problem(
        428, "If-Match is needed", "Send the ETag of the receipt as you read it: what changed since is not decided."
    ),
    "too_many_requests": Problem(429, "Too many requests", "Wait for `Retry-After` seconds.", retryable=True),
    "too_many_streams": Problem(429, "Too many open streams", "Close one, or wait for one to end.", retryable=True),
    "internal": Problem(500, "The server failed", "It is in the server's log; nothing is told here."),
    "unavailable": Problem(
        503,
        "The database does not answer",
        "Repeat the request after `Retry-After` seconds, with the same Idempotency-Key.",
        retryable=True,
    ),
}


class ProblemError(Exception):
    """Ends a request with this problem. `members` are added to the document, `headers` to the response."""

    def __init__(
        self,
        code: Code,
        detail: str | None = None,
        *,
        headers: dict[str, str] | None = None,
        **members: JsonValue,
    ) -> None:
        super().__init__(code)
        self.code = code
        self.detail = detail
        self.headers = headers
        self.members = members


def problem_document(code: Code, detail: str | None, members: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """The problem as its document."""
    problem = PROBLEMS[code]
    return {
        "type": f"{TYPE_PREFIX}{code}",
        "title": problem.title,
        "status": problem.status,
        "detail": detail or f"{problem.title}.",
        "code": code,
        "hint": problem.hint,
        "retryable": problem.retryable,
        **members,
    }


def problem_response(error: ProblemError) -> Response:
    """The problem as a response."""
    return Response(
        dumps(problem_document(error.code, error.detail, error.members)),
        status_code=PROBLEMS[error.code].status,
        media_type=MEDIA_TYPE,
        headers=error.headers,
    )
