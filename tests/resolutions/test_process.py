"""The real process takes decisions from the real topic."""

from __future__ import annotations

from pathlib import Path

from tests.resolutions.place import VALUE, bench, record
from tests.support.servers import SharedServers


async def test_a_record_settles_its_receipt_and_asks_for_the_continuation(
    servers: SharedServers, fresh_database: str, topic_prefix: str, tmp_path: Path
) -> None:
    async with bench(servers, fresh_database, topic_prefix, tmp_path / "provider") as place:
        receipt = await place.uncertain()
        process = await place.system.start_reconciler()
        sent = await place.send(record(receipt))
        await place.settled(receipt)
        await place.committed_to(sent.offset + 1)
        row = await place.db.receipt(receipt)
        assert (row["state"], row["reference"], await place.db.value(receipt)) == ("completed", "REF-1", VALUE)
        [decision] = await place.db.all("decisions")
        assert (decision["decision_id"], decision["actor"]) == (f"decision-{receipt[:8]}", "back-office")
        assert [
            request["turnId"] for request in await place.db.outbox("turns.requests") if isinstance(request, dict)
        ] == [f"reconciliation:{receipt}:1:1"]
        assert await place.metric(process, "settled") == 1
        process.terminate()
        assert await process.await_end() == 0, process.output()
