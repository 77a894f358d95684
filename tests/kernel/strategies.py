"""Checkpoints of compiled agents, generated as JSON: what is private in them holds a canary, and so do secrets in public texts."""

from __future__ import annotations

from typing import cast

from hypothesis import strategies as st
from intention_kernel.contracts.checkpoint import Checkpoint
from intention_kernel.contracts.json_codec import JsonValue

Doc = dict[str, JsonValue]
Docs = st.SearchStrategy[Doc]

CANARY = "CANARY"
SECRETS = ("CANARY-card", "CANARY-cardholder", "holder CANARY", "CANARY")
"""Declared as model redactions: they stand in public texts, overlap, and must not be read there."""
PRIVATE = "PRIVATE-CANARY"
PROTECTED = "For your eyes: CANARY-protected"
CAPABILITIES = ("hotel.find", "hotel.book", "pay.charge", "gone.away")

words = st.sampled_from(["", "two nights", "\ud800", "\0", "2"])
public_text = st.tuples(words, st.sampled_from(("", *SECRETS)), words).map("".join)
private_text = st.sampled_from([PRIVATE, f"{PRIVATE} \ud800"])
numbers: tuple[JsonValue, ...] = (None, True, 0, -0.0, 1.0, 2**70, 1e300)


def json_of(text: st.SearchStrategy[str]) -> st.SearchStrategy[JsonValue]:
    """Some JSON whose strings are of that kind."""

    def document(words: str) -> JsonValue:
        return {"b": [words, *numbers], "a": {"x": words}}

    plain: st.SearchStrategy[JsonValue] = st.sampled_from(numbers)
    return st.one_of(text, text.map(document), plain)


public_json, private_json = json_of(public_text), json_of(private_text)


@st.composite
def shuffled(draw: st.DrawFn, document: Docs) -> Doc:
    """The same members in another order: a later build may write them so."""
    made = draw(document)
    return dict(reversed(made.items())) if draw(st.booleans()) else made


def record(required: dict[str, st.SearchStrategy[JsonValue]], **optional: st.SearchStrategy[JsonValue]) -> Docs:
    """An object of the checkpoint, with a private member that this build does not know."""
    return shuffled(st.fixed_dictionaries(required, optional={**optional, "memberOfALaterBuild": private_json}))


def words_list(text: st.SearchStrategy[str]) -> st.SearchStrategy[JsonValue]:
    return st.lists(text, max_size=2)


capability_ids = st.sampled_from(CAPABILITIES)
evidence = record({"text": public_text, "meaning": public_text, "messageIndex": st.integers(0, 50)})
intentions = record(
    {"id": st.just("intention-1"), "objective": st.just("do it"), "resolution": st.just("resolved")},
    proposedCapability=capability_ids,
    input=public_json,
    evidence=st.lists(evidence, max_size=1),
    alternatives=words_list(public_text),
)
options = record(
    {"id": st.sampled_from(["a", "b", "c"]), "label": public_text},
    value=public_json,
    targetCapabilityId=capability_ids,
    referenceExamples=st.lists(st.sampled_from(["2", "sea", "CANARY-card"]), max_size=2),
)


questions = record(
    {
        "id": st.just("question-1"),
        "kind": st.sampled_from(["choice", "confirmation", "input", "clarification"]),
        "goal": public_text.map(lambda goal: goal or "Which?"),
    },
    capabilityId=capability_ids,
    mode=st.just("optional"),
    requestedFacts=st.just(["guest"]),
    options=st.lists(options, max_size=3, unique_by=lambda option: str(cast("Doc", option)["id"])),
    payload=public_json,
    protectedCanonicalMessage=st.just(PROTECTED),
    expiresSeconds=st.sampled_from([60, 60.5]),
    expiresAt=st.sampled_from(["2020-01-01T00:00:00Z", "2099-01-01T00:00:00.000000Z"]),
)


