"""Words for arguments: what was sent, what is accepted, what is wrong, what was mended.

The half of `_feedback.Feedback` that speaks of arguments. All texts are bounded, whatever the input.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from toolsmith._arguments.jsontext import Exact
from toolsmith._arguments.problems import ABSENT, Broken, Path, Problem, Repair, Schema
from toolsmith._arguments.repair import spelled
from toolsmith._arguments.shapes import ALL_TYPES, Shapes, closed_set, dict_of, is_small, json_type, list_of, number_of
from toolsmith._wording.numbers import beyond, decimal, number, one_decimal

MAX_TEXT: Final = 2_000
"""Characters of a text about arguments."""
_ECHO: Final = 60
_WORDS_OF_CHECK: Final = 400
_CHOICES: Final = 12
_NAMES: Final = 10
_DEEP: Final = 3
_NOTES: Final = 5
_PLAIN: Final = frozenset({"a string", "a whole number", "a number", "a list"})
_NUMBERED: Final = re.compile(r"item_\d+|rest")
_ANYTHING: Final = "any JSON value"

# The formats that pydantic and common schemas use, each with an example that the validators accept.
FORMATS: Final[Mapping[str, str]] = {
    "date": "a date such as 2026-11-30",
    "date-time": "a date and time such as 2026-11-30T18:05:00Z",
    "time": "a time of day such as 18:05:00",
    "full-time": "a time of day with its offset such as 18:05:00Z",
    "duration": "a duration such as PT5M (ISO 8601)",
    "uuid": "a UUID such as 12345678-1234-5678-1234-567812345678",
    "uri": "a full URL such as https://example.org/page",
    "email": "an e-mail address",
    "ipv4": "an IPv4 address",
    "ipv6": "an IPv6 address",
    "path": "a file path",
    "file-path": "the path of an existing file",
    "directory-path": "the path of an existing folder",
    "base64url": "base64url text",
    "json-string": "a string that holds JSON",
    "regex": "a regular expression",
    "decimal": "a decimal number such as 12.50",
    "fraction": "a fraction such as 3/4",
    "complex": "a complex number such as 1+2j",
}


class Wording:
    """Turns problems and repairs into sentences.

    Attributes:
        formats: a noun phrase for each `format`.
    """

    formats: Mapping[str, str] = FORMATS

    # ---- places and values

    def place(self, path: Path) -> str:
        """A place in the arguments, as in `route.stops[1].x`."""
        text = ""
        for part in path:
            if isinstance(part, int):
                text += f"[{part}]"
            elif part.replace("-", "_").isidentifier():
                text += f".{part}" if text else part
            else:
                text += f"[{json.dumps(shortened(part, 60), ensure_ascii=False)}]"
        return f"`{_middle(text, 160)}`" if path else "The arguments"

    def sent(self, value: Any) -> str:
        """A value that the model sent, as JSON; a long one described."""
        match value:
            case str() if len(value) > _ECHO:
                head = json.dumps(value[: _ECHO - 20], ensure_ascii=False)[:_ECHO]
                return f"{head}... (a string of {len(value):,} characters)"
            case list() | dict() if not is_small(cast("Any", value), _ECHO):
                return self._described(cast("list[Any] | dict[str, Any]", value))
            case Exact():
                return shortened(value.text, _ECHO)
            case int() if not isinstance(value, bool) and value.bit_length() > 200:
                return "a very large whole number"
            case _:
                return json.dumps(value, ensure_ascii=False)

    def _described(self, value: list[Any] | dict[str, Any]) -> str:
        if isinstance(value, list):
            return f"a list of {self.counted(len(value), 'item')}"
        return f"an object with {self.names(list(value), 5)}"

    def names(self, names: Sequence[str], most: int = _NAMES) -> str:
        """Several names in a row, in part where there are many."""
        shown = [f"`{shortened(n, 60)}`" for n in names[:most]]
        if len(names) > most:
            shown.append(f"{len(names) - most:,} more")
        return self.joined(shown)

    def joined(self, words: Sequence[str]) -> str:
        """Words in a row, the last one after "and"."""
        return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)

    def counted(self, count: int | float, noun: str) -> str:
        """A number of things: "1 item", "2,000 items"."""
        return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"

    def available(self, tools: Sequence[str], most: int) -> str:
        """The tools that there are, at least one."""
        return f"The {'only tool is' if len(tools) == 1 else 'tools are'} {self.names(tools, most)}."

    # ---- what is accepted

    def expected(self, shapes: Shapes, node: Schema, depth: int = 0) -> str:
        """What a schema accepts, as a noun phrase: "a whole number from 1 to 50"."""
        facts = _facts(shapes, node)
        types = shapes.types(node)
        if (values := _values(shapes, node, facts)) is not None:
            return self.one_of(values, orelse_null="null" in types and None not in values)
        branches = list_of(facts.get("anyOf")) or list_of(facts.get("oneOf"))
        if branches and depth < _DEEP:
            return self._either(shapes, branches, depth) + beyond(facts)
        if types == ALL_TYPES:
            return _ANYTHING
        each: list[str] = []
        if "number" in types:
            exact = facts.get("format") == "decimal"
            example = self.formats.get("decimal", "")
            each.append(decimal(example, facts, self.counted) if exact else number("a number", facts, self.counted))
        elif "integer" in types:
            each.append(number("a whole number", facts, self.counted))
        if "string" in types:
            each.append(self._string(facts))
        if "boolean" in types:
            each.append("true or false")
        if "array" in types:
            each.append(self._array(shapes, facts, depth))
        if "object" in types:
            each.append(self._object(shapes, facts, depth))
        if "null" in types:
            each.append("null")
        return " or ".join(each) or "nothing"

    def one_of(self, values: Sequence[Any], *, orelse_null: bool = False) -> str:
        """The members of a closed set, in part where there are many."""
        shown = [self.sent(v) for v in values[:_CHOICES]]
        if orelse_null:
            shown.append("null")
        if len(values) > _CHOICES:
            return f"one of {', '.join(shown)} or one of {len(values) - _CHOICES:,} more"
        if len(shown) == 1:
            return shown[0]
        return f"one of {', '.join(shown)}" if len(shown) > 2 else " or ".join(shown)

    def _either(self, shapes: Shapes, branches: Sequence[Any], depth: int) -> str:
        branches = one_decimal(branches)
        each = list(dict.fromkeys(self.expected(shapes, b, depth + 1) for b in branches))
        each.sort(key=lambda words: words == "null")
        if len(each) > 5:
            each = [*each[:4], f"one of {len(each) - 4} other shapes"]
        return (", or " if any(" and " in words or ", " in words for words in each) else " or ").join(each)

    def _string(self, facts: Mapping[str, Any]) -> str:
        form = facts.get("format")
        if facts.get("contentMediaType") == "application/json":
            form = "json-string"
        words = self.formats.get(form, "") if isinstance(form, str) else ""
        if not words:
            words = f"a string of format {shortened(form, 40)}" if _is_odd(form) else "a string"
        size = self._extent(facts.get("minLength"), facts.get("maxLength"), "character")
        words += f" of {size}" if size else ""
        pattern = facts.get("pattern")
        if isinstance(pattern, str):
            words += f" that matches the regular expression {shortened(pattern, 120)}"
        return words + beyond(facts)

    def _extent(self, least: object, most: object, noun: str) -> str:
        low, high = number_of(least), number_of(most)
        if low is not None and high is not None:
            return f"exactly {self.counted(low, noun)}" if low == high else f"{low:,} to {self.counted(high, noun)}"
        if low:
            return f"at least {self.counted(low, noun)}"
        return f"at most {self.counted(high, noun)}" if high is not None else ""

    def _array(self, shapes: Shapes, facts: Mapping[str, Any], depth: int) -> str:
        size = self._extent(facts.get("minItems"), facts.get("maxItems"), "item")
        first = list_of(facts.get("prefixItems") or facts.get("items"))
        if first and depth < _DEEP:
            each = [self.expected(shapes, f, depth + 1) for f in first[:6]]
            more = f", and {len(first) - 6} more" if len(first) > 6 else ""
            return f"a list of {size or self.counted(len(first), 'item')}: {', then '.join(each)}{more}"
        items: Any = facts.get("items")
        each = (
            self.expected(shapes, cast("Schema", items), depth + 1) if _is_node(items) and depth < _DEEP else _ANYTHING
        )
        if each in _PLAIN:
            least, most = facts.get("minItems"), facts.get("maxItems")
            return f"a list of {self._extent(least, most, each[2:]) or each[2:] + 's'}"
        members = dict_of(_facts(shapes, cast("Schema", items)).get("properties") if _is_node(items) else None)
        if set(members) == {"key", "value"} and depth < _DEEP:  # what a strict mode makes of a mapping
            value = self.expected(shapes, members["value"], depth + 1)
            said = "" if value == _ANYTHING else f", each value {value}"
            return f"a list of {f'{size}, each an object' if size else 'objects'} with `key` and `value`{said}"
        words = f"a list of {size}" if size else "a list"
        if each == _ANYTHING:
            return words
        return f"{words}, each {each}" if size else f"{words} whose items are each {each}"

    def _object(self, shapes: Shapes, facts: Mapping[str, Any], depth: int) -> str:
        named = dict_of(facts.get("properties"))
        size = self._extent(facts.get("minProperties"), facts.get("maxProperties"), "member")
        if not named:
            words = f"an object of {size}" if size else "an object"
            members: Any = facts.get("additionalProperties")
            if isinstance(members, Mapping) and members and depth < _DEEP:
                value = self.expected(shapes, cast("Schema", members), depth + 1)
                return f"{words}{', ' if size else ' '}whose values are each {value}"
            return "an empty object" if members is False else words
        required = [n for n in list_of(facts.get("required")) if n in named]
        if depth < _DEEP and len(required) == len(named) <= 6 and all(map(_NUMBERED.fullmatch, named)):
            # What a strict mode makes of a tuple: the names alone say nothing.
            each = [f"`{n}` ({self.expected(shapes, part, depth + 1)})" for n, part in named.items()]
            return f"an object with {self.joined(each)}"
        optional = [n for n in named if n not in required]
        words = f"an object with {self.names(required)}" if required else "an object"
        if optional:
            words += (
                f" and optionally {self.names(optional)}" if required else f" with, optionally, {self.names(optional)}"
            )
        return f"{words} ({size})" if size else words

    # ---- what is wrong

    def problem(self, tool: str, problem: Problem, shapes: Shapes) -> str:
        """One thing that is wrong with the arguments, in one or two sentences."""
        shapes = shapes if problem.root is shapes.root else Shapes(problem.root)  # a strict mode's
        where, sent = self.place(problem.path), self.sent(problem.sent) if problem.sent is not ABSENT else ""
        accepted = self.expected(shapes, problem.expected)
        match problem.kind:
            case "missing":
                return (
                    f"{where} is missing." if accepted == _ANYTHING else f"{where} is missing; it must be {accepted}."
                )
            case "unknown":
                return self._unknown(tool, where, problem)
            case "json_text":
                words = f"{where} must be {accepted}: send it as JSON itself, not as a string that holds JSON."
                return words + self._flaw(problem.broken)
            case "custom":
                return f"{where}: {shortened(problem.message, _WORDS_OF_CHECK)} (you sent {sent})."
            case "overflow":
                return f"{where} is a number too large to be kept; the largest is about 1.8e308."
            case "key":
                form = "" if accepted == _ANYTHING else f"; a key must be {accepted}"
                return f"{where}: this key is not accepted there{form}."
            case "excluded":
                return f"{where} must not be {accepted}; you sent {sent}."
            case "ambiguous":
                return f"{where} fits more than one of the shapes it may have ({accepted}); make it fit exactly one."
            case "forbidden":
                return f"{where} is not accepted; leave it out."
            case "repeated":
                return f"{where} must not hold the same item twice."
            case "value":
                guess = f" Did you mean {self.sent(problem.near)}?" if problem.near else ""
                return f"{where} must be {accepted}; you sent {sent}.{guess}"
            case _:
                told = f"; you sent {sent}" if sent else ""
                return f"{where} must be {accepted}{told}.{self._advice(problem, shapes)}"

    def _flaw(self, broken: Broken | None) -> str:
        if broken is not None and broken.kind == "duplicates":
            return f" In the string, {self.names(broken.names, 5)} is given more than once in one object."
        return f" The string holds {self.joined(broken.names[:3])}, which JSON does not have." if broken else ""

    def _advice(self, problem: Problem, shapes: Shapes) -> str:
        if problem.optional and problem.sent is None:
            return " Leave it out to use its default."
        if isinstance(problem.sent, str) and problem.kind == "type":
            meant = spelled(problem.sent, shapes.types(problem.expected))
            return "" if meant is None else f" Send it without quotes: {self.sent(meant)}."
        return ""

    def _unknown(self, tool: str, where: str, problem: Problem) -> str:
        top = len(problem.path) == 1
        words = f"{where} is not an argument of `{tool}`." if top else f"{where} is not accepted."
        if problem.holds:
            pronoun = "it" if len(problem.holds) == 1 else "them"
            return f"{words} It holds {self.names(problem.holds)}: send {pronoun} without {where} around {pronoun}."
        if problem.near_is_missing:
            return f"{words} Did you mean `{problem.near}`, which is missing?"
        if problem.near:
            return f"{words} Did you mean `{problem.near}`?"
        owner = f"`{tool}`" if top else self.place(problem.path[:-1])
        return f"{words} {owner} takes {self.names(problem.accepted) if problem.accepted else 'no arguments'}."

    def listed(self, sentences: Sequence[str], room: int) -> str:
        """Sentences as a list, as many as there is room for."""
        text = ""
        for index, sentence in enumerate(sentences):
            line = f"\n- {sentence}"
            if len(text) + len(line) > room and index:
                return f"{text}\n- ... and {len(sentences) - index:,} more."
            text += line
        return text

    # ---- what was mended

    def repaired(self, repairs: Sequence[Repair]) -> tuple[str, ...]:
        """What was mended, for the model; a few examples where it was much."""
        notes = tuple(self._repair(r) for r in repairs[:_NOTES])
        if len(repairs) > _NOTES:
            more = self.counted(len(repairs) - _NOTES, "more value")
            notes += (f"{more} {'was' if len(repairs) == _NOTES + 1 else 'were'} mended in the same way.",)
        return notes

    def _repair(self, repair: Repair) -> str:
        where = self.place(repair.path)
        match repair.kind:
            case "fence":
                return "The arguments stood in a Markdown code fence, which was removed. Send plain JSON next time."
            case "json_text" if not repair.path:
                return "The arguments were JSON inside a string and were read as the object. Send the object itself."
            case "json_text":
                noun = "list" if json_type(repair.used) == "array" else "object"
                return f"{where} was JSON inside a string and was read as the {noun}. Send the {noun} itself next time."
            case "null":
                return f"{where} was null and was taken as left out."
            case "case" | "number" | "boolean":
                return f"{where} was {self.sent(repair.sent)} and was read as {self.sent(repair.used)}."


def shortened(text: object, most: int) -> str:
    """The first characters of a text, and dots where there are more."""
    words = str(text)
    return words if len(words) <= most else f"{words[: most - 3]}..."


def sentence(text: str, most: int) -> str:
    """A text that something follows: shortened, and ended as a sentence is."""
    words = shortened(text.strip(), most)
    return words if words.endswith((".", "!", "?", "…", "。", "！", "？", ">")) else f"{words}."  # ">" ends a fence


def _middle(text: str, most: int) -> str:
    half = most // 2 - 2
    return text if len(text) <= most else f"{text[:half]}...{text[-half:]}"


def _is_node(value: object) -> bool:
    return isinstance(value, Mapping)


def _is_odd(form: object) -> bool:
    return isinstance(form, str) and form not in ("binary", "password", "string")


def _facts(shapes: Shapes, node: Schema) -> Mapping[str, Any]:
    """The keywords that hold at a node, those of its references and `allOf` among them; the first of equals wins."""
    facts: dict[str, Any] = {}
    for part in shapes.parts(node):
        if isinstance(part, Mapping):
            facts = {**part, **facts}
    return facts


def _values(shapes: Shapes, node: Schema, facts: Mapping[str, Any]) -> Sequence[Any] | None:
    """The members of a closed set; None where a node is none."""
    if (values := closed_set(facts)) is not None:
        return values
    if shapes.types(node) <= {"string", "null"} and (closed := shapes.closed_strings(node)):
        return closed
    return None
