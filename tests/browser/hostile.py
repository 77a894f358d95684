"""Texts that would run, or break a page, if one place forgot to escape them: in every field that others fill."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from intention_kernel.contracts.json_codec import dumps
from intention_kernel.ids import receipt_id
from intention_kernel.postgres.packing import pack

from tests.browser.place import Place
from tests.support.fan7 import RESERVATION_KEYS, request

HOSTILE = "<script>hit=1</script>\"'><img src=x onerror=hit=1>{{7*7}}</textarea></title>&lt;b&gt;" + "w" * 100
LINK = 'https://example.com/"><script>hit=1</script>'
NO_LINK = "javascript:hit=1//"
THREAD, TURN = f"thread {HOSTILE}", f"turn {HOSTILE}"

_RECEIPT = "update receipts set title = $2, provider = $2, currency = $2, tenant_id = $2 where receipt_id = $1"
_OBSERVATION = """
insert into observations (thread_id, effect_key, settlement, receipt_version, source, finding, detail, value, reference, started_at)
select thread_id, effect_key, 1, version, $2, 'found', $3, $4, $2, now() from receipts where receipt_id = $1
"""
_REJECTED = "select from rejected_requests"


@dataclass(frozen=True, slots=True)
class Ground:
    """What is there to look at: a receipt with hostile texts, one that somebody proposes to decide, one that is settled."""

    hostile: str
    proposed: str
    settled: str

    @property
    def paths(self) -> dict[str, str]:
        """Every page, by its name; `who` sees it is an admin."""
        thread, turn = quote(THREAD, safe=""), quote(TURN, safe="")
        goes_on = quote(f"reconciliation:{self.settled}:1:1", safe="")
        return {
            "overview": "/",
            "queue": "/queue",
            "queue, nothing found": "/queue?q=" + quote(f'title "{NO_LINK}"'),
            "queue, no filter": "/queue?q=" + quote(f"stats:{HOSTILE}"),
            "receipt, uncertain": f"/receipts/{self.hostile}",
            "receipt, proposed": f"/receipts/{self.proposed}",
            "receipt, settled": f"/receipts/{self.settled}",
            "proposals": "/proposals",
            "conversations": "/threads",
            "conversation": f"/threads/{thread}",
            "turn, blocked": f"/threads/{thread}/turns/{turn}",
            "turn, went on": f"/threads/settled/turns/{goes_on}",
            "rejected": "/rejected",
            "audit": "/audit",
            "rules": "/rules",
            "users": "/users",
            "settings": "/settings",
            "no such page": f"/receipts/{thread}",
        }


async def hostile_ground(place: Place) -> Ground:
    """Made by turns, forms and, where only a program could, by the database."""
    settled, proposed = await place.uncertain("settled"), await place.uncertain("proposed")
    decision = {"resolution": "applied", "expected_version": "2", "step": "confirm", "reason": HOSTILE}
    decision |= {"reference": HOSTILE, "evidence": LINK, "reason_code": "other"}
    decision |= {f"value.{name}": text for name, text in (await place.reservation()).items()}
    await place.post("dora", f"/receipts/{settled}/decide", decision)
    await place.post("dora", "/rules", {"rule_id": HOSTILE, "effects": "inventory.reserve_manual", "tenants": HOSTILE})
    await place.post(
        "dora", "/rules", {"rule_id": "two-people", "effects": "inventory.reserve_manual", "resolution": "applied"}
    )
    await place.post("ana", f"/receipts/{proposed}/decide", {**decision, "value.sku": HOSTILE})
    await place.post("dora", "/settings/tokens", {"label": HOSTILE, "days": "30", "permission": "receipts:read"})
    await place.system.broker.send(place.system.topics.requests, HOSTILE.encode(), dumps({HOSTILE: HOSTILE}))
    ground = Ground(await _receipt(place), proposed, settled)
    await place.await_item(settled, "done")
    await place.system.await_rows(_REJECTED)
    return ground


async def _receipt(place: Place) -> str:
    await place.inventory.lose_next_reply()
    await place.say(request(THREAD, TURN, f"reserve 2 FILTER-A for FAN-7 {HOSTILE}", "operator"))
    made = receipt_id(THREAD, RESERVATION_KEYS["operator"])
    await place.await_item(made, "open")
    await place.system.fetch(_RECEIPT, made, HOSTILE)
    value = pack(dumps({HOSTILE: HOSTILE}))
    await place.system.fetch(_OBSERVATION, made, HOSTILE, HOSTILE.encode(), value)
    for kind, text in (("comment", HOSTILE), ("link", LINK), ("quotation", NO_LINK), ("ticket", HOSTILE)):
        await place.post("ana", f"/receipts/{made}/note", {"kind": kind, "text": text})
    await place.post("ana", f"/receipts/{made}/claim", {"minutes": "60"})
    await place.post("dora", f"/receipts/{made}/takeover", {"reason": HOSTILE})
    return made
