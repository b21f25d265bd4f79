"""What to do after a failed call, read from the error's own text: the tool it names, or the value it suggests. Pure."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, cast

from toolsmith._derive.trees import parsed_expression
from toolsmith.providers._local.episode import Done
from toolsmith.providers._local.router import Tool
from toolsmith.providers._local.spans import Reading

_SUGGESTS = re.compile(
    r"\b(?:did you mean|(?:perhaps )?you meant|available|accepted|allowed|valid|possible|known|choose|one of|instead|"
    r"there (?:is|are)|try|should be|must be|closest|similar)\b",
    re.IGNORECASE,
)
_NEAR_ENOUGH = 0.6


@dataclass(frozen=True, slots=True)
class Remedy:
    """A tool that an error names as the repair of its cause; `arguments` is None where the error gives none."""

    tool: Tool
    arguments: dict[str, Any] | None


def remedies(error: str, failed: str, tools: Sequence[Tool]) -> list[Remedy]:
    """The offered tools that an error names, in the order of its text; never the one that failed.

    A name of several words ("start_service") is taken wherever it stands; a single plain word ("add") only where it is
    marked as a name: quoted, in backticks, or followed by arguments.
    """
    found: list[tuple[int, Remedy]] = []
    for tool in tools:
        if tool.name == failed:
            continue
        for m in re.finditer(rf"(?<![\w.]){re.escape(tool.name)}(?!\w)", error):
            before, after = error[: m.start()][-1:], error[m.end() :]
            marked = before in ("`", "'", '"', "“", "‘") or after[:1] in ("(", "{", "`")
            if marked or re.search(r"[_\d]|[a-z][A-Z]", tool.name):
                found.append((m.start(), Remedy(tool, arguments_after(after))))
                break
    return [remedy for _, remedy in sorted(found, key=lambda pair: pair[0])]


def arguments_after(text: str) -> dict[str, Any] | None:
    """The arguments that follow a tool's name: `{"a": 1}` within the same sentence, or `(a=1)`; None for none."""
    window = re.split(r"(?<=[.!?])\s+(?=[A-Z])|\n\n", text, maxsplit=1)[0]
    brace = text.find("{") if "{" in window else -1
    if brace >= 0:
        try:
            found, _ = json.JSONDecoder().raw_decode(text[brace:])
        except ValueError:
            found = None
        if isinstance(found, dict):
            return cast("dict[str, Any]", found)
    m = re.match(r"[`'\"]?\(([^()]*)\)", text)
    if m is None:
        return None
    try:
        call = parsed_expression(f"f({m[1]})").body
    except SyntaxError:
        return None
    if not isinstance(call, ast.Call) or call.args:
        return None
    try:
        return {k.arg: ast.literal_eval(k.value) for k in call.keywords if k.arg is not None}
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Correction:
    """An argument that an error objects to, and the values it speaks of instead, the likeliest first."""

    name: str
    values: tuple[str, ...]

    @property
    def certain(self) -> bool:
        """Whether there is but one to choose."""
        return len(self.values) == 1


def correction(step: Done, tool: Tool) -> Correction | None:
    """Which argument to change, and to what; None where the error suggests nothing."""
    error = step.text
    words = {k: v for k, v in step.arguments.items() if isinstance(v, str) and v}
    objected = [k for k, v in words.items() if v.lower() in error.lower()]
    objected = objected or [k for k in words if re.search(rf"(?<!\w){re.escape(k)}(?!\w)", error)]
    for name in objected:
        values = _suggested(error, words[name], step.arguments, tool)
        if values:
            return Correction(name, values)
    return None


def _suggested(error: str, sent: str, arguments: Mapping[str, Any], tool: Tool) -> tuple[str, ...]:
    """The values behind words such as "did you mean": nearest to what was sent first; one only if it is near."""
    cue = _SUGGESTS.search(error)
    if cue is None:
        return ()
    names = {tool.name, *arguments, *(f.name for f in tool.fields)}
    tail = error[cue.end() :]
    values = _others([s.text for s in Reading(tail).quoted], sent, names) or _others(_listed(tail), sent, names)
    ranked = sorted(values, key=lambda v: -_nearness(v, sent))
    near = [v for v in ranked if _nearness(v, sent) >= _NEAR_ENOUGH]
    return tuple(near[:1] or ranked)


def _others(values: Sequence[str], sent: str, names: set[str]) -> list[str]:
    return [v for v in dict.fromkeys(values) if v != sent and v not in names]


def _listed(text: str) -> list[str]:
    """Unquoted values: "one of: red, green or blue." """
    sentence = re.split(r"[?!\n]|\.(?:\s|$)", text.lstrip(" :,-"), maxsplit=1)[0]
    sentence = re.sub(r"^[\w\s]{0,30}:\s*|^(?:are|is)\s+", "", sentence)
    parts = re.split(r",\s*(?:or |and )?|\s+or\s+|\s+and\s+", sentence)
    return [p.strip() for p in parts if p.strip() and len(p.split()) <= 4]


def _nearness(left: str, right: str) -> float:
    return SequenceMatcher(None, left.lower(), right.lower()).ratio()
