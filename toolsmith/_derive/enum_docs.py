"""What the members of an enum mean: docstrings below them, which Python itself throws away, and names of numbers."""

from __future__ import annotations

import ast
import enum
import linecache
import re
import sys
from functools import lru_cache
from itertools import pairwise

from toolsmith._derive.trees import parsed

_MOST_NAMES = 100
_QUOTE = re.compile(r"^[ \t]+[rRuU]?(?:\"|')", re.MULTILINE)


@lru_cache(maxsize=512)
def member_docs(cls: type[enum.Enum]) -> dict[str, str]:
    """Text by member name: a member's own `__doc__`, or the string below it in the source.

    class Unit(Enum):
        KELVIN = "kelvin"
        \"\"\"Absolute; for physics.\"\"\"

    A member whose value is a number has its name in front: the number alone tells a model nothing.
    """
    docs = {m.name: doc for m in cls if isinstance(doc := vars(m).get("__doc__"), str)} or _from_source(cls)
    numbers = [m.name for m in cls if isinstance(m.value, (int, float)) and not isinstance(m.value, bool)]
    if len(numbers) > _MOST_NAMES:
        return docs
    return docs | {name: f"{name}. {docs[name]}" if name in docs else name for name in numbers}


def _from_source(cls: type[enum.Enum]) -> dict[str, str]:
    module = sys.modules.get(cls.__module__)
    path = getattr(module, "__file__", None)
    if not isinstance(path, str):
        return {}
    text = _class_source(linecache.getlines(path), cls.__name__)
    if _QUOTE.search(text) is None:
        return {}
    try:
        body = parsed(text).body
    except SyntaxError:
        return {}
    if not body or not isinstance(body[0], ast.ClassDef):
        return {}
    docs: dict[str, str] = {}
    statements = body[0].body
    for statement, following in pairwise(statements):
        match statement, following:
            case ast.Assign(targets=[ast.Name(id=name)]), ast.Expr(value=ast.Constant(value=str(doc))):
                docs[name] = " ".join(doc.split())
            case _:
                pass
    return docs


def _class_source(lines: list[str], name: str) -> str:
    """The lines of a class, by its indentation; much cheaper than `inspect.getsource`, which parses the whole file."""
    head = re.compile(rf"\s*class {re.escape(name)}\b")
    for first, line in enumerate(lines):
        if head.match(line):
            indent = len(line) - len(line.lstrip())
            last = first + 1
            while last < len(lines) and (not lines[last].strip() or _indent(lines[last]) > indent):
                last += 1
            return "".join(part[indent:] if part.strip() else part for part in lines[first:last])
    return ""


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
