"""Sending turn requests and watching what becomes of them, over Kafka alone."""

from intention_kernel.client.client import Client, Waiting
from intention_kernel.client.feed import Event, FeedItem, Unreadable
from intention_kernel.client.order import Gap
from intention_kernel.client.outcome import Committed, Conflict, Failed, Outcome, Rejected, Replayed

__all__ = [
    "Client",
    "Committed",
    "Conflict",
    "Event",
    "Failed",
    "FeedItem",
    "Gap",
    "Outcome",
    "Rejected",
    "Replayed",
    "Unreadable",
    "Waiting",
]
