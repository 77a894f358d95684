"""How bytes are kept in columns: one version byte in front, compressed where it pays.

Packed so: threads.checkpoint; turns.request, result and events; turn_journal.body; receipts.payload, host_context and
value; observations.value; outbox.records. Whoever reads one of them calls `unpack`. Everything else is stored as it is.
"""

from __future__ import annotations

from cramjam import lz4

PLAIN = b"\x00"
LZ4 = b"\x01"
COMPRESS_FROM_BYTES = 512


def pack(data: bytes) -> bytes:
    """What to store for `data`."""
    if len(data) < COMPRESS_FROM_BYTES:
        return PLAIN + data
    compressed = bytes(lz4.compress_block(data))
    return LZ4 + compressed if len(compressed) < len(data) else PLAIN + data


def unpack(stored: bytes) -> bytes:
    """What `pack` was given."""
    if stored[:1] == LZ4:
        return bytes(lz4.decompress_block(stored[1:]))
    return stored[1:]
