"""What the contract suites say of errors, without a test framework: `intention verify` runs them where none is installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def raising(*errors: type[BaseException]) -> Iterator[None]:
    """The block raises one of these, which ends here; any other error passes, and none is an AssertionError."""
    try:
        yield
    except errors:
        return
    raise AssertionError("nothing was raised, though " + " or ".join(error.__name__ for error in errors) + " must be")
