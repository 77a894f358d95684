"""Where the servers are: the environment, else what `intention dev` left in this directory (interface 4)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from intention_kernel.database_url import database_url_problem
from intention_kernel.errors import ConfigurationError
from intention_kernel.kafka.connection import parse_bootstrap_servers
from intention_kernel.servers.state import DATABASE_URL, KAFKA_BOOTSTRAP_SERVERS, read_variables

TOPIC_PREFIX = "INTENTION_TOPIC_PREFIX"
APPLICATION = "INTENTION_APPLICATION"
DEV_DIRECTORY = Path(".intention")

_PREFIX = re.compile(r"[a-zA-Z0-9._-]{0,200}")
_LOCAL = (TOPIC_PREFIX, APPLICATION)


@dataclass(frozen=True, slots=True)
class Addresses:
    """What was found and is well formed; `application` "" where none is named."""

    database_url: str
    kafka_bootstrap_servers: str
    topic_prefix: str
    application: str


def addresses(*, database: bool = False, kafka: bool = False) -> Addresses:
    """The addresses, with those present that are asked for.

    The file of `intention dev` counts only where the environment names neither server, so that two installations are
    never mixed; that it was used is said on stderr. Raises ConfigurationError that lists all that is missing or wrong.
    """
    found = _variables(database=database, kafka=kafka)
    problems = [*_missing(found, database=database, kafka=kafka), *_malformed(found)]
    if problems:
        raise ConfigurationError(*problems)
    return Addresses(
        found.get(DATABASE_URL, ""),
        found.get(KAFKA_BOOTSTRAP_SERVERS, ""),
        found.get(TOPIC_PREFIX, ""),
        found.get(APPLICATION, ""),
    )


def _variables(*, database: bool, kafka: bool) -> Mapping[str, str]:
    names = (DATABASE_URL, KAFKA_BOOTSTRAP_SERVERS, *_LOCAL)
    named = {name: os.environ[name] for name in names if os.environ.get(name)}
    if named.get(DATABASE_URL) or named.get(KAFKA_BOOTSTRAP_SERVERS):
        return named
    written = read_variables(DEV_DIRECTORY)
    if not written:
        return named
    if database or kafka:
        click.echo(f"servers of `intention dev`, from {DEV_DIRECTORY / 'env'}", err=True)
    return {**written, **named}


def _missing(found: Mapping[str, str], *, database: bool, kafka: bool) -> list[str]:
    wanted = {
        DATABASE_URL: (database, "Postgres, as postgresql://user:password@host:port/database"),
        KAFKA_BOOTSTRAP_SERVERS: (kafka, "Kafka, as host:port, several separated by commas"),
    }
    problems = [f"{name} is not set: {what}" for name, (asked, what) in wanted.items() if asked and not found.get(name)]
    if problems:
        problems.append("Set it, or start servers of your own here with `intention dev`.")
    return problems


def _malformed(found: Mapping[str, str]) -> list[str]:
    problems = []
    url = found.get(DATABASE_URL)
    if url and (problem := database_url_problem(url)):
        problems.append(f"{DATABASE_URL} {problem}")
    try:
        parse_bootstrap_servers(found.get(KAFKA_BOOTSTRAP_SERVERS) or "localhost:9092")
    except ConfigurationError as error:
        problems += error.problems
    prefix = found.get(TOPIC_PREFIX, "")
    if not _PREFIX.fullmatch(prefix):
        problems.append(f"{TOPIC_PREFIX}: {prefix!r} holds characters that a topic name cannot have")
    return problems
