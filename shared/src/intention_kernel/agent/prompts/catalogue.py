"""All prompts of the kernel by id; `AgentDefinition.prompts` replaces their texts."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from intention_kernel.agent.prompts import answers, interpretation, response, selection
from intention_kernel.agent.prompts.prompt import Prompt

PROMPTS: Final[Mapping[str, Prompt]] = MappingProxyType(
    {prompt.id: prompt for prompt in (*selection.PROMPTS, *interpretation.PROMPTS, *answers.PROMPTS, *response.PROMPTS)}
)
