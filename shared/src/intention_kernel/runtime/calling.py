"""Calling a capability, and whether what it returned is a result: its input and output by their schemas."""

from __future__ import annotations

from dataclasses import replace

from intention_kernel.agent.compiled import Capability
from intention_kernel.agent.results import CapabilityResult, Completed, Failed
from intention_kernel.agent.schema import Invalid, SchemaIssue
from intention_kernel.contracts.json_codec import JsonValue, dumps, loads
from intention_kernel.errors import CapabilityContractError
from intention_kernel.runtime.stages.handed_out import own_json
from intention_kernel.runtime.step_context import StepContext
from intention_kernel.runtime.step_record import StepRecord


async def called(capability: Capability, context: StepContext) -> CapabilityResult:
    """The capability's result, its output as JSON. Raises CapabilityContractError for what is no result."""
    # What the effect is about stays what was planned, whatever the capability makes of its input.
    checked = capability.input.validate(own_json(context.input_document))
    if isinstance(checked, Invalid):
        raise CapabilityContractError("INVALID_CAPABILITY_INPUT", capability.id, _words(checked.issues))
    result = await capability.definition.execute(context, checked.value)
    if not isinstance(result, CapabilityResult):
        given = "None" if result is None else f"a {type(result).__name__}"
        wanted = "Completed, NeedsInput, NeedsDependency, NeedsConfirmation or Failed"
        raise CapabilityContractError("INVALID_CAPABILITY_RESULT", capability.id, f"returned {given}; return {wanted}")
    _check_redactions(capability, result)
    return replace(result, output=_output(capability, result.output)) if isinstance(result, Completed) else result


def _check_redactions(capability: Capability, result: CapabilityResult) -> None:
    """A lone string would be read as its characters, each too short to be taken out: nothing would be private."""
    strings: object = () if isinstance(result, Failed) else result.model_redactions
    if not isinstance(strings, tuple | list) or not all(isinstance(string, str) for string in strings):
        detail = "the model_redactions of its result are no tuple of strings"
        raise CapabilityContractError("INVALID_MODEL_REDACTIONS", capability.id, detail)


def _output(capability: Capability, output: object) -> JsonValue:
    """The output as JSON, checked against its schema."""
    try:
        document = capability.output.document(output)
    except Exception as error:
        detail = f"output: {type(error).__name__}: {error}"
        raise CapabilityContractError("INVALID_CAPABILITY_OUTPUT", capability.id, detail) from error
    checked = capability.output.validate(document)
    if isinstance(checked, Invalid):
        raise CapabilityContractError("INVALID_CAPABILITY_OUTPUT", capability.id, _words(checked.issues))
    return checked.document


def _words(issues: tuple[SchemaIssue, ...]) -> str:
    return "; ".join(f"{issue.path or '/'}: {issue.message}" for issue in issues)


def detached(result: CapabilityResult) -> CapabilityResult:
    """The result as a journal would give it back: what its capability does to it from now on changes nothing."""
    return StepRecord.from_json(loads(dumps(StepRecord(result, ()).to_json()))).result
