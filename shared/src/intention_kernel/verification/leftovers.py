"""Remove what a run made, whether it is this one or one that was killed."""

from __future__ import annotations

from collections.abc import Awaitable

from intention_kernel.errors import InfrastructureError
from intention_kernel.verification.scratch import NAME, Survey, drop_schema, empty_schema, schemas_of, survey
from intention_kernel.verification.scratch_topics import delete_groups, delete_topics, find_groups, find_topics


def topic_prefix_of(run: str, prefix: str) -> str:
    """What topics and groups of the run begin with; `prefix` is the adopter's own, which its rights may depend on."""
    return f"{prefix}{run.replace('_', '-')}-"


async def remove_run(database_url: str, bootstrap: str, prefix: str, run: str) -> list[str]:
    """Remove every schema, topic and group of it; returns what could not be removed, and why."""
    begins = topic_prefix_of(run, prefix)
    return [
        *await _complaint(_drop_schemas(database_url, run)),
        *await _complaint(delete_topics(bootstrap, begins)),
        *await _complaint(delete_groups(bootstrap, begins)),
    ]


async def remove_leftovers(database_url: str, bootstrap: str, prefix: str) -> tuple[list[str], list[str]]:
    """What runs left that were killed: what was removed, and what could not be."""
    found = await survey(database_url)
    begins = topic_prefix_of(NAME.removesuffix("_"), prefix)
    alive = tuple(topic_prefix_of(run, prefix) for run in found.alive)
    kafka = (*await find_topics(bootstrap, begins), *await find_groups(bootstrap, begins))
    runs = sorted({_run_of(name, prefix) for name in kafka if not name.startswith(alive)})
    removed = [*found.leftovers, *(f"topics and groups of {run}" for run in runs)]
    left = [line for name in found.leftovers for line in await _complaint(drop_schema(database_url, name))]
    left += [line for run in runs for line in await remove_run(database_url, bootstrap, prefix, run)]
    if found.mark:
        left += await _complaint(empty_schema(database_url))
        removed.append(f"what {found.mark} left in schema {found.schema}")
    return removed, left


def leftovers_of(found: Survey) -> tuple[str, ...]:
    """What the survey saw of killed runs."""
    return (*found.leftovers, *((f"tables of {found.mark} in {found.schema}",) if found.mark else ()))


async def _drop_schemas(database_url: str, run: str) -> None:
    for name in await schemas_of(database_url, run):
        await drop_schema(database_url, name)


async def _complaint(removing: Awaitable[None]) -> list[str]:
    try:
        await removing
    except InfrastructureError as error:
        return [str(error)]
    return []


def _run_of(name: str, prefix: str) -> str:
    """`<prefix>intention-verify-1a2b3c4d-2.turns.events` → intention_verify_1a2b3c4d."""
    return "_".join(name.removeprefix(prefix).split("-")[:3])
