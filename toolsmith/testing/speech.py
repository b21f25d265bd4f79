"""How a model puts a call into words: the arguments in the form that the request's mode makes it write.

Under a strict mode a model cannot write what the schema does not have. `call("find", q="x")` is therefore written
with `"limit": null` where the strict schema demands the key, a dict as the list of pairs that the schema shows, a tuple
as the closed object. Written here from the schema on the wire alone, so that a decoder that errs turns a test red.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from toolsmith.messages import Usage
from toolsmith.testing.recorded import Recorded, dumps
from toolsmith.testing.script import Block, Call, Delivery, Refuse, Say, Think, Turn

_PAIR = {"key", "value"}


class Ids:
    """New ids that read well in a failing test and never meet one that the request already has."""

    def __init__(self, request: Recorded) -> None:
        self._taken = request.raw
        self._turn = request.turn
        self._next = 0

    def new(self, prefix: str, tail: str = "") -> str:
        """`prefix`, then the turn and a running number: "toolu_s003n01"."""
        while True:
            found = f"{prefix}s{self._turn:03d}n{self._next:02d}{tail}"
            self._next += 1
            if found.encode() not in self._taken:
                return found


class Voice:
    """One answer about to be put into the words of one API."""

    def __init__(self, request: Recorded, turn: Turn) -> None:
        self.request = request
        self.turn = turn
        self.ids = Ids(request)
        self.how: Delivery = turn.delivery
        self.arguments = {id(part): arguments_text(part, request) for part in turn.parts if isinstance(part, Call)}
        self.usage = turn.usage or self._estimate()

    def text(self, call: Call) -> str:
        """The call's arguments as JSON text (or what the script has in its place)."""
        return self.arguments[id(call)]

    def _estimate(self) -> Usage:
        thought = said = 0
        for part in self.turn.parts:
            match part:
                case Say() | Refuse():
                    said += len(part.text)
                case Think():
                    thought += len(part.text) + 40
                case Call():
                    said += len(part.name) + len(self.text(part)) + 20
                case Block():
                    said += len(dumps(part.raw))
        thought //= 4
        # the same for a streamed and a whole answer: how it is asked for is not what is asked
        asked = {key: value for key, value in self.request.body.items() if key not in ("stream", "stream_options")}
        return Usage(
            input_tokens=len(dumps(asked)) // 4 + 1,
            output_tokens=said // 4 + thought + 1,
            reasoning_tokens=thought,
            requests=1,
        )


def arguments_text(call: Call, request: Recorded) -> str:
    """The arguments of a call, as the model writes them for this request."""
    if isinstance(call.arguments, str):
        text = call.arguments
    else:
        tool = request.tools.get(call.name)
        value: object = dict(call.arguments)
        if tool is not None and tool["strict"] is True:
            value = in_strict_form(value, tool["schema"], fill=request.api != "anthropic")
        text = dumps(value)
    return text if call.keep is None else text[: call.keep]


def in_strict_form(value: object, schema: Mapping[str, Any], *, fill: bool) -> object:
    """A plain value as a model writes it that is bound to `schema`.

    Args:
        value: JSON data as the Python function takes it.
        schema: the strict schema on the wire.
        fill: write null for required members that the value leaves out (OpenAI); otherwise leave them out (Claude).
    """
    return _Writer(schema, fill=fill).write(value, schema)


class _Writer:
    def __init__(self, root: Mapping[str, Any], *, fill: bool) -> None:
        self._root = root
        self._fill = fill

    def write(self, value: object, schema: Mapping[str, Any]) -> object:
        schema = self._resolved(schema)
        if isinstance(schema.get("anyOf"), list):
            return self._one_of(value, cast("list[Mapping[str, Any]]", schema["anyOf"]))
        if isinstance(schema.get("properties"), dict) and isinstance(value, (dict, list, tuple)):
            return self._object(cast("dict[str, object] | list[object]", value), schema)
        if isinstance(schema.get("items"), dict):
            items = cast("Mapping[str, Any]", schema["items"])
            if isinstance(value, dict) and self._is_pair(items):
                pairs = cast("dict[object, object]", value).items()
                return [self.write({"key": key, "value": member}, items) for key, member in pairs]
            if isinstance(value, (list, tuple, set, frozenset)):
                return [self.write(member, items) for member in cast("Iterable[object]", value)]
        return cast("object", value)

    def _object(self, value: dict[str, object] | list[object], schema: Mapping[str, Any]) -> object:
        properties = cast("dict[str, Mapping[str, Any]]", schema["properties"])
        if not isinstance(value, dict):
            return {name: self.write(v, s) for (name, s), v in zip(properties.items(), value, strict=False)}
        required = cast("list[str]", schema.get("required", []))
        written: dict[str, object] = {}
        for name, inner in properties.items():
            if name in value:
                written[name] = self.write(value[name], inner)
            elif self._fill and name in required and self._admits(None, inner):
                written[name] = None
        # what the schema does not know stays: a script may want to show a model that errs
        return written | {name: v for name, v in value.items() if name not in properties}

    def _one_of(self, value: object, branches: list[Mapping[str, Any]]) -> object:
        for branch in branches:
            written = self.write(value, branch)
            if self._admits(written, branch):
                return written
        return value

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
