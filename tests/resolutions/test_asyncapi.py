"""The committed AsyncAPI document is the generated one, and names every topic and a schema that is there."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from intention_kernel.contracts.topics import Topics
from receipt_reconciler.asyncapi import document, document_text

SCHEMAS = Path(__file__).parents[2] / "schemas"


def references(value: Any) -> list[str]:
    """Every `$ref` in it."""
    if isinstance(value, list):
        return [found for item in value for found in references(item)]
    if isinstance(value, dict):
        own = [value["$ref"]] if "$ref" in value else []
        return own + [found for member in value.values() for found in references(member)]
    return []


def test_the_committed_document_is_the_generated_one() -> None:
    assert (SCHEMAS / "asyncapi.json").read_text("utf-8") == document_text(), "run `make schemas` and commit the result"


def test_every_topic_is_in_it_once() -> None:
    assert sorted(channel["address"] for channel in document()["channels"].values()) == sorted(Topics().all)


def test_what_it_points_at_is_there() -> None:
    made = document()
    for reference in references(made):
        if reference.startswith("./"):
            assert json.loads((SCHEMAS / reference).read_text("utf-8"))["title"]
            continue
        found: Any = made
        for part in reference.removeprefix("#/").split("/"):
            assert re.fullmatch(r"[a-zA-Z0-9._-]+", part), reference
            found = found[part]
        assert found
