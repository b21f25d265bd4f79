"""A string for a regular expression: one that is as short and as plain as the expression allows.

It covers what schemas use: literals, classes, groups, alternatives, repetition, anchors. The result is a proposal; who
asks for it checks that it fits.
"""

from __future__ import annotations

from typing import Final

_CLASSES: Final = {"d": "1", "w": "a", "s": " ", "D": "a", "W": "-", "S": "a", "b": "", "B": "", "A": "", "Z": ""}
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}
_ALL: Final = "aA1-_./ :@#+,;!?=&%$*()[]{}<>|~^'\"\\"
_LONGEST: Final = 2_000


class NoString(ValueError):
    """The expression has something that is not covered here."""


def string_for(pattern: str) -> str:
    """A string that an expression most likely finds a match in.

    Raises:
        NoString: look-around, back references and the like.
    """
    reader = _Reader(pattern)
    text = reader.alternatives()
    if reader.left():
        raise NoString(pattern)
    return text


class _Reader:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0

    def left(self) -> bool:
        return self._at < len(self._pattern)

    def _peek(self) -> str:
        return self._pattern[self._at : self._at + 1]

    def _next(self) -> str:
        if not self.left():
            raise NoString(self._pattern)
        self._at += 1
        return self._pattern[self._at - 1]

    def alternatives(self) -> str:
        """The first of them; all are read."""
        first = self._sequence()
        while self._peek() == "|":
            self._next()
            self._sequence()
        return first

    def _sequence(self) -> str:
        text = ""
        while self.left() and self._peek() not in ("|", ")"):
            text += self._repeated(self._one())
            if len(text) > _LONGEST:
                raise NoString(self._pattern)
        return text

    def _one(self) -> str:
        match self._next():
            case "^" | "$":
                return ""
            case ".":
                return "a"
            case "[":
                return self._set()
            case "(":
                return self._group()
            case "\\":
                return self._escape()
            case other:
                return other

    def _group(self) -> str:
        if self._peek() == "?":
            self._next()
            kind = self._next()
            if kind == "P" or (kind == "<" and self._peek() not in ("=", "!")):
                if kind == "P" and self._next() != "<":
                    raise NoString(self._pattern)
                while self._next() != ">":
                    pass
            elif kind != ":":
                raise NoString(self._pattern)
        text = self.alternatives()
        if self._next() != ")":
            raise NoString(self._pattern)
        return text

    def _escape(self) -> str:
        letter = self._next()
        if letter in _CLASSES:
            return _CLASSES[letter]
        if letter in _ESCAPED:
            return _ESCAPED[letter]
        if letter.isalnum():
            raise NoString(self._pattern)
        return letter

    def _set(self) -> str:
        negated = self._peek() == "^"
        if negated:
            self._next()
        held: list[str] = []
        while self._peek() != "]" or not held:
            letter = self._next()
            one = self._escape() if letter == "\\" else letter
            if self._peek() == "-" and self._pattern[self._at + 1 : self._at + 2] not in ("]", ""):
                self._next()
                last = self._escape() if (end := self._next()) == "\\" else end
                held += [chr(c) for c in range(ord(one or "a"), min(ord(last or "a"), ord(one or "a") + 96) + 1)]
            else:
                held.append(one)
        self._next()
        if not negated:
            return held[0]
        if free := next((c for c in _ALL if c not in held), None):
            return free
        raise NoString(self._pattern)

    def _repeated(self, one: str) -> str:
        least = 1
        match self._peek():
            case "*" | "?":
                self._next()
                least = 0
            case "+":
                self._next()
            case "{" if (count := self._count()) is not None:
                least = count
            case _:
                return one
        if self._peek() in ("?", "+"):
            self._next()
        if least > _LONGEST:
            raise NoString(self._pattern)
        return one * least

    def _count(self) -> int | None:
        """The least of `{2}`, `{2,}`, `{2,5}`; None where the brace stands for itself."""
        end = self._pattern.find("}", self._at)
        low, _, high = self._pattern[self._at + 1 : end].partition(",")
        if end < 0 or not (low.isdecimal() or (not low and high.isdecimal())):
            return None
        self._at = end + 1
        return int(low or 0)
