"""Where and when a run was made, as far as figures depend on it; nothing that names the machine."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from statistics import median
from time import perf_counter

import psutil
from intention_kernel.clock import SystemClock
from intention_kernel.contracts.json_codec import JsonValue

_SYNCS = 100
_BLOCK = b"\xa5" * 8192


def describe_machine(data_dir: Path) -> Mapping[str, JsonValue]:
    """`fdatasync_ms` is that of the folder where the servers keep their data; `load` that of the minute before."""
    return {
        "at": SystemClock().now().strftime("%Y-%m-%d %H:%M UTC"),
        "cores": os.cpu_count(),
        "processor": _processor(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "asyncpg": version("asyncpg"),
        "aiokafka": version("aiokafka"),
        "fdatasync_ms": round(_fdatasync_seconds(data_dir) * 1000, 3),
        "load": round(os.getloadavg()[0], 1),
    }


def cpu_seconds(process: psutil.Process) -> float:
    """User and system time of a process and of its children that have ended."""
    times = process.cpu_times()
    return float(times.user + times.system + times.children_user + times.children_system)


def server_cpu_seconds(name: str) -> float:
    """Of the servers of that name that we started; a process of theirs that ends meanwhile is counted by its parent."""
    used = 0.0
    for process in psutil.Process().children(recursive=True):
        try:
            if process.name() == name:
                used += cpu_seconds(process)
        except psutil.NoSuchProcess:
            continue
    return used


def _processor() -> str:
    file = Path("/proc/cpuinfo")
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def _fdatasync_seconds(folder: Path) -> float:
    file = folder / "fdatasync"
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT, 0o600)
    took: list[float] = []
    try:
        for _ in range(_SYNCS):
            os.write(descriptor, _BLOCK)
            start = perf_counter()
            os.fdatasync(descriptor)
            took.append(perf_counter() - start)
    finally:
        os.close(descriptor)
        file.unlink()
    return median(took)
