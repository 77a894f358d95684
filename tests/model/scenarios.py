"""The scenarios: small worlds, each with the faults that some rule is there for."""

from __future__ import annotations

from dataclasses import replace

from tests.model.scenario import Plan, Scenario
from tests.model.state import Faults

_NONE: dict[str, tuple[Plan, ...]] = {"T1": ((),)}
_EITHER: dict[str, tuple[Plan, ...]] = {"T1": (("K1",), ("K2",))}
_SAME: dict[str, tuple[Plan, ...]] = {"T1": (("K1",),), "T2": (("K1",),)}
_QUIET: dict[str, tuple[Plan, ...]] = {"T1": ((),), "T2": ((),)}
_THEN: dict[str, tuple[Plan, ...]] = {"T1": (("K1",),), "T2": ((),)}
_TWO = ("T1", "T2")

_ALL = (
    Scenario("zombie", "holder paused past its lease, rebalance, a look", faults=Faults(pause=1, rebalance=1, look=1)),
    Scenario(
        "zombies",
        "paused, rebalance, kill, lost reply, two looks",
        faults=Faults(pause=1, rebalance=1, look=2, timeout=1, crash=1),
    ),
    Scenario(
        "diverge",
        "the model plans K1 or K2: pause, rebalance, kill, a look",
        plans=_EITHER,
        faults=Faults(pause=1, rebalance=1, crash=1, look=1),
    ),
    Scenario("crash", "two kills, lost reply, two looks", two_runners=False, faults=Faults(crash=2, timeout=1, look=2)),
    Scenario(
        "lostcall",
        "two calls lost, lost reply, kill, three looks",
        two_runners=False,
        faults=Faults(lost_call=2, timeout=1, look=3, crash=1),
    ),
    Scenario(
        "order",
        "a zombie with two turns in its lane; an attempt fails, a pause",
        log=_TWO,
        plans=_QUIET,
        zombie=True,
        faults=Faults(failure=1, pause=1),
    ),
    Scenario("lost", "a zombie, no effects: pause, kill", plans=_NONE, zombie=True, faults=Faults(pause=1, crash=1)),
    Scenario(
        "duplicate",
        "a begin arrives twice, a plain program plans K1 or K2: pause, rebalance, kill",
        plans=_EITHER,
        opaque=True,
        faults=Faults(duplicate=1, pause=1, rebalance=1, crash=1),
    ),
    Scenario(
        "same",
        "two turns use one key: lost reply, kill, a look",
        log=_TWO,
        plans=_SAME,
        two_runners=False,
        faults=Faults(timeout=1, crash=1, look=1),
    ),
    Scenario(
        "fallback",
        "K1 refused, the program takes K2: kill",
        after_failure={"K1": "K2"},
        two_runners=False,
        faults=Faults(refusal=1, crash=1),
    ),
    Scenario(
        "more",
        "K1 uncertain, the program goes on with K2: kill, lost reply, a look",
        after_uncertain={"T1": "K2"},
        two_runners=False,
        faults=Faults(timeout=1, crash=1, look=1),
    ),
    Scenario(
        "again",
        "the model is asked again after K1, then K2: kill, lost reply, a look",
        asks_again=True,
        after_uncertain={"T1": "K2"},
        two_runners=False,
        faults=Faults(timeout=1, crash=1, look=1),
    ),
    Scenario(
        "again-zombie",
        "the same with a paused holder and a rebalance",
        asks_again=True,
        after_uncertain={"T1": "K2"},
        faults=Faults(pause=1, rebalance=1, crash=1),
    ),
    Scenario(
        "opaque",
        "a plain program that plans K1 or K2: pause, rebalance, kill, a look",
        plans=_EITHER,
        opaque=True,
        faults=Faults(pause=1, rebalance=1, crash=1, look=1, give_up=1),
    ),
    Scenario(
        "operator",
        "operator and resolver race: lost call, lost reply, kill",
        two_runners=False,
        faults=Faults(lost_call=1, timeout=1, look=1, decision=1, crash=1),
    ),
    Scenario(
        "aside",
        "a zombie with two turns in its lane gives one up",
        log=_TWO,
        plans=_QUIET,
        zombie=True,
        faults=Faults(give_up=1, pause=2),
    ),
    Scenario(
        "poison",
        "a turn that kills its process",
        plans=_NONE,
        poison="T1",
        limit=2,
        two_runners=False,
        faults=Faults(failure=1),
    ),
    Scenario(
        "outage",
        "attempts are counted, the database is away",
        plans=_NONE,
        limit=2,
        two_runners=False,
        faults=Faults(outage=2, failure=2),
    ),
    Scenario("repeat", "the reply to an end is lost", two_runners=False, faults=Faults(repeat=1, refusal=1, timeout=1)),
    Scenario(
        "abandon",
        "a call runs past the turn's deadline and is abandoned",
        two_runners=False,
        faults=Faults(abandon=1, crash=1, look=1),
    ),
    Scenario(
        "twins",
        "a user insists on an order while it is not known what became of it",
        log=_TWO,
        plans=_THEN,
        insists=True,
        two_runners=False,
        faults=Faults(timeout=1, look=1),
    ),
    Scenario(
        "keyed",
        "the provider deduplicates: paused, rebalance, kill, lost reply, looks",
        remembers=True,
        faults=Faults(pause=1, rebalance=1, look=2, timeout=1, crash=1),
    ),
    Scenario(
        "repeats",
        "the resolver repeats the call of a provider that deduplicates for a while",
        remembers=True,
        two_runners=False,
        faults=Faults(timeout=1, lost_call=1, look=1, retry=1, forget=1, crash=1),
    ),
    Scenario(
        "repeats-refused",
        "repeated while its holder is paused: a refusal, a call that is never made",
        remembers=True,
        two_runners=False,
        faults=Faults(pause=1, refusal=1, retry=1, uncalled=1, crash=1),
    ),
    Scenario(
        "wrong",
        "somebody settles wrongly, a late answer disagrees",
        two_runners=False,
        faults=Faults(pause=1, lie=1, refusal=1, crash=1),
    ),
    Scenario(
        "wrong-zombie",
        "somebody settles wrongly while the holder is paused; the continuation runs elsewhere",
        items=True,
        faults=Faults(pause=1, rebalance=1, lie=1, refusal=1),
    ),
    Scenario(
        "items",
        "an explicit queue: lost reply, kill, lost call, looks",
        items=True,
        two_runners=False,
        faults=Faults(timeout=1, crash=1, lost_call=1, look=2),
    ),
    Scenario(
        "items-given-up",
        "a continuation or the turn itself is given up: lost reply, lost call, looks",
        items=True,
        two_runners=False,
        faults=Faults(timeout=1, lost_call=1, give_up=2, look=2),
    ),
    Scenario(
        "redrive",
        "given up after an uncertain effect and redriven: lost reply, a look, slow relay",
        slow_relay=True,
        two_runners=False,
        faults=Faults(timeout=1, give_up=1, look=1, redrive=1, failure=1),
    ),
    Scenario(
        "redrive-late",
        "given up, later turns commit, redriven; the model plans K1 or K2: kill, a look",
        log=_TWO,
        plans={"T1": (("K1",), ("K2",)), "T2": ((),)},
        two_runners=False,
        faults=Faults(timeout=1, give_up=1, look=1, redrive=1, crash=1),
    ),
    Scenario(
        "restore",
        "the database goes back to an older day: kill, a look",
        two_runners=False,
        faults=Faults(backup=1, restore=1, look=2),
    ),
    Scenario(
        "restore-quiet",
        "the same without effects; nobody tells that it was restored",
        plans=_NONE,
        announced=False,
        two_runners=False,
        faults=Faults(backup=1, restore=1),
    ),
    Scenario(
        "restore-waiting",
        "the same, with a turn that waits: lost reply, lost call, looks",
        two_runners=False,
        faults=Faults(backup=1, restore=1, timeout=1, look=2),
    ),
    Scenario(
        "restore-look",
        "the same, with a look and a person's word on one receipt",
        two_runners=False,
        faults=Faults(backup=1, restore=1, lost_call=1, look=1, decision=1),
    ),
    Scenario(
        "restore-chain",
        "the same, with a turn that needs two effects",
        plans={"T1": (("K1", "K2"),)},
        two_runners=False,
        faults=Faults(backup=1, restore=1, look=1),
    ),
    Scenario(
        "restore-redrive",
        "the same, with a turn given up and redriven",
        two_runners=False,
        faults=Faults(backup=1, restore=1, give_up=1, redrive=2),
    ),
    Scenario(
        "restore-live",
        "the same while a runner that everybody takes for dead lives on",
        live_restore=True,
        plans=_EITHER,
        faults=Faults(backup=1, restore=1, rebalance=1),
    ),
)

SCENARIOS = {scenario.name: scenario for scenario in _ALL}


def deeper(scenario: Scenario, more: int) -> Scenario:
    """The scenario with so many more of each fault that it has."""
    raised = Faults(*(count + more if count else 0 for count in scenario.faults))
    return replace(scenario, faults=raised)
