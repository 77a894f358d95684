"""Forks our services: `python -m tests.campaigns.nursery DESCRIPTOR`, a process that has loaded what they run.

A thousand starts of Python would take longer than all the rest of a campaign of kills, and test Python. What is forked
is a process like any other: it runs the console script's own function from its first line, and dies of SIGKILL alone.

One packet a request: `{"program", "variables"}` with the descriptor of its output; the answers are `{"pid"}` for a
start and `{"pid", "code"}` for an end, negative for a signal. Children are killed when the other side is gone.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Callable, Mapping

PROGRAMS = {
    "turn-runner": "turn_runner.cli",
    "outbox-relay": "outbox_relay.cli",
    "receipt-reconciler": "receipt_reconciler.cli",
}
LONGEST_PACKET_BYTES = 1 << 16
_LOADED_TOO = ("intention_kernel.verification.bank.program", "intention_kernel.verification.bank.effects")
_LOOK_SECONDS = 0.02


def main() -> None:
    """Serve until the other side closes its end."""
    channel = socket.socket(fileno=int(sys.argv[1]))
    programs = {name: importlib.import_module(module).main for name, module in PROGRAMS.items()}
    for module in _LOADED_TOO:
        importlib.import_module(module)
    gc.collect()
    gc.freeze()  # a child's collections do not copy what all of them share
    children: set[int] = set()
    channel.send(b"{}")
    while True:
        ready, _, _ = select.select([channel], [], [], _LOOK_SECONDS)
        if ready and not _started(channel, programs, children):
            break
        _reap(channel, children)
    for pid in children:
        os.kill(pid, signal.SIGKILL)


def _started(channel: socket.socket, programs: Mapping[str, Callable[[], None]], children: set[int]) -> bool:
    """Serve one request; False where there is none any more."""
    packet, descriptors, _, _ = socket.recv_fds(channel, LONGEST_PACKET_BYTES, 1)
    if not packet:
        return False
    [output] = descriptors
    request = json.loads(packet)
    pid = os.fork()
    if pid == 0:
        _become(channel, output, request["program"], programs[request["program"]], request["variables"])
    os.close(output)
    children.add(pid)
    channel.send(json.dumps({"pid": pid}).encode())
    return True


def _become(
    channel: socket.socket, output: int, name: str, program: Callable[[], None], variables: Mapping[str, str]
) -> None:
    """In the child: the program with these variables and this output. Never returns."""
    code = 1
    try:
        channel.close()
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.close(output)
        os.environ.update(variables)
        sys.argv = [name, "run"]
        program()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _reap(channel: socket.socket, children: set[int]) -> None:
    """Tell of those that have ended."""
    while children:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        children.discard(pid)
        channel.send(json.dumps({"pid": pid, "code": os.waitstatus_to_exitcode(status)}).encode())


if __name__ == "__main__":
    main()
