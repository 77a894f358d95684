"""The statements of the boundary (protocol section 9), as functions on the database."""

from __future__ import annotations

from collections.abc import Iterable

from tests.model.rules import Rules
from tests.model.state import (
    Aside,
    Continuation,
    Database,
    Entry,
    Head,
    Item,
    Journal,
    Receipt,
    Runner,
    Told,
    Turn,
    aside_of,
    journal_of,
    receipt_of,
    with_journal,
    with_receipt,
)


def freed(head: Head) -> Head:
    """The head after an outcome: another revision, nobody's lease, no turn in progress."""
    return head._replace(revision=head.revision + 1, token=0, live=False, turn=None, attempts=0)


def merged(journal: Journal, entries: Iterable[Entry]) -> Journal:
    """Append rows; a name that is there already stays as it was."""
    names = {(entry.kind, entry.name) for entry in journal}
    return (*journal, *(entry for entry in entries if (entry.kind, entry.name) not in names))


def replaced(journal: Journal, entries: Journal) -> Journal:
    """A later continuation's entries replace those of the same name (ADR 2, R16)."""
    newer = {(entry.kind, entry.name): entry for entry in entries}
    return merged(tuple(newer.get((entry.kind, entry.name), entry) for entry in journal), entries)


def claims(journal: Journal) -> frozenset[str]:
    """The keys that a journal says were prepared."""
    return frozenset(entry.name for entry in journal if entry.kind == "claim")


def lease(rules: Rules, db: Database, turn: Turn, token: int, limit: int) -> Database:
    """Begin's write: another fence, a lease, and the attempt counted on the head (R1, R6)."""
    head = db.head
    attempts = head.attempts if head.turn == turn else 0
    counted = min(attempts + 1, limit + 1) if limit and rules.begin_counts_attempts else attempts
    fence = head.fence + 1 if rules.fence_is_a_counter else token
    return db._replace(head=head._replace(fence=fence, token=token, live=True, turn=turn, attempts=counted))


def release(db: Database, give_back: bool) -> Database:
    """End an attempt without an outcome; the count of attempts stays with the turn."""
    attempts = max(db.head.attempts - 1, 0) if give_back else db.head.attempts
    return db._replace(head=db.head._replace(token=0, live=False, attempts=attempts))


def write_journal(rules: Rules, db: Database, runner: Runner, entries: Iterable[Entry]) -> Database:
    """Append what the attempt saw; only while the fence is its own (R16)."""
    if runner.turn is None or (rules.journal_is_fenced and db.head.fence != runner.fence):
        return db
    kept = [e for e in entries if rules.outcomes_are_journalled or e.kind != "saw"]
    return with_journal(db, runner.turn, merged(journal_of(db, runner.turn), kept))


def move(db: Database, key: str, state: str) -> Database:
    """A receipt's next state, with its version raised."""
    receipt = receipt_of(db, key)
    assert receipt is not None
    return with_receipt(db, key, receipt._replace(state=state, version=receipt.version + 1))


def ask(rules: Rules, db: Database, key: str) -> Database:
    """Ask for a continuation: an outbox row, idempotent by its id (R28, R29)."""
    receipt = receipt_of(db, key)
    assert receipt is not None
    receipt = receipt._replace(issues=receipt.issues + 1)
    name = Continuation(key, receipt.settlements, receipt.issues)
    if not rules.ids_hold_settlements:
        name = Continuation(key, 0, 0)
    return with_receipt(db, key, receipt)._replace(outbox=(*db.outbox, name))


def settle(rules: Rules, db: Database, key: str, state: str, asks: bool = True) -> Database:
    """A settlement: state, number, item and continuation in one transaction (R23, R24, R29)."""
    receipt = receipt_of(db, key)
    assert receipt is not None
    number = receipt.settlements + 1
    receipt = receipt._replace(
        state=state,
        settlements=number,
        issues=0,
        contradicted=False,
        version=receipt.version + 1,
        recovery=db.incarnation,
    )
    db = with_receipt(db, key, receipt)
    items = tuple(
        item._replace(phase="decided", settlement=number)
        if (item.key, item.kind, item.phase) == (key, "uncertain", "open")
        else item
        for item in db.items
    )
    db = db._replace(items=items)
    waits = any(pair[1] == key for pair in db.blocked)
    return ask(rules, db, key) if asks and (rules.settle_always_asks or waits) else db


def contradict(db: Database, key: str) -> Database:
    """Store an answer that disagrees: the state stays, the receipt is flagged (R25)."""
    receipt = receipt_of(db, key)
    assert receipt is not None
    return with_receipt(db, key, receipt._replace(contradicted=True, version=receipt.version + 1))


def open_item(db: Database, key: str, kind: str = "uncertain") -> Database:
    """An item, where none of that kind is open for the receipt (R27)."""
    if any(item.key == key and item.kind == kind and item.phase == "open" for item in db.items):
        return db
    receipt = receipt_of(db, key)
    assert receipt is not None
    return db._replace(items=(*db.items, Item(key, receipt.settlements + 1, kind, "open")))


def _end_own(rules: Rules, db: Database, runner: Runner) -> tuple[Database, frozenset[str]]:
    """A commit turns its own prepared receipts into uncertain ones (R18)."""
    moved: set[str] = set()
    for key, receipt in db.receipts:
        if receipt.state == "prepared" and receipt.fence == runner.fence and rules.commit_blocks_abandoned:
            db = move(db, key, "uncertain")
            moved.add(key)
    return db, frozenset(moved)


