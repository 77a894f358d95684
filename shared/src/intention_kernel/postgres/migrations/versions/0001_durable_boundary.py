"""Tables, triggers and functions of the durable boundary, the outbox and reconciliation."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    """Run the files as they are. Bodies are not checked while functions that they call are still to come."""
    tables = (_SQL / f"0001_{name}.sql" for name in ("tables", "triggers", "approvals", "identity"))
    files = [*tables, *sorted((_SQL / "functions").glob("*.sql"))]
    write = op.get_context().impl.static_output
    write("set local check_function_bodies = off;")
    for file in files:
        write(file.read_text("utf-8"))
