"""`python -m receipt_reconciler`."""

from __future__ import annotations

from receipt_reconciler.cli import main

main()
