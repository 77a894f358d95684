"""The promises: what no reachable state, no single step and no final state may show."""

from __future__ import annotations

from tests.model.program import was_met
from tests.model.scenario import Scenario
from tests.model.state import Continuation, Database, Runner, Turn, World, aside_of, receipt_of


def has_outcome(db: Database, turn: Turn) -> bool:
    """A turn's row, a rejected row, or a set-aside row that nobody has sent again (R4)."""
    aside = aside_of(db, turn)
    return turn in db.turns or (aside is not None and aside.state != "redriven")


def broken_by_offset(world: World) -> str | None:
    """R4: no offset passes a record without an outcome, unless the record comes again."""
    for place in range(world.committed):
        turn = world.log[place]
        comes = turn in world.log[world.committed :] or turn in world.db.outbox
        if not comes and not has_outcome(world.db, turn) and aside_of(world.db, turn) is None:
            return f"LOST: the offset passed {turn}, which has no outcome"
    return None


def broken_by_commit(scenario: Scenario, world: World, runner: Runner) -> str | None:
    """A commit breaks a promise: run twice, out of order, given up and committed, or not knowing of its own effects."""
    turn, db = runner.turn, world.db
    if turn in db.turns:
        return f"SECOND RUN: {turn} gets as far as its commit again"
    if isinstance(turn, Continuation) or turn is None:
        return _sequence(world, runner)
    aside = aside_of(db, turn)
    if aside is not None and aside.state == "open":
        return f"BOTH: {turn} is committed and set aside"
    order = scenario.log
    place = order.index(turn)
    for earlier in order[:place]:
        if earlier not in db.turns and aside_of(db, earlier) is None:
            return f"ORDER: {turn} commits before {earlier}"
    for later in order[place + 1 :]:
        if later in db.turns and aside is None:
            return f"ORDER: {turn} commits after {later}"
    for key, receipt in db.receipts:
        if receipt.turn == turn and receipt.state != "failed" and not was_met(runner.seen, key):
            return f"UNACCOUNTED: {turn} commits without knowing of {key}, which an earlier attempt prepared"
    return _sequence(world, runner)


def _sequence(world: World, runner: Runner) -> str | None:
    if world.topic and runner.sequence != world.topic[-1] + 1:
        return f"SEQUENCE: a reader that saw {world.topic[-1]} drops the event with {runner.sequence}"
    return None


def broken_by_giving_up(scenario: Scenario, runner: Runner, world: World) -> str | None:
    """R6: a turn is given up for its own failures alone."""
    own = world.kills + world.own_failures
    if runner.at == "exhausted" and own < scenario.limit:
        return f"GIVEN UP: {runner.turn} after {own} failures of its own of {scenario.limit}"
    return None


def broken_state(scenario: Scenario, world: World) -> str | None:
    """Safety: effects happen once, no attempt leaves one that the other does not know, answers agree."""
    if not world.lied:
        for key, count in world.ledger:
            if count > 1:
                return f"DOUBLE EFFECT: {key} is applied {count} times"
        for key, receipt in world.db.receipts:
            survivor = world.restored and scenario.live_restore  # its answers are of a database that is gone
            if receipt.contradicted and not survivor:
                return f"CONTRADICTED: the answers on {key} disagree although nobody was wrong"
    made: dict[Turn, list[str]] = {}
    for key, receipt in world.db.receipts:
        if any(name == key and count for name, count in world.ledger) and not isinstance(receipt.turn, Continuation):
            made.setdefault(receipt.turn, []).append(key)
    for turn, keys in made.items():
        assert isinstance(turn, str)
        most = max((len(plan) for plan in scenario.plans.get(turn, ((),))), default=0)
        if len(keys) > max(most, 1) + (turn in scenario.after_uncertain):
            return f"ORPHAN EFFECT: {turn} applied {keys}, and no attempt of it asks for both"
    return None


def broken_end(scenario: Scenario, world: World) -> str | None:
    """Nothing is left to do: everything has an outcome, nobody waits in vain, and all know what is true."""
    db = world.db
    for turn in (*world.log, *scenario.log):
        if not has_outcome(db, turn):
            return f"STUCK: {turn} has no outcome"
    for turn, key in sorted(db.blocked, key=str):
        receipt = receipt_of(db, key)
        if receipt is None or not (receipt.state == "uncertain" or receipt.contradicted):
            state = receipt.state if receipt is not None else "absent"
            return f"STUCK: {turn} waits for {key}, which is {state}, and no continuation comes"
    return _broken_receipts(scenario, world) or _untold(world)


def _broken_receipts(scenario: Scenario, world: World) -> str | None:
    ledger = dict(world.ledger)
    for key, receipt in world.db.receipts:
        if receipt.state in ("prepared", "uncertain") or receipt.contradicted:
            return f"STUCK: {key} stays {'contradicted' if receipt.contradicted else receipt.state}"
        if world.lied:
            continue
        if receipt.state == "completed" and not ledger.get(key):
            return f"WRONG: {key} is completed and was never applied"
        if receipt.state == "failed" and ledger.get(key):
            return f"WRONG: {key} is failed and was applied"
    for key, count in world.ledger:
        # A model that plans otherwise after a restore leaves an effect that no row knows: a limit of R39, not of a rule's.
        replanned = world.restored and any(len(plans) > 1 for plans in scenario.plans.values())
        if count and receipt_of(world.db, key) is None and not replanned:
            return f"WRONG: {key} was applied and has no receipt"
    return None


def _untold(world: World) -> str | None:
    """Whoever asked for an effect knows what became of it, or an item says that nobody does (R18, R25, R32)."""
    db = world.db
    for told in sorted(db.told, key=str):
        receipt = receipt_of(db, told.key)
        if receipt is not None and receipt.attempt == told.attempt and receipt.state != told.outcome:
            return f"UNTOLD: {told.turn} was told that {told.key} is {told.outcome}, it is {receipt.state}"
    known = {told.key for told in db.told}
    orphaned = {item.key for item in db.items if item.kind == "orphaned" and item.phase != "done"}
    for key, receipt in db.receipts:
        if receipt.state == "completed" and key not in known | orphaned:
            return f"UNTOLD: {key} is completed, no committed turn knows and no item says so"
    return None
