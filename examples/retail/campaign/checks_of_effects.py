"""The shop against the published state, and our receipts against the shop's ledger. Each check yields what differs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from examples.retail.campaign.evidence import Evidence, Receipt
from examples.retail.campaign.player import Played
from examples.retail.conversations import Action
from examples.retail.records_comparison import differences
from examples.retail.shop_client import LedgerMember


def check_outcomes(evidence: Evidence) -> Iterator[str]:
    """Every operation was played, by its own capability, and refused where published, and nowhere else."""
    for played in evidence.played:
        yield from played.problems
        for index, action in enumerate(played.conversation["actions"]):
            for wrong in _outcome(played, index, action):
                yield f"{played.conversation['id']}: operation {index}, {action['name']}: {wrong}"


def _outcome(played: Played, index: int, action: Action) -> Iterator[str]:
    outcome = played.outcomes.get(index)
    if outcome is None:
        yield "was not played to its end"
        return
    if set(outcome.ran) != {action["name"]}:
        yield f"{outcome.ran or 'nothing'} ran instead"
    if outcome.issues and action["error"] is None:
        yield f"refused with {outcome.issues}"
    if not outcome.issues and action["error"] is not None:
        yield f"not refused, published was {action['error']!r}"


def check_records(evidence: Evidence) -> Iterator[str]:
    """Every world has changed as published: these records, in this way, and no others."""
    for played in evidence.played:
        id, expected = played.conversation["id"], played.conversation["expected_changes"]
        for wrong in differences(expected, evidence.changes.get(id, {})):
            yield f"{id}: the shop's records: {wrong}"


def check_ledger(evidence: Evidence) -> Iterator[str]:
    """Every published effect is in the ledger once and in order; no key is there twice; no world is there unasked."""
    applied: dict[str, list[LedgerMember]] = defaultdict(list)
    for entry in sorted(evidence.ledger, key=lambda entry: entry["sequence"]):
        applied[entry["world"]].append(entry)
    for played in evidence.played:
        id = played.conversation["id"]
        wanted = [(one["name"], one["kwargs"]) for one in played.conversation["actions"] if _changes(one)]
        found = [(entry["operation"], entry["kwargs"]) for entry in applied.pop(id, [])]
        if found != wanted:
            yield f"{id}: the ledger has {_names(found)}, published are {_names(wanted)}"
    yield from (f"the ledger has the world {world!r}, which nobody played" for world in applied)
    keys = Counter((entry["world"], entry["key"]) for entry in evidence.ledger)
    yield from (f"{world}: {key} was applied {count} times" for (world, key), count in keys.items() if count > 1)


def _changes(action: Action) -> bool:
    return action["write"] and action["error"] is None


def _names(effects: Sequence[tuple[str, Mapping[str, object]]]) -> str:
    return ", ".join(f"{name} {kwargs}" for name, kwargs in effects) or "nothing"


def check_receipts(evidence: Evidence) -> Iterator[str]:
    """A completed receipt is in the ledger with the shop's reference; a failed one is not; every other one is listed.

    Nothing is in the ledger without a receipt that says so.
    """
    ledger = {(entry["world"], entry["key"]): entry["reference"] for entry in evidence.ledger}
    for receipt in evidence.receipts:
        reference = ledger.pop((receipt.thread_id, receipt.key), None)
        for wrong in _receipt(receipt, reference):
            yield f"{receipt.thread_id}: receipt {receipt.key} {wrong}"
    yield from (f"{world}: {key} is in the ledger and has no receipt" for world, key in ledger)


def _receipt(receipt: Receipt, reference: str | None) -> Iterator[str]:
    if receipt.contradicted:
        yield "is contradicted"
    if receipt.state == "completed" and reference is None:
        yield "is completed and not in the ledger"
    elif receipt.state == "completed" and receipt.reference != reference:
        yield f"says {receipt.reference}, the ledger {reference}"
    if receipt.state == "failed" and reference is not None:
        yield f"is failed, and {reference} is in the ledger"
    if receipt.state in ("prepared", "uncertain") and not receipt.listed:
        yield f"is {receipt.state}, and no operator is told"
