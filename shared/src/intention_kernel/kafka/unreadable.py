"""Reads the batch that the driver cannot: a header whose name is not UTF-8 makes it refuse every later record of it.

The broker accepts such names and so do other clients. Here the name's bad bytes become `\\xNN`; key, value and header
values stay the producer's bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, SupportsIndex

from aiokafka import TopicPartition
from aiokafka.errors import CorruptRecordException, for_code
from aiokafka.protocol.fetch import FetchRequest
from aiokafka.record.default_records import _DefaultRecordBatchPy as DriverBatch

UNREADABLE = (UnicodeDecodeError, CorruptRecordException)
"""What the driver raises for such a record (and, the second, for bytes that really are corrupt)."""

_READ_COMMITTED = 1
_PREFIX_BYTES = 12  # base offset and length, before what the length counts
_MAGIC_AT = 16
_MAGIC = 2  # the only format with headers
_MAX_BYTES = 64 * 1024 * 1024


async def fetch_unreadable(client: Any, assigned: TopicPartition, offset: int) -> tuple[list[Any], int]:  # noqa: ANN401
    """The records from `offset` on of the first batch that the driver refuses, and the offset behind the batch.

    Raises KafkaError: CorruptRecordException when there is none, or when the bytes are corrupt.
    """
    asked = [(assigned.topic, [(assigned.partition, offset, _MAX_BYTES)])]
    leader = client.cluster.leader_for_partition(assigned)
    response = await client.send(leader, FetchRequest(500, 1, _MAX_BYTES, _READ_COMMITTED, asked))
    for _, partitions in response.topics:
        for _, error_code, *_, message_set in partitions:
            if error_code:
                raise for_code(error_code)(str(assigned))
            for batch in _batches(message_set):
                records = list(batch)
                if batch.next_offset > offset and not all(map(_readable, records)):
                    return [record for record in records if record.offset >= offset], batch.next_offset
    raise CorruptRecordException(f"{assigned} holds no batch at or after offset {offset} that can be read around")


def _readable(record: Any) -> bool:  # noqa: ANN401
    return not any("\\x" in name for name, _ in record.headers)


def _batches(message_set: bytes) -> Iterator[Any]:
    position = 0
    while position + _MAGIC_AT < len(message_set):
        length = int.from_bytes(message_set[position + 8 : position + _PREFIX_BYTES], "big")
        end = position + _PREFIX_BYTES + length
        if end > len(message_set) or message_set[position + _MAGIC_AT] < _MAGIC:
            return
        batch: Any = DriverBatch(bytearray(message_set[position:end]))
        if not batch.validate_crc():
            raise CorruptRecordException("invalid CRC")
        if not batch.is_control_batch:
            batch._maybe_uncompress()
            batch._buffer = _ForgivingBytes(batch._buffer)
            yield batch
        position = end


class _ForgivingBytes(bytearray):
    """Decodes any bytes; slices do as well."""

    def __getitem__(self, index: SupportsIndex | slice) -> Any:  # noqa: ANN401
        taken = super().__getitem__(index)
        return _ForgivingBytes(taken) if isinstance(taken, bytearray) else taken

    def decode(self, encoding: str = "utf-8", errors: str = "backslashreplace") -> str:
        return super().decode(encoding, errors)
