"""Why a request ends without what it asked for; each becomes a page."""

from __future__ import annotations

from intention_kernel.ports.identity import Permission


class Refusal(Exception):
    """A page with this status. `retry`: the same request may work in a moment."""

    def __init__(self, status: int, title: str, text: str, *, retry: bool = False) -> None:
        super().__init__(title)
        self.status = status
        self.title = title
        self.text = text
        self.retry = retry


def not_found(what: str) -> Refusal:
    """There is none, or none within reach: the page does not tell which."""
    return Refusal(404, f"No such {what}", f"There is no such {what}, or it is not within your reach.")


def not_allowed(permission: Permission) -> Refusal:
    """Names what is missing, so that people know what to ask for."""
    return Refusal(
        403, "Not allowed", f"This needs the permission {permission}, which you do not have. An admin can give it."
    )


def away(why: str) -> Refusal:
    """The store cannot answer; nothing was decided."""
    return Refusal(503, "The database does not answer", f"{why}. Nothing was changed; try again.", retry=True)


FOREIGN = Refusal(
    403,
    "Refused",
    "This form was not sent by a page of this console. Open the page again here, and send it from there.",
)
READ_ONLY = Refusal(403, "Read-only", "This console shows everything and changes nothing: nothing was changed.")
EXPECTED_FORM = Refusal(400, "Not a form", "What was sent is not a form of this console.")
TOO_LARGE = Refusal(413, "Too large", "What was sent is larger than this console takes.")
