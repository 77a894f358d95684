"""What a form sends, bounded."""

from __future__ import annotations

from dataclasses import dataclass, field

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request

from receipt_reconciler.web.console import refusal

MOST_BYTES = 2 * 1024 * 1024
"""Of one form, an attached file included."""
MOST_OPEN_BYTES = 64 * 1024
"""Of one that anybody may send: a name, a password, where to go on."""
_MOST_FIELDS = 200
_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data")


@dataclass(frozen=True, slots=True)
class Form:
    """Fields in their order; a field that was not sent is an empty text."""

    fields: tuple[tuple[str, str], ...] = ()
    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """The first field of that name, with the line ends of its browser made plain."""
        return next((value.replace("\r\n", "\n") for key, value in self.fields if key == name), "")

    def line(self, name: str) -> str:
        """A text without the blanks around it."""
        return self.text(name).strip()

    def optional(self, name: str) -> str | None:
        """None where nothing but blanks was sent."""
        return self.line(name) or None

    def every(self, name: str) -> tuple[str, ...]:
        """All fields of that name that hold something."""
        return tuple(value for key, value in self.fields if key == name and value)

    def is_set(self, name: str) -> bool:
        """Of a box that is ticked, or a button that sent the form."""
        return any(key == name for key, _ in self.fields)

    def number(self, name: str) -> int | None:
        """A whole number; None where it is none."""
        text = self.line(name)
        return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


async def read_form(request: Request, most_bytes: int = MOST_BYTES) -> Form:
    """Raises Refusal for what is no form, or larger than that."""
    if request.headers.get("content-length") == "0":
        return Form()
    if request.headers.get("content-type", "").split(";")[0].strip().lower() not in _TYPES:
        raise refusal.EXPECTED_FORM
    size = request.headers.get("content-length", "")
    if not (size.isascii() and size.isdigit()) or int(size) > most_bytes:
        raise refusal.TOO_LARGE
    try:
        async with request.form(max_files=1, max_fields=_MOST_FIELDS, max_part_size=most_bytes) as sent:
            fields = tuple((name, value) for name, value in sent.multi_items() if isinstance(value, str))
            files = {
                name: (value.filename or "", await value.read())
                for name, value in sent.multi_items()
                if isinstance(value, UploadFile)
            }
    except HTTPException as error:
        raise refusal.EXPECTED_FORM from error
    return Form(fields, files)
