"""Kafka's jars: nothing runs that is not the file of the committed list."""

from __future__ import annotations

import functools
import hashlib
import http.server
import importlib.util
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import jgo.maven
import pytest
from intention_kernel.errors import ConfigurationError
from intention_kernel.servers import jars
from intention_kernel.servers.jars import Jar, default_jar_cache, kafka_class_path, listed_jars

_BYTES = {"first": b"the first jar", "second": b"the second jar"}


def _jar(artifact: str, content: bytes) -> Jar:
    return Jar("org.example", artifact, "1.0", hashlib.sha256(content).hexdigest())


_JARS = [_jar(artifact, content) for artifact, content in _BYTES.items()]


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the test's output is for its failures."""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A Maven repository on loopback that holds the two jars, in place of the public one."""
    root = tmp_path / "repository"
    for artifact, content in _BYTES.items():
        folder = root / "org" / "example" / artifact / "1.0"
        folder.mkdir(parents=True)
        (folder / f"{artifact}-1.0.jar").write_bytes(content)
    handler = functools.partial(_Quiet, directory=str(root))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        remote = {"local": f"http://127.0.0.1:{server.server_port}"}
        context = functools.partial(jgo.maven.MavenContext, remote_repos=remote)
        monkeypatch.setattr(jgo.maven, "MavenContext", context)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield root
        server.shutdown()
        thread.join()


def test_the_committed_list_is_the_46_jars_of_one_kafka_with_their_sums() -> None:
    listed = listed_jars()
    assert len({jar.file_name for jar in listed}) == len(listed) == 46
    assert all(len(bytes.fromhex(jar.sha256)) == 32 for jar in listed)
    assert {jar.version for jar in listed if jar.group == "org.apache.kafka"} == {jars.KAFKA_VERSION}


async def test_missing_jars_are_fetched_once_and_progress_is_told(tmp_path: Path, repository: Path) -> None:
    cache, said = tmp_path / "cache", list[str]()
    class_path = await kafka_class_path(cache, said.append, _JARS)
    assert class_path.split(os.pathsep) == [str(cache / "first-1.0.jar"), str(cache / "second-1.0.jar")]
    assert (cache / "second-1.0.jar").read_bytes() == _BYTES["second"]
    assert said[0].endswith("0 of 2 jars")
    assert said[-1].endswith("2 of 2 jars")
    assert sorted(path.name for path in cache.iterdir()) == ["first-1.0.jar", "lock", "second-1.0.jar"]

    again = list[str]()
    assert await kafka_class_path(cache, again.append, _JARS) == class_path
    assert again == []


async def test_a_download_with_another_sum_is_refused_and_never_reaches_the_cache(
    tmp_path: Path, repository: Path
) -> None:
    cache = tmp_path / "cache"
    wrong = [_JARS[0], _jar("second", b"what was tested")]
    with pytest.raises(ConfigurationError, match=r"second-1.0.jar as downloaded is not the file") as refused:
        await kafka_class_path(cache, print, wrong)
    assert "Run again to fetch it anew" in str(refused.value)
    assert not (cache / "second-1.0.jar").exists()


async def test_a_cached_jar_that_was_changed_is_removed_and_fetched_by_the_next_run(
    tmp_path: Path, repository: Path
) -> None:
    cache = tmp_path / "cache"
    await kafka_class_path(cache, print, _JARS)
    (cache / "first-1.0.jar").write_bytes(b"the first jar!")
    with pytest.raises(ConfigurationError, match=r"first-1.0.jar in .* was removed"):
        await kafka_class_path(cache, print, _JARS)
    assert not (cache / "first-1.0.jar").exists()
    await kafka_class_path(cache, print, _JARS)
    assert (cache / "first-1.0.jar").read_bytes() == _BYTES["first"]


async def test_without_the_network_the_error_says_where_the_jars_belong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigurationError, match=r"could not download org\.example:first:1\.0") as refused:
        await kafka_class_path(tmp_path / "cache", print, _JARS[:1])
    assert str(tmp_path / "cache") in str(refused.value)


async def test_without_jgo_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match=r"pip install 'intention-kernel\[servers\]'"):
        await kafka_class_path(tmp_path / "cache", print, _JARS)


async def test_a_cache_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match=r"cannot create .*file/cache"):
        await kafka_class_path(tmp_path / "file" / "cache", print, _JARS)


def test_the_cache_is_the_named_one_or_in_the_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTENTION_CACHE", str(tmp_path))
    assert default_jar_cache() == tmp_path / "kafka-4.3.1"
    monkeypatch.delenv("INTENTION_CACHE")
    (tmp_path / "constraints.txt").write_text("")
    (tmp_path / "shared" / "src" / "intention_kernel").mkdir(parents=True)
    (tmp_path / "deep" / "below").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "deep" / "below")
    assert default_jar_cache() == tmp_path / ".cache" / "kafka-4.3.1"


def test_the_cache_of_the_checkout_serves_other_folders_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of one's own, even one with a constraints.txt, downloads nothing that the checkout has."""
    monkeypatch.delenv("INTENTION_CACHE", raising=False)
    (tmp_path / "constraints.txt").write_text("")
    monkeypatch.chdir(tmp_path)
    assert default_jar_cache() == Path(__file__).resolve().parents[2] / ".cache" / "kafka-4.3.1"
