"""Data on stdout: JSON that loads back without loss, and text that cannot drive a terminal."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from typing import Literal, TypeVar

import click

from intention_kernel.contracts.json_codec import JsonValue, dumps

Format = Literal["table", "json", "jsonl", "ids"]
Document = dict[str, JsonValue]

_Function = TypeVar("_Function", bound=Callable[..., object])


def output_option(function: _Function) -> _Function:
    """`-o table|json|jsonl|ids`, as the parameter `output`."""
    formats = click.Choice(["table", "json", "jsonl", "ids"])
    return click.option("-o", "output", type=formats, default="table", show_default=True, help="How to print.")(
        function
    )


def pretty(value: JsonValue) -> bytes:
    """Indented JSON in UTF-8, as lossless as `dumps`: lone surrogates are escapes."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace")


def visible(value: JsonValue) -> str:
    """A value on one line, without the control characters that could drive a terminal."""
    if value is None:
        return "-"
    text = value if isinstance(value, str) else dumps(value).decode()
    clean = ("\ufffd" if unicodedata.category(one) in ("Cc", "Cs", "Zl", "Zp") else one for one in text)
    return "".join(clean)
