"""Alembic's environment: it renders SQL only, which `intention_kernel.postgres.migrate` runs in one transaction."""

from __future__ import annotations

from alembic import context

context.configure(dialect_name="postgresql", transactional_ddl=False, version_table="alembic_version")
context.run_migrations()
