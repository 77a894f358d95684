"""The terminal of a chat: answers on stdout; prompt, progress and advice where they do not mix with them."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import click

_CLEAR = "\r\x1b[K"


class Screen:
    """On a terminal progress is one line that gives way to what comes next; in a pipe each word of it is a line of stderr."""

    def __init__(self) -> None:
        self.is_typed = sys.stdin.isatty()
        self._transient = sys.stderr.isatty()
        self._status = ""
        self._prompts = self.is_typed and sys.stdout.isatty()
        self._prompted = False

    def prompt(self) -> None:
        """Ask for a line."""
        self.status("")
        if self._prompts and not self._prompted:
            click.echo("> ", nl=False)
            self._prompted = True

    def taken(self) -> None:
        """A line was typed: the terminal is at the beginning of the next one."""
        self._prompted = False

    def prompt_over(self) -> None:
        """No line is asked for any more: what the shell prints next begins a line of its own."""
        self.status("")
        if self._prompted:
            click.echo()
            self._prompted = False

    def say(self, lines: Iterable[str]) -> None:
        """The thread's own words."""
        self._make_room()
        for line in lines:
            click.echo(line)

    def note(self, lines: Iterable[str]) -> None:
        """Ours, on stderr."""
        for line in lines:
            self._make_room()
            click.echo(line, err=True)

    def status(self, words: str) -> None:
        """What is being done right now; "" when nothing is."""
        if words == self._status:
            return
        if self._transient:
            click.echo(f"{_CLEAR}{words}…" if words else _CLEAR, nl=False, err=True)
        elif words:
            click.echo(f"{words}…", err=True)
        self._status = words

    def _make_room(self) -> None:
        self.status("")
        if self._prompted:
            click.echo(_CLEAR, nl=False)
            self._prompted = False
