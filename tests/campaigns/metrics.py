"""What a process of ours counts, from its /metrics."""

from __future__ import annotations

import asyncio
from collections import Counter
from urllib.request import urlopen

from intention_kernel.errors import InfrastructureError
from intention_kernel.testing.fleet import Member
from prometheus_client.parser import text_string_to_metric_families

_ANSWER_SECONDS = 30.0


async def counted(member: Member, name: str) -> Counter[str]:
    """The samples of one counter by the value of their only label, "" without one.

    Raises InfrastructureError where the process is not ready or does not answer.
    """
    port = (await member.process.await_ready()).rpartition("http=")[2]
    text = await asyncio.to_thread(_read, f"http://127.0.0.1:{port}/metrics")
    found: Counter[str] = Counter()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == f"{name}_total":
                found["".join(sample.labels.values())] += int(sample.value)
    return found


def _read(url: str) -> str:
    try:
        with urlopen(url, timeout=_ANSWER_SECONDS) as response:
            content: bytes = response.read()
    except OSError as error:
        raise InfrastructureError(f"{url} did not answer: {error}") from error
    return content.decode()
