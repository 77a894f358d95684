"""How a turn asks models: redacted, inside its deadline, recorded in its journal and told as events (asking.Models)."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import cast

from pydantic import ValidationError

from intention_kernel.agent.prompts.catalogue import PROMPTS
from intention_kernel.agent.schema import SHOWN_ISSUES, pointer
from intention_kernel.clock import Clock
from intention_kernel.contracts.json_codec import JsonValue, dumps
from intention_kernel.errors import ModelGatewayError
from intention_kernel.ports.model_gateway import ModelCapability, ModelGateway, ModelRequest
from intention_kernel.ports.turn_body import TurnScope
from intention_kernel.runtime.event_chain import EventChain
from intention_kernel.runtime.model_audit import bounded, context_audit, request_audit
from intention_kernel.runtime.model_call import CallEnd, Data, ModelCall
from intention_kernel.runtime.stages.asking import Answered, AnswerT, Ask, Unusable, schema_of
from intention_kernel.runtime.stages.redactions import Redactions
from intention_kernel.runtime.stages.snapshot import ContextSnapshot


class TurnModels:
    """Asks the models of one turn (stages.asking.Models)."""

    def __init__(
        self, gateway: ModelGateway, scope: TurnScope, chain: EventChain, clock: Clock, snapshot: ContextSnapshot
    ) -> None:
        self._gateway = gateway
        self._scope = scope
        self._chain = chain
        self._clock = clock
        self._snapshot = snapshot
        self._definition = snapshot.view.agent.definition
        self._call = ModelCall(gateway, clock, scope.attempt.end_seconds)
        self._context = context_audit(snapshot.projection)
        self._redactions = snapshot.redactions

    def with_redactions(self, redactions: Redactions) -> TurnModels:
        """The same, once the turn has learnt of more that no model may read."""
        other = TurnModels(self._gateway, self._scope, self._chain, self._clock, self._snapshot)
        other._redactions = redactions
        other._context = cast("Data", redactions.value(self._context))
        return other

    async def ask(self, ask: Ask[AnswerT]) -> Answered[AnswerT] | Unusable:
        """Ask once; a retry of the turn gets the recorded answer. Raises ModelGatewayError where it could not be asked."""
        request = self._request(ask)
        invoked_id = await self._chain.emit("model.invoked", self._invoked(ask, request))
        told = EventChain(self._chain.recorder, invoked_id, self._chain.step_id)
        try:
            end = await self._end(request)
        except ModelGatewayError as error:
            self._chain.last_id = await told.emit("model.failed", {"task": ask.task, "code": error.code}, "audit")
            raise
        if end.failure_code is not None:
            failed: Data = {"task": ask.task, "code": end.failure_code}
            self._chain.last_id = await told.emit("model.failed", failed, "audit")
            return Unusable((f"the answer was no JSON document ({end.failure_code})",), None)
        self._chain.last_id = await told.emit("model.completed", _completed(ask.task, end))
        return _read(ask.answer, end.value)

    async def _end(self, request: ModelRequest) -> CallEnd:
        # The journal compares the digest of this alone; the whole request would be put in canonical form for it.
        known_by: JsonValue = {"task": request.task, "sha256": sha256(dumps(request.to_json())).hexdigest()}
        document = await self._scope.recorded(f"model:{request.task}", known_by, lambda: self._call.end(request))
        return CallEnd(cast("Data", document))

    def _request(self, ask: Ask[AnswerT]) -> ModelRequest:
        policy = self._definition.model_policy
        return ModelRequest(
            task=ask.task,
            model=next((policy[key] for key in ask.model_keys if key in policy), None),
            prompt_id=ask.prompt_id,
            system=self._definition.prompts.get(ask.prompt_id, PROMPTS[ask.prompt_id].text),
            input=self._redactions.value(dict(ask.input)),
            output_schema=ask.output_schema if ask.output_schema is not None else schema_of(ask.answer),
            capabilities=tuple(self._redacted(capability) for capability in ask.capabilities),
            timeout_seconds=max(0.0, self._call.left_seconds),
        )

    def _redacted(self, capability: ModelCapability) -> ModelCapability:
        """Its texts; ids and schemas are code, and have to stay what they are."""
        if not self._redactions.strings:
            return capability
        return replace(
            capability,
            description=self._redactions.text(capability.description),
            blocked_by=tuple(self._redactions.text(text) for text in capability.blocked_by),
            guidance=self._redactions.value(capability.guidance),
        )

    def _invoked(self, ask: Ask[AnswerT], request: ModelRequest) -> Data:
        more = cast("Data", self._redactions.value(dict(ask.audit or {})))
        return {
            "task": ask.task,
            "model": request.model,
            "capabilityCount": len(request.capabilities),
            "audit": request_audit(request, PROMPTS[ask.prompt_id], self._context, more),
        }


def _completed(task: str, end: CallEnd) -> Data:
    told: Data = {"task": task}
    told.update({name: end.document[name] for name in ("provider", "model", "durationMs", "usage")})
    return told | {"proposal": bounded(end.value)}


def _read(answer: type[AnswerT], value: JsonValue) -> Answered[AnswerT] | Unusable:
    try:
        return Answered(answer.model_validate(value))
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False, include_context=False)[:SHOWN_ISSUES]
        return Unusable(tuple(f"{pointer(entry['loc']) or '/'}: {entry['msg']}" for entry in found), value)
