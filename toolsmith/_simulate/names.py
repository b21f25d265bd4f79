"""Mistakes with names: of arguments, and of tools."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, cast

from toolsmith._arguments.problems import Path
from toolsmith._simulate.places import Case, Place, Slip, misspelt

_INVENTED: Final = ("explanation", "reasoning", "extra_context", "note_to_self")
_WRAPPERS: Final = ("arguments", "input")
_OPEN = "it takes any name: leave out **kwargs or allow no other names, and misspelt ones are noticed"


def _members(case: Case, place: Place) -> Iterator[Place]:
    """The places in the arguments that are a declared member of an object."""
    declared = case.names(place)
    for one in case.places:
        if one.path[:-1] == place.path and one.path[-1] in declared:
            yield one


def _objects(case: Case) -> Iterator[Place]:
    for place in (case.root, *case.places):
        if isinstance(place.value, dict) and case.names(place):
            yield place


def missing(case: Case) -> Iterator[Slip]:
    """Each required member left out."""
    for owner in _objects(case):
        for place in _members(case, owner):
            if not place.optional:
                yield Slip(case.without(place.path), path=place.path, wants=case.accepted(place))


def extra(case: Case) -> Iterator[Slip]:
    """A name that nothing is like, at the top."""
    accepted = case.names(case.root)
    name = next(n for n in _INVENTED if n not in accepted)
    if not case.takes_any_name(case.root):
        wants = tuple(f"`{a}`" for a in accepted) or ("no arguments",)
        yield Slip({**case.value, name: "to be sure"}, path=(name,), wants=wants)


def misspelt_name(case: Case) -> Iterator[Slip]:
    """Each name of the top with a letter too few."""

    def other(name: str) -> str:
        return misspelt(name, case.names(case.root))

    yield from _other_names(case, other)


def name_case(case: Case) -> Iterator[Slip]:
    """Each name of the top in camelCase; one without an underscore capitalised."""

    def other(name: str) -> str:
        camel = re.sub(r"_+([a-zA-Z0-9])", lambda m: m[1].upper(), name.strip("_"))
        new = camel if camel != name else name[:1].swapcase() + name[1:]
        return "" if new in case.names(case.root) else new

    yield from _other_names(case, other)


def _other_names(case: Case, other: Callable[[str], str]) -> Iterator[Slip]:
    for place in _members(case, case.root):
        name = cast("str", place.path[-1])
        if not (new := other(name)) or new == name:
            continue
        if not case.takes_any_name(case.root):
            yield Slip(case.renamed(place.path, new), path=(new,), wants=(f"`{name}`",))
        elif place.optional:
            yield Slip(case.renamed(place.path, new), advice=_OPEN)
        else:
            yield Slip(case.renamed(place.path, new), path=place.path, wants=("missing",))


def inside(case: Case, place: Place) -> Slip | None:
    """A misspelt name inside an object within the arguments."""
    name = cast("str", place.path[-1])
    owner = next(p for p in case.places if p.path == place.path[:-1])
    new = misspelt(name, case.names(owner))
    if not new or case.takes_any_name(owner) or name not in case.names(owner):
        return None
    path: Path = (*owner.path, new)
    return Slip(case.renamed(place.path, new), path=path, wants=(f"`{name}`",))


def wrapped(case: Case) -> Iterator[Slip]:
    """All arguments inside one more object."""
    accepted = case.names(case.root)
    if accepted and not case.takes_any_name(case.root):
        for name in _WRAPPERS:
            if name not in accepted:
                yield Slip({name: case.value}, path=(name,), wants=tuple(f"`{a}`" for a in accepted))


def unknown_tool(case: Case) -> Iterator[Slip]:
    """The tool's own name, misspelt; and one that nothing is like."""
    if near := misspelt(case.tool, case.tools):
        yield Slip(case.value, tool=near, wants=(f"`{case.tool}`",))
    yield Slip(case.value, tool="do_everything", wants=tuple(f"`{name}`" for name in case.tools))
