"""A LangGraph graph run to its end, with its nodes reported as events of a step. Any graph may use it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from intention_kernel.contracts.json_codec import JsonValue
from langgraph.graph.state import CompiledStateGraph
from langgraph.typing import ContextT, StateT

from examples.nested_graph.refunds import Tell

_INTERRUPT = "__interrupt__"


class GraphInterruptedError(Exception):
    """The graph stopped to ask somebody. A capability asks with NeedsInput; a graph has nowhere to wait (docs/nested-graphs.md)."""


async def run_to_end(
    name: str, graph: CompiledStateGraph[StateT, ContextT, StateT, StateT], start: StateT, context: ContextT, tell: Tell
) -> JsonValue:
    """The graph's last state, unchecked. Each node that has finished is told as `graph.node-done`, by name.

    A node's own words go through `context`, not through LangGraph's stream writer: what the writer is given arrives later
    than what the node does next. Here every event is published before the graph takes its next step.

    Raises what a node raises, and GraphInterruptedError.
    """
    state: Mapping[str, object] = {}
    async for chunk in graph.astream(start, context=context, stream_mode=["updates", "values"]):
        mode, data = cast("tuple[str, Mapping[str, object]]", chunk)
        if mode == "values":
            state = data
            continue
        if _INTERRUPT in data:
            raise GraphInterruptedError(f"graph {name} waits for an answer")
        for node in data:
            await tell("graph.node-done", {"graph": name, "node": node})
    return cast("JsonValue", state)
