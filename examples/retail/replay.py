"""Plays conversations on the rules alone, without kernel, servers or shop, and compares with the published state.

    python -m examples.retail.replay --data DIR --conversations FILE

Exit code 0 if every conversation is refused what it must be and ends in its expected changes, 1 if one does not.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from intention_kernel.errors import ConfigurationError

from examples.retail.conversations import Action, Conversation, load_conversations
from examples.retail.records import EXTRACT, Order, Records, User, load_records
from examples.retail.records_comparison import differences
from examples.retail.rules.operations import perform
from examples.retail.rules.outcomes import Answer, Change, Outcome, Refusal


def replay(records: Records, conversation: Conversation) -> list[str]:
    """Everything in which a fresh shop over `records` disagrees with the conversation; empty if nothing does."""
    users: dict[str, User] = {}
    orders: dict[str, Order] = {}
    found: list[str] = []
    for place, action in enumerate(conversation["actions"]):
        outcome = perform(records.over(users, orders), action["name"], action["kwargs"])
        found += [f"/actions/{place} {action['name']}: {wrong}" for wrong in _surprises(action, outcome)]
        if isinstance(outcome, Change):
            users |= outcome.users
            orders |= outcome.orders
    return found + differences(conversation["expected_changes"], records.changes(users, orders))


def _surprises(action: Action, outcome: Outcome) -> Iterator[str]:
    if isinstance(outcome, Refusal) and action["error"] is None:
        yield f"refused: {outcome.message}"
    if not isinstance(outcome, Refusal) and action["error"] is not None:
        yield f"not refused: {action['error']}"
    if isinstance(outcome, Change if not action["write"] else Answer):
        yield "a read for a write, or the other way round"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit code (2: a file cannot be read)."""
    parser = argparse.ArgumentParser(prog="python -m examples.retail.replay", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=EXTRACT, help="folder of the shop's records")
    parser.add_argument("--conversations", type=Path, default=EXTRACT / "conversations.json", help="file to play")
    options = parser.parse_args(arguments)
    try:
        records, conversations = load_records(options.data), load_conversations(options.conversations)
    except ConfigurationError as error:
        print(error, file=sys.stderr)
        return 2
    found = {one["id"]: wrong for one in conversations if (wrong := replay(records, one))}
    for id, wrong in found.items():
        print(id, *wrong, sep="\n  ")
    print(f"{len(conversations) - len(found)} of {len(conversations)} conversations end in their expected changes")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
