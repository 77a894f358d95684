"""The guarantees, and which checks are the evidence of each.

A test of the contract suites names the rules of the protocol that it tries; it is evidence of every guarantee that has
one of them. Where it names none, its suite decides. Scenarios of the crash suite and rows about servers are named.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from intention_kernel.verification.checks import Check


@dataclass(frozen=True, slots=True)
class Guarantee:
    """`number` begins with the promise of the README that it belongs to; `invariants` are those of docs/invariants.md."""

    number: str
    title: str
    invariants: tuple[str, ...]
    rules: frozenset[str]
    suites: frozenset[str] = frozenset()
    named: tuple[str, ...] = ()

    @property
    def promise(self) -> int:
        """1 to 5."""
        return int(self.number.partition(".")[0])

    def rests_on(self, check: Check) -> bool:
        """Whether the check is evidence of it."""
        if check.part != "contract":
            return any(fnmatchcase(check.name, pattern) for pattern in self.named)
        if check.rules:
            return bool(check.rules & self.rules)
        return check.group in self.suites


def _rules(text: str) -> frozenset[str]:
    return frozenset(text.split())


GUARANTEES: tuple[Guarantee, ...] = (
    Guarantee(
        "1.1",
        "A turn id commits once; a redelivery gets the stored result, other content is a conflict",
        ("I-6", "I-7", "I-8"),
        _rules("R7"),
        named=("crash.kill.runner.*", "crash.pause.*", "crash.overtake.*"),
    ),
    Guarantee(
        "1.2",
        "Every statement may be repeated after a lost answer, and changes nothing then",
        ("I-21",),
        _rules("R11"),
        named=("crash.kill.*",),
    ),
    Guarantee(
        "1.3",
        "Retention leaves what a redelivery or a later call of a key needs",
        ("I-212", "I-213"),
        _rules("R38"),
    ),
    Guarantee(
        "2.1",
        "Turns of a thread run one at a time, and a late writer is fenced off",
        ("I-1", "I-2", "I-4", "I-5", "I-23"),
        _rules("R1 R2 R3 R12"),
        named=("crash.pause.*", "crash.overtake.*", "database.isolation", "database.clock"),
    ),
    Guarantee(
        "2.2",
        "A record is passed over only when its outcome is a row, given up or rejected included",
        ("I-9", "I-15", "I-16", "I-17", "I-18"),
        _rules("R4 R5 R34"),
        named=("crash.kill.runner.*", "crash.pause.*", "broker.retention", "broker.cleanup"),
    ),
    Guarantee(
        "2.3",
        "Attempts are counted by the database, and a build that does not fit is held",
        ("I-10", "I-11", "I-12"),
        _rules("R6 R8"),
        named=("crash.kill.runner.*",),
    ),
    Guarantee(
        "2.4",
        "Threads of a batch neither wait for each other nor fail with each other, and nothing deadlocks",
        ("I-19", "I-20", "I-22"),
        _rules("R9 R10 R13"),
        suites=frozenset({"ValueContract", "ManyThreadsContract"}),
        named=("database.encoding", "database.settings"),
    ),
    Guarantee(
        "2.5",
        "What was set aside or rejected is sent again as it came, once a decision",
        ("I-201", "I-202", "I-203", "I-204", "I-206", "I-207", "I-209"),
        _rules("R33"),
    ),
    Guarantee(
        "3.1",
        "Result, checkpoint and events of a turn become durable together or not at all",
        ("I-3",),
        _rules("R36"),
        suites=frozenset({"TurnStoreContract", "ProgramTurnContract"}),
        named=(
            "crash.*.runner.before_commit",
            "crash.*.runner.after_commit",
            "crash.*.runner.*offset_commit",
            "database.synchronous_commit",
            "database.fsync",
            "database.writable",
            "database.version",
        ),
    ),
    Guarantee(
        "4.1",
        "An effect is called once for its key, whoever dies around the call",
        ("I-25", "I-26", "I-27", "I-28", "I-29"),
        _rules("R14"),
        suites=frozenset({"EffectStoreContract", "ProgramEffectContract"}),
        named=("crash.*.runner.*", "crash.lost_record"),
    ),
    Guarantee(
        "4.2",
        "A retry meets and replays what earlier attempts did, and starts nothing that it may not",
        ("I-30", "I-31", "I-32", "I-33", "I-34", "I-35", "I-36", "I-37", "I-38"),
        _rules("R15 R16 R17 R18 R19 R20 R21"),
        suites=frozenset({"ProgramRetryContract"}),
        named=("crash.kill.runner.*", "crash.lost_record"),
    ),
    Guarantee(
        "4.3",
        "An unknown outcome is listed, and settled once, on evidence",
        ("I-39", "I-40", "I-41", "I-42", "I-43", "I-44", "I-45"),
        _rules("R22 R23 R24 R25 R26 R27"),
        named=("crash.kill.reconciler.*", "crash.kill.runner.while_provider_is_silent", "crash.lost_record"),
    ),
    Guarantee(
        "4.4",
        "A blocked turn does not block its thread, and goes on once its outcome is known",
        ("I-46", "I-47", "I-48", "I-49", "I-50", "I-51", "I-52", "I-208"),
        _rules("R28 R29 R30 R31 R32"),
        suites=frozenset({"ContinuationContract", "ProgramContinuationContract"}),
        named=("crash.kill.reconciler.*", "crash.lost_record"),
    ),
    Guarantee(
        "4.5",
        "What a lost database may have called already is uncertain after a restore, and not called again",
        ("I-160", "I-162", "I-164"),
        _rules("R39"),
    ),
    Guarantee(
        "5.1",
        "Every committed event reaches the topic, in thread order and without a gap",
        ("I-53", "I-54", "I-55", "I-56", "I-205"),
        _rules("R35 R36 R37"),
        named=("crash.*", "broker.replicas", "broker.elections", "broker.cleanup", "broker.largest"),
    ),
)
"""In the order of the promises."""
