"""What the user is told while nobody knows (interface 3)."""

from __future__ import annotations

from intention_kernel.contracts.result import Response


def blocked_response(title: str, receipt_id: str) -> Response:
    """The truth about a blocked step, where the application has no words of its own."""
    return Response(
        message=(
            f"I could not confirm whether {title} went through. I have not tried again. "
            f"It is being checked, reference {receipt_id}; I will go on as soon as it is known."
        ),
        status="blocked",
    )
