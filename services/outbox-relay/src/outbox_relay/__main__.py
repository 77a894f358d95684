"""`python -m outbox_relay`."""

from __future__ import annotations

from outbox_relay.cli import main

main(prog_name="outbox-relay")
