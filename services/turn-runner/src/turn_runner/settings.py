"""What a turn-runner is told by its environment (interface 5)."""

from __future__ import annotations

from intention_kernel.settings import ProcessSettings, Seconds
from pydantic import Field


class RunnerSettings(ProcessSettings):
    """Read once by `bootstrap`."""

    application: str = Field(min_length=1, description="The application, as module:attribute")
    consumer_group: str = Field(default="turn-runner", min_length=1, description="Kafka group of the turn-runners")
    session_timeout_seconds: Seconds = Field(
        default=30, description="How long Kafka waits for a silent runner before others take its partitions"
    )
    turn_timeout_seconds: Seconds = Field(
        default=60, description="The most that one attempt of a turn may take; a request's deadlineSeconds may say less"
    )
    turn_attempts: int = Field(default=5, ge=1, le=100, description="Attempts before a turn is set aside")
    held_seconds: Seconds = Field(
        default=900, description="How long a turn waits for a build that fits its thread before it is set aside"
    )
    in_flight: int = Field(default=256, ge=1, le=100_000, description="Turns that run at once in this process")
    instance: str = Field(
        default="",
        description="Stable name of this place to run, such as a pod's; empty: a new one each start. Never give it to "
        "two processes that may live at once: a newer boot proves that the older one is dead",
    )
