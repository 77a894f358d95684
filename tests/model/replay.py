"""The deterministic part of an attempt: it replays its journal as far as that answers, without a step of its own."""

from __future__ import annotations

from tests.model.program import Want, next_want, recorded
from tests.model.scenario import Plan, Scenario
from tests.model.state import Continuation, Database, Entry, Runner


def choices(scenario: Scenario, db: Database, turn: str) -> tuple[Plan, ...]:
    """What the model may plan. One that insists orders again where nobody knows what became of the first order."""
    if scenario.insists and turn == "T2":
        doubts = any(told.turn == "T1" and told.outcome == "uncertain" for told in db.told)
        return (("K2",),) if doubts else ((),)
    return scenario.plans[turn]


def plan_chosen(scenario: Scenario, runner: Runner, plan: Plan) -> Runner:
    """The attempt with a plan; a plain program's is in no journal."""
    entry = Entry("plan", "", plan)
    own = runner.own if scenario.opaque else (*runner.own, entry)
    return runner._replace(seen=(*runner.seen, entry), own=own, note="")


def forwarded(scenario: Scenario, runner: Runner) -> Runner:
    """Replay until the program wants something new. Then `note` is "plan", or `key` names an effect, or it returns."""
    if runner.at != "run" or runner.turn is None:
        return runner
    body = runner.resumed or runner.turn
    if isinstance(body, Continuation):
        return runner
    while True:
        want = next_want(scenario, body, runner.seen)
        entry = recorded(runner.journal, want)
        if entry is None and want.kind == "again":
            made = Entry("again", "", want.digest)
            runner = runner._replace(seen=(*runner.seen, made), own=(*runner.own, made))
        elif entry is None:
            return _wanting(runner, want)
        elif want.kind == "again" and entry.value != want.digest:
            note = f"its journalled request was made after '{entry.value[0]}', it now sees '{want.digest[0]}'"
            return runner._replace(at="held", note=note)
        else:
            runner = runner._replace(seen=(*runner.seen, entry))


def _wanting(runner: Runner, want: Want) -> Runner:
    if want.kind == "plan":
        return runner._replace(note="plan", key="")
    return runner._replace(note="", key=want.name if want.kind == "effect" else "")
