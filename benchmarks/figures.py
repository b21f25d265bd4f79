"""`results.json`: what was measured, and of each stage and side when, at which commit and how often.

    {"versions": {side: {package: version}},
     "measured": {stage: {side: {"date", "commit", "rounds", "load", "python", "machine"}}},
     stage: {side: {API: [sample of a round, ...]}}}

A sample is what `worker.py` found; {"failed": "why"} where it found nothing. Files of 2026-12-01 and before have
"about" for all stages instead of "measured".
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent
RESULTS = HERE / "results.json"
Found = dict[str, Any]
MEASURED = ("toolsmith", "benchmarks", "pyproject.toml")
WRITTEN = ("benchmarks/results.json", "benchmarks/RESULTS.md")


def read(path: Path = RESULTS) -> Found:
    """Ends the program where there are no figures."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        sys.exit(f"{path} cannot be read ({error.strerror}): `python benchmarks/run.py` measures everything anew.")
    except ValueError as error:
        sys.exit(f"{path} is no JSON ({error}): bring it back, or remove it and measure everything anew.")
    if not isinstance(found, dict) or not stages(cast("Found", found)):
        sys.exit(f"{path} holds no figures: bring it back, or remove it and measure everything anew.")
    return cast("Found", found)


def stages(found: Mapping[str, Any]) -> list[str]:
    return [name for name in found if name not in ("versions", "about", "measured")]


def put(path: Path, text: str) -> None:
    """All of it or, where this is interrupted, nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.new")
    beside.write_text(text, encoding="utf-8")
    os.replace(beside, path)


def save(found: Found, path: Path) -> None:
    put(path, json.dumps(found, indent=1) + "\n")


def failed(samples: Mapping[str, list[dict[str, Any]]]) -> str:
    """Why a side failed in a stage, in one line; "" if it did not."""
    words = [s["failed"] for of_wire in samples.values() for s in of_wire if isinstance(s.get("failed"), str)]
    lines = [line for line in "\n".join(words).splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no word" if words else ""


def merge(found: Found, stage: str, fresh: Found, versions: Found, origin: Mapping[str, Any], *, keep: bool) -> None:
    """Put what a stage has found into all figures.

    Args:
        fresh: {side: {API: samples}}.
        versions: by side.
        origin: what "measured" says, but the rounds; "python" by side.
        keep: leave the old figures of a side that failed now.
    """
    for side, samples in fresh.items():
        if keep and failed(samples) and side in found.get(stage, {}):
            continue
        found.setdefault("versions", {})[side] = versions[side]
        rounds = max(len(some) for some in samples.values())
        about = {**origin, "python": origin["python"][side], "rounds": rounds}
        found.setdefault("measured", {}).setdefault(stage, {})[side] = about
        found.setdefault(stage, {})[side] = samples


def only(found: Found, fresh: Mapping[str, Mapping[str, Any]]) -> Found:
    """Without all that is not of these stages and sides."""
    sides = {side for of_stage in fresh.values() for side in of_stage}
    kept: Found = {"versions": {side: known for side, known in found["versions"].items() if side in sides}}
    kept["measured"] = {stage: {s: found["measured"][stage][s] for s in of} for stage, of in fresh.items()}
    return kept | {stage: {side: found[stage][side] for side in of} for stage, of in fresh.items()}


def origin(found: Mapping[str, Any], stage: str, side: str) -> dict[str, Any]:
    """When and how a side was measured in a stage."""
    known = found.get("measured", {}).get(stage, {}).get(side)
    if known:
        return known
    rounds = max(len(samples) for samples in found[stage][side].values())
    return {"date": "-", "python": "-", "machine": "-", "load": "-"} | found.get("about", {}) | {
        "commit": "-", "rounds": rounds,
    }  # fmt: skip


def commit() -> str:
    """Of the project, "+" behind it where what is measured has changed since; "-" without git."""
    if not (PROJECT / ".git").exists():
        return "-"
    try:
        head = _git("rev-parse", "--short", "HEAD").strip()
        changed = _git("status", "--porcelain", "--", *MEASURED, *(f":!{name}" for name in WRITTEN)).strip()
    except (OSError, subprocess.CalledProcessError):
        return "-"
    return f"{head}+" if changed else head


def _git(*words: str) -> str:
    return subprocess.check_output(["git", *words], cwd=PROJECT, stderr=subprocess.DEVNULL, text=True)
