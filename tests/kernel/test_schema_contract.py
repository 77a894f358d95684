"""Schemas as the fingerprint sees them, and what a definition may give for one."""

from __future__ import annotations

import pytest
from intention_kernel.agent.compile_schema import compile_schema
from intention_kernel.agent.schema import Invalid, Valid
from intention_kernel.agent.schema_contract import schema_contract
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.errors import ConfigurationError
from pydantic import BaseModel, Field

Schema = dict[str, JsonValue]


class Leaf(BaseModel):
    colour: str = "green"


class Tree(BaseModel):
    """It grows."""

    leaves: list[Leaf]
    title: str = Field(description="How it is called")
    branches: list[Tree] = []


class Blatt(BaseModel):
    """Another class, another name, the same values."""

    colour: str = Field(default="green", title="Farbe", examples=["red"])


class Baum(BaseModel):
    title: str
    branches: list[Baum] = []
    leaves: list[Blatt]


class Shrub(BaseModel):
    title: str
    branches: list[Shrub] = []
    leaves: list[Leaf] = []


def test_equal_types_under_other_names_docstrings_and_member_orders_have_one_contract() -> None:
    assert contract(Tree) == contract(Baum)
    assert contract(Tree) != contract(Shrub)


def contract(source: object) -> JsonValue:
    return schema_contract(compile_schema(source).json_schema)


def test_annotations_go_and_properties_of_their_names_stay() -> None:
    kept: Schema = {"type": "object", "properties": {"title": {"type": "string"}, "description": {}, "$comment": {}}}
    noted: Schema = {**kept, "title": "T", "description": "D", "examples": [1], "$comment": "c"}
    assert contract(noted) == contract(kept)
    properties = contract(kept)["schema"]["properties"]  # type: ignore[index, call-overload]
    assert sorted(properties) == ["$comment", "description", "title"]  # type: ignore[arg-type]


@pytest.mark.parametrize("keyword", ["const", "default"])
def test_values_inside_a_schema_are_kept_as_they_are(keyword: str) -> None:
    values: list[JsonValue] = [{"title": "a"}, {"title": "b"}, {"required": ["b", "a"]}, {"required": ["a", "b"]}]
    assert len({repr(contract({keyword: value})) for value in values}) == 4


def test_lists_that_are_sets_have_no_order_and_others_do() -> None:
    assert contract({"required": ["a", "b"]}) == contract({"required": ["b", "a"]})
    assert contract({"enum": [1, "1", None]}) == contract({"enum": [None, "1", 1]})
    assert contract({"type": ["null", "string"]}) == contract({"type": ["string", "null"]})
    assert contract({"prefixItems": [{}, True]}) != contract({"prefixItems": [True, {}]})


def test_references_by_place_keep_the_names_of_definitions() -> None:
    def schema(name: str, place: str) -> Schema:
        named: JsonValue = {"properties": {"b": {"type": "string"}}}
        return {"$defs": {name: named, "other": {"type": "integer"}}, "$ref": place}

    assert contract(schema("a", "#/$defs/a")) == contract(schema("z", "#/$defs/z"))
    assert contract(schema("a", "#/$defs/a/properties/b")) != contract(schema("a", "#/$defs/other"))
    assert contract(schema("a", "#/$defs/a/properties/b")) == contract(schema("a", "#/$defs/a/properties/b"))


def test_definitions_that_nothing_uses_do_not_matter() -> None:
    assert contract({"type": "string", "$defs": {"spare": {"type": "integer"}}}) == contract({"type": "string"})


ROOTS: list[tuple[object, JsonValue, JsonValue]] = [
    (list[int], [1, 2], [1, "two"]),
    (int | None, None, "none"),
    ({"type": "string", "maxLength": 3}, "abc", "abcd"),
    ({"$defs": {"n": {"type": "integer"}}, "items": {"$ref": "#/$defs/n"}}, [1], ["a"]),
    ({"$anchor": "top", "properties": {"next": {"$ref": "#top"}}, "type": "object"}, {"next": {}}, {"next": 1}),
    ({"const": {"$ref": "https://example.org/nothing"}}, {"$ref": "https://example.org/nothing"}, {}),
    (Tree, {"leaves": [], "title": "oak"}, {"leaves": []}),
]


@pytest.mark.parametrize(("source", "fits", "does_not"), ROOTS)
def test_any_json_may_be_the_root_of_a_schema(source: object, fits: JsonValue, does_not: JsonValue) -> None:
    schema = compile_schema(source)
    assert isinstance(schema.validate(fits), Valid)
    assert isinstance(schema.validate(does_not), Invalid)


@pytest.mark.parametrize(
    "source",
    [
        {"$ref": "https://json-schema.org/draft/2020-12/schema"},
        {"properties": {"a": {"$ref": "#/$defs/missing"}}},
        {"items": {"$dynamicRef": "#nowhere"}},
        {"type": "text"},
        "Tree",
        compile_schema,
    ],
)
def test_what_is_no_whole_schema_is_refused_before_it_meets_a_value(source: object) -> None:
    with pytest.raises(ConfigurationError):
        compile_schema(source)
