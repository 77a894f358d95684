"""`python -m intention_kernel.history FILE…`: check saved histories. Prints findings; exit code 1 where there are some."""

from __future__ import annotations

import sys
from pathlib import Path

from intention_kernel.history.check import check_history
from intention_kernel.history.saved import load_history


def main(paths: list[str]) -> int:
    """Nothing is allowed that the rules forbid: a campaign that allows something prints its own findings."""
    findings = [f"{path}: {finding}" for path in paths for finding in check_history(load_history(Path(path)))]
    sys.stdout.writelines(f"{finding}\n" for finding in findings)
    return 1 if findings or not paths else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
