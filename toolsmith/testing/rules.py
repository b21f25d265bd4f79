"""What a refusal is, and how a rule that makes one is written down.

Each rule is a small function with a name, a sentence and a source; a service's list of them is its whole judgement.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from toolsmith._dataclass import dataclass
from toolsmith.testing.recorded import Recorded
from toolsmith.testing.script import Api

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
CALL_ID = re.compile(r"[a-zA-Z0-9_-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class No:
    """Why a rule refuses: the words and codes of the real service."""

    message: str
    status: int = 400
    type: str = "invalid_request_error"
    code: str | None = None
    param: str | None = None


Finding = Callable[[Recorded], No | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """Something that a service refuses.

    Attributes:
        api: the API that does.
        name: short and unique within the API; `ScriptedModel(..., ignore={"name"})` switches it off.
        about: what is refused, in a sentence.
        source: where that is known from.
        find: the check itself.
    """

    api: Api
    name: str
    about: str
    source: str
    find: Finding


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that was refused, and by which rule."""

    rule: Rule
    no: No
    request: Recorded

    def __str__(self) -> str:
        return f"request {self.request.number} to {self.rule.api}: {self.rule.name}: {self.no.message}"


def rule(api: Api, name: str, about: str, *, source: str) -> Callable[[Finding], Rule]:
    """Write a check down as a rule."""

    def written(find: Finding) -> Rule:
        return Rule(api, name, about, source, find)

    return written


def first_refusal(rules: Iterable[Rule], request: Recorded, ignore: frozenset[str]) -> Refusal | None:
    """The first rule that refuses, as a service reports one fault at a time."""
    for one in rules:
        no = None if one.name in ignore else one.find(request)
        if no is not None:
            return Refusal(one, no, request)
    return None


def unknown_keys(value: Mapping[str, Any], known: Iterable[str]) -> list[str]:
    """Keys that a service does not know, in the order sent."""
    return [key for key in value if key not in frozenset(known)]


def bearer(request: Recorded) -> bool:
    """Whether there is a key, in the header where current SDKs send it. True where there are no headers at all."""
    if not request.headers:
        return True
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return scheme == "Bearer" and bool(key.strip())


def repeated(values: Iterable[str]) -> str | None:
    """The first value that comes a second time."""
    seen: set[str] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None
