"""Who Postgres runs as: it refuses to be root."""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
from dataclasses import dataclass
from pathlib import Path

from intention_kernel.errors import ConfigurationError

_OTHERS_MAY_ENTER = 0o001


@dataclass(frozen=True, slots=True)
class Identity:
    """`prefix` opens a user namespace; `uid`/`gid` are another user to become; neither when we are not root."""

    prefix: tuple[str, ...] = ()
    uid: int = -1
    gid: int = -1

    def own(self, directory: Path) -> None:
        """Give `directory` with all in it to the user that Postgres runs as; nothing to do unless we are root."""
        if os.geteuid() != 0:
            return
        uid, gid = max(self.uid, 0), max(self.gid, 0)
        if directory.stat().st_uid == uid:
            return
        for path in (directory, *directory.rglob("*")):
            os.chown(path, uid, gid, follow_symlinks=False)


def closed_folder(path: Path) -> Path | None:
    """The uppermost folder on the way to `path` that other users may not enter."""
    for folder in reversed(path.resolve().parents):
        if not folder.stat().st_mode & _OTHERS_MAY_ENTER:
            return folder
    return None


async def _namespaces_work(prefix: tuple[str, ...]) -> bool:
    if shutil.which(prefix[0]) is None:
        return False
    process = await asyncio.create_subprocess_exec(
        *prefix, "true", stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    return await process.wait() == 0


async def postgres_identity(binaries: Path, data_dir: Path) -> Identity:
    """Direct when we are not root; as root a user namespace where the system allows one, else the user `nobody`.

    Raises ConfigurationError when neither is possible, with the folder that is in the way.
    """
    if os.geteuid() != 0:
        return Identity()
    prefix = ("unshare", "--user", "--map-user=1000", "--map-group=1000", "--")
    if await _namespaces_work(prefix):
        return Identity(prefix=prefix)
    return as_nobody(binaries, data_dir)


def as_nobody(binaries: Path, data_dir: Path) -> Identity:
    """Run as `nobody`, who must be able to reach the binaries and the data."""
    for path in (binaries / "postgres", data_dir / "pg"):
        closed = closed_folder(path)
        if closed is not None:
            raise ConfigurationError(
                "Postgres refuses to run as root, user namespaces are off here (or `unshare` is missing), and the user "
                f"`nobody` cannot enter {closed}: run as an ordinary user, allow user namespaces, or move there "
                "what others may reach"
            )
    nobody = pwd.getpwnam("nobody")
    return Identity(uid=nobody.pw_uid, gid=nobody.pw_gid)
