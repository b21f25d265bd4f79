"""Names of arguments as the model knows them, where a service does not take the tool's own.

Claude takes only the names of `rules.CLAUDE_KEYS`: "größe" is sent as "groe". What a model reads must name that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from toolsmith._dialects.decoders import (
    Decoder,
    ListDecoder,
    ObjectDecoder,
    PairsDecoder,
    RefDecoder,
    TupleDecoder,
    UnionDecoder,
)

_TICKED = re.compile(r"`[^`]*`")


def sent_names(decoder: Decoder | None) -> dict[str, str]:
    """The tool's own names that the model knows otherwise, each with that other name."""
    return {name: sent for name, sent in _renamed(decoder, set()) if name != sent}


def _renamed(decoder: Decoder | None, seen: set[str]) -> Iterator[tuple[str, str]]:
    inner: list[Decoder | None] = []
    match decoder:
        case ObjectDecoder():
            yield from ((m.name, m.sent) for m in decoder.members)
            inner = [*(m.decoder for m in decoder.members), decoder.pairs]
        case TupleDecoder():
            inner = [*(m.decoder for m in decoder.members), decoder.rest_item]
        case ListDecoder():
            inner = [decoder.item]
        case PairsDecoder():
            inner = [decoder.value]
        case UnionDecoder():
            inner = [b.decoder for b in decoder.branches]
        case RefDecoder() if decoder.name not in seen:
            seen.add(decoder.name)
            inner = [decoder.table[decoder.name]]
        case _:
            pass
    for one in inner:
        yield from _renamed(one, seen)


def in_sent_names(text: str, names: Mapping[str, str]) -> str:
    """A text in which names stand between backticks, alone or in a path, with those that the model knows."""
    if not names:
        return text
    longest = sorted(names, key=len, reverse=True)
    name = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest))})(?!\w)")
    return _TICKED.sub(lambda ticked: name.sub(lambda m: names[m[0]], ticked[0]), text)


def with_sent_names(value: object, names: Mapping[str, str]) -> object:
    """Plain data with the names that the model knows."""
    if isinstance(value, dict):
        return {names.get(k, k): with_sent_names(v, names) for k, v in cast("dict[str, Any]", value).items()}
    return [with_sent_names(v, names) for v in cast("list[Any]", value)] if isinstance(value, list) else value
