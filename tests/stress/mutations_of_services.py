"""Invariants of settling, events, data and processes broken one by one."""

from __future__ import annotations

from tests.stress.mutation import Mutation

SERVICES: tuple[Mutation, ...] = ()
