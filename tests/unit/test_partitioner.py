"""The partition of a thread is Java's, byte for byte."""

from __future__ import annotations

import pytest
from aiokafka.partitioner import murmur2 as driver_murmur2
from hypothesis import given
from hypothesis import strategies as st
from intention_kernel.contracts.topics import Topics
from intention_kernel.errors import ConfigurationError
from intention_kernel.kafka.connection import parse_bootstrap_servers
from intention_kernel.kafka.partitioner import Partitioner, murmur2, partition_for

JAVA_VECTORS = {  # of Apache Kafka's UtilsTest.testMurmur2
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


@pytest.mark.parametrize(("key", "hashed"), JAVA_VECTORS.items())
def test_murmur2_is_what_java_says(key: bytes, hashed: int) -> None:
    assert murmur2(key) == hashed & 0xFFFFFFFF


@given(st.binary(max_size=64))
def test_murmur2_agrees_with_the_drivers(key: bytes) -> None:
    assert murmur2(key) == driver_murmur2(key)  # type: ignore[no-untyped-call]


@given(st.binary(max_size=64), st.integers(1, 100))
def test_a_remembered_partition_is_the_computed_one(key: bytes, partitions: int) -> None:
    partitioner = Partitioner(partitions, remembered_keys=2)
    first = partitioner.partition(key)
    assert first == partitioner.partition(key) == partition_for(key, partitions)
    assert 0 <= first < partitions


def test_a_topic_without_partitions_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Partitioner(0)


def test_the_prefix_goes_before_every_topic_and_the_group() -> None:
    topics = Topics("blue.")
    assert topics.all == (
        "blue.turns.requests",
        "blue.turns.events",
        "blue.turns.traces",
        "blue.turns.rejected",
        "blue.receipts.reconciliation",
        "blue.receipts.resolutions",
    )
    assert topics.consumer_group() == "blue.turn-runner"
    assert Topics().consumer_group("night") == "night"


def test_bootstrap_servers_are_host_and_port() -> None:
    assert parse_bootstrap_servers("a:9092, [::1]:1,b:2,") == ("a:9092", "[::1]:1", "b:2")


@pytest.mark.parametrize("text", ["", " , ", "a", "a:", ":9092", "a:0", "a:70000", "a:x", "::1:9092"])
def test_a_wrong_bootstrap_list_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="INTENTION_KAFKA_BOOTSTRAP_SERVERS"):
        parse_bootstrap_servers(text)


def test_every_wrong_bootstrap_entry_is_named() -> None:
    with pytest.raises(ConfigurationError) as refused:
        parse_bootstrap_servers("a,b:1,c:x")
    assert len(refused.value.problems) == 2
