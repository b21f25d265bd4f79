"""How a model puts a call into words: the arguments in the form that the request's mode makes it write.

A model knows only the names that stand in the schema, and under a strict mode it cannot write what the schema does not
have. `call("find", q="x")` is therefore written with `"limit": null` where the strict schema demands the key, a dict as
the list of pairs that the schema shows, a tuple as the closed object, members that are not declared as pairs too, and
a name that Claude does not take as the one in its place (see `_simulate.strict_form`). What no such model can write is
a `ScriptError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolsmith._simulate.strict_form import in_strict_form, under_sent_names
from toolsmith.messages import Usage
from toolsmith.testing.recorded import Recorded, dumps
from toolsmith.testing.script import Block, Call, Delivery, Refuse, Say, ScriptError, Search, Think, Turn


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
        thought = said = searches = 0
        for part in self.turn.parts:
            match part:
                case Say() | Refuse():
                    said += len(part.text)
                case Think():
                    thought += len(part.text) + 40
                case Call():
                    said += len(part.name) + len(self.text(part)) + 20
                case Search():
                    said += len(part.query) + 20
                    searches += not part.error
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
            searches=searches,
        )


def arguments_text(call: Call, request: Recorded) -> str:
    """The arguments of a call, as the model writes them for this request."""
    if isinstance(call.arguments, str):
        text = call.arguments
    else:
        tool = request.tools.get(call.name)
        value: object = dict(call.arguments)
        if tool is not None and tool["strict"] is not True:
            value = under_sent_names(call.arguments, tool["schema"])
        elif tool is not None:
            value = in_strict_form(value, tool["schema"], fill=request.api != "anthropic")
            _check(call.name, value, tool["schema"])
        text = dumps(value)
    return text if call.keep is None else text[: call.keep]


def _check(name: str, written: object, schema: Mapping[str, Any]) -> None:
    """See to it that a model bound to the schema could have written this."""
    from jsonschema import Draft202012Validator

    validator: Any = Draft202012Validator(schema)
    wrong: Any = next(iter(validator.iter_errors(written)), None)
    if wrong is not None:
        where = "".join(f"[{part!r}]" for part in wrong.absolute_path)
        raise ScriptError(
            f"call({name!r}, ...): {name!r} is offered in strict mode, and no model bound to its schema sends this: "
            f"{f'at {where}: ' if where else ''}{str(wrong.message)[:300]}. To show a model that errs all the same, "
            f"write raw_call({name!r}, 'JSON text'), or offer the tool with strict=False."
        )
