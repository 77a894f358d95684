"""Apache Kafka's jars: fetched by coordinate, verified against the SHA-256 sums that this package carries."""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import importlib
import importlib.util
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from intention_kernel.errors import ConfigurationError

KAFKA_VERSION = "4.3.1"
_LIST = Path(__file__).with_name("kafka-jars.txt")
_THREADS = 8
_TRIES = 3
_SAY_EVERY = 10
_TIMEOUT_SECONDS = 30
_LOCK_POLL_SECONDS = 0.2
_OF_A_CHECKOUT = ("constraints.txt", "shared/src/intention_kernel")


@dataclass(frozen=True, slots=True)
class Jar:
    """One jar of the broker and the sum that its bytes must have."""

    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def file_name(self) -> str:
        return f"{self.artifact}-{self.version}.jar"


def listed_jars(text: str | None = None) -> list[Jar]:
    """The jars of the committed list, or of `text` in its format: `group:artifact:version sha256` a line."""
    lines = (_LIST.read_text("ascii") if text is None else text).splitlines()
    jars = []
    for line in lines:
        coordinate, sha256 = line.split()
        group, artifact, version = coordinate.split(":")
        jars.append(Jar(group, artifact, version, sha256))
    return jars


def default_jar_cache() -> Path:
    """`$INTENTION_CACHE/kafka-<version>`, else in `.cache` of the checkout around the current directory, else of the one
    that this package is run from, so that nobody downloads twice; with no checkout, of the current directory."""
    named = os.environ.get("INTENTION_CACHE")
    here = Path.cwd()
    folders = (here, *here.parents, *Path(__file__).resolve().parents)
    root = next((folder for folder in folders if all((folder / name).exists() for name in _OF_A_CHECKOUT)), here)
    return (Path(named) if named else root / ".cache") / f"kafka-{KAFKA_VERSION}"


def _verify(jar: Jar, file: Path, source: str) -> None:
    """Raise ConfigurationError and remove the file unless its bytes are the listed ones."""
    if hashlib.sha256(file.read_bytes()).hexdigest() != jar.sha256:
        file.unlink()
        raise ConfigurationError(
            f"{jar.file_name} {source} is not the file that this version was tested with (its SHA-256 differs); "
            "it was removed. Run again to fetch it anew; if this repeats, something between you and the package "
            "repository changes files"
        )


def _fetch(jar: Jar, cache: Path, staging: Path) -> None:
    """Fetch one jar into `staging`, verify it, move it into the cache whole."""
    maven = importlib.import_module("jgo.maven")
    problem: Exception | None = None
    for attempt in range(_TRIES):
        context = maven.MavenContext(repo_cache=staging / str(attempt), timeout=_TIMEOUT_SECONDS)
        try:
            path = context.project(jar.group, jar.artifact).at_version(jar.version).artifact().resolve()
        except (RuntimeError, ValueError, OSError) as error:  # requests' errors are OSErrors
            problem = error
            continue
        _verify(jar, path, "as downloaded")
        os.replace(path, cache / jar.file_name)
        return
    raise ConfigurationError(
        f"could not download {jar.group}:{jar.artifact}:{jar.version} of Apache Kafka ({problem}): connect to the "
        f"network once, or copy the {len(listed_jars())} jars from another machine into {cache} (INTENTION_CACHE names its parent)"
    )


def _make(cache: Path) -> None:
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(f"cannot create {cache} for Kafka's jars: {error.strerror}") from error


@asynccontextmanager
async def _cache_lock(cache: Path) -> AsyncIterator[None]:
    """Two runs at once fetch once."""
    with (cache / "lock").open("wb") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                await asyncio.sleep(_LOCK_POLL_SECONDS)
        yield


async def _fetch_all(missing: Sequence[Jar], total: int, cache: Path, say: Callable[[str], None]) -> None:
    if importlib.util.find_spec("jgo") is None:
        raise ConfigurationError(
            f"Apache Kafka is not in {cache} and jgo, which fetches it, is not installed: "
            "pip install 'intention-kernel[servers]'"
        )
    loop = asyncio.get_running_loop()
    with tempfile.TemporaryDirectory(prefix="incoming-", dir=cache) as staging, ThreadPoolExecutor(_THREADS) as threads:
        done = total - len(missing)
        say(f"downloading Apache Kafka {KAFKA_VERSION}: {done} of {total} jars")
        fetches = [loop.run_in_executor(threads, _fetch, jar, cache, Path(staging)) for jar in missing]
        try:
            for fetch in asyncio.as_completed(fetches):
                await fetch
                done += 1
                if done % _SAY_EVERY == 0 or done == total:
                    say(f"downloading Apache Kafka {KAFKA_VERSION}: {done} of {total} jars")
        finally:
            for pending in fetches:
                pending.cancel()
            await asyncio.gather(*fetches, return_exceptions=True)


async def kafka_class_path(cache: Path, say: Callable[[str], None], jars: Sequence[Jar] | None = None) -> str:
    """The broker's class path, from `cache`, after fetching what is missing there.

    Every jar is verified on every call (44 MB, some 50 ms). One that differs from the list is removed and named in a
    ConfigurationError, as is one that cannot be fetched.
    """
    wanted = listed_jars() if jars is None else list(jars)
    _make(cache)
    async with _cache_lock(cache):
        missing = [jar for jar in wanted if not (cache / jar.file_name).exists()]
        if missing:
            await _fetch_all(missing, len(wanted), cache, say)
        for jar in wanted:
            await asyncio.to_thread(_verify, jar, cache / jar.file_name, f"in {cache}")
    return os.pathsep.join(sorted(str(cache / jar.file_name) for jar in wanted))
