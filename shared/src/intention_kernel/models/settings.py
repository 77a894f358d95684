"""Which providers there are, from the environment (docs/models.md)."""

from __future__ import annotations

from typing import Final

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from intention_kernel.errors import ConfigurationError

DEFAULT_MODELS: Final = {
    "openai": "gpt-6.1-terra",
    "anthropic": "claude-sonnet-5-5",
    "google": "gemini-3.8-flash",
}
"""In the order in which a provider with a key is taken where INTENTION_MODEL says nothing."""

VARIABLES: Final = {
    "openai": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "google": "GEMINI_API_KEY",
    "local": "INTENTION_MODEL_BASE_URL",
}
"""What has to be set for a provider to be asked."""


class ModelSettings(BaseSettings):
    """Keys, a local server, and the model to use. Keys are never shown, also not in errors."""

    model_config = SettingsConfigDict(
        env_prefix="INTENTION_", env_ignore_empty=True, frozen=True, extra="ignore", hide_input_in_errors=True
    )

    openai_api_key: SecretStr | None = Field(
        default=None, validation_alias="OPENAI_API_KEY", description="Key of OpenAI"
    )
    anthropic_api_key: SecretStr | None = Field(
        default=None, validation_alias="ANTHROPIC_API_KEY", description="Key of Anthropic"
    )
    gemini_api_key: SecretStr | None = Field(
        default=None, validation_alias="GEMINI_API_KEY", description="Key of Google's Gemini API"
    )
    model: str = Field(
        default="",
        description="provider:model for requests whose alias names none; the provider is openai, anthropic, google or local",
    )
    model_base_url: str = Field(
        default="", description="A local server with OpenAI's protocol, such as http://127.0.0.1:11434/v1"
    )

    @property
    def keys(self) -> dict[str, str]:
        """Provider -> key, for those that have one."""
        secrets = {"openai": self.openai_api_key, "anthropic": self.anthropic_api_key, "google": self.gemini_api_key}
        return {name: secret.get_secret_value() for name, secret in secrets.items() if secret is not None}

    def default_model(self) -> tuple[str, str] | None:
        """Provider and model for requests without an alias; None where no provider is configured at all.

        Raises ConfigurationError where INTENTION_MODEL names none that can be used, or is missing for a local server.
        """
        if self.model:
            return self._named_model()
        if self.model_base_url:
            raise ConfigurationError(
                "INTENTION_MODEL: is not set (which model the server at INTENTION_MODEL_BASE_URL has)"
            )
        return next(((name, model) for name, model in DEFAULT_MODELS.items() if name in self.keys), None)

    def _named_model(self) -> tuple[str, str]:
        provider, colon, name = self.model.partition(":")
        if colon and provider in DEFAULT_MODELS:
            if provider not in self.keys:
                raise ConfigurationError(f"INTENTION_MODEL: {provider} needs {VARIABLES[provider]}, which is not set")
        elif self.model_base_url:
            # Names of local models may have colons of their own.
            provider, name = "local", self.model.removeprefix("local:")
        else:
            raise ConfigurationError(
                "INTENTION_MODEL: is not openai:MODEL, anthropic:MODEL or google:MODEL, "
                "and INTENTION_MODEL_BASE_URL names no local server that could have it"
            )
        if not name:
            raise ConfigurationError("INTENTION_MODEL: names a provider and no model")
        return provider, name
