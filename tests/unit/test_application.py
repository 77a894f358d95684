"""What an application refuses when it is made, before any process starts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from intention_kernel.agent import AgentDefinition
from intention_kernel.application import Application
from intention_kernel.application.definition import PortFactory
from intention_kernel.errors import ConfigurationError
from intention_kernel.testing import ConversationScript

from tests.support.kernel import agent, capability

SHOP = agent(capability("order.find"))


@asynccontextmanager
async def _port() -> AsyncIterator[object]:
    yield {}


def test_an_application_holds_agents_ports_and_a_gateway() -> None:
    assert Application([SHOP], ports={"shop": _port}, gateway=ConversationScript()).agent("agent") is SHOP


def test_what_is_no_list_of_agents_is_refused_with_what_to_write() -> None:
    with pytest.raises(ConfigurationError, match=r"of type CompiledAgent; give a list of agents"):
        Application(SHOP, gateway=ConversationScript())  # type: ignore[arg-type]
    definition = AgentDefinition(id="shop", identity="A shop.", capabilities=())
    with pytest.raises(ConfigurationError, match=r"(?s)'shop' is a definition: give what compile_agent.*7 is no agent"):
        Application([definition, 7], gateway=ConversationScript())  # type: ignore[list-item]


def test_a_port_that_is_no_factory_is_refused_together_with_a_missing_gateway() -> None:
    with pytest.raises(ConfigurationError, match=r"(?s)port 'shop' is no factory but dict.*'agent' is compiled"):
        Application([SHOP], ports={"shop": {}})  # type: ignore[dict-item]


async def _generator() -> AsyncIterator[object]:
    yield {}


async def _coroutine() -> object:
    return {}


@pytest.mark.parametrize("factory", [_generator, _coroutine])
def test_a_port_whose_decorator_is_forgotten_is_refused_before_a_process_opens_it(factory: PortFactory) -> None:
    with pytest.raises(ConfigurationError, match="'shop' makes no context manager: put @asynccontextmanager above"):
        Application([SHOP], ports={"shop": factory}, gateway=ConversationScript())
