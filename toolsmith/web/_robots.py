"""robots.txt: what a site lets programs read. By RFC 9309 (September 2022), with the `*` and `$` of its section 2.2.3.

Matching is by plain search from left to right, so that a file made to be slow costs no more than its length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final
from urllib.parse import quote

from toolsmith._dataclass import dataclass

MAX_BYTES: Final = 512_000
"""RFC 9309, 2.5: at least 500 kibibytes are to be read."""

_MOST_RULES = 5_000
_TOKEN = re.compile(r"[A-Za-z_-]+")
_SAFE = "/?&=+,;:@!$'()*~#[]%"


@dataclass(frozen=True, slots=True)
class Rule:
    """A line of a group.

    Attributes:
        pattern: in percent-encoding; may hold `*`, and end with `$`.
    """

    allow: bool
    pattern: str

    def matches(self, path: str) -> bool:
        """Whether the rule is about a path (with its query, in percent-encoding)."""
        pattern = self.pattern
        ends = pattern.endswith("$")
        first, *rest = pattern.removesuffix("$").split("*")
        if not path.startswith(first):
            return False
        at = len(first)
        if not rest:
            return not ends or at == len(path)
        *middle, last = rest
        for piece in middle:
            found = path.find(piece, at)
            if found < 0:
                return False
            at = found + len(piece)
        if ends:
            return len(path) - len(last) >= at and path.endswith(last)
        return path.find(last, at) >= 0


@dataclass(frozen=True, slots=True)
class Rules:
    """Those of one site for one program."""

    rules: tuple[Rule, ...] = ()

    def allow(self, path: str) -> bool:
        """Whether a path may be read: the longest rule about it decides, of two equal ones the friendlier.

        Args:
            path: from its first slash, with the query.
        """
        path = _encoded(path) or "/"
        best = max(((len(rule.pattern), rule.allow) for rule in self.rules if rule.matches(path)), default=(0, True))
        return path == "/robots.txt" or best[1]


def rules_for(program: str, text: str) -> Rules:
    """The rules of a robots.txt for a program.

    Args:
        program: its product token, "toolsmith".
        text: of the file.
    """
    own: list[Rule] = []
    of_all: list[Rule] = []
    named = False
    for agents, rules in _groups(text):
        if program.lower() in agents:
            named = True
            own += rules
        elif "*" in agents:
            of_all += rules
    return Rules(tuple(own if named else of_all))


def _groups(text: str) -> Iterator[tuple[Sequence[str], Sequence[Rule]]]:
    agents: list[str] = []
    rules: list[Rule] = []
    open_ = False  # a line of rules has closed the list of agents
    count = 0
    for key, value in _lines(text):
        if key in ("user-agent", "useragent"):
            if open_:
                yield agents, rules
                agents, rules, open_ = [], [], False
            token = _TOKEN.match(value)
            agents.append("*" if value.startswith("*") else token[0].lower() if token else "")
        elif key in ("allow", "disallow"):
            open_ = True
            count += 1
            if value and agents and count <= _MOST_RULES:
                rules.append(Rule(key == "allow", _encoded(value if value[0] in "/*" else f"/{value}")))
    if agents:
        yield agents, rules


def _lines(text: str) -> Iterator[tuple[str, str]]:
    for line in re.split(r"\r\n|\r|\n", text.removeprefix("\ufeff")):
        key, colon, value = line.partition("#")[0].partition(":")
        if colon:
            yield key.strip().lower(), value.strip()


def _encoded(path: str) -> str:
    """Percent-encoded alike, whoever wrote it: RFC 9309, 2.2.2."""
    plain = re.sub(r"%([0-9a-fA-F]{2})", lambda m: _unescaped(m[0]), path)
    return quote(plain, safe=_SAFE)


def _unescaped(escape: str) -> str:
    """A letter, digit or mark that needs no escape, as itself; any other escape in capitals."""
    char = chr(int(escape[1:], 16))
    return char if char.isascii() and (char.isalnum() or char in "-._~") else escape.upper()
