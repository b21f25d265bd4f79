"""`results.json` -> `RESULTS.md` and the plots of docs/speed.md; called by `run.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import plots

HERE = Path(__file__).resolve().parent
APIS = {"chat": "Chat", "resp": "Responses", "ant": "Anthropic", "": ""}
NAMES = {
    "raw": "by hand", "sketch": "sketch", "toolsmith": "toolsmith", "toolsmith_plain": "toolsmith without aiohttp",
    "pydantic_ai": "pydantic-ai", "openai_agents": "openai-agents", "langchain": "langchain", "agno": "agno",
    "openai_runner": "openai's runner", "anthropic_runner": "anthropic's runner",
}  # fmt: skip
LEFT_OUT_BY_HAND = {"its result"}
"""What the definitions of the loop by hand do not say either."""
PEERS = [name for name in NAMES if name not in ("raw", "sketch", "toolsmith", "toolsmith_plain")]
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
    """

    name: str
    stage: str
    read: Read
    unit: str
    wanted: Mapping[str, float]
    absolute: bool = False
    ours: str = "toolsmith"
    untold: Callable[[Mapping[str, Any]], Sequence[str]] | None = None


def of_case(name: str, per: float = 1) -> Read:
    return lambda sample: median(sample[name]["seconds"]) / per


def growth(sample: Mapping[str, Any]) -> float:
    turns = sample["200 turns"]["by turn"]
    return turns["200"] / turns["10"]


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


STREAMS = {"chat": 0.25, "resp": 0.25, "ant": 0.7}
ROWS = [
    Row("whole run of 200 turns", "200 turns", of_case("200 turns"), "s", {"resp": 1 / 60, "chat": 1 / 20, "ant": 0.5}),
    Row("a turn at 200 over a turn at 10", "200 turns", growth, "x", at_most(1.7, "chat resp ant"), absolute=True),
    Row("10 turns, a request", "loop", of_case("10 turns", 11), "ms", {"chat": 0.45, "resp": 0.18, "ant": 1.0}),
    Row("2,000 deltas of text", "loop", of_case("2,000 deltas"), "ms", STREAMS),
    Row("20 KB of arguments in 1,024 deltas", "loop", of_case("20 KB of arguments"), "ms", STREAMS),
    Row("200 runs at once", "200 at once", key("seconds"), "s", {"chat": 0.2, "ant": 0.4}),
    Row("the same: memory of a run", "200 at once", key("KB a run"), "KB", at_most(64), absolute=True),
    Row("1,000 runs at once", "1,000 at once", key("seconds"), "s", {"chat": 0.2, "ant": 0.3}),
    Row("the same: runs that failed", "1,000 at once", key("failed"), "", at_most(0), absolute=True),
    Row("each further parallel call", "loop", one_more, "us", at_most(45), absolute=True),
    Row("program start to answer", "cold", key("seconds"), "ms", at_most(1.1, "chat resp ant"), ours="toolsmith_plain"),
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
]
SCALES = {"s": 1, "ms": 1e3, "us": 1e6}


def figure(found: Found, row: Row, side: str, wire: str) -> float | None:
    """The median over the rounds; None where it could not be measured."""
    samples = found.get(row.stage, {}).get(side, {}).get(wire, [])
    figures: list[float] = []
    for sample in samples:
        try:
            figures.append(row.read(sample))
        except (KeyError, TypeError):
            continue
    return median(figures) if figures else None


def missing(found: Found, row: Row, side: str, wire: str) -> Sequence[str]:
    """What a side leaves out."""
    samples = found.get(row.stage, {}).get(side, {}).get(wire, [])
    return row.untold(samples[0]) if row.untold and samples else ()


def shown(value: float | None, row: Row) -> str:
    if value is None:
        return "-"
    scaled = value * SCALES.get(row.unit, 1)
    digits = 0 if scaled >= 100 or scaled == int(scaled) else 1 if scaled >= 10 else 2
    return f"{scaled:,.{digits}f} {row.unit}".rstrip()


def with_missing(found: Found, row: Row, side: str, wire: str) -> str:
    value = figure(found, row, side, wire)
    left_out = "" if value is None else ", ".join(missing(found, row, side, wire))
    return f"{shown(value, row)}, but not {left_out}" if left_out else shown(value, row)


