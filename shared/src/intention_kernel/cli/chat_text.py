"""What `intention chat` shows: answers, options, progress, and what to do where a turn did not end well."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from intention_kernel.cli.chat_feed import Progress
from intention_kernel.cli.exit_codes import CONFLICT, FAILED, OK
from intention_kernel.cli.output import Document, visible
from intention_kernel.cli.send_outcome import STATUS_CODES
from intention_kernel.client import Committed, Conflict, Failed, Outcome, Rejected, Replayed
from intention_kernel.contracts.json_codec import JsonValue

HELP = """\
A line is sent as a message. Where options are shown, a number or an option's own words choose it.
  /facts    what the thread knows
  /agenda   what it has in hand
  /help     this
  /quit     end, as Ctrl-D does; what was sent goes on
A message that begins with / is written with two: //like this"""

_TASKS = (
    ("capability", "choosing what to do"),
    ("turn.interpret", "interpreting"),
    ("response.compose", "writing the answer"),
    ("response", "checking the answer"),
)


def outcome_code(outcome: Outcome) -> int:
    """The exit code that tells this outcome."""
    match outcome:
        case Committed() | Replayed():
            return STATUS_CODES.get(outcome.status, OK)
        case Conflict():
            return CONFLICT
        case Rejected() | Failed():
            return FAILED
        case never:
            assert_never(never)


def outcome_lines(outcome: Outcome) -> Iterator[str]:
    """What the user reads of it, on stdout."""
    if isinstance(outcome, Committed | Replayed):
        response = response_of(outcome)
        yield from text_lines(response.get("message"))
        yield from _artifact_lines(response.get("artifacts"))


def advice_lines(outcome: Outcome) -> Iterator[str]:
    """Where it did not end well: what happened and what to do, on stderr."""
    match outcome:
        case Committed(result) | Replayed(result):
            for receipt_id in _texts(_member(result, "blockedOn")):
                yield f"blocked: `intention queue show {receipt_id}` tells how it stands; the outcome is shown here"
        case Conflict(detail):
            yield f"conflict: {visible(detail)}"
        case Rejected(reason, detail):
            yield f"rejected: {visible(reason)}: {visible(detail)}"
        case Failed(data):
            why = _member(data, "detail")
            said = f": {visible(why)}" if isinstance(why, str) and why else ""
            yield f"set aside: {visible(outcome.reason)}{said}; `intention rejected ls` lists it"
        case never:
            assert_never(never)


def response_of(outcome: Outcome) -> Document:
    """The response of a committed turn; empty where it said nothing, or was not committed."""
    if not isinstance(outcome, Committed | Replayed):
        return {}
    return object_of(_member(outcome.result, "response"))


def question_lines(interaction: Document, message: str) -> Iterator[str]:
    """The question, where the message does not hold it, and its options by number."""
    goal = interaction.get("goal")
    if isinstance(goal, str) and goal not in message:
        yield from text_lines(goal)
    for number, option in enumerate(objects_of(interaction.get("options")), 1):
        yield f"  {number}) {visible(option.get('label'))}"


def progress_words(progress: Progress) -> str | None:
    """What a turn is doing, in a word or two; None where this trace is no news for people."""
    match progress.type:
        case "turn.started":
            return "reading"
        case "model.invoked":
            task = str(_member(progress.data, "task") or "")
            return next((words for prefix, words in _TASKS if task.startswith(prefix)), "checking what was meant")
        case "capability.invoked":
            return f"at work: {visible(_member(progress.data, 'capabilityId'))}"
        case _:
            return None


def fact_lines(checkpoint: Document) -> Iterator[str]:
    """One line for each fact."""
    facts = object_of(checkpoint.get("facts"))
    for key, fact in facts.items():
        yield f"{visible(key)}  {visible(_member(fact, 'value'))}"
    if not facts:
        yield "no facts"


def agenda_lines(checkpoint: Document) -> Iterator[str]:
    """One line for each item, with the receipts that it waits for."""
    items = objects_of(checkpoint.get("agenda"))
    for item in items:
        intention, blocked = object_of(item.get("intention")), object_of(item.get("blocked"))
        receipts = [visible(receipt.get("receiptId")) for receipt in objects_of(blocked.get("receipts"))]
        receipts += _texts(item.get("blockedOn"))
        waits = f"  (receipt {', '.join(receipts)})" if receipts else ""
        yield f"{visible(item.get('status'))}  {visible(intention.get('objective'))}{waits}"
    if not items:
        yield "nothing in hand"


def text_lines(text: JsonValue) -> Iterator[str]:
    """A text line by line, without what could drive a terminal."""
    if isinstance(text, str):
        yield from (visible(line) for line in text.splitlines())


def object_of(value: JsonValue) -> Document:
    """The value, empty where it is no object."""
    return value if isinstance(value, dict) else {}


def objects_of(value: JsonValue) -> list[Document]:
    """The objects of a list, none where it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _artifact_lines(artifacts: JsonValue) -> Iterator[str]:
    for artifact in objects_of(artifacts):
        yield f"  [{visible(artifact.get('kind'))}] {visible(artifact.get('data'))}"


def _member(value: JsonValue, name: str) -> JsonValue:
    return value.get(name) if isinstance(value, dict) else None


def _texts(value: JsonValue) -> list[str]:
    return [visible(item) for item in value if isinstance(item, str)] if isinstance(value, list) else []
