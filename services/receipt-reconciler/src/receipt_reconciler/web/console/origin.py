"""Where a request comes from: whether another site made the browser send it, and where it may be sent on to."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

SAFE_METHODS = frozenset({"GET", "HEAD"})


def is_own(headers: Mapping[str, str]) -> bool:
    """Whether a page of this server sent it. Browsers that do not say `Sec-Fetch-Site` say `Origin`; who says neither is refused."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin, host = headers.get("origin"), headers.get("host")
    return origin is not None and bool(host) and _place(origin) == str(host).lower()


def _place(origin: str) -> str | None:
    """Host and port; None of what is no address."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


def local_path(wanted: str | None, otherwise: str = "/") -> str:
    """`wanted` where it is a path of this server, else `otherwise`: nobody is sent elsewhere by a link to here."""
    if not wanted or not wanted.startswith("/") or wanted[1:2] in ("/", "\\"):
        return otherwise
    if any(ord(character) < 0x21 or ord(character) > 0x7E or character == "\\" for character in wanted):
        return otherwise
    return wanted
