"""docs/events.md says of every event what runs emit, and the source emits nothing else."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from intention_kernel.clock import SystemClock
from intention_kernel.contracts.json_codec import JsonValue, dumps
from intention_kernel.contracts.turn_request import TurnInput, TurnRequest
from intention_kernel.runtime.events import Observers
from intention_kernel.runtime.replay import publish_replayed
from intention_kernel.testing.collecting import KeptTraces
from intention_kernel.testing.conversation import Conversation
from intention_kernel.testing.memory_harness import MemoryHarness
from intention_kernel.testing.program_world import Provider, charging

from tests.static.project import ROOT
from tests.support.kernel_journey import journey

_ROW = re.compile(r"^\| `([a-z.]+)` \| ([^|]+) \| [^|]+ \| ([^|]*) \| ?(?:yes )?\|$", re.MULTILINE)
_TYPE = re.compile(
    r'"((?:turn|context|interaction|model|capabilities|capability|intention|plan|step|agenda|dependency|effect|facts|'
    r'response|state)(?:\.[a-z]+)+)"'
)


@dataclass(frozen=True, slots=True)
class Described:
    """An event as the page has it."""

    category: str
    always: frozenset[str]
    sometimes: frozenset[str]


@cache
def page() -> dict[str, Described]:
    text = (ROOT / "docs/events.md").read_text("utf-8")
    found = {}
    for name, category, data in _ROW.findall(text):
        always, _, sometimes = data.partition(";")
        found[name] = Described(category.strip(), _members(always), _members(sometimes))
    assert len(found) == len(re.findall(r"^\| `[a-z.]+` \|", text, re.MULTILINE)), "a row has not five cells"
    return found


def _members(cell: str) -> frozenset[str]:
    return frozenset(re.findall(r"`([A-Za-z]+)`", cell))


async def _of_programs() -> list[dict[str, JsonValue]]:
    """A turn that is committed, its result as a redelivery shows it, and a turn that is given up."""
    conversation = Conversation(MemoryHarness(), charging(Provider()))
    await conversation.send("hello", "t1")
    await conversation.send("hello", "t2", held_too_long="another build")
    events = await conversation.events()
    (result,) = [dumps(event["data"]) for event in events if event["type"] == "turn.completed"]
    request = TurnRequest(schema_version=1, thread_id="t", turn_id="t1", agent_id="a", input=TurnInput(text="hello"))
    traces = KeptTraces()
    publish_replayed(request, result, Observers(traces), SystemClock())
    return [*events, *traces.published]


def _by_type(events: Iterable[Mapping[str, JsonValue]]) -> dict[str, list[Mapping[str, JsonValue]]]:
    found: dict[str, list[Mapping[str, JsonValue]]] = defaultdict(list)
    for event in events:
        found[str(event["type"])].append(event)
    return found


async def test_every_event_of_a_run_is_what_the_page_says_and_the_page_says_nothing_else() -> None:
    runs = _by_type([*(await journey()).events, *await _of_programs()])
    assert set(runs) == set(page())
    for name, described in page().items():
        members = [set(event["data"]) for event in runs[name] if isinstance(event["data"], dict)]
        assert set.intersection(*members) == described.always, name
        assert set.union(*members) == described.always | described.sometimes, name
        if described.category != "the capability's":
            assert {event["category"] for event in runs[name]} == {described.category}, name


def test_the_source_emits_no_event_that_is_not_on_the_page() -> None:
    runtime = ROOT / "shared/src/intention_kernel/runtime"
    sources = [*runtime.glob("*.py"), runtime / "stages/event_data.py"]
    emitted = {name for source in sources for name in _TYPE.findall(source.read_text("utf-8"))}
    assert emitted == set(page())
