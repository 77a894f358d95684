"""Definitions: what an application says of its agents and effects."""

from intention_kernel.agent.agent import Agent, Program
from intention_kernel.agent.context import EffectResult, Operation, ReceiptReference, Settled, TurnContext, User
from intention_kernel.agent.effect import (
    Absent,
    Effect,
    EffectAuthority,
    Found,
    IdempotentRetry,
    Inconclusive,
    Lookup,
    Manual,
    Ports,
    ReceiptView,
)
from intention_kernel.contracts.receipt import Summary
from intention_kernel.contracts.result import Response, TurnResult
from intention_kernel.errors import EffectConflictError, EffectNotAppliedError, EffectUncertainError

__all__ = [
    "Absent",
    "Agent",
    "Effect",
    "EffectAuthority",
    "EffectConflictError",
    "EffectNotAppliedError",
    "EffectResult",
    "EffectUncertainError",
    "Found",
    "IdempotentRetry",
    "Inconclusive",
    "Lookup",
    "Manual",
    "Operation",
    "Ports",
    "Program",
    "ReceiptReference",
    "ReceiptView",
    "Response",
    "Settled",
    "Summary",
    "TurnContext",
    "TurnResult",
    "User",
]
