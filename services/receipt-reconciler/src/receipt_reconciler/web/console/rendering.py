"""Templates to responses. Every value is escaped; a lone surrogate, which no page can hold, becomes a question mark."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import Response

from receipt_reconciler.web.console.saying import saying

_FOLDER = Path(__file__).parent
_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

STATIC: Final[Mapping[str, tuple[bytes, str]]] = {
    path.name: (path.read_bytes(), _TYPES[path.suffix])
    for path in sorted((_FOLDER / "static").iterdir())
    if path.suffix in _TYPES
}
"""File name -> content and media type."""

_VERSION = hashlib.sha256(b"".join(content for content, _ in STATIC.values())).hexdigest()[:12]


def static_url(name: str) -> str:
    """Changes with any file's content, so that browsers may keep what they have."""
    return f"/static/{_VERSION}/{name}"


def url(path: str, **query: str | int | None) -> str:
    """A local address; None leaves a parameter out."""
    given = {name: str(value) for name, value in query.items() if value not in (None, "")}
    return f"{path}?{urlencode(given)}" if given else path


def segment(text: str) -> str:
    """Any text as one segment of a path."""
    return quote(text, safe="", errors="replace")


_environment = Environment(
    loader=FileSystemLoader(_FOLDER / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,
)
_environment.globals |= {"static_url": static_url, "url": url, "saying": saying}
_environment.filters["segment"] = segment


def rendered(template: str, status: int = 200, **view: object) -> Response:
    """A page of UTF-8."""
    text = _environment.get_template(template).render(view)
    return Response(text.encode("utf-8", "replace"), status, media_type="text/html; charset=utf-8")
