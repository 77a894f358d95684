"""Where a record came from, as columns: its bytes as they were, its headers as one block."""

from __future__ import annotations

from typing import Any

import msgpack

from intention_kernel.ports.turn_store import Origin

_msgpack: Any = msgpack  # it has no types

Headers = tuple[tuple[str, bytes | None], ...]


def origin_parameters(origin: Origin) -> tuple[Any, ...]:
    """Topic, partition, offset, key, value, headers, timestamp: what the statements that keep a record take."""
    return (
        origin.topic,
        origin.partition,
        origin.offset,
        origin.key,
        origin.value,
        pack_headers(origin.headers),
        origin.timestamp_ms,
    )


def pack_headers(headers: Headers) -> bytes:
    """`record_headers` of set_aside_turns and rejected_requests; a name may hold what is not UTF-8."""
    packed: bytes = _msgpack.Packer(unicode_errors="surrogatepass").pack([list(header) for header in headers])
    return packed


def unpack_headers(block: bytes) -> Headers:
    """What `pack_headers` packed."""
    headers: Headers = _msgpack.unpackb(block, use_list=False, unicode_errors="surrogatepass")
    return headers
