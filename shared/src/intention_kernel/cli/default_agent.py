"""The agent that a command means where it is not told."""

from __future__ import annotations

from typing import Literal

import click

from intention_kernel.agent.compiled import CompiledAgent
from intention_kernel.application.loading import VARIABLE, load_application


def default_agent(application: str, prefer: Literal["first", "compiled"] = "first") -> str:
    """The application's only agent; of several the first, or the first compiled one, which is then said on stderr.

    Raises click.UsageError where no application is named, and ConfigurationError where it cannot be loaded.
    """
    if not application:
        raise click.UsageError(
            f"--agent is not given, and {VARIABLE} names no application whose only agent it could be"
        )
    agents = load_application(application).agents
    compiled = [agent for agent in agents if isinstance(agent, CompiledAgent)]
    chosen = (compiled if prefer == "compiled" and compiled else agents)[0].id
    if len(agents) > 1:
        others = ", ".join(agent.id for agent in agents if agent.id != chosen)
        click.echo(f"agent {chosen}; --agent may name another: {others}", err=True)
    return chosen
