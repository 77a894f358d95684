"""Two questions in Kafka's own protocol: does the broker serve, and which cluster is it? No client library needed."""

from __future__ import annotations

import asyncio
import struct

_API_VERSIONS = (18, 0)
_METADATA = (3, 2)
_NO_TOPICS = struct.pack(">i", 0)
_CORRELATION = 7
_TIMEOUT_SECONDS = 2.0


async def _ask(host: str, port: int, request: tuple[int, int], body: bytes) -> bytes | None:
    """The answer after its correlation id; None when there was none, or not to this question."""
    api_key, version = request
    message = struct.pack(">hhih", api_key, version, _CORRELATION, -1) + body
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            reader, writer = await asyncio.open_connection(host, port)
            try:
                writer.write(struct.pack(">i", len(message)) + message)
                (size,) = struct.unpack(">i", await reader.readexactly(4))
                answer = await reader.readexactly(size)
            finally:
                writer.close()
    except (OSError, EOFError, TimeoutError):
        return None
    return answer[4:] if answer[:4] == struct.pack(">i", _CORRELATION) else None


async def answers_api_versions(host: str, port: int) -> bool:
    """True when the broker there answered an ApiVersions request without error: it serves, not just listens."""
    answer = await _ask(host, port, _API_VERSIONS, b"")
    return answer is not None and answer[:2] == b"\0\0"


def _string(answer: bytes, at: int) -> tuple[str, int]:
    """The string at that offset, and the offset behind it; null reads as empty."""
    (size,) = struct.unpack_from(">h", answer, at)
    end = at + 2 + max(size, 0)
    return answer[at + 2 : end].decode("utf-8"), end


def _cluster_id(metadata: bytes) -> str:
    """Metadata version 2: an array of (node id, host, port, rack), then the cluster's id."""
    (brokers,) = struct.unpack_from(">i", metadata, 0)
    at = 4
    for _ in range(brokers):
        _, at = _string(metadata, at + 4)
        _, at = _string(metadata, at + 4)
    return _string(metadata, at)[0]


async def cluster_id(host: str, port: int) -> str | None:
    """The id of the cluster whose broker answers there; None while none does."""
    answer = await _ask(host, port, _METADATA, _NO_TOPICS)
    return None if answer is None else _cluster_id(answer)
