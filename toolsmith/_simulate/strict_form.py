"""A value as a model writes it that is bound to a strict schema: the other direction of a dialect's decoder.

Written from the schema on the wire alone, so that a decoder that errs turns a test red.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from toolsmith._dialects.rules import CLAUDE_KEYS

_PAIR = {"key", "value"}
_WRAPPED, _ITEM, _REST = "entries", "item_", "rest"
_OMITTED = re.compile(r'send (null|"omit"|\{"omit": ?true\}) (?:for it|to leave it out)')
_NAMED = re.compile(r'named ("(?:[^"\\]|\\.)*")')
_EXTRAS, _ABOUT_EXTRAS = "additional", "further members"


def in_strict_form(value: object, schema: Mapping[str, Any], *, fill: bool) -> object:
    """A plain value as a model writes it that is bound to `schema`.

    Args:
        value: JSON data as the Python function takes it.
        schema: the strict schema on the wire.
        fill: for required members that the value leaves out write null, or what the schema tells to send (OpenAI);
            otherwise leave them out (Claude).
    """
    return _Writer(schema, fill=fill).write(value, schema)


def under_sent_names(value: Mapping[str, object], schema: Mapping[str, Any]) -> dict[str, object]:
    """Arguments under the names that a loose schema has for them: Claude takes not every name on the top."""
    properties = cast("dict[str, Mapping[str, Any]]", schema.get("properties") or {})
    known = {name: sent for sent, name in _own_names(properties).items()}
    return {known.get(name, name): held for name, held in value.items()}


def _own_names(properties: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Name on the wire -> the member's own name, which its description tells where the service does not take it."""
    own: dict[str, str] = {}
    for sent, schema in properties.items():
        said = _NAMED.findall(str(schema.get("description", "")))
        name = str(json.loads(said[-1])) if said else sent
        own[sent] = sent if name in properties or CLAUDE_KEYS.fullmatch(name) else name
    return own


def place_in_strict_form(path: Sequence[str | int], value: object, schema: Mapping[str, Any]) -> tuple[str | int, ...]:
    """Where a place of a plain value stands once that is `in_strict_form`."""
    return _Writer(schema, fill=True).place(path, value, schema)  # else no branch of a union would admit it


