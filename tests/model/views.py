"""What a begin gives to an attempt: the journal it replays and the keys it has to meet (R15, R16, R30 with ADR 2)."""

from __future__ import annotations

from tests.model.database import claims, replaced
from tests.model.rules import Rules
from tests.model.state import Continuation, Database, Entry, Journal, Runner, Turn, journal_of, receipt_of


def resumed_by(rules: Rules, db: Database, turn: Continuation) -> Turn | None:
    """The oldest turn that waits for the continuation's receipt, or None."""
    receipt = receipt_of(db, turn.key)
    for waiting in db.turns:
        named = receipt is not None and receipt.turn == waiting
        if (waiting, turn.key) in db.blocked and (rules.all_are_resumed or named):
            return waiting
    return None


def _is_of(entry: Entry, key: str) -> bool:
    return entry.kind == "saw" and (entry.name == key or entry.value[1:] == (key,))


def opened(rules: Rules, db: Database, turn: Turn, runner: Runner) -> Runner:
    """The runner with what the attempt knows. `journal` is what it replays, `own` what its commit keeps."""
    own = journal_of(db, turn)
    if not isinstance(turn, Continuation):
        return runner._replace(journal=own, own=own, must=claims(own))
    resumed = resumed_by(rules, db, turn)
    base = journal_of(db, resumed) if resumed is not None else ()
    settled = [place for place, entry in enumerate(base) if _is_of(entry, turn.key)]
    first = settled[0] if settled else len(base)
    must = claims(base[:first]) | {base[place].name for place in settled} | claims(own)
    view: Journal = tuple(
        entry
        for place, entry in enumerate(base)
        if not _is_of(entry, turn.key) and not (entry.kind == "again" and place > first and rules.settled_outcome_frees)
    )
    return runner._replace(journal=replaced(view, own), own=own, resumed=resumed, must=must)
