"""Which partition a thread's records are on: Java's murmur2 of the key's bytes, as interface 2 fixes it."""

from __future__ import annotations

import struct
from functools import lru_cache

_MASK = 0xFFFFFFFF
_MULTIPLIER = 0x5BD1E995
_SEED = 0x9747B28C
_REMEMBERED_KEYS = 65_536


def murmur2(key: bytes) -> int:
    """`org.apache.kafka.common.utils.Utils.murmur2` as an unsigned 32 bit number."""
    whole = len(key) // 4
    state = _SEED ^ len(key)
    for word in struct.unpack_from(f"<{whole}I", key):
        word = word * _MULTIPLIER & _MASK
        word = (word ^ word >> 24) * _MULTIPLIER & _MASK
        state = (state * _MULTIPLIER & _MASK) ^ word
    tail = key[whole * 4 :]
    if tail:
        state = (state ^ int.from_bytes(tail, "little")) * _MULTIPLIER & _MASK
    state = (state ^ state >> 13) * _MULTIPLIER & _MASK
    return state ^ state >> 15


def partition_for(key: bytes, partitions: int) -> int:
    """What Java's default partitioner and ours choose for a record with this key."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions


class Partitioner:
    """`partition_for` over a fixed partition count, remembering the keys of late (hashing costs microseconds)."""

    def __init__(self, partitions: int, remembered_keys: int = _REMEMBERED_KEYS) -> None:
        if partitions < 1:
            raise ValueError("a topic has at least one partition")
        self.partitions = partitions
        self._partition = lru_cache(maxsize=remembered_keys)(self._choose)

    def partition(self, key: bytes) -> int:
        """The partition of this key."""
        return self._partition(key)

    def _choose(self, key: bytes) -> int:
        return partition_for(key, self.partitions)