PRIVATE_QUESTION: Doc = {
    "memberOfALaterBuild": PRIVATE,
    "kind": "choice",
    "id": PRIVATE,
    "goal": PRIVATE,
    "payload": {"b": PRIVATE, "a": 1.0},
    "options": [{"label": PRIVATE, "id": PRIVATE, "value": PRIVATE, "referenceExamples": [], "later": PRIVATE}],
    "protectedCanonicalMessage": PROTECTED,
    "expiresSeconds": 60,
}
FROZEN: Doc = {
    "stepId": PRIVATE,
    "memberOfALaterBuild": [PRIVATE, -0.0],
    "capabilityVersion": 1,
    "capabilityId": PRIVATE,
    "intention": {"resolution": "resolved", "id": PRIVATE, "objective": PRIVATE, "input": None},
    "input": {"guest": PRIVATE, "n": 2**70},
    "interaction": PRIVATE_QUESTION,
    "answer": {"interactionId": PRIVATE, "value": PRIVATE},
}
BLOCKED: Doc = {
    "turnId": PRIVATE,
    "step": FROZEN,
    "receipts": [{"receiptId": PRIVATE, "effectKey": PRIVATE, "title": PRIVATE}],
    "earlier": [FROZEN],
}
DEFERRED: Doc = {"answer": {"interactionId": PRIVATE, "value": PRIVATE}, "interaction": PRIVATE_QUESTION}
agenda_items = record(
    {"id": st.just("agenda:1"), "intention": intentions, "status": st.sampled_from(["waiting_input", "blocked"])},
    missingFacts=st.lists(record({"type": st.just("guest")}, description=public_text), max_size=1),
    dependencies=words_list(public_text),
    capabilityId=capability_ids,
    continuation=private_json,
    modelRedactions=st.just(list(SECRETS)),
    interaction=st.just(PRIVATE_QUESTION),
    frozen=st.just(FROZEN),
    blocked=st.just(BLOCKED),
    ownedDependencyIds=st.just([PRIVATE]),
    deferredChoiceAnswer=st.just(DEFERRED),
    completedFollowUp=st.booleans(),
)


@st.composite
def facts(draw: st.DrawFn, fact_type: str) -> Doc:
    """A fact; what is hidden of it is private."""
    visibility = draw(st.sampled_from(["full", "presence", "hidden", None]))
    text = public_text if visibility in ("full", None) else private_text
    ids = st.sampled_from(["e", SECRETS[0]]) if visibility in ("full", None) else st.just(PRIVATE)
    produced = record({"capabilityId": st.just("c"), "turnId": st.just("t"), "stepId": st.just("s")})
    shown = record({"id": ids, "source": st.just("user"), "content": text}, data=private_json)
    document = draw(
        record(
            {
                "type": st.just(fact_type),
                "version": st.just(1),
                "value": json_of(text),
                "producedBy": produced.map(lambda made: made | {"capabilityVersion": 1}),
            },
            evidenceIds=words_list(ids),
            evidence=st.lists(shown, max_size=1),
            dependsOn=st.lists(record({"type": st.just("other")}), max_size=1),
        )
    )
    declared: Doc = {"modelRedactions": list(SECRETS)}
    return document | declared | ({"modelVisibility": visibility} if visibility else {})


messages = st.lists(
    record(
        {
            "role": st.sampled_from(["user", "assistant"]),
            "text": public_text,
            "turnId": st.just("turn-1"),
            "at": st.just("2026-01-01T00:00:00Z"),
        },
        modelText=public_text,
    ),
    max_size=3,
).map(lambda made: tuple(message | {"index": at + 7} for at, message in enumerate(made)))


@st.composite
def checkpoints(draw: st.DrawFn) -> Checkpoint:
    """A thread's memory. One fact declares the secrets, so that they are never allowed anywhere."""
    open_question = draw(st.none() | questions)
    return Checkpoint(
        agent_id="agent",
        fingerprint="f",
        messages=draw(messages),
        facts={f"{name}@1": draw(facts(name)) for name in ("guest", *draw(st.sampled_from([(), ("card",)])))},
        agenda=tuple(draw(st.lists(agenda_items, max_size=2))),
        interaction=open_question,
        unknown=draw(st.fixed_dictionaries({}, optional={"memberOfALaterBuild": private_json})),
    )
