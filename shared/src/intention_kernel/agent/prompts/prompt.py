"""A prompt: the kernel's instructions to a model for one question, under a stable id that an agent may give other words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prompt:
    """`text` is complete: prompts have no variables. `version` changes when the meaning does."""

    id: str
    text: str
    version: int = 1
