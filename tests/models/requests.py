"""Requests for tests of gateways."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.ports.model_gateway import ModelCapability, ModelRequest

CLOSED: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"mode": {"type": "string", "enum": ["ok", "other"]}},
    "required": ["mode"],
    "additionalProperties": False,
}
OPEN: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"mode": {"type": "string"}, "input": {}},
    "required": ["mode"],
    "additionalProperties": False,
}
CANARY = "canary-message-7301"

_REQUEST = ModelRequest(
    task="capability.select",
    model=None,
    prompt_id="kernel.capability.select",
    system="Choose.",
    input={"currentMessage": {"content": CANARY, "index": 0}},
    output_schema=CLOSED,
    capabilities=(ModelCapability("summary", "order.cancel", "Cancels an order", "ready"),),
    timeout_seconds=20,
)


def a_request(**members: Any) -> ModelRequest:
    """A request that differs from the usual one in these members."""
    return replace(_REQUEST, **members)
