"""Named places where a test may stop, delay or kill the process. Free when off.

`INTENTION_FAILPOINTS=name=kill|stop|error|sleep:S[@nth]`, several separated by commas. `kill` is SIGKILL to this
process, `stop` is SIGSTOP (a pause that a test ends with SIGCONT), `error` raises, `sleep:S` waits S seconds.
`@nth` acts on the nth pass only (from 1); without it, on the first. Whoever passes says which failpoint it is:

    await failpoint("runner.after_begin")
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
from dataclasses import dataclass, field

from intention_kernel.errors import ConfigurationError, InfrastructureError

FAILPOINTS: dict[str, str] = {
    "runner.after_poll": "a record was polled, nothing begun",
    "runner.after_begin": "the lease is taken, the program has not run",
    "runner.after_prepare": "the receipt is prepared, the operation not called",
    "runner.before_send": "inside the operation, before the request leaves (examples call it)",
    "runner.after_reply": "the operation returned, nothing recorded",
    "runner.after_completed": "the receipt is completed, the program has not seen the value",
    "runner.before_commit": "the program returned, the commit not sent",
    "runner.after_commit": "the turn is committed, the record not done",
    "runner.before_offset_commit": "the record is done, its offset not committed",
    "runner.after_offset_commit": "the offset is committed",
    "relay.after_fetch": "rows are fetched, nothing sent",
    "relay.after_send": "records are handed to the producer, not acknowledged",
    "relay.after_ack": "the broker acknowledged, the rows are not deleted",
    "relay.after_delete": "the rows are deleted",
    "reconciler.after_lookup": "the resolver answered, nothing settled",
    "reconciler.after_settle": "the settlement is committed",
    "reconciler.after_resolution": "a record of receipts.resolutions is dealt with, its offset not committed",
    "provider.after_commit": "an example's outside world has committed and not replied",
}
"""Every failpoint of the three processes and what is true there. `intention failpoints` prints it."""


_ACTION = re.compile(r"(?:(?P<verb>kill|stop|error)|sleep:(?P<seconds>\d+(?:\.\d+)?))(?:@(?P<nth>[1-9]\d*))?")


@dataclass(slots=True)
class _Armed:
    action: str
    seconds: float
    nth: int
    passes: int = field(default=0)


class Failpoints:
    """The armed failpoints of this process. Several may be armed; each acts once."""

    def __init__(self, setting: str = "") -> None:
        """Raises ConfigurationError for an unknown name or action."""
        self._armed = _parse(setting)

    async def reach(self, name: str) -> None:
        """Pass the failpoint `name`: act if it is armed and this is its pass."""
        armed = self._armed.get(name)
        if armed is None:
            return
        armed.passes += 1
        if armed.passes != armed.nth:
            return
        if armed.action == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif armed.action == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        elif armed.action == "sleep":
            await asyncio.sleep(armed.seconds)
        else:
            raise InfrastructureError(f"failpoint {name}")


def _parse(setting: str) -> dict[str, _Armed]:
    armed: dict[str, _Armed] = {}
    problems: list[str] = []
    for entry in filter(None, (part.strip() for part in setting.split(","))):
        name, _, rest = entry.partition("=")
        action = _ACTION.fullmatch(rest)
        if name not in FAILPOINTS:
            problems.append(f"INTENTION_FAILPOINTS: unknown failpoint {name!r}; `intention failpoints` lists them")
        elif action is None:
            problems.append(
                f"INTENTION_FAILPOINTS: {entry!r}: say NAME=kill|stop|error|sleep:SECONDS, @N for the Nth pass"
            )
        else:
            armed[name] = _Armed(action["verb"] or "sleep", float(action["seconds"] or 0), int(action["nth"] or 1))
    if problems:
        raise ConfigurationError(*problems)
    return armed


_process = Failpoints()


def arm(setting: str) -> None:
    """Arm this process's failpoints from the text of `INTENTION_FAILPOINTS`; raises ConfigurationError."""
    global _process  # a process has one set, armed once by its bootstrap
    _process = Failpoints(setting)


async def failpoint(name: str) -> None:
    """Pass the failpoint `name` of this process."""
    await _process.reach(name)
