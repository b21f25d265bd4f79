"""The places of valid arguments, each with what the schema says of it; and what a mistake makes of the arguments."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from toolsmith._arguments.problems import Path, Schema
from toolsmith._arguments.refusals import node_at
from toolsmith._arguments.shapes import ALL_TYPES, JsonType, Shapes, closed_set, dict_of, json_type, list_of
from toolsmith._dataclass import dataclass
from toolsmith._wording.arguments import FORMATS


@dataclass(frozen=True, slots=True)
class Slip:
    """One mistake in one set of arguments.

    Attributes:
        value: the mistaken arguments, in the tool's own form; or None, and
        text: what is sent, word for word.
        tool: the name that is called, "" for the tool's own.
        path: the place that the answer must name; None where there is none to name.
        wants: the answer must have one of these words: what is accepted, or what to write instead; () for no demand.
        advice: for the tool's author, if the tool takes it; "" where nothing is to be done about that.
        spot: the answer must say at which character the text breaks.
        length: it is the service that reports the arguments as cut off.
    """

    value: dict[str, Any] | None = None
    text: str = ""
    tool: str = ""
    path: Path | None = None
    wants: tuple[str, ...] = ()
    advice: str = ""
    spot: bool = False
    length: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """A value within valid arguments.

    Attributes:
        node: the schema for it.
        types: the JSON types that it admits.
        closed: the strings that it admits, None where they cannot be listed.
        facts: the keywords of its schema.
        optional: it may be left out.
    """

    path: Path
    value: Any
    node: Schema
    types: frozenset[JsonType]
    closed: tuple[str, ...] | None
    facts: Mapping[str, Any]
    optional: bool

    @property
    def name(self) -> str:
        """How people speak of it: "stops[0].place"."""
        return "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in self.path).lstrip(".")


class Case:
    """A tool's valid arguments, as the ground on which mistakes are made.

    Args:
        tool: its name.
        tools: the names of all tools of the run.
        schema: the tool's own.
        value: valid arguments.
        write: turns arguments in the tool's own form into the text that a model writes.
    """

    def __init__(
        self,
        tool: str,
        tools: Sequence[str],
        schema: Mapping[str, Any],
        value: dict[str, Any],
        write: Callable[[dict[str, Any]], str],
    ) -> None:
        self.tool, self.tools, self.value, self.write = tool, tools, value, write
        self.shapes = Shapes(schema)
        self.root = self._place((), value)
        self.places = tuple(self._walk((), value))

    def _walk(self, path: Path, value: Any) -> Iterator[Place]:
        members: list[tuple[str | int, Any]] = []
        if isinstance(value, dict):
            members += cast("dict[str, Any]", value).items()
        elif isinstance(value, list):
            members += enumerate(cast("list[Any]", value))
        for key, inner in members:
            yield self._place((*path, key), inner)
            yield from self._walk((*path, key), inner)

    def _place(self, path: Path, value: Any) -> Place:
        node = node_at(self.shapes, path, self.value)
        facts: dict[str, Any] = {}
        for part in self.shapes.parts(node):
            facts = {**part, **facts} if isinstance(part, Mapping) else facts
        required = False
        if path and isinstance(path[-1], str):
            required = path[-1] in self._required(node_at(self.shapes, path[:-1], self.value))
        return Place(
            path,
            value,
            node,
            self.shapes.types(node),
            self.shapes.closed_strings(node),
            facts,
            bool(path) and not required,
        )

    def _required(self, node: Schema) -> set[str]:
        parts = [p for p in self.shapes.parts(node) if isinstance(p, Mapping)]
        names = {n for p in parts for n in list_of(p.get("required"))}
        for part in parts:
            for branch in (*list_of(part.get("anyOf")), *list_of(part.get("oneOf"))):
                names |= self._required(branch)
        return names

    def names(self, place: Place) -> tuple[str, ...]:
        """The names that an object at a place takes, of all its alternatives."""
        found: dict[str, None] = {}
        waiting: list[Schema] = [place.node]
        for node in waiting:
            for part in self.shapes.parts(node):
                if isinstance(part, Mapping):
                    found |= dict.fromkeys(dict_of(part.get("properties")))
                    waiting += [*list_of(part.get("anyOf")), *list_of(part.get("oneOf"))]
        return tuple(found)

    def takes_any_name(self, place: Place) -> bool:
        """Whether an object at a place may have names that its schema does not list."""
        parts = [p for p in self.shapes.parts(place.node) if isinstance(p, Mapping)]
        if any(p.get("additionalProperties") is False for p in parts):
            return False
        branches = [b for p in parts for b in (*list_of(p.get("anyOf")), *list_of(p.get("oneOf")))]
        solid = [b for b in branches if "object" in self.shapes.types(b)]
        return not solid or any(
            all(p.get("additionalProperties") is not False for p in self.shapes.parts(b) if isinstance(p, Mapping))
            for b in solid
        )

    def changed(self, path: Path, value: Any) -> dict[str, Any]:
        """The arguments with another value at a place."""
        return self._edited(path, lambda owner, key: owner.__setitem__(key, value))

    def without(self, path: Path) -> dict[str, Any]:
        """The arguments without what is at a place."""
        return self._edited(path, lambda owner, key: owner.__delitem__(key))

    def renamed(self, path: Path, name: str) -> dict[str, Any]:
        """The arguments with another name for what is at a place, where it stood."""

        def rename(owner: Any, key: Any) -> None:
            members = [(name if k == key else k, v) for k, v in owner.items()]
            owner.clear()
            owner.update(members)

        return self._edited(path, rename)

    def _edited(self, path: Path, edit: Callable[[Any, Any], None]) -> dict[str, Any]:
        made: Any = copy.deepcopy(self.value)
        owner = made
        for part in path[:-1]:
            owner = owner[part]
        edit(owner, path[-1])
        return made

    def accepted(self, place: Place) -> tuple[str, ...]:
        """Words of which the answer must have one, to say what a place accepts; () where that is anything."""
        if place.closed and place.types <= {"string", "null"}:
            return tuple(shown(c) for c in place.closed)
        if place.types == ALL_TYPES:
            return ()
        words = [shown(c) for c in place.closed or ()]
        words += [f"{lead} {shown(v)}" for v in self._listed(place.node) for lead in ("must be", "one of", "or")]
        for kind in place.types:
            match kind:
                case "string":
                    words += ["a string", *(FORMATS[f] for f in self.formats(place.node) if f in FORMATS)]
                    words += ["a decimal number"] if self.decimal(place) else []
                case "integer":
                    words.append("whole number" if "number" not in place.types else "a number")
                case "number":
                    words.append("a number")
                case "boolean":
                    words.append("true or false")
                case "array":
                    words.append("a list")
                case "object":
                    words.append("object")
                case "null":
                    pass
        return tuple(words)

    def _listed(self, node: Schema) -> Iterator[Any]:
        """The values that a schema or one of its alternatives lists."""
        for part in self.shapes.parts(node):
            if isinstance(part, Mapping):
                yield from closed_set(part) or ()
                for branch in (*list_of(part.get("anyOf")), *list_of(part.get("oneOf"))):
                    yield from self._listed(branch)

    def decimal(self, place: Place) -> bool:
        """Whether a decimal number may stand at a place, as a number or as the string that spells it."""
        return "decimal" in self.formats(place.node)

    def formats(self, node: Schema) -> Iterator[str]:
        """The formats of a schema and of its alternatives."""
        for part in self.shapes.parts(node):
            if isinstance(part, Mapping):
                form = str(part.get("format", ""))
                yield from (form, "full-time") if form == "time" else (form,)
                if part.get("contentMediaType") == "application/json":
                    yield "json-string"
                for branch in (*list_of(part.get("anyOf")), *list_of(part.get("oneOf"))):
                    yield from self.formats(branch)


def shown(value: Any) -> str:
    """A value as an answer shows it: as JSON, of a long one the beginning."""
    return json.dumps(value, ensure_ascii=False)[:30]


def scalar(value: Any) -> bool:
    """Whether a value is neither an object nor an array."""
    return json_type(value) not in ("object", "array")


def misspelt(word: str, taken: Sequence[str]) -> str:
    """A word with one letter left out, or two changed places; "" where no such word is new."""
    folded = {t.casefold() for t in taken}
    middle = len(word) // 2
    tries = [
        word[:middle] + word[middle + 1 :],
        word[: middle - 1] + word[middle : middle + 1] + word[middle - 1 : middle] + word[middle + 1 :],
    ]
    for typo in tries if len(word) > 3 else [f"{word}s", f"{word}{word[-1:]}"]:
        if typo and typo.casefold() not in folded:
            return typo
    return ""
