"""Retail support: one agent, the shop that RETAIL_SHOP_URL names, and the model of a provider or of a script."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from intention_kernel.application import Application
from intention_kernel.errors import ConfigurationError
from intention_kernel.models.environment import gateway_from_environment

from examples.retail.agent import retail_agent
from examples.retail.capabilities.effects import CALL_TIMEOUT_SECONDS
from examples.retail.customer import SHOP
from examples.retail.script import RetailModel, script_files
from examples.retail.shop_client import ShopClient


@asynccontextmanager
async def shop() -> AsyncIterator[ShopClient]:
    """The shop that RETAIL_SHOP_URL names; a connection pool for the whole process."""
    url = os.environ.get("RETAIL_SHOP_URL")
    if not url:
        raise ConfigurationError(
            "RETAIL_SHOP_URL: is not set; start `python -m examples.retail.shop` and give the address it prints"
        )
    async with ShopClient(url, timeout_seconds=CALL_TIMEOUT_SECONDS) as client:
        yield client


application = Application(
    agents=(retail_agent(),),
    ports={SHOP: shop},
    gateway=gateway_from_environment() or RetailModel(script_files(os.environ.get("RETAIL_SCRIPT"))),
)
