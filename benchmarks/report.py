"""`results.json` -> `RESULTS.md`, the table and the plots of docs/speed.md; called by `run.py`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import plots
from figures import failed, origin, put
from rows import (
    APIS,
    PLAIN,
    ROWS,
    SCALES,
    Found,
    Row,
    base,
    figure,
    missing,
    rounds,
    rounds_failed,
    runs_failed,
    samples,
)
from sides import NAMES, OTHERS, OURS

HERE = Path(__file__).resolve().parent
LEFT_OUT_BY_HAND = {"its result"}
"""What the definitions of the loop by hand do not say either."""


class Line(NamedTuple):
    """A row of the table, for one API, as it is shown."""

    name: str
    api: str
    hand: str
    other: str
    sketch: str
    ours: str
    rounds: str
    ratio: str
    wanted: str
    met: str


def number(value: float, row: Row) -> str:
    scaled = value * SCALES.get(row.unit, 1)
    digits = 0 if scaled >= 100 or scaled == int(scaled) else 1 if scaled >= 10 else 2
    return f"{scaled:,.{digits}f}"


def shown(value: float | None, row: Row) -> str:
    return "-" if value is None else f"{number(value, row)} {row.unit}".rstrip()


def cell(found: Found, row: Row, side: str, wire: str) -> str:
    """A figure, and what of it failed."""
    value, broken = figure(found, row, side, wire), rounds_failed(found, row, side, wire)
    if value is None:
        return "failed" if broken else "-"
    words = shown(value, row)
    if runs := runs_failed(found, row, side, wire):
        words += f", {runs} runs failed"
    return f"{words}, {broken} of {len(samples(found, row.stage, side, wire))} rounds failed" if broken else words


def with_missing(found: Found, row: Row, side: str, wire: str) -> str:
    left_out = "" if figure(found, row, side, wire) is None else ", ".join(missing(found, row, side, wire))
    words = cell(found, row, side, wire)
    return f"{words}, but not {left_out}" if left_out else words


def best(found: Found, row: Row, wire: str) -> str:
    """The best of the other frameworks, of those that do the whole work."""
    figures = [
        (value, side)
        for side in OTHERS
        if (value := figure(found, row, side, wire)) is not None
        and set(missing(found, row, side, wire)) <= LEFT_OUT_BY_HAND
        and not runs_failed(found, row, side, wire)
    ]
    if not figures:
        return "-"
    value, side = min(figures)
    return f"{shown(value, row)} ({NAMES[side]})"


def spread(found: Found, row: Row, side: str, wire: str) -> str:
    """The lowest and the highest round; "-" where there is one."""
    figures = rounds(found, row, side, wire)
    if len(figures) < 2:
        return "-"
    low, high = number(min(figures), row), number(max(figures), row)
    return low if low == high else f"{low}–{high}"


def line(found: Found, row: Row, ours: str, wire: str) -> Line | None:
    """What we want, what we have; None where there is nothing to show."""
    value, compared = figure(found, row, ours, wire), base(found, row, ours, wire)
    broken = value is None and rounds_failed(found, row, ours, wire) > 0
    if not (broken and wire in row.wanted) and all(figure(found, row, side, wire) is None for side in NAMES):
        return None
    wanted = row.wanted.get(wire)
    ratio = value / compared if value is not None and compared else None
    judged = value * SCALES.get(row.unit, 1) if row.absolute and value is not None else ratio
    target = met = "-"
    if wanted is not None and (broken or judged is not None):
        target = f"<= {wanted:g}" if row.absolute else f"<= {wanted:.3g} of {row.than}"
        met = "yes" if judged is not None and judged <= wanted else "**no**"
    hand = cell(found, row, "raw", wire) if row.base is None else f"{shown(compared, row)} ({row.than})"
    return Line(
        row.marked, APIS[wire], hand, best(found, row, wire), cell(found, row, "sketch", wire),
        cell(found, row, ours, wire), spread(found, row, ours, wire), "-" if ratio is None else f"{ratio:.3f}",
        target, met,
    )  # fmt: skip


def lines(found: Found, side: str = "") -> Iterator[Line]:
    """The table: each row with that environment of ours which is meant, or with `side`."""
    for row in ROWS:
        for wire in APIS:
            if made := line(found, row, side or row.ours, wire):
                yield made


def without_extra(found: Found) -> str:
    """How many of the targets are met by what `pip install` makes without extras."""
    judged = [made for made in lines(found, PLAIN) if made.met != "-"]
    if not judged:
        return ""
    missed: dict[str, list[str]] = {}
    for made in judged:
        if made.met != "yes":
            missed.setdefault(made.name.removeprefix("the same: ").removesuffix(" (1)"), []).append(made.api)
    words = [f"{name} ({', '.join(apis)})" if any(apis) else name for name, apis in missed.items()]
    count = len(judged) - sum(map(len, missed.values()))
    end = f"; these are not: {'; '.join(words)}." if words else "."
    return f"Without the extra aiohttp {count} of {len(judged)} figures are met{end}"


FOOTNOTE = (
    "(1) toolsmith as it is installed without the extra aiohttp, as by hand is too: wherever aiohttp is installed, the "
    "SDKs load it when they are imported, whoever calls them. The sketch is measured with it, and so is toolsmith in "
    "all other rows."
)


def below(found: Found) -> str:
    """What stands below the table."""
    return "\n\n".join(words for words in (FOOTNOTE, without_extra(found)) if words)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    bars = ["---"] + ["---"] * (len(head) - 1)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, bars, *rows))


def everybody(found: Found) -> Iterator[str]:
    """A table for each row, with all sides."""
    for row in ROWS:
        sides = [s for s in NAMES if any(cell(found, row, s, wire) != "-" for wire in APIS)]
        wires = [w for w in APIS if any(figure(found, row, s, w) is not None for s in sides)]
        if len(sides) < 2 or not wires:
            continue
        rows = [[NAMES[s], *(with_missing(found, row, s, w) for w in wires)] for s in sides]
        yield f"### {row.name[0].upper()}{row.name[1:]}\n\n" + table(["", *(APIS[w] or "CPU" for w in wires)], rows)


def partial(found: Found, sides: Sequence[str]) -> str:
    """A table for the terminal: a row of the big one in a line, a column for each of these sides."""
    rows = [["what", "API", *(NAMES[side] for side in sides), "of by hand", "wanted", "met"]]
    for row in ROWS:
        ours = next((side for side in (row.ours, *OURS) if side in found.get(row.stage, {})), row.ours)
        for wire in APIS:
            cells = [cell(found, row, side, wire) for side in sides]
            made = line(found, row, ours, wire)
            if any(words != "-" for words in cells):
                rows.append([row.name, APIS[wire], *cells, *(made[-3:] if made else "---")])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded = ("  ".join(words.ljust(width) for words, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(row.rstrip() for row in padded)


def versions(found: Found) -> str:
    known = found.get("versions", {})
    rows = [
        [NAMES[side], ", ".join(f"{name} {version}" for name, version in known[side].items())]
        for side in NAMES
        if side in known
    ]
    return table(["", "versions"], rows)


def origins(found: Found) -> list[tuple[str, str, dict[str, Any]]]:
    """Stage, side, and when and how that was measured."""
    stages = dict.fromkeys(row.stage for row in ROWS)
    known = [(stage, side) for stage in stages for side in NAMES if side in found.get(stage, {})]
    return [(stage, side, origin(found, stage, side)) for stage, side in known]


def measured(found: Found) -> str:
    """When, at which commit and how often: a row for what was measured together."""
    groups: dict[tuple[str, ...], dict[str, int]] = {}
    for stage, side, about in origins(found):
        together = (stage, *(str(about[name]) for name in ("date", "commit", "load")))
        groups.setdefault(together, {})[side] = about["rounds"]
    rows: list[list[str]] = []
    for (stage, date, commit, load), sides in groups.items():
        who = "all" if len(sides) == len(found[stage]) else ", ".join(NAMES[side] for side in sides)
        counts = " / ".join(map(str, sorted(set(sides.values()), reverse=True)))
        rows.append([stage, who, date, commit, counts, load])
    return table(["stage", "of", "date", "commit", "rounds", "load"], rows)


def failures(found: Found) -> str:
    """What failed, a sentence for each side and stage."""
    some = [(s, side, failed(found[s][side])) for s, side, _ in origins(found)]
    return "\n".join(f"- {NAMES[side]} failed in the stage {stage}: `{why}`" for stage, side, why in some if why)


def whole(found: Found) -> bool:
    return all(row.stage in found for row in ROWS)


HEAD = ("what", "API", "by hand", "best other", "sketch", "toolsmith", "rounds", "of by hand", "wanted", "met")


def begin(found: Found) -> Iterator[str]:
    """The paragraphs above the table."""
    known = [about for _, _, about in origins(found)]
    dates = sorted({about["date"] for about in known}) or ["-"]
    where = "; ".join(" and ".join(dict.fromkeys(about[name] for about in known)) for name in ("python", "machine"))
    when = f"on {dates[0]}" if len(dates) == 1 else f"from {dates[0]} to {dates[-1]}"
    yield (
        f"Measured {when} by `python benchmarks/run.py`; Python {where}. The load of a machine changes, so compare "
        "figures of a row with each other, not with another day's."
    )
    judged = [made.met for made in lines(found) if made.met != "-"]
    yield (
        f"Of {len(judged)} figures with a target {judged.count('yes')} are met. By hand is the loop that one would "
        "write on the SDKs (`by_hand.py`); the best other is the best of the other frameworks on that row; the sketch "
        "is the least that a loop on the SDKs' clients can cost, without checks, limits, events and records "
        "(`ready_bytes.py`). The figures of toolsmith, by hand and the sketch are medians over the rounds (by hand, "
        "1,000 runs at once: one round), those of the others of one; the column `rounds` has toolsmith's lowest and "
        "highest. Of definitions, the best other is one that leaves out no more than the loop by hand does. OpenAI's "
        "strict mode takes only objects that are closed and whose members are all required, so strict definitions have "
        "a target of their own."
    )
    if stages := [stage for stage in dict.fromkeys(row.stage for row in ROWS) if stage not in found]:
        yield f"Not measured: {', '.join(stages)}."
    if words := failures(found):
        yield words


def page(found: Found) -> str:
    return "\n\n".join(
        [
            "# Side by side",
            *begin(found),
            table(HEAD, list(lines(found))),
            below(found),
            "## Everybody",
            *everybody(found),
            "## Versions",
            versions(found),
            "## When it was measured",
            "Commit: of this project, with \"+\" where it had been changed since. Rounds: of two numbers the higher is "
            "toolsmith's. Load: the machine's, over one minute, when the stage began; the stage before made 1 of it.",
            measured(found),
        ]
    ) + "\n"  # fmt: skip


PAGE = HERE.parent / "docs" / "speed.md"
BEGIN, END = "<!-- begin: figures, written by benchmarks/run.py -->", "<!-- end: figures -->"


def pages(found: Found) -> dict[Path, str]:
    """Path -> what stands there."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    rows = [(f"{made.name}, {made.api}".rstrip(", "), *made[2:6], *made[7:]) for made in lines(found)]
    made = f"{table((*HEAD[:1], *HEAD[2:6], *HEAD[7:]), rows)}\n\n{below(found)}"
    return {
        HERE / "RESULTS.md": page(found),
        PAGE: f"{before}{BEGIN}\n\n{made}\n\n{END}{rest.partition(END)[2]}",
        **plots.pictures(found),
    }


def write(found: Found) -> None:
    for path, text in pages(found).items():
        put(path, text)
