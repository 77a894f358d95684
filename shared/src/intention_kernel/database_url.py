"""Whether a database URL can be one, told before anything connects with it."""

from __future__ import annotations

from urllib.parse import urlsplit


def database_url_problem(url: str) -> str | None:
    """Why it cannot be one, without repeating what may hold a password; None where it can."""
    try:
        parts = urlsplit(url)
        if "," not in parts.netloc and parts.port == 0:  # several hosts are the driver's to read
            return "has port 0"
    except ValueError:
        return "is not a URL, or its port is no port"
    return None if parts.scheme in ("postgres", "postgresql") else "does not begin with postgresql://"
