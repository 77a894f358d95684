"""Where the two servers are."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Servers:
    """Addresses, as INTENTION_DATABASE_URL and INTENTION_KAFKA_BOOTSTRAP_SERVERS hold them."""

    database_url: str
    kafka_bootstrap_servers: str
