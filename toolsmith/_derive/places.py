"""Where something stands in a source file, for errors: "shop/tools.py:12"."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from toolsmith._dataclass import dataclass
from toolsmith._derive.trees import parsed


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file; prints as "file:line", the file as seen from the working directory.

    Attributes:
        path: "" for what has no file, such as a builtin.
        line: counted from 1.
        owner: what stands there, where there is no file to name.
    """

    path: str
    line: int
    owner: str = ""

    @staticmethod
    def of(function: Callable[..., Any], call: Any = None) -> Place:
        """Where a function is defined; for what has no source, a place that names it."""
        code = getattr(function, "__code__", None)
        if code is None:
            kind = call if isinstance(call, type) or hasattr(call, "__qualname__") else type(call)
            name = getattr(kind, "__qualname__", repr(kind))
            return Place("", 0, f"{getattr(kind, '__module__', '') or 'builtins'}.{name}")
        return Place(code.co_filename, code.co_firstlineno)

    @staticmethod
    def of_author() -> Place | None:
        """The line outside of this package from which it was called."""
        frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        while frame.f_globals.get("__name__", "").partition(".")[0] == "toolsmith":
            if frame.f_back is None:
                return None
            frame = frame.f_back
        return Place(frame.f_code.co_filename, frame.f_lineno)

    def of_parameter(self, name: str) -> Place:
        """The line of one parameter; this place where the source cannot be read."""
        line = _parameter_lines(self.path).get((self.line, name)) if self.path else None
        return self if line is None else Place(self.path, line)

    def __str__(self) -> str:
        if not self.path:
            return self.owner
        path = Path(self.path)
        here = Path.cwd()
        shown = path.relative_to(here) if path.is_relative_to(here) else path
        return f"{os.fspath(shown)}:{self.line}"


@lru_cache(maxsize=64)
def _parameter_lines(path: str) -> dict[tuple[int, str], int]:
    """(first line of a function or its decorators, parameter) -> the parameter's line. Read only for an error."""
    try:
        tree = parsed(Path(path).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return {}
    lines: dict[tuple[int, str], int] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            a = node.args
            for argument in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg):
                if argument is not None:
                    lines[first, argument.arg] = argument.lineno
    return lines