class _Writer:
    def __init__(self, root: Mapping[str, Any], *, fill: bool) -> None:
        self._root = root
        self._fill = fill

    def write(self, value: object, schema: Mapping[str, Any], *, wraps: bool = False) -> object:
        """A value in the form of a schema; as it is, where the schema has no form for it.

        Args:
            wraps: beside this schema stands one for a mapping that cannot be taken for a list, so this is a list.
        """
        schema = self._resolved(schema)
        if isinstance(schema.get("anyOf"), list):
            return self._one_of(value, cast("list[Mapping[str, Any]]", schema["anyOf"]))
        if isinstance(schema.get("properties"), dict):
            if isinstance(value, dict):
                return self._object(cast("dict[str, object]", value), schema)
            if isinstance(value, (list, tuple)):
                return self._tuple(list(cast("Iterable[object]", value)), schema)
        if isinstance(schema.get("items"), dict):
            items = cast("Mapping[str, Any]", schema["items"])
            if isinstance(value, dict) and self._is_pair(items) and not wraps:
                pairs = cast("dict[object, object]", value).items()
                return [self.write({"key": key, "value": member}, items) for key, member in pairs]
            if isinstance(value, (list, tuple, set, frozenset)):
                return [self.write(member, items) for member in cast("Iterable[object]", value)]
        return cast("object", value)

    def place(self, path: Sequence[str | int], value: object, schema: Mapping[str, Any]) -> tuple[str | int, ...]:
        """Where `write` puts what stands at a place; as it is, where the schema has no form for it."""
        schema = self._resolved(schema)
        if not path:
            return ()
        branches = schema.get("anyOf")
        if isinstance(branches, list):
            solid = [self._resolved(one) for one in cast("list[Mapping[str, Any]]", branches)]
            fitting = (one for one in solid if self._admits(self.write(value, one), one))
            schema = next(fitting, cast("Mapping[str, Any]", {}))
        part, rest = path[0], path[1:]
        properties = cast("dict[str, Mapping[str, Any]]", schema.get("properties") or {})
        items = cast("Mapping[str, Any]", schema.get("items") or {})
        if isinstance(value, dict):
            members = cast("dict[str, object]", value)
            if self._is_wrapper(schema) and not self._admits(members, schema):
                return (_WRAPPED, *self.place(path, members, properties[_WRAPPED]))
            if isinstance(part, str) and part in members and items and self._is_pair(items):
                below = self._resolved(items)["properties"]["value"]
                return ([*members].index(part), "value", *self.place(rest, members[part], below))
            own = _own_names(properties)
            sent = next((s for s, name in own.items() if name == part), part)
            if isinstance(sent, str) and sent in properties:
                return (sent, *self.place(rest, members.get(str(part), members.get(sent)), properties[sent]))
            extras = self._extras(properties)
            if extras and isinstance(part, str) and part in members:
                at = [name for name in members if name not in {*own, *own.values()}].index(part)
                below = self._resolved(self._resolved(properties[extras])["items"])["properties"]["value"]
                return (extras, at, "value", *self.place(rest, members[part], below))
        if isinstance(value, list) and isinstance(part, int) and part < len(cast("list[object]", value)):
            held = cast("list[object]", value)[part]
            named = f"{_ITEM}{part + 1}"
            if self._is_tuple(schema) and named in properties:
                return (named, *self.place(rest, held, properties[named]))
            if self._is_tuple(schema) and _REST in properties:
                behind = part - len(properties) + 1
                return (_REST, behind, *self.place(rest, held, self._resolved(properties[_REST]).get("items") or {}))
            if items:
                return (part, *self.place(rest, held, items))
        return tuple(path)

    def _object(self, value: dict[str, object], schema: Mapping[str, Any]) -> object:
        properties = cast("dict[str, Mapping[str, Any]]", schema["properties"])
        if self._is_wrapper(schema) and not self._admits(value, schema):
            return {_WRAPPED: self.write(value, properties[_WRAPPED])}
        required = cast("list[str]", schema.get("required", []))
        own = _own_names(properties)
        extras = self._extras(properties)
        if extras in value and self._admits(value[extras], properties[extras]):
            extras = ""  # the script has written them as they go onto the wire
        known = {*own, *own.values()} - {extras}
        more = {name: v for name, v in value.items() if name not in known}
        written: dict[str, object] = {}
        for sent, inner in properties.items():
            name = own[sent] if own[sent] in value else sent
            if sent == extras:
                written[sent] = self.write(more, inner)
            elif name in value:
                written[sent] = self.write(value[name], inner)
            elif self._fill and sent in required:
                written |= self._left_out(sent, inner)
        # what the schema does not know stays: a script may want to show a model that errs
        return written if extras else written | more

    def _extras(self, properties: Mapping[str, Mapping[str, Any]]) -> str:
        """The member that holds the undeclared ones as pairs, "" for none."""
        for name, schema in properties.items():
            about = str(schema.get("description", ""))
            if (
                name.rstrip("_") == _EXTRAS
                and about.startswith(_ABOUT_EXTRAS)
                and self._is_pair(schema.get("items", {}))
            ):
                return name
        return ""

    def _left_out(self, name: str, schema: Mapping[str, Any]) -> dict[str, object]:
        """A member that is demanded and not given: what its description tells to send for it, else null."""
        said = _OMITTED.search(str(schema.get("description", "")))
        for absent in (*([json.loads(said[1])] if said else []), None):
            if self._admits(absent, schema):
                return {name: absent}
        return {}

    def _tuple(self, value: list[object], schema: Mapping[str, Any]) -> object:
        """A list as an object: its numbered members by their numbers (the schema may have them in another order)."""
        properties = cast("dict[str, Mapping[str, Any]]", schema["properties"])
        names = [n for n in properties if n != _REST] if self._is_tuple(schema) else list(properties)
        if self._is_tuple(schema):
            names.sort(key=lambda name: int(name.removeprefix(_ITEM)))
        given: dict[str, object] = {n: self.write(v, properties[n]) for n, v in zip(names, value, strict=False)}
        tail = value[len(names) :]
        if _REST in properties and self._is_tuple(schema):
            given[_REST] = self.write(tail, properties[_REST])
        elif tail:
            return value  # it is too long for this
        if self._fill:
            for name in set(names) - given.keys():
                given |= self._left_out(name, properties[name])
        return {name: given[name] for name in properties if name in given}

    def _one_of(self, value: object, branches: list[Mapping[str, Any]]) -> object:
        solid = [self._resolved(branch) for branch in branches]
        wraps = any(map(self._is_wrapper, solid))
        # An object of numbered members is a tuple, and takes a dict only if nothing else does.
        for branch in sorted(solid, key=self._is_tuple) if isinstance(value, dict) else solid:
            written = self.write(cast("object", value), branch, wraps=wraps)
            if self._admits(written, branch):
                return written
        return cast("object", value)

    def _is_wrapper(self, schema: Mapping[str, Any]) -> bool:
        """Whether this is a mapping beside lists: `{"entries": [{"key": ..., "value": ...}]}`."""
        properties = cast("dict[str, Any]", schema.get("properties") or {})
        if set(properties) != {_WRAPPED}:
            return False
        inner = self._resolved(properties[_WRAPPED])
        return isinstance(inner.get("items"), dict) and self._is_pair(cast("Mapping[str, Any]", inner["items"]))

    def _is_tuple(self, schema: Mapping[str, Any]) -> bool:
        names = set(cast("Mapping[str, Any]", schema.get("properties") or {})) - {_REST}
        return bool(names) and names == {f"{_ITEM}{n}" for n in range(1, len(names) + 1)}

    def _is_pair(self, schema: Mapping[str, Any]) -> bool:
        properties = self._resolved(schema).get("properties")
        return isinstance(properties, dict) and set(cast("dict[str, object]", properties)) == _PAIR

    def _resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        for _ in range(100):  # a chain of references, never a loop
            ref = schema.get("$ref")
            if not isinstance(ref, str):
                break
            node: Any = self._root
            for step in ref.removeprefix("#").strip("/").split("/") if ref != "#" else []:
                node = node[step.replace("~1", "/").replace("~0", "~")]
            schema = node
        return schema

    def _admits(self, value: Any, schema: Mapping[str, Any]) -> bool:
        from jsonschema import Draft202012Validator

        whole = {**schema, **{key: self._root[key] for key in ("$defs", "definitions") if key in self._root}}
        validator: Any = Draft202012Validator(whole)
        return bool(validator.is_valid(value))
