"""Answers as JSON, and the few headers that they share."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from urllib.parse import parse_qsl, urlencode

from intention_kernel.contracts.json_codec import JsonValue, dumps
from starlette.datastructures import URL, Headers
from starlette.responses import Response

from receipt_reconciler.web.api.problems import ProblemError

_TAG = re.compile(r'"r([0-9]{1,18})(?:\.[0-9a-f]{16})?"')


def answer(document: JsonValue, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A document, written by the one codec: what was stored comes out as it is."""
    return Response(dumps(document), status_code=status, media_type="application/json", headers=headers)


def page(url: URL, items: Sequence[JsonValue], cursor: str | None) -> Response:
    """A page of a list: the next one's cursor is in the body and, as an address, in `Link`."""
    headers = {}
    if cursor is not None:
        kept = [(name, value) for name, value in _query(url) if name != "cursor"]
        headers["Link"] = f'<{url.path}?{urlencode([*kept, ("cursor", cursor)])}>; rel="next"'
    return answer({"items": list(items), "cursor": cursor}, headers=headers)


def _query(url: URL) -> list[tuple[str, str]]:
    return parse_qsl(url.query, keep_blank_values=True)


def receipt_answer(document: JsonValue, version: int, headers: Headers) -> Response:
    """A receipt. Its tag names the receipt's version, which If-Match compares, and all that is shown, for If-None-Match."""
    body = dumps(document)
    tag = f'"r{version}.{hashlib.sha256(body).hexdigest()[:16]}"'
    known = {one.strip().removeprefix("W/") for one in headers.get("if-none-match", "").split(",")}
    if tag in known:
        return Response(status_code=304, headers={"ETag": tag})
    return Response(body, media_type="application/json", headers={"ETag": tag})


def seen_version(if_match: str) -> int:
    """The receipt's version that a caller saw: of the tag as they got it, or `"rN"`. Raises ProblemError."""
    if if_match.strip() == "*":
        raise ProblemError("if_match_missing", "`*` says nothing of what you have seen.")
    tag = _TAG.fullmatch(if_match.strip())
    if tag is None:
        raise ProblemError("bad_etag")
    return int(tag[1])
