"""What a turn-runner counts, for `/metrics`: closed sets of labels, no ids."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from turn_runner.consumer import KeyOrderedConsumer
from turn_runner.handler import TurnHandler


class RunnerMetrics(Collector):
    """Reads the consumer's and the handler's counters when asked; costs nothing otherwise."""

    def __init__(self, consumer: KeyOrderedConsumer, handler: TurnHandler) -> None:
        self._consumer = consumer
        self._handler = handler

    def collect(self) -> Iterator[Metric]:
        outcomes = CounterMetricFamily(
            "turn_runner_outcomes", "How deliveries ended or began again", labels=["outcome"]
        )
        for name, count in sorted(self._handler.outcomes.items()):
            outcomes.add_metric([name], count)
        yield outcomes
        yield CounterMetricFamily(
            "turn_runner_event_sink_failures", "Events that a sink raised over", self._handler.sink_failures
        )
        state, counters = self._consumer.state, self._consumer.counters
        yield GaugeMetricFamily("turn_runner_in_flight", "Turns that run now", state.in_flight)
        yield GaugeMetricFamily("turn_runner_waiting_lanes", "Threads that wait to begin again", state.waiting_lanes)
        yield GaugeMetricFamily("turn_runner_partitions", "Partitions assigned to this process", len(state.partitions))
        yield GaugeMetricFamily(
            "turn_runner_refused_partitions",
            "Partitions that do not run: the database is older than Kafka",
            len(state.refused),
        )
        yield GaugeMetricFamily(
            "turn_runner_buffered_records", "Records taken and not finished", state.buffered_records
        )
        yield CounterMetricFamily("turn_runner_records", "Records polled", counters.polled)
        yield CounterMetricFamily(
            "turn_runner_rebalances", "Rebalances that took partitions from this process", counters.rebalances
        )
        yield CounterMetricFamily(
            "turn_runner_misplaced_records", "Records on another partition than murmur2's", counters.misplaced
        )
        yield CounterMetricFamily(
            "turn_runner_infrastructure_errors",
            "Handlers that met an absent database or broker",
            counters.infrastructure_errors,
        )
