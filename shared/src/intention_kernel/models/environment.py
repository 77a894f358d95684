"""The gateway that the environment describes. Nothing of a provider is imported where it describes none."""

from __future__ import annotations

from intention_kernel.errors import ConfigurationError, ModelGatewayError
from intention_kernel.models.dispatch import DispatchingGateway
from intention_kernel.models.settings import DEFAULT_MODELS, VARIABLES, ModelSettings
from intention_kernel.ports.model_gateway import ModelGateway, ModelRequest, ModelResult
from intention_kernel.settings import load


def gateway_from_environment() -> ModelGateway | None:
    """A gateway of the providers that have a key, and of the local server; None where there is neither.

    The environment is read once, now. An alias `openai:MODEL`, `anthropic:MODEL`, `google:MODEL` or `local:MODEL` asks that
    provider; requests without an alias, and aliases of any other form, go to the model of INTENTION_MODEL, or else to the
    first provider that has a key. Raises ConfigurationError where the settings cannot work, or the extra `models` is not
    installed. Close it with `close_gateway`.
    """
    settings = load(ModelSettings)
    chosen = settings.default_model()
    return None if chosen is None else _gateway(settings, *chosen)


def _gateway(settings: ModelSettings, provider: str, model: str) -> ModelGateway:
    try:
        # The one import that a process without providers must not pay for.
        from intention_kernel.models.providers.gateway import ProviderGateway  # noqa: PLC0415
    except ImportError as error:
        raise ConfigurationError(
            f"the clients of model providers are not installed ({error.name} is missing): "
            "install intention-kernel with its extra, intention-kernel[models]"
        ) from None
    names = {**DEFAULT_MODELS, "local": "", provider: model}
    gateways: dict[str, ModelGateway] = {f"{name}:": _NotConfigured(name) for name in names}
    for name, key in settings.keys.items():
        gateways[f"{name}:"] = ProviderGateway(name, names[name], key=key)
    if settings.model_base_url:
        gateways["local:"] = ProviderGateway("local", names["local"], base_url=settings.model_base_url)
    default = gateways[f"{provider}:"]
    assert isinstance(default, ProviderGateway)
    default.load()
    return DispatchingGateway(gateways, default=default)


class _NotConfigured:
    """In the place of a provider that an alias may name and the environment does not."""

    def __init__(self, provider: str) -> None:
        self._provider = provider

    async def invoke(self, request: ModelRequest) -> ModelResult:
        words = f"the model alias asks for {self._provider}, and {VARIABLES[self._provider]} is not set"
        raise ModelGatewayError("MODEL_AUTHENTICATION", words)
