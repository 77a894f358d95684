"""A nested graph inside a capability: `INTENTION_APPLICATION=examples.nested_graph:application` (docs/nested-graphs.md)."""

from examples.nested_graph.application import application

__all__ = ["application"]
