"""Answers by a scripted model: the words of its line, or else those of the brief, with all that has to be told (contract 2.12)."""

from __future__ import annotations

from typing import cast

from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.models.script_lines import Line, Said
from intention_kernel.models.script_reading import Document, Reading, objects

BETWEEN = "\n\n"
NOTHING_TO_TELL = "All right."


def composition(line: Line, reading: Reading) -> JsonValue:
    """The parts of an answer: each required text once, the words, and the required question at the end.

    Where the line has no words and the brief has some for everything, those are the answer.
    """
    brief = reading.brief
    canonical = brief.get("canonicalFallback")
    if not line.said and isinstance(canonical, dict):
        return {"parts": [cast("JsonValue", _of_copy(canonical))]}
    words = [_cited(said, brief) for said in line.said]
    required = [copy for copy in objects(brief.get("requiredResponses")) if str(copy["message"]) not in _text(words)]
    parts = [_of_copy(copy) for copy in required]
    parts += words or [part for part in _of_the_brief(brief) if str(part["text"]) not in _text(parts)]
    question = brief.get("requiredQuestion")
    if isinstance(question, str) and question not in _text(parts):
        parts.append({"text": question, "evidenceIds": []})
    spaced: list[JsonValue] = []
    for part in parts:
        spaced += [{"text": BETWEEN, "evidenceIds": []}, part] if spaced else [part]
    return {"parts": spaced}


def grounding_review(reading: Reading) -> JsonValue:
    """Every claim is approved."""
    response = reading.input.get("response")
    claims = objects(response.get("claims")) if isinstance(response, dict) else []
    return {
        "verdict": "supported",
        "continuityVerdict": "supported",
        "decisionVerdict": "supported",
        "unsupportedClaims": [],
        "approvedClaimIndexes": list(range(len(claims))),
    }


def _of_the_brief(brief: Document) -> list[Document]:
    """A sentence for each completed step, and the words of each issue."""
    parts: list[Document] = [
        {"text": f"Done: {done['objective']}.", "evidenceIds": done["evidenceIds"]}
        for done in objects(brief.get("completed"))
    ]
    parts += [
        {"text": issue["message"], "evidenceIds": [issue["evidenceId"]]} for issue in objects(brief.get("issues"))
    ]
    silent = not parts and not brief.get("requiredResponses")
    return [{"text": NOTHING_TO_TELL, "evidenceIds": []}] if silent else parts


def _of_copy(copy: Document) -> Document:
    ids = [name for claim in objects(copy.get("claims")) for name in cast("list[JsonValue]", claim["evidenceIds"])]
    return {"text": copy["message"], "evidenceIds": list(dict.fromkeys(cast("list[str]", ids)))}


def _cited(said: Said, brief: Document) -> Document:
    by_capability = {str(done["capabilityId"]): done["evidenceIds"] for done in objects(brief.get("completed"))}
    ids: list[JsonValue] = []
    for name in said.evidence:
        found = by_capability.get(name)
        ids += found if isinstance(found, list) else [name]
    return {"text": said.text, "evidenceIds": ids}


def _text(parts: list[Document]) -> str:
    return BETWEEN.join(str(part["text"]) for part in parts)
