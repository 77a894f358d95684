"""Prepare and end of an effect (R3, R14-R16, R20, R24, R25, R39)."""

from __future__ import annotations

from typing import NamedTuple

from tests.model import database
from tests.model.program import was_met
from tests.model.rules import Rules
from tests.model.scenario import Scenario
from tests.model.state import Database, Entry, Receipt, Runner, World, receipt_of


class Outcome(NamedTuple):
    """What a statement did, and how the attempt goes on."""

    label: str
    world: World
    runner: Runner
    broken: str | None = None


def saw(runner: Runner, outcome: str, twin: str = "") -> Runner:
    """The attempt after run_effect has told it something."""
    entry = Entry("saw", runner.key, (outcome, twin) if twin else (outcome,))
    return runner._replace(at="run", seen=(*runner.seen, entry), own=(*runner.own, entry), key="", attempt=0)


def is_open(receipt: Receipt) -> bool:
    """Nobody knows, or two answers disagree."""
    return receipt.state in ("prepared", "uncertain") or receipt.contradicted


def _twin(scenario: Scenario, db: Database, key: str) -> str:
    """Another key with the same payload whose receipt is open, or empty."""
    for other, receipt in db.receipts:
        if scenario.insists and other != key and is_open(receipt):
            return other
    return ""


def preparing(rules: Rules, scenario: Scenario, world: World, runner: Runner) -> Outcome:
    """Prepare under the head lock; the fence is judged before."""
    db, key = world.db, runner.key
    receipt = receipt_of(db, key)
    if receipt is not None:
        if receipt.contradicted and rules.contradicted_is_closed:
            return Outcome(f"prepare {key}: contradicted", world, saw(runner, "uncertain"))
        if receipt.state in ("completed", "uncertain") and not receipt.contradicted:
            return Outcome(f"prepare {key}: {receipt.state}", world, saw(runner, receipt.state))
        if receipt.state == "prepared":
            moved = world._replace(db=database.move(db, key, "uncertain"))
            return Outcome(f"prepare {key}: found prepared, uncertain", moved, saw(runner, "uncertain"))
    twin = _twin(scenario, db, key)
    if twin and rules.twins_wait:
        return Outcome(f"prepare {key}: its twin {twin} is open", world, saw(runner, "uncertain", twin))
    unmet = sorted(k for k in runner.must if k != key and not was_met(runner.seen, k))
    if unmet and rules.retries_meet_claims:
        return Outcome(f"prepare {key}: held", world, runner._replace(at="held", key="", note=f"unmet {unmet}"))
    return _admitted(rules, world, runner, receipt, twin)


def _admitted(rules: Rules, world: World, runner: Runner, receipt: Receipt | None, twin: str) -> Outcome:
    key, attempt = runner.key, world.attempts + 1
    doubted = rules.recover_doubts_effects and _may_be_lost(world.db, runner, receipt)
    state = "uncertain" if doubted else "prepared"
    db = database.prepared(world.db, key, state, attempt, runner)
    claimed = runner._replace(own=(*runner.own, Entry("claim", key, ())))
    if doubted:
        after = saw(claimed, "uncertain")
        db = database.write_journal(rules, db, after, after.own)
        return Outcome(f"prepare {key}: left to the resolvers", world._replace(db=db, attempts=attempt), after)
    db = database.write_journal(rules, db, claimed, claimed.own)
    broken = None
    if receipt is not None and receipt.contradicted:
        broken = f"ATTEMPT ON CONTRADICTED: {key} is attempted although a late answer said that it was applied"
    elif twin:
        broken = f"TWIN: {key} is attempted while {twin}, the same order, may have been applied"
    after_world = world._replace(db=db, attempts=attempt, remembered=world.remembered | {key})
    return Outcome(
        f"prepare {key}: attempt {attempt}", after_world, claimed._replace(at="send", attempt=attempt), broken
    )


def _may_be_lost(db: Database, runner: Runner, receipt: Receipt | None) -> bool:
    """R39: the lost database may have made this attempt already."""
    if receipt is not None and receipt.recovery >= db.incarnation:
        return False
    return runner.position < db.suspect or runner.turn in db.marked or runner.resumed in db.marked


def ended(rules: Rules, world: World, runner: Runner, outcome: str, repeat: bool) -> Outcome:
    """End of an attempt, on time or late; with `repeat` the same call arrives twice (R11)."""
    key = runner.key
    receipt = receipt_of(world.db, key)
    if receipt is None:  # a restore took the row away
        return Outcome(f"ends {key}: no such receipt", world, saw(runner, "uncertain"))
    mine = receipt.attempt == runner.attempt
    broken = None
    if receipt.state == "prepared" and not mine and not rules.answers_match_attempts:
        broken = f"WRONG ATTEMPT: an answer of attempt {runner.attempt} of {key} ends attempt {receipt.attempt}"
    db, verdict = _judged(rules, world.db, key, receipt, outcome, mine or not rules.answers_match_attempts)
    if repeat and not rules.end_is_idempotent and outcome != "uncertain":
        db = database.contradict(db, key)
    now = receipt_of(db, key)
    assert now is not None
    told = outcome if now.state == outcome and not now.contradicted else "uncertain"
    after = saw(runner, told)
    if now != receipt or not rules.journal_is_fenced:
        db = database.write_journal(rules, db, after, after.own)
    label = f"ends {key}#{runner.attempt} {outcome}: {verdict}"
    return Outcome(label, world._replace(db=db), after, broken)


def _judged(rules: Rules, db: Database, key: str, receipt: Receipt, outcome: str, mine: bool) -> tuple[Database, str]:
    if mine and receipt.state == "prepared":
        return database.move(db, key, outcome), "recorded"
    if outcome == "uncertain":
        return db, "ignored"
    if mine and outcome == "failed" and receipt.repeated and rules.repeats_outlive_refusals:
        return db, "agrees" if receipt.state == "failed" else "ignored"
    if mine and receipt.state == "uncertain" and not receipt.contradicted:
        if rules.late_answers_settle:
            return database.settle(rules, db, key, outcome), "settled late"
        return database.move(db, key, outcome), "recorded late"
    disagrees = receipt.state in ("completed", "failed") and receipt.state != outcome
    if (mine and disagrees) or (not mine and outcome == "completed"):
        if not rules.answers_never_overwrite:
            return database.move(db, key, outcome), "overwritten"
        return database.contradict(db, key), "contradicts"
    return db, "agrees"
