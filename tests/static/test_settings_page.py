"""docs/settings.md is what the settings classes generate."""

from __future__ import annotations

import subprocess
import sys

from tests.static.project import ROOT


def test_the_settings_page_is_generated_from_the_settings_classes() -> None:
    command = [sys.executable, "scripts/document_settings.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
