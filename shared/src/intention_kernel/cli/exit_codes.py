"""What the exit codes of `intention` mean, and the command that prints them."""

from __future__ import annotations

import click

OK = 0
FAILED = 1
USAGE = 2
NOT_FOUND = 4
CONFLICT = 5
DENIED = 6
STILL_RUNNING = 8
NEEDS_OPERATOR = 9
INTERRUPTED = 130

EXIT_CODES: dict[int, str] = {
    OK: "done; a turn committed or was committed before",
    FAILED: "failed; a turn was rejected or set aside, a guarantee does not hold, or a server could not be reached",
    USAGE: "wrong arguments or settings; the message says what to change",
    NOT_FOUND: "there is no such thread, turn, receipt, record, user or token",
    CONFLICT: "conflict: the turn id is taken by other content, or a version has moved on",
    DENIED: "refused by a rule: what was asked cannot be admitted now",
    STILL_RUNNING: "the wait ended before the turn did; it goes on",
    NEEDS_OPERATOR: "the turn is blocked until somebody knows what became of an effect",
    INTERRUPTED: "interrupted",
}


@click.group("help", invoke_without_command=True)
@click.pass_context
def help_command(context: click.Context) -> None:
    """Explain something: `intention help exit-codes`."""
    if context.invoked_subcommand is None and context.parent is not None:
        click.echo(context.parent.get_help())


@help_command.command("exit-codes")
def exit_codes() -> None:
    """List the exit codes."""
    for code, meaning in EXIT_CODES.items():
        click.echo(f"{code:>3}  {meaning}")
