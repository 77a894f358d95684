"""Texts that are delivered as they are: a capability's own words, and a few of ours; no model has a hand in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from intention_kernel.agent.results import ResponseClaim
from intention_kernel.contracts.interactions import Interaction
from intention_kernel.runtime.stages.composition import Composition

BETWEEN = "\n\n"
"""Texts of several origins stand apart."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A text with its claims. `required`: the user has to see exactly these words, once."""

    message: str
    claims: tuple[ResponseClaim, ...] = ()
    required: bool = False


class RefusedClick(Protocol):
    """A click that fits no question of the thread any more (contract 5)."""

    @property
    def message(self) -> str:
        """Why, in words that may be shown."""
        ...


def joined(copies: Sequence[Copy], *closing: str) -> Copy | None:
    """The copies as one, and behind them the texts that close the answer; None where there is nothing to say.

    What another text holds already is not said twice; its claims stay. A copy that ends with the closing question is the
    last of them.
    """
    texts = list(dict.fromkeys(copy.message for copy in copies))
    if closing:
        texts.sort(key=lambda text: text.endswith(closing[0]))
    texts = list(dict.fromkeys((*texts, *closing)))
    kept = [text for text in texts if not any(text != other and text in other for other in texts)]
    if not kept:
        return None
    claims = tuple(dict.fromkeys(claim for copy in copies for claim in copy.claims))
    return Copy(BETWEEN.join(kept), claims)


def refused(click: RefusedClick, interaction: Interaction | None) -> Composition:
    """The answer to a click that was refused: why, and the question that is open, if one is. No model is asked."""
    closing = (interaction.goal,) if interaction is not None else ()
    answer = joined((Copy(click.message),), *closing)
    return Composition(
        message=answer.message if answer is not None else click.message,
        source="canonical",
        grounded=True,
        interaction=interaction,
    )
