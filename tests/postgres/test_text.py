"""Bytes and text on their way into columns and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from intention_kernel.postgres.origin_rows import pack_headers, unpack_headers
from intention_kernel.postgres.packing import LZ4, PLAIN, pack, unpack
from intention_kernel.postgres.text import clean, escape, unescape

any_text = st.text(st.characters(codec=None, exclude_categories=()))


@given(st.binary(max_size=2000))
def test_packed_bytes_come_back(data: bytes) -> None:
    assert unpack(pack(data)) == data


def test_only_what_gets_smaller_is_compressed() -> None:
    assert pack(b"")[:1] == PLAIN
    assert pack(b"x" * 511)[:1] == PLAIN
    assert pack(b"x" * 512)[:1] == LZ4
    assert len(pack(b"x" * 8000)) < 200


@given(any_text)
def test_an_escaped_name_can_be_stored_and_comes_back(name: str) -> None:
    """R13: nothing is lost, and no two names become one."""
    stored = escape(name)
    assert "\0" not in stored
    stored.encode("utf-8")
    assert unescape(stored) == name


@given(any_text)
def test_cleaned_text_can_be_stored(text: str) -> None:
    """R13."""
    assert "\0" not in clean(text)
    clean(text).encode("utf-8")


@pytest.mark.parametrize("name", ["plain", "lone \ud800", "nul \0"])
def test_a_record_s_headers_come_back_whatever_they_hold(name: str) -> None:
    headers = ((name, b"\x00\xff"), (name, None))
    assert unpack_headers(pack_headers(headers)) == headers
