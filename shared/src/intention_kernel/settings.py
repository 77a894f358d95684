"""Settings from the environment (interface 5): one frozen class per process, and one message that lists all that is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypeVar

from pydantic import AfterValidator, Field, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticCustomError
from pydantic_settings import BaseSettings, SettingsConfigDict

from intention_kernel.database_url import database_url_problem
from intention_kernel.errors import ConfigurationError

PREFIX = "INTENTION_"
MAX_SECONDS = 31_536_000.0
Seconds = Annotated[float, Field(gt=0, le=MAX_SECONDS, allow_inf_nan=False)]


def _database_url(url: str) -> str:
    problem = database_url_problem(url)
    if problem is not None:
        raise PydanticCustomError("database_url", "{problem}", {"problem": problem})
    return url


class ProcessSettings(BaseSettings):
    """What every process is told; each process adds its own. `load` makes one."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, frozen=True, extra="ignore")

    database_url: Annotated[str, AfterValidator(_database_url)] = Field(
        min_length=1, description="Postgres: postgresql://user:password@host:port/database"
    )
    kafka_bootstrap_servers: str = Field(min_length=1, description="Kafka: host:port, several separated by commas")
    topic_prefix: str = Field(default="", description="Goes before every topic name and consumer group")
    http_host: str = Field(default="127.0.0.1", description="Address of /livez, /readyz and /metrics")
    http_port: int = Field(
        default=0, ge=0, le=65535, description="Port of /livez, /readyz and /metrics; 0 takes a free one and prints it"
    )
    grace_seconds: Seconds = Field(default=25, description="How long a stop may take to finish the work in hand")
    lease_seconds: Seconds = Field(default=15, description="How long the work of a dead process waits for another")
    pool_size: int = Field(default=4, ge=1, le=1000, description="Database connections that this process holds at most")
    failpoints: str = Field(
        default="", description="name=kill|stop|error|sleep:S[@nth], for tests; `intention failpoints` lists the names"
    )


SettingsT = TypeVar("SettingsT", bound=BaseSettings)


def load(settings_class: type[SettingsT]) -> SettingsT:
    """Read the environment. Raises ConfigurationError with one line for every missing or wrong variable."""
    try:
        return settings_class()
    except ValidationError as error:
        # The cause would repeat the message, and may hold the password of a database URL.
        raise ConfigurationError(*(_problem(settings_class, each) for each in error.errors())) from None


@dataclass(frozen=True, slots=True)
class Variable:
    """One environment variable, for `--help` and the table in the documents; `default` None means required."""

    name: str
    default: str | None
    description: str


def variables(settings_class: type[BaseSettings]) -> tuple[Variable, ...]:
    """Every variable that `settings_class` reads, in its order."""
    fields = settings_class.model_fields.items()
    return tuple(_variable(settings_class, name, field) for name, field in fields)


def help_text(settings_class: type[BaseSettings]) -> str:
    """The variables as lines for a command's `--help`."""
    lines = (f"  {each.name}{_shown_default(each)}\n      {each.description}" for each in variables(settings_class))
    return "Settings are environment variables (default in parentheses, else required):\n" + "\n".join(lines)


def _shown_default(variable: Variable) -> str:
    return "" if variable.default is None else f" ({variable.default or 'empty'})"


def _variable(settings_class: type[BaseSettings], name: str, field: FieldInfo) -> Variable:
    default = None if field.is_required() else str("" if field.default is None else field.default)
    return Variable(_environment_name(settings_class, name), default, field.description or "")


def _environment_name(settings_class: type[BaseSettings], name: str) -> str:
    field = settings_class.model_fields.get(name)
    alias = field.validation_alias if field is not None else None
    if isinstance(alias, str):
        return alias
    return f"{settings_class.model_config.get('env_prefix', '')}{name}".upper()


def _problem(settings_class: type[BaseSettings], error: ErrorDetails) -> str:
    field = str(error["loc"][0]) if error["loc"] else ""
    names = {_environment_name(settings_class, name): name for name in settings_class.model_fields}
    name = field if field in names else _environment_name(settings_class, field)
    description = settings_class.model_fields[names[name]].description if name in names else ""
    what = "is not set" if error["type"] == "missing" else error["msg"][0].lower() + error["msg"][1:]
    return f"{name}: {what} ({description})"
