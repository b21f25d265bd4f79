"""The plots of docs/speed.md, from `results.json`, as SVG and nothing else; called by `run.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import ceil, floor, log10
from pathlib import Path
from statistics import median
from typing import Any

from sides import COLORS, LABELS, NAMES

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "plots"
APIS = {"chat": "OpenAI Chat", "resp": "OpenAI Responses", "ant": "Anthropic"}
STYLE = "text{font:12px system-ui,sans-serif;fill:#57606a}.t{font-weight:600;font-size:14px}"
WIDTH, LEFT, RIGHT, BAR = 720, 150, 90, 20

Panel = tuple[str, Sequence[tuple[str, float]]]


def pictures(found: Mapping[str, Any]) -> dict[Path, str]:
    """Path -> SVG."""
    made = {
        "run-200-turns": bars("A run of 200 turns, CPU seconds (each mark is ten times the one before)", {
            wire: cases(found, "200 turns", wire, "200 turns") for wire in APIS}, "s", logarithmic=True),
        "stream-2000-deltas": bars("An answer streamed in 2,000 pieces, CPU milliseconds", {
            wire: cases(found, "loop", wire, "2,000 deltas", 1e3) for wire in APIS}, "ms"),
        "runs-at-once": bars("200 runs at once, 5 turns of 4 calls each, CPU seconds", {
            wire: seconds(found, "200 at once", wire) for wire in ("chat", "ant")}, "s"),
        "start-to-answer": bars("Program start to answer, with one call, CPU seconds", {
            wire: seconds(found, "cold", wire) for wire in APIS}, "s"),
        "turn-by-turn": lines(found),
    }  # fmt: skip
    return {FOLDER / f"{name}.svg": text for name, text in made.items() if text}


def cases(found: Mapping[str, Any], stage: str, wire: str, case: str, scale: float = 1) -> list[tuple[str, float]]:
    """Side and figure, the quickest first."""
    some: list[tuple[str, float]] = []
    for side in LABELS:
        samples = [s[case] for s in found.get(stage, {}).get(side, {}).get(wire, []) if case in s]
        if samples:
            some.append((side, median(median(sample["seconds"]) for sample in samples) * scale))
    return sorted(some, key=lambda one: one[1])


def seconds(found: Mapping[str, Any], stage: str, wire: str) -> list[tuple[str, float]]:
    some: list[tuple[str, float]] = []
    for side in LABELS:
        samples = [s["seconds"] for s in found.get(stage, {}).get(side, {}).get(wire, [])
                   if "seconds" in s and not s.get("failed")]  # fmt: skip
        if samples:
            some.append((side, median(samples)))
    return sorted(some, key=lambda one: one[1])


def number(value: float, unit: str) -> str:
    return f"{value:,.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"


def bars(title: str, panels: Mapping[str, Sequence[tuple[str, float]]], unit: str, *, logarithmic: bool = False) -> str:
    """Horizontal bars, a panel for each API, all on one scale."""
    figures = [value for panel in panels.values() for _, value in panel]
    if not figures:
        return ""
    least, most = 10.0 ** floor(log10(min(figures))), max(figures)
    room = WIDTH - LEFT - RIGHT

    def length(value: float) -> float:
        return room * (log10(value / least) / log10(most / least) if logarithmic else value / most)

    parts, y = [f'<text class="t" x="0" y="16">{escape(title)}</text>'], 40.0
    top = y
    for wire, panel in panels.items():
        if not panel:
            continue
        parts.append(f'<text class="t" x="0" y="{y + 6:.0f}">{APIS[wire]}</text>')
        y += 16
        for side, value in panel:
            parts.append(f'<text x="{LEFT - 8}" y="{y + 14:.0f}" text-anchor="end">{escape(LABELS[side])}</text>')
            width = max(length(value), 1.0)
            parts.append(
                f'<rect x="{LEFT}" y="{y + 3:.0f}" width="{width:.1f}" height="{BAR - 6}" fill="{COLORS[side]}"/>'
            )
            parts.append(f'<text x="{LEFT + width + 6:.1f}" y="{y + 14:.0f}">{number(value, unit)}</text>')
            y += BAR
        y += 22
    if logarithmic:
        for power in range(int(log10(least)), floor(log10(most)) + 1):
            x = LEFT + length(10.0**power)
            parts.insert(0, f'<path d="M{x:.1f} {top}V{y - 16:.0f}" stroke="#d0d7de" stroke-width="1"/>')
    return svg(WIDTH, y - 10, parts)


def lines(found: Mapping[str, Any]) -> str:
    """What one turn costs as the history grows, on a logarithmic scale."""
    curves: list[tuple[str, str, dict[int, float]]] = []
    for wire in APIS:
        for side in ("raw", "sketch", "toolsmith"):
            samples = found.get("200 turns", {}).get(side, {}).get(wire, [])
            turns = [s["200 turns"]["by turn"] for s in samples if "200 turns" in s]
            if turns:
                curves.append((side, wire, {int(n): median(t[n] for t in turns) * 1e3 for n in turns[0]}))
    if not curves:
        return ""
    figures = [value for _, _, curve in curves for value in curve.values()]
    low, high = floor(log10(min(figures))), ceil(log10(max(figures)))
    left, top, width, height = 60.0, 40.0, 470.0, 260.0

    def at(turn: int, value: float) -> tuple[float, float]:
        return left + width * turn / 200, top + height * (high - log10(value)) / (high - low)

    parts = ['<text class="t" x="0" y="16">One turn as the history grows, CPU milliseconds (logarithmic)</text>']
    for power in range(low, high + 1):
        y = at(0, 10.0**power)[1]
        parts.append(f'<path d="M{left} {y:.1f}h{width}" stroke="#d0d7de"/>')
        parts.append(f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:g}</text>')
    for turn in (10, 50, 100, 150, 200):
        x = at(turn, 1)[0]
        parts.append(f'<text x="{x:.1f}" y="{top + height + 20}" text-anchor="middle">turn {turn}</text>')
    ends: list[tuple[float, str, str]] = []
    for side, wire, curve in curves:
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(turn, value) for turn, value in curve.items()))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{COLORS[side]}" stroke-width="2"/>')
        ends.append(
            (
                at(200, curve[max(curve)])[1],
                f"{NAMES[side]}: {APIS[wire]}",
                COLORS[side],
            )
        )
    last = 0.0
    for y, words, ink in sorted(ends):
        last = max(y + 4, last + 15)
        parts.append(f'<text x="{left + width + 10}" y="{last:.1f}" style="fill:{ink}">{escape(words)}</text>')
    return svg(WIDTH, max(top + height + 30, last + 10), parts)


def svg(width: float, height: float, parts: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}">'
    body = "\n".join(parts)
    return f'{head}\n<style>{STYLE}</style>\n<rect width="100%" height="100%" fill="#ffffff"/>\n{body}\n</svg>\n'
