"""Gateways that hold connections are closed with the process that uses them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol, runtime_checkable

from intention_kernel.ports.model_gateway import ModelGateway


@runtime_checkable
class ClosingGateway(Protocol):
    """A gateway that holds something."""

    async def aclose(self) -> None:
        """Let go of it; nothing may be asked afterwards."""
        ...


async def close_gateway(gateway: ModelGateway | None) -> None:
    """Close a gateway that holds something; the others, and None, need no closing."""
    if isinstance(gateway, ClosingGateway):
        await gateway.aclose()


@asynccontextmanager
async def closed_at_the_end(gateway: ModelGateway | None) -> AsyncIterator[None]:
    """`close_gateway` when the block is left, however that is."""
    try:
        yield
    finally:
        await close_gateway(gateway)
