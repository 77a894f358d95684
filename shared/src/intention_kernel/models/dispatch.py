"""One gateway for several: the alias of the agent's model policy says which one answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from intention_kernel.errors import ModelGatewayError
from intention_kernel.models.closing import close_gateway
from intention_kernel.ports.model_gateway import ModelGateway, ModelRequest, ModelResult


class DispatchingGateway:
    """Sends each request to one of its gateways by `request.model`.

    A key that ends in a colon is a prefix, and its gateway gets the rest as its model: with `{"openai:": g}`, the alias
    `openai:gpt-x` asks g for `gpt-x`. Any other key is a whole alias, and its gateway gets None: it uses the model that
    it was made with. A whole alias goes before a prefix, a longer prefix before a shorter one. Requests without an alias,
    and those whose alias no key fits, go to `default` (these with their alias taken off, since it names nothing there);
    without a default they raise MODEL_ALIAS_UNKNOWN.
    """

    def __init__(self, gateways: Mapping[str, ModelGateway], *, default: ModelGateway | None = None) -> None:
        self._gateways = dict(gateways)
        self._prefixes = sorted((key for key in gateways if key.endswith(":")), key=len, reverse=True)
        self._default = default

    async def invoke(self, request: ModelRequest) -> ModelResult:
        """Ask the gateway of the request's alias."""
        gateway, model = self._chosen(request.model)
        return await gateway.invoke(replace(request, model=model))

    async def aclose(self) -> None:
        """Close all of them."""
        distinct = {
            id(gateway): gateway for gateway in (*self._gateways.values(), self._default) if gateway is not None
        }
        for gateway in distinct.values():
            await close_gateway(gateway)

    def _chosen(self, alias: str | None) -> tuple[ModelGateway, str | None]:
        if alias is not None:
            if not alias.endswith(":") and alias in self._gateways:
                return self._gateways[alias], None
            for prefix in self._prefixes:
                if alias.startswith(prefix):
                    return self._gateways[prefix], alias[len(prefix) :] or None
        if self._default is None:
            raise ModelGatewayError("MODEL_ALIAS_UNKNOWN", f"no gateway answers for the model alias {alias!r}")
        return self._default, None
