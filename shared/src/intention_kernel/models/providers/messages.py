"""A request as pydantic-ai sends it, and the value in what comes back."""

from __future__ import annotations

from typing import cast

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.messages import ModelRequest as ProviderRequest
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from intention_kernel.contracts import json_codec
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import JsonError, ModelGatewayError
from intention_kernel.models.providers.schemas import AnswerSchema
from intention_kernel.ports.model_gateway import ModelRequest, ModelResult, ModelUsage

ANSWER_TOOL = "answer"
COMPOSING_TEMPERATURE = 0.15
MAX_OUTPUT_TOKENS = 4_096
MAX_OUTPUT_TOKENS_THINKING = 16_384
"""For models that think before they answer: what they think counts."""

_LONGEST_NAME = 200


def messages_of(request: ModelRequest) -> list[ModelMessage]:
    """The instructions, with the capabilities behind them, and the input as one JSON message of the user."""
    instructions = request.system
    if request.capabilities:
        capabilities = _json([capability.to_json() for capability in request.capabilities])
        instructions = f"{instructions}\n\nCapabilities, as JSON:\n{capabilities}"
    return [ProviderRequest.user_text_prompt(_json(request.input), instructions=instructions)]


def parameters_of(model: Model, schema: AnswerSchema, *, keeps_open_parts: bool) -> ModelRequestParameters:
    """Native JSON output where the model has it, else a tool that it has to call.

    A native schema of some providers forbids what it does not name, so that an input of any form comes back empty. There, a
    schema with open parts goes as a tool.
    """
    if model.profile.get("supports_json_schema_output", False) and (keeps_open_parts or schema.is_closed):
        return ModelRequestParameters(
            output_mode="native", output_object=OutputObjectDefinition(json_schema=schema.schema, name=ANSWER_TOOL)
        )
    tool = ToolDefinition(
        name=ANSWER_TOOL,
        description="Give the answer; call it exactly once.",
        parameters_json_schema=schema.schema,
        kind="output",
    )
    return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)


def settings_of(model: Model, request: ModelRequest, seconds_left: float) -> ModelSettings:
    """One attempt of the client, no longer than is left; a low temperature where the model takes one."""
    thinks = model.profile.get("thinking_enabled_by_default", False) or model.profile.get(
        "thinking_always_enabled", False
    )
    settings = ModelSettings(
        max_retries=0,
        timeout=seconds_left,
        max_tokens=MAX_OUTPUT_TOKENS_THINKING if thinks else MAX_OUTPUT_TOKENS,
    )
    if not thinks:
        settings["temperature"] = COMPOSING_TEMPERATURE if request.task.startswith("response.compose") else 0.0
    return settings


def result_of(response: ModelResponse, schema: AnswerSchema, provider: str, model_name: str) -> ModelResult:
    """The answer as JSON. Raises MODEL_REFUSED, MODEL_EMPTY_RESPONSE or MODEL_JSON_INVALID."""
    if response.finish_reason == "content_filter":
        raise ModelGatewayError("MODEL_REFUSED", f"{provider} or its model refused to answer")
    value = schema.unwrapped(_value(response, provider))
    return ModelResult(value, provider, (response.model_name or model_name)[:_LONGEST_NAME], _usage(response))


def _value(response: ModelResponse, provider: str) -> JsonValue:
    calls = [part for part in response.parts if isinstance(part, ToolCallPart) and part.tool_name == ANSWER_TOOL]
    given = calls[0].args if calls else "".join(p.content for p in response.parts if isinstance(p, TextPart))
    cut_off = " at its limit of output tokens" if response.finish_reason == "length" else ""
    if given is None or (isinstance(given, str) and not given.strip()):
        raise ModelGatewayError("MODEL_EMPTY_RESPONSE", f"{provider} answered nothing{cut_off}")
    try:
        if isinstance(given, str):
            return json_codec.loads(_without_fence(given))
        json_codec.check(given)
        return cast("JsonValue", given)
    except JsonError:
        words = f"the answer ended{cut_off}" if cut_off else "the answer is not JSON"
        raise ModelGatewayError("MODEL_JSON_INVALID", f"{provider}: {words}") from None


def _without_fence(text: str) -> str:
    """Smaller models put JSON into a block of Markdown, however they are asked."""
    text = text.strip()
    if text.startswith("```") and text.endswith("```") and "\n" in text:
        return text[text.index("\n") : -3]
    return text


def _usage(response: ModelResponse) -> ModelUsage:
    usage = response.usage
    return ModelUsage(usage.input_tokens or None, usage.output_tokens or None)


def _json(value: JsonValue) -> str:
    """As text that can be sent: a lone surrogate, which UTF-8 cannot hold, is an escape."""
    return json_codec.dumps(value).decode()