def lines(found: Found) -> Iterator[Sequence[str]]:
    """The table of the issue: what we want, what we have."""
    for row in ROWS:
        for wire in APIS:
            ours = figure(found, row, row.ours, wire)
            if ours is None:
                continue
            raw = figure(found, row, "raw", wire)
            peers = [
                (value, name)
                for name in PEERS
                if (value := figure(found, row, name, wire)) is not None
                and set(missing(found, row, name, wire)) <= LEFT_OUT_BY_HAND
            ]
            best = min(peers, default=None)
            wanted = row.wanted.get(wire)
            ratio = ours / raw if raw else None
            judged = ours * SCALES.get(row.unit, 1) if row.absolute else ratio
            if wanted is None or judged is None:
                target, met = "-", "-"
            else:
                target = f"<= {wanted:g}" if row.absolute else f"<= {wanted:.3g} of by hand"
                met = "yes" if judged <= wanted else "**no**"
            yield (
                row.name, APIS[wire], shown(raw, row), f"{shown(best[0], row)} ({NAMES[best[1]]})" if best else "-",
                shown(figure(found, row, "sketch", wire), row), shown(ours, row),
                f"{ratio:.3f}" if ratio is not None else "-", target, met,
            )  # fmt: skip
    yield from imports(found)


def imports(found: Found) -> Iterator[Sequence[str]]:
    samples = found.get("import", {})
    if "toolsmith_plain" not in samples:
        return
    ours = median(s["seconds"] / s["pydantic"] for s in samples["toolsmith_plain"][""])
    seconds = median(s["seconds"] for s in samples["toolsmith_plain"][""])
    theirs = median(s["pydantic"] for s in samples["toolsmith_plain"][""])
    best = min((median(s["seconds"] for s in samples[name][""]), name) for name in PEERS if name in samples)
    yield (
        "import", "", f"{theirs * 1e3:.0f} ms (pydantic)", f"{best[0] * 1e3:.0f} ms ({NAMES[best[1]]})",
        "-", f"{seconds * 1e3:.0f} ms", f"{ours:.3f}", "<= 1.6 of pydantic", "yes" if ours <= 1.6 else "**no**",
    )  # fmt: skip


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    bars = ["---"] + ["---"] * (len(head) - 1)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, bars, *rows))


def everybody(found: Found) -> Iterator[str]:
    """A table for each row, with all sides."""
    for row in ROWS:
        sides = [s for s in NAMES if any(figure(found, row, s, wire) is not None for wire in APIS)]
        wires = [w for w in APIS if any(figure(found, row, s, w) is not None for s in sides)]
        if len(sides) < 2:
            continue
        rows = [[NAMES[s], *(with_missing(found, row, s, w) for w in wires)] for s in sides]
        yield f"### {row.name[0].upper()}{row.name[1:]}\n\n" + table(["", *(APIS[w] or "CPU" for w in wires)], rows)


def versions(found: Found) -> str:
    rows = [
        [NAMES[side], ", ".join(f"{name} {version}" for name, version in known.items())]
        for side, known in found["versions"].items()
    ]
    return table(["", "versions"], rows)


HEAD = ("what", "API", "by hand", "best other", "sketch", "toolsmith", "of by hand", "wanted", "met")


def page(found: Found) -> str:
    about = found["about"]
    rows = list(lines(found))
    judged = [row[-1] for row in rows if row[-1] != "-"]
    met = judged.count("yes")
    return "\n".join(
        [
            "# Side by side\n",
            f"Measured on {about['date']} by `python benchmarks/run.py --rounds {about['rounds']}`; Python "
            f"{about['python']}; {about['machine']}; load {about['load']} when it began, so compare figures of a row "
            "with each other, not with another day's.\n",
            f"Of {len(judged)} figures with a target {met} are met. By hand is the loop that one would write on the "
            "SDKs (`by_hand.py`); the best other is the best of the other frameworks on that row; the sketch is the "
            "least that a loop on the SDKs' clients can cost, without checks, limits, events and records "
            "(`ready_bytes.py`). The figures of toolsmith, by hand and the sketch are medians over the rounds (by "
            "hand, 1,000 runs at once: one round), those of the others of one. Of definitions, the best other is one "
            "that leaves out no more than the loop by hand does. OpenAI's strict mode takes only objects that are "
            "closed and whose members are all required, so strict definitions have a target of their own.\n",
            *([f"{about['note']}\n"] if "note" in about else []),
            table(HEAD, rows),
            "\n## Everybody\n",
            "\n\n".join(everybody(found)),
            "\n## Versions\n",
            versions(found),
            "",
        ]
    )


PAGE = HERE.parent / "docs" / "speed.md"
BEGIN, END = "<!-- begin: figures, written by benchmarks/run.py -->", "<!-- end: figures -->"


def pages(found: Found) -> dict[Path, str]:
    """Path -> what stands there."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    rows = [(f"{row[0]}, {row[1]}".rstrip(", "), *row[2:]) for row in lines(found)]
    made = table(HEAD[:1] + HEAD[2:], rows)
    return {
        HERE / "RESULTS.md": page(found),
        PAGE: f"{before}{BEGIN}\n\n{made}\n\n{END}{rest.partition(END)[2]}",
        **plots.pictures(found),
    }


def write(found: Found) -> None:
    for path, text in pages(found).items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
