"""The one error tree.

    IntentionKernelError
    ├── ConfigurationError          wrong or missing settings; the message lists all of them
    │   ├── SchemaVersionError      the database is not migrated, or by a newer build
    │   └── AgentCompilationError   a definition that cannot work; every problem with its code and its place
    ├── InfrastructureError         database or broker away: stop, wait, try again; nothing was decided
    ├── RejectedError               a request that can never be run: kept with bytes and reason
    ├── JsonError                   a value that JSON cannot hold, or text that is not JSON; says where
    ├── LeaseLostError              this attempt may not start anything any more; the lane begins again
    ├── TurnHeldError               this build does not fit the thread or the journal; the lane waits
    ├── ProgramError                a program ended in a way that is no answer and no error of its own; the attempt fails
    ├── CapabilityContractError     a capability did what its definition does not allow; the attempt fails
    ├── PolicyContractError         a policy or a guidance policy answered what it may not; the attempt fails
    ├── ModelGatewayError           a model could not be asked, or did not answer in the form asked for; the attempt fails
    ├── DeadlineError               the turn's deadline is over, or too near to start an effect; the attempt fails
    ├── TurnNotCommittedError       a turn that was run in process ended without a commit
    ├── TurnLimitError              a turn's result exceeds a bound (facts, event size); the attempt fails
    └── EffectError                 what run_effect raises
        ├── EffectUncertainError    nobody knows whether it went through; no call was made or none is repeated
        ├── EffectConflictError     the key is taken by another payload; no call was made
        ├── EffectNotAppliedError   raised BY an operation that can prove that no write occurred
        ├── EffectKeyError          the key cannot be one; no call was made
        └── EffectClosedError       the turn is over, or the call waits for itself

What the caller can settle here is a value (an outcome); exceptions are for the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

LONGEST_DETAIL = 2_000
"""Characters of an error that are kept and told; it may hold a whole response of a provider."""


def words_of(error: BaseException) -> str:
    """An error's type and message for people, at most LONGEST_DETAIL characters, whatever its `__str__` does."""
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 - an application's class may do anything
        message = "(its message cannot be told)"
    return f"{type(error).__name__}: {message}"[:LONGEST_DETAIL]


class IntentionKernelError(Exception):
    """Every error of this library."""


class ConfigurationError(IntentionKernelError):
    """Settings or an installation that cannot work; `problems` lists every one found, each says what to do."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class SchemaVersionError(ConfigurationError):
    """The database's schema is not the one of this build; the message names the command to run."""


@dataclass(frozen=True, slots=True)
class CompileProblem:
    """What is wrong with a definition: a stable code, the place (`capability hotel.book: confirmation`), and words."""

    code: str
    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message} [{self.code}]"


class AgentCompilationError(ConfigurationError):
    """A definition that cannot work. `found` are all of its problems, in the order of their places."""

    def __init__(self, agent_id: str, found: tuple[CompileProblem, ...]) -> None:
        super().__init__(*(f"agent {agent_id!r}: {problem}" for problem in found))
        self.agent_id = agent_id
        self.found = found


class InfrastructureError(IntentionKernelError):
    """The database or the broker could not be reached, or did not answer in time.

    Nothing may be concluded about what was asked: the same call with the same ids is safe to repeat.
    """


class RejectedError(IntentionKernelError):
    """A request that can never become a turn; `reason` is a stable code, `detail` is for people."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class JsonError(IntentionKernelError):
    """Not JSON, or a value that JSON cannot hold; `path` is a JSON pointer ("" is the whole document)."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"at {path or 'the top'}: {problem}")
        self.path = path
        self.problem = problem


class LeaseLostError(IntentionKernelError):
    """Another attempt owns the thread, or the lease ran out; nothing new may be started (protocol R3, R19)."""


class TurnHeldError(IntentionKernelError):
    """This build does not fit what an earlier one wrote; `expected` and `found` say how (protocol R8)."""

    def __init__(self, what: str, *, expected: str, found: str) -> None:
        super().__init__(f"{what}: expected {expected}, found {found}")
        self.what = what
        self.expected = expected
        self.found = found


class ProgramError(IntentionKernelError):
    """What an application raised is not what it seems: it cancelled itself, asked the process to exit, or raised an error
    that is the kernel's to raise. Its attempt fails, nothing else (design 3)."""


class CapabilityContractError(IntentionKernelError):
    """A capability returned or did what its definition does not allow; `code` is stable, `capability_id` says which one.

    It is a mistake in the application's code: the attempt fails, nothing that it returned is kept.
    """

    def __init__(self, code: str, capability_id: str, detail: str) -> None:
        super().__init__(f"{code}: capability {capability_id}: {detail}")
        self.code = code
        self.capability_id = capability_id
        self.detail = detail


class PolicyContractError(IntentionKernelError):
    """A policy or a guidance policy answered what it may not; `code` is stable, `policy_id` says which one.

    It is a mistake in the application's code, and the attempt fails: a rule that cannot be read is never taken for consent.
    """

    def __init__(self, code: str, policy_id: str, detail: str) -> None:
        super().__init__(f"{code}: policy {policy_id}: {detail}")
        self.code = code
        self.policy_id = policy_id
        self.detail = detail


class ModelGatewayError(IntentionKernelError):
    """A model could not be asked, or did not answer in the form asked for.

    `code` is stable and `detail` holds neither credentials nor a provider's raw body. `retryable` says that the same
    request may succeed later.
    """

    def __init__(self, code: str, detail: str, *, retryable: bool = False) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail
        self.retryable = retryable


class DeadlineError(IntentionKernelError):
    """The turn's deadline is over, or so near that nothing new may be started (protocol R19)."""


class TurnNotCommittedError(IntentionKernelError):
    """A turn that was run in process ended without a commit; `reason` is the outcome's name or its reason."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


class TurnLimitError(IntentionKernelError):
    """A turn's result is beyond a bound that the store keeps; nothing is dropped silently instead."""


class EffectError(IntentionKernelError):
    """An external effect did not return a value; `effect_key` names it once the kernel knows it."""

    def __init__(self, detail: str, *, effect_key: str = "") -> None:
        super().__init__(f"{effect_key}: {detail}" if effect_key else detail)
        self.effect_key = effect_key
        self.detail = detail


class EffectUncertainError(EffectError):
    """Nobody can say whether the effect went through, and it is not tried again; `receipt_id` names its receipt."""

    def __init__(self, detail: str, *, effect_key: str, receipt_id: str) -> None:
        super().__init__(detail, effect_key=effect_key)
        self.receipt_id = receipt_id


class EffectConflictError(EffectError):
    """The key belongs to another payload on this thread; nobody was called."""


class EffectNotAppliedError(EffectError):
    """Raised by an operation that can prove that no write occurred: `raise EffectNotAppliedError("no stock")`.

    The program gets it in its turn, and the next attempt is permitted. Never raise it on a time-out or a lost connection: that proves nothing.
    """


class EffectKeyError(EffectError):
    """The key cannot be one: empty, too long, or with control characters; nobody was called."""


class EffectClosedError(EffectError):
    """The turn's scope is closed, the step that asks is over, or the effect was asked for from inside its own operation."""
