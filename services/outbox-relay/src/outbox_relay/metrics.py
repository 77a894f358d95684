"""What a relay counts."""

from __future__ import annotations

from prometheus_client import Counter, Gauge

ROWS_PUBLISHED = Counter("intention_relay_rows_published", "Outbox rows that the broker acknowledged", ["topic"])
RECORDS_PUBLISHED = Counter("intention_relay_records_published", "Records that the broker acknowledged")
ROWS_REFUSED = Counter("intention_relay_rows_refused", "Outbox rows that the broker never takes; each stops its thread")
SEQUENCE_GAPS = Counter("intention_relay_sequence_gaps", "Turns published although events before them were missing")
FAILURES = Counter("intention_relay_failures", "Failed tries, by what was tried", ["what"])
SHARDS_OWNED = Gauge("intention_relay_shards_owned", "Shards that this relay holds")
