"""Definitions of a schema: which there are, and what they are called when classes share a name."""

from __future__ import annotations

import inspect
from typing import Annotated, Any, Literal, NamedTuple, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter, create_model

from toolsmith import DefinitionError, Tool

Json = dict[str, Any]


def schema_of(*types: Any) -> Json:
    """The schema of a function with a parameter of each type."""

    def take(**values: Any) -> str:
        return str(values)

    parameters = [
        inspect.Parameter(f"p{n}", inspect.Parameter.KEYWORD_ONLY, annotation=kind) for n, kind in enumerate(types)
    ]
    setattr(take, "__signature__", inspect.Signature(parameters))  # noqa: B010 - a function has no such attribute yet
    return dict(Tool(take).spec.schema)


def unrolled(node: Any, definitions: Json, depth: int) -> Any:
    """A schema without references, down to a depth; titles aside, and closed objects like open ones."""
    if isinstance(node, list):
        return [unrolled(item, definitions, depth) for item in node]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(node, dict):
        return node
    schema = cast("Json", node)
    if "$ref" in schema and isinstance(schema["$ref"], str):
        if depth == 0:
            return "..."
        target = definitions[schema["$ref"].removeprefix("#/$defs/")]
        return unrolled({**target, **{k: v for k, v in schema.items() if k != "$ref"}}, definitions, depth)
    left_out = {"title", "additionalProperties", "$defs"}
    return {
        key: {name: unrolled(held, definitions, depth - 1) for name, held in value.items()}
        if key == "properties"
        else unrolled(value, definitions, depth)
        for key, value in schema.items()
        if key not in left_out
    }


@st.composite
def classes(draw: st.DrawFn) -> list[type[BaseModel]]:
    """Models that refer to earlier ones, many of the same name, of two modules."""
    made: list[type[BaseModel]] = []
    for _ in range(draw(st.integers(1, 7))):
        kinds = st.sampled_from([int, str, *made])
        fields: dict[str, Any] = {key: (draw(kinds), ...) for key in draw(st.sets(st.sampled_from("ab"), min_size=1))}
        name, module = draw(st.sampled_from(["Node", "Leaf"])), draw(st.sampled_from(["shop", "shop.old"]))
        made.append(create_model(name, __module__=module, **fields))
    return made


@settings(max_examples=150)
@given(classes(), st.data())
def test_each_reference_leads_to_what_was_meant(made: list[type[BaseModel]], data: st.DataObject) -> None:
    """With its references followed a schema is pydantic's own, and none of its definitions is unused."""
    types = data.draw(st.lists(st.sampled_from(made), min_size=1, max_size=5))
    schema = schema_of(*types)
    for name, kind in zip(schema["properties"], types, strict=True):
        own = TypeAdapter(kind).json_schema()
        ours = unrolled(schema["properties"][name], schema.get("$defs", {}), 9)
        assert ours == unrolled(own, own.get("$defs", {}), 9)
    said = str(schema)
    assert all(f"'#/$defs/{name}'" in said for name in schema.get("$defs", {}))


def test_classes_of_one_name_are_told_apart_by_their_modules() -> None:
    """And if their modules are one as well, by a number."""
    first = create_model("Item", __module__="shop", price=(int, ...))
    second = create_model("Item", __module__="stock", place=(str, ...))
    third = create_model("Item", __module__="stock", weight=(float, ...))
    schema = schema_of(first, list[first], second, list[second], third, list[third])
    assert list(schema["$defs"]) == ["shop__Item", "stock__Item", "stock__Item__2"]
    assert [p.get("$ref") for p in schema["properties"].values()][::2] == [
        "#/$defs/shop__Item",
        "#/$defs/stock__Item",
        "#/$defs/stock__Item__2",
    ]


def test_classes_of_one_name_that_say_the_same_are_one() -> None:
    """Also where they say it by way of others of one name that do."""
    inner = [create_model("Item", __module__=module, price=(int, ...)) for module in ("shop", "stock")]
    outer = [create_model("Box", __module__="depot", item=(item, ...)) for item in inner]
    schema = schema_of(*outer, *inner)
    assert list(schema["$defs"]) == ["Item", "Box"]


def test_classes_of_one_name_that_differ_only_deep_within_stay_two() -> None:
    """Each `Box` has an `Item`, but another one."""
    inner = [create_model("Item", __module__="shop", price=(kind, ...)) for kind in (int, str)]
    outer = [create_model("Box", __module__="depot", item=(item, ...)) for item in inner]
    schema = schema_of(*outer, *(list[box] for box in outer))
    assert sorted(schema["$defs"]) == ["depot__Box", "depot__Box__2"]
    inside = [schema["$defs"][name]["properties"]["item"]["properties"]["price"]["type"] for name in schema["$defs"]]
    assert sorted(inside) == ["integer", "string"]


class Leaf(BaseModel):
    kind: Literal["leaf"]


class Tree(BaseModel):
    """Its fields have the names of keywords."""

    kind: Literal["tree"]
    ref: Annotated[Leaf, Field(alias="$ref")]
    definitions: Annotated[Leaf, Field(alias="$defs")]
    properties: Leaf
    mapping: dict[str, Leaf]
    default: Leaf
    examples: list[Leaf]
    enum: Leaf
    required: Leaf


class Pair(NamedTuple):
    left: Leaf
    right: Leaf


@pytest.mark.parametrize("kind", [Tree, list[Tree], Annotated[Leaf | Tree, Field(discriminator="kind")], Pair])
def test_fields_may_be_named_like_keywords(kind: Any) -> None:
    """Every reference is found, whatever it stands under."""
    schema = schema_of(kind, Leaf)
    assert list(schema["$defs"]) == ["Leaf"]
    assert "toolsmith" not in str(schema)
    assert "test_definitions" not in str(schema)


def test_a_reference_to_nothing_is_an_error() -> None:
    """Written by hand, it would be refused by the service."""
    with pytest.raises(DefinitionError, match="p0"):
        schema_of(Annotated[int, Field(json_schema_extra={"$ref": "#/$defs/Nowhere"})])
