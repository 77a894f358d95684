"""`intention`: the command of people who run or build on the system (interface 4).

A command is imported when it is called: `--help` loads none of them, and none loads what another needs.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

import click

from intention_kernel.cli.exit_codes import FAILED, INTERRUPTED, OK, USAGE
from intention_kernel.errors import ConfigurationError, InfrastructureError, IntentionKernelError, RejectedError

_COMMANDS = {
    "dev": ("dev:dev", "Run everything on this machine: servers, and the three services."),
    "migrate": ("migrate:migrate", "Create missing topics and bring the tables up to date."),
    "send": ("send:send", "Send a message to a thread."),
    "chat": ("chat:chat", "Talk on a thread."),
    "events": ("events:events", "Print committed events."),
    "turn": ("threads:turn", "Look at a turn."),
    "thread": ("threads:thread", "Look at a thread."),
    "receipts": ("receipts:receipts", "Look at receipts, the records of external effects."),
    "queue": ("queue:queue", "Receipts whose outcome nobody knows, and what to do about them."),
    "rules": ("rules:rules", "Which decisions about receipts need a second person."),
    "audit": ("audit:audit", "Who decided, claimed, redrove or deleted what."),
    "rejected": ("rejected:rejected", "Rejected requests and set-aside turns: look at them, redrive or drop them."),
    "users": ("users:users", "Who may work the queue."),
    "roles": ("users:roles", "What a role allows."),
    "tokens": ("tokens:tokens", "Secrets by which programs use the API."),
    "recover": ("recover:recover", "Go on from a database that is older than Kafka."),
    "verify": ("verify:verify_command", "Try the guarantees on your own Postgres and Kafka."),
    "failpoints": ("failpoints:failpoints", "List the failpoints."),
    "help": ("exit_codes:help_command", "Explain something, such as exit-codes."),
}
"""Command -> module and attribute in this package, and one line for people."""


class _Commands(click.Group):
    """A group whose commands live in modules of their own."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, _, attribute = _COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(f"intention_kernel.cli.{module}"), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in _COMMANDS.items()])


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="intention-kernel", prog_name="intention")
def cli() -> None:
    """Intention Kernel: durable turns for conversational agents.

    Addresses come from INTENTION_DATABASE_URL, INTENTION_KAFKA_BOOTSTRAP_SERVERS and INTENTION_TOPIC_PREFIX, else from
    the file .intention/env that `intention dev` writes. `intention help exit-codes` lists the exit codes.
    """


def main() -> None:
    """The console script. Never returns; our own errors are one message on stderr, no traceback."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run the command that these arguments name; returns its exit code (see exit_codes)."""
    try:
        code = cli.main(list(arguments), prog_name="intention", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        return FAILED
    except (ConfigurationError, RejectedError) as error:
        return _said(str(error), USAGE)
    except InfrastructureError as error:
        return _said(f"{error}\nAre the servers up? Then run the command again.", FAILED)
    except IntentionKernelError as error:
        return _said(str(error), FAILED)
    return code if isinstance(code, int) else OK


def _said(message: str, code: int) -> int:
    click.echo(message, err=True)
    return code