def _tell(db: Database, runner: Runner, turn: Turn) -> frozenset[Told]:
    """What the conversation knows after this commit."""
    told = {entry for entry in db.told if entry.turn != turn or entry.key not in {e.name for e in runner.seen}}
    for entry in runner.seen:
        receipt = receipt_of(db, entry.name) if entry.kind == "saw" else None
        if receipt is not None:
            told.add(Told(turn, entry.name, entry.value[0], receipt.attempt))
    if isinstance(runner.turn, Continuation):
        settled = receipt_of(db, runner.turn.key)
        if settled is not None and settled.state in ("completed", "failed") and not settled.contradicted:
            told = {
                e._replace(outcome=settled.state) if e.key == runner.turn.key and e.attempt == settled.attempt else e
                for e in told
            }
    return frozenset(told)


def commit(rules: Rules, db: Database, runner: Runner, waits_for: frozenset[str]) -> Database:
    """A turn's commit: head, turn, journal, what is told, who waits and for what, and the second look (R18, R29, R30)."""
    turn = runner.turn
    assert turn is not None
    body = runner.resumed or turn
    db, abandoned = _end_own(rules, db, runner)
    waits_for |= abandoned
    blocked = set(db.blocked)
    if runner.resumed is not None:
        settled = turn.key if isinstance(turn, Continuation) else ""
        blocked -= {p for p in blocked if p[0] == body and (rules.commit_says_all or p[1] == settled)}
    blocked |= {(body, key) for key in waits_for}
    changes = (body == turn and not isinstance(turn, Continuation)) or runner.resumed is not None
    head = freed(db.head)._replace(sequence=db.head.sequence + 1, memory=db.head.memory + changes)
    told = _tell(db, runner, body)
    db = db._replace(head=head, turns=(*db.turns, turn), blocked=frozenset(blocked), told=told)
    kept = any(pair[0] == body for pair in blocked)
    if kept:
        db = _doubted(rules, db, runner, body)
    whole = replaced(journal_of(db, body), runner.own) if isinstance(turn, Continuation) else runner.own
    db = with_journal(db, turn, ())
    if not isinstance(body, Continuation):
        db = with_journal(db, body, whole if kept else ())
    db = _close_items(db, turn)
    return _look_again(rules, db, turn, waits_for)


def _doubted(rules: Rules, db: Database, runner: Runner, turn: Turn) -> Database:
    """A turn that a lost database may have had stays one when it runs again beyond those offsets (R39)."""
    if rules.doubt_is_kept and runner.position < db.suspect:
        return db._replace(marked=db.marked | {turn})
    return db


def _close_items(db: Database, turn: Turn) -> Database:
    """A continuation's commit ends the item that owns it (R31)."""
    if not isinstance(turn, Continuation):
        return db
    items = tuple(
        item._replace(phase="done") if item.key == turn.key and item.phase == "decided" else item for item in db.items
    )
    return db._replace(items=items)


def _look_again(rules: Rules, db: Database, turn: Turn, waits_for: frozenset[str]) -> Database:
    """Ask for those that are settled by now (R29), and for whoever still waits for this continuation's receipt (R30)."""
    for key in sorted(waits_for if rules.commit_looks_again else ()):
        receipt = receipt_of(db, key)
        if receipt is not None and receipt.state in ("completed", "failed") and not receipt.contradicted:
            db = ask(rules, db, key)
    if not isinstance(turn, Continuation) or not rules.all_are_resumed or turn.key in waits_for:
        return db
    return ask(rules, db, turn.key) if any(pair[1] == turn.key for pair in db.blocked) else db


def set_aside(rules: Rules, db: Database, runner: Runner) -> Database:
    """Give a turn up by a fenced commit of its own; the journal stays for a redrive (R5, R32, R33)."""
    turn = runner.turn
    assert turn is not None
    mine = db.head.fence == runner.fence
    db, _ = _end_own(rules, db, runner)
    head = freed(db.head) if mine or rules.set_aside_is_fenced else db.head
    db = db._replace(head=head, asides=(*db.asides, Aside(turn, "open", db.head.memory)))
    db = _doubted(rules, db, runner, turn)
    for key in sorted(claims(journal_of(db, turn))) if rules.orphans_are_items else ():
        receipt = receipt_of(db, key)
        if receipt is not None and receipt.state != "failed":
            db = open_item(db, key, "orphaned")
    return db


def redrive(db: Database, aside: Aside) -> Database:
    """Flip the row; the request is another write (R33)."""
    asides = tuple(a._replace(state="redriven") if a == aside else a for a in db.asides)
    journal = claims(journal_of(db, aside.turn))
    items = tuple(i for i in db.items if not (i.kind == "orphaned" and i.key in journal))
    return db._replace(asides=asides, items=items)


def rebased(rules: Rules, db: Database, turn: Turn) -> Database:
    """A redriven turn on another memory begins with what it has to meet and nothing else (R33)."""
    aside = aside_of(db, turn)
    if aside is None or aside.state != "redriven" or db.head.memory == aside.memory or db.head.turn == turn:
        return db
    kept = tuple(e for e in journal_of(db, turn) if e.kind == "claim") if rules.redrive_keeps_claims else ()
    return with_journal(db, turn, kept)


def prepared(db: Database, key: str, state: str, attempt: int, runner: Runner) -> Database:
    """The row that an admitted prepare writes: prepared, or uncertain where nobody is called (R39)."""
    assert runner.turn is not None
    old = receipt_of(db, key)
    if old is None:
        row = Receipt(state, attempt, runner.fence, runner.resumed or runner.turn, recovery=db.incarnation)
    else:
        row = old._replace(
            state=state,
            attempt=attempt,
            fence=runner.fence,
            contradicted=False,
            version=old.version + 1,
            recovery=db.incarnation,
            repeated=False,
        )
    return with_receipt(db, key, row)
