"""What goes wrong at a provider, in stable codes and our own words: its messages may repeat what it was sent."""

from __future__ import annotations

from typing import Final

from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelServerError,
    ModelTimeoutError,
    ModelUnavailableError,
)

from intention_kernel.errors import ModelGatewayError

_CODES: Final[tuple[tuple[type[Exception], str, str, bool], ...]] = (
    (ContentFilterError, "MODEL_REFUSED", "the provider or its model refused to answer", False),
    (ModelQuotaExceededError, "MODEL_RATE_LIMITED", "the account's quota or credit is used up", False),
    (ModelRateLimitError, "MODEL_RATE_LIMITED", "the provider's rate limit is reached", True),
    (ModelUnavailableError, "MODEL_UNAVAILABLE", "the provider cannot serve the request now", True),
    (ModelServerError, "MODEL_PROVIDER_FAILURE", "the provider failed", True),
    (ModelTimeoutError, "MODEL_TIMEOUT", "the provider did not answer in time", True),
    (ModelConnectionError, "MODEL_UNAVAILABLE", "the provider could not be reached, or hung up", True),
    (ModelAuthenticationError, "MODEL_AUTHENTICATION", "the provider does not accept the key, or not for this", False),
    (ModelNotFoundError, "MODEL_REQUEST_INVALID", "the provider does not know the model", False),
    (ModelContextWindowExceededError, "MODEL_REQUEST_INVALID", "the request is too long for the model", False),
    (ModelRequestRejectedError, "MODEL_REQUEST_INVALID", "the provider rejected the request", False),
)
"""The first that fits counts."""


def gateway_error(error: Exception, provider: str) -> ModelGatewayError:
    """The error that the kernel sees. Nothing of the provider's own words is in it, nor is it linked to them."""
    status = f" (HTTP {error.status_code})" if isinstance(error, ModelHTTPError) else ""
    for kind, code, words, retryable in _CODES:
        if isinstance(error, kind):
            return ModelGatewayError(code, f"{provider}: {words}{status}", retryable=retryable)
    if isinstance(error, ModelHTTPError) and 400 <= error.status_code < 500:
        return ModelGatewayError("MODEL_REQUEST_INVALID", f"{provider}: the provider rejected the request{status}")
    # Also a response that is none, which the clients tell in many ways: what is sent again may be answered in form.
    words = f"the provider's response could not be used ({type(error).__name__}){status}"
    return ModelGatewayError("MODEL_PROVIDER_FAILURE", f"{provider}: {words}", retryable=True)


def was_not_sent(error: Exception) -> bool:
    """Whether no byte of the request can have reached the provider."""
    return isinstance(error, ModelConnectionError) and error.phase in ("connect", "pool")


def asked_to_wait(error: Exception) -> float | None:
    """Seconds after which the provider wants to be asked again; None where it named none, or waiting does not help."""
    if not isinstance(error, ModelRateLimitError) or isinstance(error, ModelQuotaExceededError):
        return None
    return error.retry_after if isinstance(error, ModelAPIError) else None
