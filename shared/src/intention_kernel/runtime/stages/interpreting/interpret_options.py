"""The options of the active choice: which one a value, an id or a text means, by exact comparison alone (contract 2.6, 3.7)."""

from __future__ import annotations

from dataclasses import dataclass

from intention_kernel.contracts.digest import same_json
from intention_kernel.contracts.interactions import InteractionOption
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.runtime.stages.redactions import Redactions


def example_competes_with_position(options: tuple[InteractionOption, ...], text: str) -> bool:
    """Whether the whole text is an example of one option and the displayed position (from 1) of another.

    Such a text means neither: the user has to be asked (contract C14). Only `reference_examples` are looked at, never
    labels, values or payloads.
    """
    said = text.strip()
    at = next((index for index, _ in enumerate(options) if str(index + 1) == said), None)
    if at is None:
        return False
    return any(
        index != at and any(example.strip() == said for example in option.reference_examples or ())
        for index, option in enumerate(options)
    )


@dataclass(frozen=True, slots=True)
class Options:
    """Options as the server has them, and under the ids that models see: redaction may have changed those."""

    all: tuple[InteractionOption, ...]
    shown_ids: tuple[str, ...]

    @classmethod
    def of(cls, options: tuple[InteractionOption, ...], redactions: Redactions) -> Options:
        """These options, redacted as in the projection."""
        return cls(options, tuple(redactions.text(option.id) for option in options))

    @property
    def distinct(self) -> bool:
        """Whether a model can name each of them."""
        return len(set(self.shown_ids)) == len(self.shown_ids)

    def shown_id(self, option: InteractionOption) -> str:
        """The id under which models see it."""
        return self.shown_ids[self.all.index(option)]

    def by_id(self, option_id: JsonValue) -> InteractionOption | None:
        """The one option of that id, its own or the shown one."""
        found = [
            option
            for option, shown in zip(self.all, self.shown_ids, strict=True)
            if option_id == option.id or option_id == shown
        ]
        return found[0] if len(found) == 1 else None

    def by_value(self, value: JsonValue) -> InteractionOption | None:
        """The one option whose value equals this."""
        found = self.of_value(value)
        return found[0] if len(found) == 1 else None

    def of_value(self, value: JsonValue) -> tuple[InteractionOption, ...]:
        """Every option whose value equals this."""
        return tuple(option for option in self.all if same_json(option.value, value))
