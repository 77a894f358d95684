"""A model gateway that answers by rules: for tests and examples, with no model anywhere."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from inspect import isawaitable

from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import ModelGatewayError
from intention_kernel.ports.model_gateway import ModelRequest, ModelResult, ModelTask

AnswerFunction = Callable[[ModelRequest], JsonValue | Awaitable[JsonValue]]
"""The answer to a request, at once or later. It may raise; only ModelGatewayError is a gateway's way to fail."""

Answer = JsonValue | ModelGatewayError | AnswerFunction
"""A value, an error to raise, or a function that makes the value of the request."""

PROVIDER = "scripted"


@dataclass(frozen=True, slots=True)
class Rule:
    """An answer, and the requests that it is for: those that fit every condition that is set."""

    answer: Answer
    task: ModelTask | None = None
    prompt_id: str | None = None
    capability: str | None = None
    """The request comes with this capability."""
    when: Callable[[ModelRequest], bool] | None = None

    def fits(self, request: ModelRequest) -> bool:
        """Whether the rule answers this request."""
        return (
            self.task in (None, request.task)
            and self.prompt_id in (None, request.prompt_id)
            and (self.capability is None or any(c.id == self.capability for c in request.capabilities))
            and (self.when is None or self.when(request))
        )


class ScriptedGateway:
    """Answers by its rules, the first that fits; the same request gets the same answer however often it is asked.

    `requests` are those that were asked, in order. A request that no rule fits raises MODEL_SCRIPT_MISSING.
    """

    def __init__(self, *rules: Rule) -> None:
        self.requests: list[ModelRequest] = []
        self._rules = list(rules)

    def on(
        self,
        task: ModelTask,
        answer: Answer,
        *,
        prompt_id: str | None = None,
        capability: str | None = None,
        when: Callable[[ModelRequest], bool] | None = None,
    ) -> None:
        """Add a rule behind those that are there."""
        self._rules.append(Rule(answer, task, prompt_id, capability, when))

    @property
    def tasks(self) -> list[ModelTask]:
        """The tasks that were asked for, in order."""
        return [request.task for request in self.requests]

    async def invoke(self, request: ModelRequest) -> ModelResult:
        """Answer by rule. Raises ModelGatewayError where the rule says so, or where none fits."""
        self.requests.append(request)
        answer = self._answer_to(request)
        if isinstance(answer, ModelGatewayError):
            # A new one each time: a raised error keeps the frames that it went through.
            raise ModelGatewayError(answer.code, answer.detail, retryable=answer.retryable)
        if callable(answer):
            made = answer(request)
            value = await made if isawaitable(made) else made
        else:
            value = answer
        return ModelResult(value, PROVIDER, request.model or PROVIDER)

    def has_rule_for(self, request: ModelRequest) -> bool:
        """Whether a rule fits this request."""
        return any(rule.fits(request) for rule in self._rules)

    def _answer_to(self, request: ModelRequest) -> Answer:
        for rule in self._rules:
            if rule.fits(request):
                return rule.answer
        raise missing(request, "no rule fits")


def missing(request: ModelRequest, why: str) -> ModelGatewayError:
    """The script does not say what to answer: a mistake in a test, which another attempt does not mend."""
    place = f"task {request.task}, prompt {request.prompt_id}"
    return ModelGatewayError("MODEL_SCRIPT_MISSING", f"nothing is scripted for {place}: {why}")
