"""How a program's task has ended, as its attempt takes it."""

from __future__ import annotations

import asyncio
from typing import TypeVar

from intention_kernel.errors import InfrastructureError, LeaseLostError, ProgramError, TurnHeldError, words_of

T = TypeVar("T")

_KERNELS_OWN = (InfrastructureError, LeaseLostError, TurnHeldError)
"""What these say of the kernel is known to the scope; raised by a program they are an error like any other."""


def ended(task: asyncio.Task[T]) -> T:
    """The result of a program that is over and was not cancelled by us; raises what fails its attempt."""
    if task.cancelled():
        raise ProgramError("cancelled itself")
    try:
        return task.result()
    except _KERNELS_OWN as error:
        raise ProgramError(f"raised {words_of(error)}") from error
