"""The scenarios of the protocol's model: what is asked for, and how many faults of each kind may happen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Plan = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Faults:
    """How often each kind may happen in one run; the seed decides where.

    kill: a runner is cut off · expire: a lease ends while its holder lives · rebalance: the other runner gets the partition
    timeout: a call's reply does not come · drop: a call is lost on the way · refuse: the provider proves that it did nothing
    fail: the program raises · lose: a statement is executed, its answer lost, and it is sent again · late: a copy of a
    statement arrives later · unknown: a statement's answer is never known · overlap: two statements of two runners wait
    for one lock · lookups, operators: how often a resolver and a person may look · lie: a person settles without looking
    """

    kill: int = 0
    expire: int = 0
    rebalance: int = 0
    timeout: int = 0
    drop: int = 0
    refuse: int = 0
    fail: int = 0
    lose: int = 1
    late: int = 1
    unknown: int = 0
    overlap: int = 0
    lookups: int = 0
    operators: int = 0
    lie: int = 0


@dataclass(frozen=True, slots=True)
class Scenario:
    """One bounded world. `plans` are what the model may plan for a turn.

    zombie_start: the second runner polled everything in an older generation · opaque: the plan is not journalled
    asks_again: the model is asked again after K1, with what became of it · fallback: after a refusal, the other key
    on_uncertain: after an unknown outcome the turn goes on with this key
    escapes: the program does not catch it
    keyed: the provider deduplicates · twins: every key has one payload · wire_only: people say "not applied" as they like
    """

    title: str
    faults: Faults
    log: tuple[str, ...] = ("T1",)
    plans: Mapping[str, tuple[Plan, ...]] = field(default_factory=lambda: {"T1": (("K1",),)})
    two_runners: bool = True
    zombie_start: bool = False
    opaque: bool = False
    asks_again: bool = False
    fallback: dict[str, str] = field(default_factory=dict)
    on_uncertain: dict[str, str] = field(default_factory=dict)
    escapes: bool = False
    keyed: bool = False
    attempts: int = 50
    redrives: int = 0
    twins: bool = False
    wire_only: bool = False


_ONE = {"T1": (("K1",),)}
_EITHER = {"T1": (("K1",), ("K2",))}
_T2_TOO = {"T2": (("K1",),)}
_NOTHING: dict[str, tuple[Plan, ...]] = {"T1": ((),), "T2": ((),)}

SCENARIOS: dict[str, Scenario] = {
    "zombie": Scenario(
        "a holder paused past its lease, a rebalance, one lookup",
        Faults(expire=1, rebalance=1, lookups=1),
        escapes=True,
    ),
    "zombie+": Scenario(
        "paused twice, a rebalance, a kill, a lost reply, two lookups",
        Faults(expire=2, rebalance=1, lookups=2, timeout=1, kill=1, unknown=1),
    ),
    "diverge": Scenario(
        "the model may plan K1 or K2: a pause, a rebalance, a kill, one lookup",
        Faults(expire=1, rebalance=1, kill=1, lookups=1),
        plans=_EITHER,
    ),
    "crash": Scenario(
        "two kills, a lost reply, two lookups", Faults(kill=2, timeout=1, lookups=2), two_runners=False, escapes=True
    ),
    "lostcall": Scenario(
        "calls lost on the way twice, a lost reply, a kill, three lookups",
        Faults(drop=2, timeout=1, lookups=3, kill=1),
        two_runners=False,
    ),
    "order": Scenario(
        "two turns, a zombie with both in its lane, an attempt that fails, a pause",
        Faults(fail=1, expire=1, late=2, overlap=1),
        log=("T1", "T2"),
        plans=_NOTHING,
        zombie_start=True,
    ),
    "lost": Scenario(
        "no effects: a zombie, a pause, a kill",
        Faults(expire=1, kill=1, overlap=1),
        plans={"T1": ((),)},
        zombie_start=True,
    ),
    "same": Scenario(
        "two turns use one key: a kill, a lost reply, one lookup",
        Faults(timeout=1, kill=1, lookups=1),
        log=("T1", "T2"),
        plans={**_ONE, **_T2_TOO},
        two_runners=False,
    ),
    "fallback": Scenario(
        "K1 is refused, the program takes K2; a kill",
        Faults(refuse=1, kill=1),
        fallback={"K1": "K2"},
        two_runners=False,
    ),
    "more": Scenario(
        "K1 is uncertain, the program goes on with an independent K2; a kill, a lost reply, one lookup",
        Faults(timeout=1, kill=1, lookups=1),
        on_uncertain={"T1": "K2"},
        two_runners=False,
    ),
    "branch": Scenario(
        "the same with one unknown outcome, and the continuation, which knows it, does not ask for K2",
        Faults(timeout=1, lookups=1, late=2, lose=2),
        on_uncertain={"T1": "K2"},
        two_runners=False,
    ),
    "redrive": Scenario(
        "a turn set aside, perhaps with an effect, and redriven; a lost reply, two failures, one lookup",
        Faults(timeout=1, fail=2, lookups=1),
        log=("T1", "T2"),
        plans={**_ONE, "T2": ((),)},
        attempts=2,
        redrives=1,
        two_runners=False,
    ),
    "operator": Scenario(
        "a person and a resolver race; a lost call, a lost reply, a kill",
        Faults(drop=1, timeout=1, lookups=1, operators=1, kill=1),
        two_runners=False,
    ),
    "commit": Scenario(
        "the model may plan nothing or K1: a kill, a pause, a rebalance",
        Faults(expire=1, rebalance=1, kill=1, overlap=2, unknown=1),
        plans={"T1": ((), ("K1",))},
    ),
    "opaque": Scenario(
        "a plain Program whose plan, K1, K2 or nothing, is not journalled: a pause, a rebalance, a kill, one lookup",
        Faults(expire=1, rebalance=1, kill=1, lookups=1),
        plans={"T1": (("K1",), ("K2",), ())},
        opaque=True,
    ),
    "m2": Scenario(
        "the model is asked again after the effect, then K2: a kill, a lost reply, one lookup",
        Faults(timeout=1, kill=1, lookups=1),
        asks_again=True,
        on_uncertain={"T1": "K2"},
        two_runners=False,
    ),
    "m2z": Scenario(
        "the same with a paused holder and a rebalance",
        Faults(expire=1, rebalance=1, kill=1),
        asks_again=True,
        on_uncertain={"T1": "K2"},
    ),
    "aside": Scenario(
        "two turns: a zombie with both in its lane gives one up",
        Faults(fail=1, expire=2, late=2, overlap=1),
        log=("T1", "T2"),
        plans=_NOTHING,
        zombie_start=True,
        attempts=1,
    ),
    "keyed": Scenario(
        "as zombie+, the provider deduplicates by key",
        Faults(expire=2, rebalance=1, lookups=2, timeout=1, kill=1),
        keyed=True,
    ),
    "big": Scenario(
        "two turns, one key: everything once",
        Faults(expire=1, rebalance=1, kill=1, timeout=1, drop=1, lookups=1, operators=1, unknown=1, overlap=1),
        log=("T1", "T2"),
        plans={**_ONE, **_T2_TOO},
        escapes=True,
    ),
    "big2": Scenario(
        "two turns, the model may plan K1 or K2, T2 uses K1",
        Faults(expire=1, rebalance=1, kill=1, timeout=1, lookups=1),
        log=("T1", "T2"),
        plans={**_EITHER, **_T2_TOO},
    ),
    "poison": Scenario(
        "a turn that kills its process is given up with what it holds, and the lane goes on",
        Faults(kill=4, lookups=1, timeout=1),
        log=("T1", "T2"),
        plans={**_ONE, "T2": ((),)},
        attempts=2,
    ),
    "twins": Scenario(
        "two turns with one payload under two keys: a lost reply, a kill, one lookup",
        Faults(timeout=1, kill=1, lookups=1, expire=1, rebalance=1),
        log=("T1", "T2"),
        plans={**_ONE, "T2": (("K2",),)},
        twins=True,
    ),
    "lie": Scenario(
        "somebody says that an attempt did nothing while its call is under way; pauses, a rebalance, a kill",
        Faults(expire=2, rebalance=1, kill=1, timeout=1, lie=2),
        wire_only=True,
    ),
}
"""The model's twenty, and four that it leaves out."""
