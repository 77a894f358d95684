"""An agent: an id, a program and its effects. The fingerprint says which checkpoints it can go on with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pydantic import PydanticSchemaGenerationError, TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema

from intention_kernel.agent.context import TurnContext
from intention_kernel.agent.effect import Effect
from intention_kernel.contracts.checkpoint import Checkpoint
from intention_kernel.contracts.digest import digest
from intention_kernel.contracts.identifiers import identifier_problem
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.result import TurnResult
from intention_kernel.errors import ConfigurationError

Program = Callable[[TurnContext], Awaitable[TurnResult]]
Migration = Callable[[Checkpoint], Checkpoint]


@dataclass(frozen=True, slots=True)
class Agent:
    """A program under an id, with its effects.

    `accepts_fingerprints` are earlier builds whose checkpoints this one may go on with, through the pure `migrate`.
    """

    id: str
    program: Program
    effects: tuple[Effect, ...] = ()
    accepts_fingerprints: tuple[str, ...] = ()
    migrate: Migration | None = None

    def __post_init__(self) -> None:
        """Raises ConfigurationError for an impossible id or two effects of one id."""
        problem = identifier_problem(self.id)
        ids = [effect.id for effect in self.effects]
        twice = sorted({effect_id for effect_id in ids if ids.count(effect_id) > 1})
        problems = [f"agent id {self.id!r} {problem}"] if problem else []
        problems += [f"agent {self.id!r}: effect {effect_id!r} is declared twice" for effect_id in twice]
        if problems:
            raise ConfigurationError(*problems)

    @property
    def fingerprint(self) -> str:
        """The digest of the id and of the effects' ids and result schemas; never of code (interface 1)."""
        effects: dict[str, JsonValue] = {effect.id: result_schema(effect) for effect in self.effects}
        return digest({"agent": self.id, "effects": effects}).hex()

    def effect(self, effect_id: str) -> Effect:
        """The effect of that id; raises ConfigurationError where the agent declares none."""
        for effect in self.effects:
            if effect.id == effect_id:
                return effect
        raise ConfigurationError(f"agent {self.id!r} declares no effect {effect_id!r}")


def result_schema(effect: Effect) -> dict[str, JsonValue]:
    """The JSON Schema of an effect's value; raises ConfigurationError where its type has none."""
    try:
        schema: dict[str, JsonValue] = TypeAdapter(effect.result).json_schema()
    except (PydanticSchemaGenerationError, PydanticInvalidForJsonSchema) as error:
        raise ConfigurationError(f"effect {effect.id!r}: result: {error}") from error
    return schema
