"""The hottest paths do not take more instructions than benchmarks/counts.json says; counted, not timed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

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
