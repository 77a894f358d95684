"""The health server over a real socket."""

from __future__ import annotations

import asyncio

import httpx
from intention_kernel.health import HealthServer
from prometheus_client import CollectorRegistry, Counter


async def _get(server: HealthServer, path: str, method: str = "GET") -> httpx.Response:
    async with httpx.AsyncClient() as client:
        return await client.request(method, f"http://127.0.0.1:{server.port}{path}")


async def test_a_probe_answers_ok_or_the_reason() -> None:
    reasons: dict[str, str | None] = {"live": None, "ready": "the broker is away"}
    async with HealthServer(0, lambda: reasons["live"], lambda: reasons["ready"]) as server:
        assert (await _get(server, "/livez")).text == "ok\n"
        answer = await _get(server, "/readyz?verbose")
        assert (answer.status_code, answer.text) == (503, "the broker is away\n")
        reasons["ready"] = None
        assert (await _get(server, "/readyz")).status_code == 200


async def test_metrics_are_those_of_the_registry() -> None:
    registry = CollectorRegistry()
    Counter("bells", "Bells that rang", registry=registry).inc(3)
    async with HealthServer(0, lambda: None, lambda: None, registry=registry) as server:
        answer = await _get(server, "/metrics")
    assert "bells_total 3.0" in answer.text
    assert answer.headers["content-type"].startswith("text/plain")


async def test_other_paths_and_methods_are_refused() -> None:
    async with HealthServer(0, lambda: None, lambda: None) as server:
        assert (await _get(server, "/")).status_code == 404
        assert (await _get(server, "/livez", "POST")).status_code == 405


async def test_a_client_that_says_nothing_sensible_harms_nobody() -> None:
    async with HealthServer(0, lambda: None, lambda: None) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"x" * 100_000)
        assert await reader.read() == b""
        writer.close()
        assert (await _get(server, "/livez")).status_code == 200
