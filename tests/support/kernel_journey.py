"""A compiled agent's thread that meets everything an event can tell: for what is said of events and checkpoints in general."""

from __future__ import annotations

from dataclasses import dataclass, field

from intention_kernel.agent import (
    AgentDefinition,
    CanonicalResponse,
    CapabilityDefinition,
    CapabilityExecutionContext,
    CapabilityIssue,
    CapabilityResult,
    CompiledAgent,
    Completed,
    EvidenceRecord,
    FactCandidate,
    FactDeclaration,
    FactReference,
    FactRequirement,
    Failed,
    Interaction,
    InteractionOption,
    NeedsDependency,
    NeedsInput,
    Summary,
    compile_agent,
)
from intention_kernel.contracts.checkpoint import Checkpoint
from intention_kernel.contracts.interactions import InteractionSelection
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.models.script import ConversationScript, fails
from intention_kernel.testing.talk import Talk
from pydantic import BaseModel


class Named(BaseModel):
    """An input or output with a name."""

    name: str


async def find_guest(context: CapabilityExecutionContext, guest: Named) -> CapabilityResult:
    """Ann is found, nobody is not, and of Bobs there are two."""
    await context.events.emit("directory.searched", {"name": guest.name})
    if guest.name == "nobody":
        return Failed(CapabilityIssue("GUEST_UNKNOWN", "There is no such guest."))
    if guest.name == "Bob" and context.turn.interaction_answer is None:
        options = (
            InteractionOption(id="bob-1", label="Bob Marsh", value="bob-1", reference_examples=("the tall one",)),
            InteractionOption(id="bob-2", label="Bob Hill", value="bob-2"),
        )
        asked = Interaction(id="which-bob", kind="choice", goal="Which Bob?", options=options)
        return NeedsInput(asked, partial_input={"searched": guest.name})
    evidence = EvidenceRecord(id=f"guest:{guest.name}", source="external", content=f"{guest.name} is a guest")
    fact = FactCandidate(type="guest", value={"name": guest.name}, evidence_ids=(evidence.id,))
    words = CanonicalResponse(f"{guest.name} is a guest.")
    return Completed(Named(name=guest.name), facts=(fact,), evidence=(evidence,), canonical_response=words)


async def find_stay(context: CapabilityExecutionContext, guest: Named) -> CapabilityResult:
    """Needs a guest that is known when the turn is planned."""
    return Completed(Named(name=guest.name), canonical_response=CanonicalResponse("The stay is until Friday."))


async def hold_room(context: CapabilityExecutionContext, room: Named) -> CapabilityResult:
    """An external write, which the kernel has confirmed."""

    async def hold(authority: object) -> JsonValue:
        return {"held": room.name}

    await context.run_effect(room.name, hold)
    words = CanonicalResponse(f"Room {room.name} is held.")
    return Completed(Named(name=room.name), canonical_response=words)


async def plan_tour(context: CapabilityExecutionContext, tour: Named) -> CapabilityResult:
    """Finds out while it runs that it needs a guest."""
    if "guest@1" not in context.facts:
        return NeedsDependency(FactReference(type="guest"), "guest.find", {"name": "Ann"}, continuation={"at": 1})
    return Completed(Named(name=tour.name), canonical_response=CanonicalResponse("The tour is planned."))


def hotel_agent() -> CompiledAgent:
    """guest.find, stay.find, tour.plan (reads), room.hold (a write that is confirmed)."""
    guest = FactRequirement(type="guest", description="which guest it is about")
    known_later = FactRequirement(type="guest", description="which guest it is about", resolution="runtime")
    return compile_agent(
        AgentDefinition(
            id="hotel",
            identity="The assistant of a small hotel.",
            capabilities=(
                _capability("guest.find", "Find a guest", find_guest, provides=(FactDeclaration(type="guest"),)),
                _capability("stay.find", "Find the stay of a guest", find_stay, requires=(guest,)),
                _capability("tour.plan", "Plan a tour", plan_tour, requires=(known_later,)),
                _capability(
                    "room.hold",
                    "Hold a room",
                    hold_room,
                    effect="write",
                    confirmation="required",
                    expires_seconds=600,
                    describe=lambda payload: Summary(title="holding a room"),
                ),
            ),
        )
    )


def hotel_script() -> ConversationScript:
    """What the guest at the desk may say."""
    script = ConversationScript()
    script.when("hello").says("Good evening.")
    script.when("find Ann").proposes("guest.find", {"name": "Ann"})
    script.when("find Bob").proposes("guest.find", {"name": "Bob"})
    script.when("Bob Hill").answers("bob-2")
    script.when("until when").proposes("stay.find", {"name": "Ann"})
    script.when("plan a tour").proposes("tour.plan", {"name": "castle"})
    script.when("find nobody, until when").proposes("guest.find", {"name": "nobody"}).proposes(
        "stay.find", {"name": "nobody"}
    )
    script.when("hold 12").proposes("room.hold", {"name": "12"})
    script.when("hold 14").proposes("room.hold", {"name": "14"})
    script.when("forget the room").cancels("room.hold")
    script.when("Yes").answers(value=True)
    script.when("what a day").says("Indeed.")
    script.on("response.compose", fails("MODEL_UNAVAILABLE"), when=lambda request: "what a day" in str(request.input))
    return script


@dataclass(slots=True)
class Journey:
    """What several threads left: events, live traces, and the checkpoint after every turn."""

    events: list[dict[str, JsonValue]] = field(default_factory=list)
    traces: list[dict[str, JsonValue]] = field(default_factory=list)
    checkpoints: list[Checkpoint] = field(default_factory=list)
    talks: list[Talk] = field(default_factory=list)

    def start(self) -> Talk:
        """Another thread at the same desk."""
        talk = Talk(hotel_agent(), hotel_script(), thread_id=f"thread-{len(self.talks) + 1}")
        self.talks.append(talk)
        return talk

    def look(self, talk: Talk) -> None:
        """Keep the checkpoint as it is now."""
        checkpoint = talk.durability.checkpoint(talk.thread_id)
        assert checkpoint is not None
        self.checkpoints.append(checkpoint)

    async def says(self, talk: Talk, *texts: str) -> None:
        """Messages, one after the other."""
        for text in texts:
            await talk.says(text)
            self.look(talk)

    def end(self) -> Journey:
        """Collect what was published."""
        for talk in self.talks:
            self.events += talk.durability.events(talk.thread_id)
            self.traces += talk.durability.traces.published
        return self


async def journey() -> Journey:
    """Questions, choices, facts that come later, a confirmation that is given up and one that is given, a reply that is
    lost and found, work that fails and work that depends on it, a late click, and an answer that cannot be composed."""
    found = Journey()
    desk = found.start()
    await found.says(desk, "hello", "until when", "find Bob", "Bob Hill", "hold 12", "forget the room", "what a day")
    await found.says(desk, "hold 14")
    desk.loses_reply("room.hold")
    await desk.clicks("yes")
    found.look(desk)
    await desk.settles_as_applied("room.hold:14", {"held": "14"})
    found.look(desk)
    late = await desk.selects(InteractionSelection(interaction_id="gone", option_id="yes"))
    await desk.replays(late)
    other = found.start()
    await found.says(other, "plan a tour")
    third = found.start()
    await found.says(third, "find nobody, until when")
    return found.end()


def _capability(capability_id: str, description: str, execute: object, **members: object) -> CapabilityDefinition:
    defaults: dict[str, object] = {"id": capability_id, "description": description, "input": Named, "output": Named}
    return CapabilityDefinition(**(defaults | {"effect": "read", "execute": execute} | members))  # type: ignore[arg-type]
