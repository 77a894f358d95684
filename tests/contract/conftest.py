"""The contract suites live in the library; their asserts explain themselves as those of any test do."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("intention_kernel.testing")
