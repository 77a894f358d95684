"""Stages over a gateway, without a turn around them; every answer is held to the schema that models are told."""

from __future__ import annotations

from dataclasses import dataclass, field

import jsonschema
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.ports.model_gateway import ModelGateway, ModelRequest, ModelTask
from intention_kernel.runtime.stages.asking import Answered, AnswerT, Ask, Unusable, schema_of


@dataclass(slots=True)
class GatewayModels:
    """The Models of the stages."""

    gateway: ModelGateway
    tasks: list[ModelTask] = field(default_factory=list)

    async def ask(self, ask: Ask[AnswerT]) -> Answered[AnswerT] | Unusable:
        self.tasks.append(ask.task)
        schema = dict(ask.output_schema if ask.output_schema is not None else schema_of(ask.answer))
        given: JsonValue = dict(ask.input)
        request = ModelRequest(ask.task, None, ask.prompt_id, "", given, schema, ask.capabilities, 10)
        value = (await self.gateway.invoke(request)).value
        assert value == (await self.gateway.invoke(request)).value, "the same request got another answer"
        jsonschema.validate(value, schema)
        return Answered(ask.answer.model_validate(value))
