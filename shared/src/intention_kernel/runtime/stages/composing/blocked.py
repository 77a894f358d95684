"""What the user is told about an effect while nobody knows, and once it is known (interface 3, protocol R30 and R32)."""

from __future__ import annotations

from intention_kernel.contracts.receipt import ReceiptState
from intention_kernel.contracts.result import Response


def blocked_text(title: str, receipt_id: str) -> str:
    """The truth about a blocked step, where the application has no words of its own."""
    return (
        f"I could not confirm whether {title} went through. I have not tried again. "
        f"It is being checked, reference {receipt_id}; I will go on as soon as it is known."
    )


def blocked_response(title: str, receipt_id: str) -> Response:
    """`blocked_text` as the whole answer of a turn."""
    return Response(message=blocked_text(title, receipt_id), status="blocked")


def settled_text(title: str, receipt_id: str, state: ReceiptState) -> str:
    """The plain truth about an effect that was in doubt, for a continuation in which nobody else has words for it."""
    match state:
        case "completed":
            return f"It is known now: {title} went through. Reference {receipt_id}."
        case "failed":
            return f"It is known now: {title} did not go through. Reference {receipt_id}."
        case _:
            return blocked_text(title, receipt_id)
