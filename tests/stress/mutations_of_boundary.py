"""Invariants of turns, order, statements and effects broken one by one."""

from __future__ import annotations

from tests.stress.mutation import Mutation

BOUNDARY: tuple[Mutation, ...] = ()
