"""The functions that are running where a tool is made: what each has bound, and what it has made itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache, partial, partialmethod, singledispatchmethod
from types import CodeType, FrameType, MethodType
from typing import Any, cast

from toolsmith._dataclass import dataclass
from toolsmith._derive.bindings import LOCALS


class Run:
    """A function, or the body of a class, that is running where the tool is made.

    Attributes:
        place: its qualified name.
        line: where it is.
    """

    __slots__ = ("_frame", "_names", "code", "line", "place")

    def __init__(self, frame: FrameType) -> None:
        self._frame, self.code, self.line = frame, frame.f_code, frame.f_lineno
        self.place = self.code.co_qualname
        self._names: Mapping[str, Any] | None = None

    @property
    def names(self) -> Mapping[str, Any]:
        """What it has bound so far."""
        if self._names is None:
            self._names = self._frame.f_locals
        return self._names

    @property
    def bound(self) -> tuple[str, ...]:
        """All names that are its own."""
        return bound_by(self.code)

    def made(self, what: Any, place: str) -> bool:
        """Whether this run, and not an earlier one of the same function, has made a function or a class.

        Args:
            place: qualified name of `what`, which stands in this function.
        """
        first, *rest = place[len(self.place) + len(LOCALS) :].split(".")
        if rest and rest[0] == LOCALS.strip("."):
            return first in self.names  # made by a function in this one; by which run of that cannot be told
        one: object = None if self._takes(first) else self.names.get(first)
        for part in rest:
            one = getattr(one, "__dict__", {}).get(part)
        if isinstance(one, type) and one.__qualname__ != place:
            return (
                any(c is what for c in one.__mro__) or self._at(first) is not None
            )  # what a decorator has made of the class
        return innermost_of(one) is what or self._at(first) is not None

    def defines(self, function: Any) -> bool:
        """Whether it is just now defining a function, whose decorators are at work."""
        return self._at(function.__code__.co_name, function.__code__) is not None

    def bound_again(self, name: str, place: str) -> bool:
        """Whether it bound a name both before and after it made what stands in it at that place."""
        first = place[len(self.place) + len(LOCALS) :].partition(".")[0]
        if self._at(first) is not None:
            return False
        syntax = _syntax(self.code)
        ran = [lines for code, lines in syntax.definitions if code.co_name == first and lines[0] <= self.line]
        stored = syntax.stored.get(name, ())
        if not ran or not any(ran[-1][-1] < line <= self.line for line in stored):
            return False
        return self._takes(name) or any(line < ran[-1][0] for line in stored)

    def _takes(self, name: str) -> bool:
        return name in self.code.co_varnames[: self.code.co_argcount + self.code.co_kwonlyargcount]

    def _at(self, name: str, code: CodeType | None = None) -> range | None:
        """The lines of the definition that is under way, if it is that of a function or a class of that name."""
        return next(
            (
                lines
                for one, lines in _syntax(self.code).definitions
                if one.co_name == name and self.line in lines and (code is None or one is code)
            ),
            None,
        )


@dataclass(frozen=True, slots=True)
class _Syntax:
    """The definitions in a function, each with its lines, decorators among them; and the lines where it binds names."""

    definitions: list[tuple[CodeType, range]]
    stored: dict[str, list[int]]


@lru_cache(maxsize=256)
def _syntax(code: CodeType) -> _Syntax:
    import dis

    found = _Syntax([], {})
    for step in dis.get_instructions(code):
        at = step.positions
        value: Any = step.argval
        if at is None or at.lineno is None:
            continue
        if isinstance(value, CodeType):
            # Python can be told to keep no ends; the first line is that of the first decorator.
            end = at.end_lineno or max((line for *_, line in value.co_lines() if line), default=0)
            found.definitions.append((value, range(value.co_firstlineno, max(at.lineno, end) + 1)))
            if value.co_name.startswith("<generic parameters of"):
                found.definitions.extend(_syntax(value).definitions)
        elif step.opname.startswith(("STORE_FAST", "STORE_DEREF", "STORE_NAME")):
            # Python 3.13 stores two at once, or stores one and loads another.
            names = cast("tuple[str, ...]", value if isinstance(value, tuple) else (value,))
            for name in names[:1] if "LOAD" in step.opname else names:
                found.stored.setdefault(name, []).append(at.lineno)
    return found


def innermost_of(thing: Any) -> Any:
    """What is below a tool, a partial, a static or class method, or what `functools.wraps` has wrapped."""
    for _ in range(64):  # a wrapper that wraps itself
        match thing:
            case type():
                return thing
            case partial() | partialmethod() | singledispatchmethod():
                thing = cast("Any", thing).func
            case staticmethod() | classmethod() | MethodType():
                thing = cast("Any", thing).__func__
            case _:
                below = getattr(thing, "__wrapped__", None)
                if below is None:
                    return thing
                thing = below
    return thing


def bound_by(code: CodeType | None) -> tuple[str, ...]:
    """The names that are a function's own, by its code."""
    return () if code is None else (*code.co_varnames, *code.co_cellvars)


def code_at(scope: str, globalns: Mapping[str, Any]) -> CodeType | None:
    """The code of a function, by its qualified name, where the module still has it."""
    head, *inner = scope.split(LOCALS)
    code = getattr(reached(head, globalns), "__code__", None)
    for name in ".".join(inner).split(".") if inner else ():
        code = None if code is None else next(_codes(code, name), None)
    return code


def reached(path: str, globalns: Mapping[str, Any]) -> Any:
    """The function or class of a qualified name without functions around, if the module still has it; else None."""
    first, *rest = path.split(".")
    one: Any = globalns.get(first)
    for part in rest:
        one = getattr(one, "__dict__", {}).get(part)
    one = innermost_of(one)
    return one if getattr(one, "__qualname__", "") == path else None


def _codes(code: CodeType, name: str) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_name == name:
                yield constant
            elif constant.co_name.startswith("<generic parameters of"):
                yield from _codes(constant, name)
