"""Settings come from the environment, and everything that is wrong is said at once."""

from __future__ import annotations

import json
import logging

import pytest
from intention_kernel.errors import ConfigurationError
from intention_kernel.settings import ProcessSettings, help_text, load, variables
from intention_kernel.telemetry import JsonFormatter
from pydantic import Field, ValidationError


class _Settings(ProcessSettings):
    application: str = Field(description="module:attribute of the application")
    inventory_url: str = Field(default="", validation_alias="FAN7_INVENTORY_URL", description="The inventory")


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for variable in variables(_Settings):
        monkeypatch.delenv(variable.name, raising=False)
    monkeypatch.setenv("INTENTION_DATABASE_URL", "postgresql://user:secret@host/database")
    monkeypatch.setenv("INTENTION_KAFKA_BOOTSTRAP_SERVERS", "host:9092")
    monkeypatch.setenv("INTENTION_APPLICATION", "a:b")
    return monkeypatch


def test_what_is_set_counts_and_the_rest_is_default(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("INTENTION_LEASE_SECONDS", "2.5")
    environment.setenv("FAN7_INVENTORY_URL", "http://inventory")
    environment.setenv("INTENTION_UNHEARD_OF", "x")
    settings = load(_Settings)
    assert (settings.lease_seconds, settings.grace_seconds) == (2.5, 25)
    assert (settings.inventory_url, settings.topic_prefix) == ("http://inventory", "")


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://user:secret@host/database", "does not begin with postgresql://"),
        ("postgresql://user:secret@host:99999/database", "is not a URL, or its port is no port"),
        ("postgresql://user:secret@[::1/database", "is not a URL, or its port is no port"),
        ("postgresql://user:secret@host:0/database", "has port 0"),
    ],
)
def test_a_database_url_that_cannot_be_one_is_wrong_and_stays_secret(
    environment: pytest.MonkeyPatch, url: str, problem: str
) -> None:
    """A process would wait for ever for a server that no address names."""
    environment.setenv("INTENTION_DATABASE_URL", url)
    with pytest.raises(ConfigurationError) as caught:
        load(_Settings)
    assert f"INTENTION_DATABASE_URL: {problem}" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_several_hosts_in_a_database_url_are_fine(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("INTENTION_DATABASE_URL", "postgresql://user:secret@one:5432,two:5433/database")
    assert load(_Settings).database_url.endswith("two:5433/database")


def test_settings_do_not_change_afterwards(environment: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValidationError):
        setattr(load(_Settings), "pool_size", 9)  # noqa: B010  # the type checker knows that it is frozen


def test_every_missing_or_wrong_variable_is_listed_with_what_it_is_for(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("INTENTION_APPLICATION", "")
    environment.setenv("INTENTION_KAFKA_BOOTSTRAP_SERVERS", "")
    environment.setenv("INTENTION_HTTP_PORT", "-1")
    environment.setenv("INTENTION_GRACE_SECONDS", "inf")
    with pytest.raises(ConfigurationError) as caught:
        load(_Settings)
    problems = dict(problem.split(":", 1) for problem in caught.value.problems)
    assert set(problems) == {
        "INTENTION_APPLICATION",
        "INTENTION_KAFKA_BOOTSTRAP_SERVERS",
        "INTENTION_HTTP_PORT",
        "INTENTION_GRACE_SECONDS",
    }
    assert problems["INTENTION_APPLICATION"] == " is not set (module:attribute of the application)"
    assert "secret" not in str(caught.value)


def test_every_variable_has_a_description_for_help_and_documents() -> None:
    assert all(variable.description for variable in variables(_Settings))
    assert "FAN7_INVENTORY_URL (empty)" in help_text(_Settings)
    assert [variable.name for variable in variables(_Settings) if variable.default is None] == [
        "INTENTION_DATABASE_URL",
        "INTENTION_KAFKA_BOOTSTRAP_SERVERS",
        "INTENTION_APPLICATION",
    ]


def test_a_log_line_is_json_with_the_ids_that_were_given() -> None:
    record = logging.LogRecord("a.b", logging.WARNING, __file__, 1, "waited %s s", (3,), None)
    record.thread_id = "thread-1"
    line = json.loads(JsonFormatter("turn-runner").format(record))
    assert line.pop("at").endswith("Z")
    assert line == {
        "level": "warning",
        "process": "turn-runner",
        "logger": "a.b",
        "message": "waited 3 s",
        "thread_id": "thread-1",
    }
