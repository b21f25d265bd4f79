"""The rows of the benchmark's tables: what each shows of the figures in `results.json`, and what was wanted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

APIS = {"chat": "Chat", "resp": "Responses", "ant": "Anthropic", "": ""}
PLAIN = "toolsmith_plain"
Found = Mapping[str, Any]
Read = Callable[[Mapping[str, Any]], float]


@dataclass(frozen=True)
class Row:
    """A row of the table.

    Attributes:
        stage: of `run.py`.
        read: gives the figure of one sample; a time in seconds.
        unit: in which it is shown.
        wanted: by API, the highest ratio to the loop by hand; or, with `absolute`, the highest figure itself.
        ours: which of our environments is meant.
        untold: what one sample leaves out, without which a figure comes cheap; None where nothing can be left out.
        over: what the figure is divided by, of the same side.
        base: what ours is compared with, from its own samples, where that is not the loop by hand.
        than: what that is.
    """

    name: str
    stage: str
    read: Read
    unit: str
    wanted: Mapping[str, float]
    absolute: bool = False
    ours: str = "toolsmith"
    untold: Callable[[Mapping[str, Any]], Sequence[str]] | None = None
    over: Read | None = None
    base: Read | None = None
    than: str = "by hand"

    @property
    def marked(self) -> str:
        """The name, with the mark of the footnote."""
        return f"{self.name} (1)" if self.ours == PLAIN else self.name


def of_case(name: str, per: float = 1) -> Read:
    return lambda sample: median(sample[name]["seconds"]) / per


def turn(number: str) -> Read:
    return lambda sample: sample["200 turns"]["by turn"][number]


def one_more(sample: Mapping[str, Any]) -> float:
    return (median(sample["5 turns of 33 calls"]["seconds"]) - median(sample["5 turns of 1 call"]["seconds"])) / 160


def tokens(mode: str) -> Read:
    return lambda sample: sample[mode]["tokens"] / 50


def untold(mode: str) -> Callable[[Mapping[str, Any]], Sequence[str]]:
    return lambda sample: sample[mode]["untold"]


def more_tools(sample: Mapping[str, Any]) -> float:
    return sample["1000"] / sample["100"]


def key(name: str) -> Read:
    return lambda sample: sample[name]


def at_most(most: float, wires: str = "chat ant") -> dict[str, float]:
    return dict.fromkeys(wires.split() or [""], most)


def definition(mode: str, name: str, wanted: Mapping[str, float]) -> Row:
    name = f"tokens of a definition, {name}"
    return Row(name, "definitions", tokens(mode), "", wanted, absolute=True, untold=untold(mode))


RUNS_FAILED = key("failed")
LEVEL = at_most(1.7, "chat resp ant")
STREAMS = {"chat": 0.25, "resp": 0.25, "ant": 0.7}
ROWS = [
    Row("whole run of 200 turns", "200 turns", of_case("200 turns"), "s", {"resp": 1 / 60, "chat": 1 / 20, "ant": 0.5}),
    Row("a turn at 200 over a turn at 10", "200 turns", turn("200"), "x", LEVEL, absolute=True, over=turn("10")),
    Row("10 turns, a request", "loop", of_case("10 turns", 11), "ms", {"chat": 0.45, "resp": 0.18, "ant": 1.0}),
    Row("2,000 deltas of text", "loop", of_case("2,000 deltas"), "ms", STREAMS),
    Row("20 KB of arguments in 1,024 deltas", "loop", of_case("20 KB of arguments"), "ms", STREAMS),
    Row("200 runs at once", "200 at once", key("seconds"), "s", {"chat": 0.2, "ant": 0.4}),
    Row("the same: memory of a run", "200 at once", key("KB a run"), "KB", at_most(64), absolute=True),
    Row("1,000 runs at once", "1,000 at once", key("seconds"), "s", {"chat": 0.2, "ant": 0.3}),
    Row("the same: runs that failed", "1,000 at once", RUNS_FAILED, "", at_most(0), absolute=True),
    Row("each further parallel call", "loop", one_more, "us", at_most(45), absolute=True),
    Row("program start to answer", "cold", key("seconds"), "ms", at_most(1.1, "chat resp ant"), ours=PLAIN),
    Row("4 blocking calls of 200 ms: gap on the loop", "blocking", key("gap"), "ms", at_most(10), absolute=True),
    Row("the same: wall time", "blocking", key("wall"), "ms", at_most(260), absolute=True),
    Row("derive a tool of 6 parameters", "derive", key("100"), "us", at_most(1.15, "")),
    Row("a call, 2 arguments, async", "call", key("two, async"), "us", at_most(4, ""), absolute=True),
    Row("a call, 6 nested arguments, async", "call", key("six, async"), "us", at_most(9, ""), absolute=True),
    Row("a call, 2 arguments, sync function", "call", key("two, sync"), "us", at_most(35, ""), absolute=True),
    Row("a call's full road, one of 33", "call", key("full road, one of 33"), "us", at_most(15, ""), absolute=True),
    Row("a call's full road, alone", "call", key("full road, alone in its turn"), "us", {}, absolute=True),
    definition("loose", "not strict", at_most(305, "chat resp ant")),
    definition("strict", "strict", at_most(320, "chat resp ant")),
    definition("default", "as sent by default", {}),
    definition("compatible", "as sent by default to other servers", {}),
    Row("derive: one of 1,000 tools over one of 100", "derive", more_tools, "x", at_most(1.1, ""), absolute=True),
    Row("1,000 tools: each run after the first", "thousand", key("next"), "ms", at_most(1.0)),
    Row("import", "import", key("seconds"), "ms", at_most(1.6, ""), ours=PLAIN, base=key("pydantic"), than="pydantic"),
]
SCALES = {"s": 1, "ms": 1e3, "us": 1e6}


def samples(found: Found, stage: str, side: str, wire: str) -> list[dict[str, Any]]:
    return found.get(stage, {}).get(side, {}).get(wire, [])


def read(found: Found, stage: str, side: str, wire: str, how: Read) -> list[float]:
    """The figure of each round; those where it could not be measured are left out."""
    figures: list[float] = []
    for sample in samples(found, stage, side, wire):
        if isinstance(sample.get("failed"), str):
            continue
        try:
            figures.append(how(sample))
        except (KeyError, TypeError):
            continue
    return figures


def rounds(found: Found, row: Row, side: str, wire: str) -> list[float]:
    figures = read(found, row.stage, side, wire, row.read)
    if row.over is None:
        return figures
    return [a / b for a, b in zip(figures, read(found, row.stage, side, wire, row.over), strict=True)]


def figure(found: Found, row: Row, side: str, wire: str) -> float | None:
    """The median over the rounds; None where it could not be measured."""
    figures = read(found, row.stage, side, wire, row.read)
    if not figures:
        return None
    return median(figures) / (median(read(found, row.stage, side, wire, row.over)) if row.over else 1)


def base(found: Found, row: Row, ours: str, wire: str) -> float | None:
    """What ours is compared with."""
    if row.base is None:
        return figure(found, row, "raw", wire)
    figures = read(found, row.stage, ours, wire, row.base)
    return median(figures) if figures else None


def missing(found: Found, row: Row, side: str, wire: str) -> Sequence[str]:
    """What a side leaves out."""
    good = [s for s in samples(found, row.stage, side, wire) if "failed" not in s]
    return row.untold(good[0]) if row.untold and good else ()


def runs_failed(found: Found, row: Row, side: str, wire: str) -> int:
    """Of many runs at once, those that failed and thereby cost less; 0 for the row that says so."""
    counts = read(found, row.stage, side, wire, RUNS_FAILED)
    return 0 if row.read is RUNS_FAILED else int(max(counts, default=0))


def rounds_failed(found: Found, row: Row, side: str, wire: str) -> int:
    return sum(isinstance(sample.get("failed"), str) for sample in samples(found, row.stage, side, wire))
