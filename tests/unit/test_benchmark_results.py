"""The lines that benchmarks print, and the page that is made of them."""

from __future__ import annotations

from pathlib import Path

from intention_kernel.contracts.event import unpack_records
from intention_kernel.contracts.json_codec import JsonValue, loads
from intention_kernel.postgres.packing import pack

from benchmarks.page import page
from benchmarks.payloads import EVENT_BYTES, EVENTS, payloads
from benchmarks.result import Result, compared, percentile, read_results

MACHINE: dict[str, JsonValue] = {
    "at": "2026-01-01 00:00 UTC",
    "cores": 2,
    "processor": "a processor",
    "memory_gb": 16.0,
    "system": "Linux x86_64",
    "python": "3.11.7",
    "asyncpg": "1",
    "aiokafka": "1",
    "fdatasync_ms": 0.2,
    "load": 0.1,
    "quick": False,
}
CPU: JsonValue = {"ours": 60.0, "reference": 900.0}


def test_a_line_has_the_members_that_others_read() -> None:
    document = loads(Result("relay", 2.5, None, None, "turns/s", 7).line(MACHINE))
    assert isinstance(document, dict)
    named = {"name": "relay", "ours": 2.5, "reference": None, "ratio": None, "unit": "turns/s", "n": 7}
    assert {name: document[name] for name in named} == named


def test_the_ratio_is_the_median_of_each_rounds_own() -> None:
    # A slow round slows both sides; the ratio of the medians would be 6.
    result = compared("boundary_64", "turns/s", 9, ours=[40, 20, 30], reference=[10, 4, 5], detail={})
    assert (result.ours, result.reference, result.ratio) == (30, 5, 5)


def test_lines_make_the_page(tmp_path: Path) -> None:
    detail: dict[str, JsonValue] = {"client_cpu_us": CPU, "server_cpu_us": CPU}
    boundary = compared("boundary_64", "turns/s", 9000, [4000.0, 4400.0], [800.0, 800.0], detail)
    single = Result("one_at_a_time", 4.5, None, None, "ms", 200, {"p90_ms": 5.0, "p99_ms": 9.0, "worst_ms": 12.0})
    file = tmp_path / "lines.jsonl"
    file.write_text(f"{boundary.line(MACHINE)}\n{single.line(MACHINE)}\n", "utf-8")
    text = page(read_results(file))
    assert "| `boundary_64` | 4,200 | 800 | 5.25 | turns/s | 9,000 |" in text
    assert "| `boundary_64` | 5, 5.5 | 60 + 60 | 900 + 900 |" in text
    assert "`one_at_a_time`: p90 5.0 ms, p99 9.0 ms, worst 12.0 ms." in text


def test_a_percentile_is_a_value_that_was_measured() -> None:
    assert [percentile([3.0, 1.0, 2.0], share) for share in (0.0, 0.5, 0.99, 1.0)] == [1.0, 2.0, 3.0, 3.0]


def test_the_payloads_have_the_sizes_that_the_page_says_and_do_not_compress_to_nothing() -> None:
    for payload in payloads():
        values = [record.value or b"" for record in unpack_records(payload.events)]
        assert len(values) == EVENTS
        assert EVENT_BYTES - EVENTS <= sum(map(len, values)) <= EVENT_BYTES
        assert len(payload.checkpoint) == 2048
        assert len(pack(payload.checkpoint)) > 1024
        assert len(pack(payload.events)) > 4096
