"""Syntax trees of source text, one at a time."""

from __future__ import annotations

import ast
import threading
from collections.abc import Callable
from typing import Final, TypeVar

TreeT = TypeVar("TreeT", bound=ast.AST)

_ONE: Final = threading.RLock()
_TRIES: Final = 5


def parsed(source: str | bytes) -> ast.Module:
    """The tree of a file's text, or of a part of it.

    Raises:
        SyntaxError, ValueError: as `ast.parse`.
    """
    return _alone(lambda: ast.parse(source))


def parsed_expression(text: str) -> ast.Expression:
    """The tree of one expression.

    Raises:
        SyntaxError, ValueError: as `ast.parse`.
    """
    return _alone(lambda: ast.parse(text, mode="eval"))


def _alone(parse: Callable[[], TreeT]) -> TreeT:
    """Python 3.11 counts the depth of the tree in one place for all threads, and calls two at once a `SystemError`.

    The lock is for our own threads (one may come back while it parses, by a finalizer); another try is for the
    program's. (github.com/python/cpython/issues/106905, read 2026-12-01.)
    """
    with _ONE:
        for _ in range(_TRIES - 1):
            try:
                return parse()
            except SystemError:
                continue
        return parse()
