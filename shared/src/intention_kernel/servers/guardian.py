"""The process between us and one server: it ends the server when we are gone, however we went.

Run by path with the standard library alone, never imported by the rest. The parent holds the write end of our standard
input; its end of file, a signal, or a new parent all mean "stop". A stop is the server's polite signal first and SIGKILL
after the grace. On Linux the kernel also ends the server should this process itself be killed.

    guardian.py PARENT_PID STOP_SIGNAL KILL_SIGNAL GRACE_SECONDS UID GID -- COMMAND...

UID and GID are -1 to stay who we are. KILL_SIGNAL is what the server gets when the guardian is killed. The exit code is
the server's (128 + signal when it died of one).
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import time

_PR_SET_PDEATHSIG = 1
_PARENT_CHECK_SECONDS = 1.0


def _become_server(guardian_pid: int, kill_signal: int, uid: int, gid: int, command: list[str]) -> None:
    """Runs in the fork: drop privileges, tie our life to the guardian's, become the command. Never returns."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    if uid >= 0:
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    if sys.platform == "linux":
        # After the change of user, which clears it.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, kill_signal, 0, 0, 0)
        if os.getppid() != guardian_pid:
            os._exit(128 + kill_signal)
    os.execvp(command[0], command)


def _start(kill_signal: int, uid: int, gid: int, command: list[str]) -> int:
    guardian_pid = os.getpid()
    server_pid = os.fork()
    if server_pid == 0:
        try:
            _become_server(guardian_pid, kill_signal, uid, gid, command)
        except OSError as error:
            os.write(2, f"cannot run {command[0]}: {error}\n".encode())
        finally:
            os._exit(127)
    return server_pid


def _exit_code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _guard(parent_pid: int, stop_signal: int, grace_seconds: float, server_pid: int, wakeup: int) -> int:
    kill_at: float | None = None
    watched = [0, wakeup]
    while True:
        pid, status = os.waitpid(server_pid, os.WNOHANG)
        if pid == server_pid:
            return _exit_code(status)
        if kill_at is not None and time.monotonic() >= kill_at:
            os.kill(server_pid, signal.SIGKILL)
        ready, _, _ = select.select(watched, [], [], _PARENT_CHECK_SECONDS)
        asked = wakeup in ready and any(number != signal.SIGCHLD for number in os.read(wakeup, 64))
        if 0 in ready and not os.read(0, 64):
            watched, asked = [wakeup], True
        if kill_at is None and (asked or os.getppid() != parent_pid):
            os.kill(server_pid, stop_signal)
            kill_at = time.monotonic() + grace_seconds


def main(arguments: list[str]) -> int:
    """Run the command of `arguments` until it ends by itself or the parent asks for, or is past, its end."""
    parent_pid, stop_signal, kill_signal, grace_seconds, uid, gid = (int(value) for value in arguments[:6])
    command = arguments[7:]
    wakeup_read, wakeup_write = os.pipe()
    os.set_blocking(wakeup_write, False)
    signal.set_wakeup_fd(wakeup_write)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    server_pid = _start(kill_signal, uid, gid, command)
    return _guard(parent_pid, stop_signal, float(grace_seconds), server_pid, wakeup_read)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
