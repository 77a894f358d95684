"""An agent that uses everything a fingerprint covers; run as a script it prints its fingerprint."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Literal

from intention_kernel.agent import (
    AgentDefinition,
    Allow,
    CapabilityDefinition,
    CapabilityExecutionContext,
    CapabilityGuidance,
    CapabilityResult,
    Completed,
    FactDeclaration,
    FactReference,
    FactRequirement,
    GuidanceExample,
    GuidanceMatch,
    JsonValue,
    ModelGuidancePolicyDefinition,
    PolicyDefinition,
    ReferenceRequirements,
    ResponseFallbacks,
    Summary,
    compile_agent,
)
from pydantic import BaseModel, Field


class Kind(Enum):
    """What a room is like."""

    QUIET = "quiet"
    CHEAP = "cheap"


class Bed(BaseModel):
    what: Literal["bed"] = "bed"
    width: float | None = None


class Sofa(BaseModel):
    what: Literal["sofa"] = "sofa"
    beside: Room | None = None


class Room(BaseModel):
    """A room and what is in it."""

    number: Annotated[int, Field(ge=1, description="On the door")]
    kinds: list[Kind] = []
    inside: list[Annotated[Bed | Sofa, Field(discriminator="what")]] = []


Sofa.model_rebuild()


async def run(context: CapabilityExecutionContext, value: object) -> CapabilityResult:
    return Completed(output=value)


def described(payload: JsonValue) -> Summary:
    return Summary(title="A room")


FIND = CapabilityDefinition(
    id="room.find",
    description="Finds rooms",
    input={"type": "object", "properties": {"kind": {"enum": ["quiet", "cheap"]}}, "required": ["kind"]},
    output=list[Room],
    execute=run,
    effect="read",
    provides=(FactDeclaration("room.found"), FactDeclaration("room.prices", version=2, model_visibility="hidden")),
    guidance=CapabilityGuidance(when_to_use=("for a room",), examples=("a quiet room",)),
)
BOOK = CapabilityDefinition(
    id="room.book",
    description="Books a room",
    input=Room,
    output=Room,
    execute=run,
    effect="write",
    confirmation="required",
    requires=(
        FactRequirement("room.found", "a room that was found"),
        FactRequirement("room.prices", "its price", version=2, resolution="runtime"),
    ),
    invalidates=(FactReference(type="room.found"),),
    reference_requirements=ReferenceRequirements(1, 1),
    result=int,
    describe=described,
)
DEFINITION = AgentDefinition(
    id="hotel",
    identity="The desk of a hotel.",
    capabilities=(FIND, BOOK),
    policies=(PolicyDefinition("open", lambda context: Allow()), PolicyDefinition("adults", lambda context: Allow())),
    model_guidance_policies=(
        ModelGuidancePolicyDefinition(
            "late",
            "Late guests",
            ("Say when the desk closes",),
            lambda context: GuidanceMatch(selected=True),
            examples=(GuidanceExample("I come at ten", "says that the desk closes"),),
        ),
    ),
    response_fallbacks=ResponseFallbacks("We only have rooms."),
)

if __name__ == "__main__":
    print(compile_agent(DEFINITION).fingerprint)
