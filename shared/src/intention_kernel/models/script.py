"""A model for tests and examples, written as a conversation: one line for each message of the user.

    script = ConversationScript()
    script.when("Cancel order 7").proposes("order.cancel", {"orderId": 7})
    script.when("yes").answers(True)
    script.when("How are you?").says("Fine, thank you.")

Whatever the kernel asks its models in between (selection, interpretation, reviews, composition) is answered in the sense of
the line: its proposals are selected and interpreted, its answers are supported by every review, and what has to be told is
told. The kernel judges these answers as it does any model's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import ModelGatewayError
from intention_kernel.models.script_composition import composition, grounding_review
from intention_kernel.models.script_lines import Line, Proposal, Said
from intention_kernel.models.script_reading import Reading
from intention_kernel.models.script_reviews import answer_review, choice_review, lifecycle_review, supported
from intention_kernel.models.script_understanding import batch, selection
from intention_kernel.models.scripted import Answer, ScriptedGateway, missing
from intention_kernel.ports.model_gateway import ModelRequest, ModelResult, ModelTask

Text = str | re.Pattern[str]


@dataclass(slots=True)
class ScriptLine:
    """What a message means, said in a chain. Each of these may be used several times, and returns the line itself."""

    _line: Line = field(default_factory=Line)

    def proposes(
        self,
        capability_id: str,
        input: JsonValue | Callable[[Mapping[str, JsonValue]], JsonValue] = None,
        *,
        objective: str | None = None,
        references: Sequence[str] = (),
    ) -> ScriptLine:
        """The user wants this done. References are ids of options; `objective` is in words, by default those of the message.

        Without an input it is an empty object. It may be a function of the context that models see: what that returns is
        proposed as it is, null too.
        """
        self._line.proposals.append(
            Proposal(capability_id, {} if input is None else input, objective, tuple(references))
        )
        return self

    def answers(self, value: JsonValue) -> ScriptLine:
        """The user answers the open question: true or false to a confirmation, an option's id, label or value to a choice."""
        self._line.answers.append(value)
        return self

    def cancels(self, capability_id: str) -> ScriptLine:
        """The user gives up what the agenda has in hand for this capability."""
        self._line.cancelled.append(capability_id)
        return self

    def asks_for_something_else(self, objective: str) -> ScriptLine:
        """The user wants what no capability does."""
        self._line.unsupported.append(objective)
        return self

    def could_mean(self, *alternatives: str) -> ScriptLine:
        """It is not clear which of these, in words, the user wants."""
        self._line.ambiguous.append(alternatives)
        return self

    def says(self, text: str, evidence: Sequence[str] = ()) -> ScriptLine:
        """A part of the answer, where a model writes one. What has to be told is added if it is not in it.

        `evidence` are the ids that the part cites; the id of a capability that completed stands for its evidence.
        """
        self._line.said.append(Said(text, tuple(evidence)))
        return self


class ConversationScript:
    """A gateway that answers by lines. The same request gets the same answer, so that a retry repeats a turn exactly.

    A message that no line is for raises MODEL_SCRIPT_MISSING, except where only words for an answer are asked for: those that
    are not scripted are made from the brief.
    """

    def __init__(self) -> None:
        self._lines: list[tuple[Text, ScriptLine]] = []
        self._overrides = ScriptedGateway()
        self.requests: list[ModelRequest] = []

    def when(self, text: Text) -> ScriptLine:
        """The line for a message: its whole text, spaces around it and case aside, or a pattern that fits all of it.

        The first line that fits counts.
        """
        line = ScriptLine()
        self._lines.append((text, line))
        return line

    def on(
        self,
        task: ModelTask,
        answer: Answer,
        *,
        prompt_id: str | None = None,
        capability: str | None = None,
        when: Callable[[ModelRequest], bool] | None = None,
    ) -> None:
        """Answer a task otherwise than the lines do: a review that refuses, a model that fails, JSON of another form."""
        self._overrides.on(task, answer, prompt_id=prompt_id, capability=capability, when=when)

    @property
    def tasks(self) -> list[ModelTask]:
        """The tasks that were asked for, in order."""
        return [request.task for request in self.requests]

    async def invoke(self, request: ModelRequest) -> ModelResult:
        """Answer in the sense of the message's line. Raises ModelGatewayError as the class says, or as `on` was told."""
        self.requests.append(request)
        if self._overrides.has_rule_for(request):
            return await self._overrides.invoke(request)
        return ModelResult(self._answer(request), "scripted", request.model or "scripted")

    def _answer(self, request: ModelRequest) -> JsonValue:
        reading = Reading.of(request)
        if request.task.startswith("response.grounding-review"):
            return grounding_review(reading)
        line = self._line(reading.text)
        if request.task.startswith("response.compose"):
            return composition(line or Line(), reading)
        if line is None:
            raise missing(request, f"there is no line for the message {reading.text!r}")
        try:
            return _UNDERSTANDING[request.task](line, reading)
        except LookupError as error:
            raise missing(request, f"the line for {reading.text!r} does not fit: {error}") from None

    def _line(self, text: str | None) -> Line | None:
        if text is None:
            return None
        return next((line._line for wanted, line in self._lines if _fits(wanted, text)), None)


def fails(code: str, detail: str = "as scripted", *, retryable: bool = True) -> ModelGatewayError:
    """An error for `on`: `script.on("turn.interpret", fails("MODEL_UNAVAILABLE"))`."""
    return ModelGatewayError(code, detail, retryable=retryable)


def _fits(wanted: Text, text: str) -> bool:
    if isinstance(wanted, re.Pattern):
        return wanted.fullmatch(text.strip()) is not None
    return wanted.strip().casefold() == text.strip().casefold()


_UNDERSTANDING: dict[ModelTask, Callable[[Line, Reading], JsonValue]] = {
    "capability.select": selection,
    "capability.select.repair": selection,
    "capability-selection.review": supported,
    "capability-selection.choice-review": choice_review,
    "capability-selection.interaction-review": supported,
    "lifecycle-selection.review": supported,
    "turn.interpret": batch,
    "turn.interpret.repair": batch,
    "interaction-answer.review": answer_review,
    "lifecycle.review": lifecycle_review,
}
