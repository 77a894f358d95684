"""What of an adopter's Kafka the guarantees rest on: the topics that `migrate` makes there, and its own, if they exist."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from intention_kernel.contracts.topics import Topics
from intention_kernel.kafka.topics import admin_client
from intention_kernel.verification.checks import Check, Outcome, Status

LARGEST_RECORD_BYTES = 1_048_588
"""Kafka's own default, which every record of ours fits."""

_WEEK_MS = 7 * 24 * 3600 * 1000
_REPLICAS = 3
_SHORTEST_SESSION_SECONDS = 2.0
_CONFIGS = 4
_TITLES = {
    "replicas": "an acknowledged record survives the loss of a broker",
    "elections": "a replica that lacks acknowledged records is never made leader",
    "cleanup": "records stay until they are old, and are not compacted away",
    "retention": "requests stay longer than an outage",
    "largest": "the largest record of ours is taken",
}


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """One topic; `replicas` of its partition that has the fewest."""

    name: str
    replicas: int
    configs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class BrokerFacts:
    """The topics looked at, and the shortest session that the brokers let a consumer have."""

    brokers: int
    topics: tuple[TopicFacts, ...]
    shortest_session_seconds: float


def broker_checks() -> tuple[Check, ...]:
    """In the order of `judge_broker`."""
    return tuple(Check(f"broker.{name}", "servers", "broker", title) for name, title in _TITLES.items())


async def read_broker(bootstrap: str, prefixes: tuple[str, ...]) -> BrokerFacts:
    """Look at the topics that exist under these prefixes. Raises InfrastructureError."""
    wanted = {name for prefix in prefixes for name in Topics(prefix).all}
    async with admin_client(bootstrap) as admin:
        cluster = await admin.describe_cluster()
        described: list[dict[str, Any]] = await admin.describe_topics()
        found = [topic for topic in described if topic["topic"] in wanted]
        configs = await _configs(admin, ConfigResourceType.TOPIC, [topic["topic"] for topic in found])
        broker = str(cluster["brokers"][0]["node_id"])
        of_broker = (await _configs(admin, ConfigResourceType.BROKER, [broker])).get(broker, {})
    topics = tuple(TopicFacts(topic["topic"], _fewest(topic), configs.get(topic["topic"], {})) for topic in found)
    shortest = int(of_broker.get("group.min.session.timeout.ms") or 6_000) / 1000
    return BrokerFacts(len(cluster["brokers"]), topics, max(shortest, _SHORTEST_SESSION_SECONDS))


def judge_broker(facts: BrokerFacts, requests: frozenset[str]) -> list[Outcome]:
    """One row each; `requests` are the topics of requests among those looked at."""
    longest = {topic.name: topic.configs.get("retention.ms", "") for topic in facts.topics if topic.name in requests}
    wrong = {
        "elections": _those(facts, "unclean.leader.election.enable", lambda text: text == "true"),
        "cleanup": _those(facts, "cleanup.policy", lambda text: "compact" in text),
        "largest": _those(facts, "max.message.bytes", lambda text: int(text) < LARGEST_RECORD_BYTES),
    }
    short = [
        f"{name}: {int(text) / 3_600_000:.0f} h" for name, text in longest.items() if 0 <= _number(text) < _WEEK_MS
    ]
    found: dict[str, tuple[Status, str]] = {
        "replicas": _replicas(facts),
        "elections": _verdict(wrong["elections"], "unclean.leader.election.enable is false"),
        "cleanup": _verdict(wrong["cleanup"], "cleanup.policy delete"),
        "retention": ("warn", "; ".join(short)) if short else ("pass", "retention.ms of a week or more"),
        "largest": _verdict(wrong["largest"], f"max.message.bytes of {LARGEST_RECORD_BYTES} or more"),
    }
    return [_outcome(check, *found[check.name.removeprefix("broker.")]) for check in broker_checks()]


def _outcome(check: Check, status: Status, evidence: str) -> Outcome:
    return Outcome(check, status, 0.0, evidence)


def _replicas(facts: BrokerFacts) -> tuple[Status, str]:
    fewest = min(topic.replicas for topic in facts.topics)
    in_sync = min(_number(topic.configs.get("min.insync.replicas", "1")) for topic in facts.topics)
    said = f"{facts.brokers} brokers, {fewest} replicas, min.insync.replicas {in_sync}; producers use acks=all"
    return ("pass" if fewest >= _REPLICAS and in_sync > 1 else "warn"), said


def _those(facts: BrokerFacts, name: str, is_wrong: Callable[[str], bool]) -> list[str]:
    found = {topic.name: topic.configs.get(name, "") for topic in facts.topics}
    return [f"{topic}: {name} {text}" for topic, text in found.items() if text and is_wrong(text)]


def _verdict(wrong: list[str], right: str) -> tuple[Status, str]:
    return ("fail", "; ".join(wrong)) if wrong else ("pass", right)


def _number(text: str) -> int:
    return int(text) if text.lstrip("-").isdigit() else -1


def _fewest(topic: dict[str, Any]) -> int:
    return min((len(partition["replicas"]) for partition in topic["partitions"]), default=0)


async def _configs(admin: AIOKafkaAdminClient, kind: ConfigResourceType, names: list[str]) -> dict[str, dict[str, str]]:
    """Name → settings; a name whose settings the broker does not show is left out."""
    if not names:
        return {}
    resources = [ConfigResource(kind, name) for name in names]  # type: ignore[no-untyped-call]  # the driver is half typed
    responses: list[Any] = await admin.describe_configs(resources)
    return {
        resource[3]: {entry[0]: entry[1] or "" for entry in resource[_CONFIGS]}
        for response in responses
        for resource in response.resources
        if resource[0] == 0
    }
