"""Speed: the hottest paths take no more instructions than is written down, and the pages show what was measured.

Instructions are counted, not timed, so that a busy machine makes no difference.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"


def test_the_hottest_paths_take_no_more_than_they_did() -> None:
    """Within the tolerance that the script names; a turn takes the same after sixty others as after ten."""
    if VERSION not in json.loads((BENCHMARKS / "counts.json").read_text(encoding="utf-8")):
        pytest.skip(f"counts.json has no counts of Python {VERSION}")
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "counts.py"), "--check"],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_tables_and_plots_are_those_of_the_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """`python benchmarks/run.py --report` writes them."""
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    report: Any = import_module("report")
    found = json.loads((BENCHMARKS / "results.json").read_text(encoding="utf-8"))
    for path, text in report.pages(found).items():
        assert path.read_text(encoding="utf-8") == text, path.name
