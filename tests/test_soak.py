"""The soak of `benchmarks/soak.py`, made small: many runs at once, with faults in every tenth request."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

SOAK = Path(__file__).parent.parent / "benchmarks" / "soak.py"

HIDDEN = """
import runpy, sys
sys.modules["aiohttp"] = None
sys.argv.pop(0)
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""Runs a program as if aiohttp were not installed."""


@pytest.mark.skipif(not SOAK.exists(), reason="the benchmarks are not part of this distribution")
@pytest.mark.parametrize("transport", ["httpx2", "aiohttp"])
def test_many_runs_at_once_all_end(transport: str) -> None:
    """None is lost, no call is lost or repeated; no task, thread or socket is left, and the memory is as before."""
    if transport == "aiohttp" and find_spec("aiohttp") is None:
        pytest.skip("SKIPPED: aiohttp is not installed")
    start = [str(SOAK)] if transport == "aiohttp" else ["-c", HIDDEN, str(SOAK)]
    command = [sys.executable, *start, "--runs", "60", "--faults", "0.1", "--json"]
    # its folder goes onto the path by itself only where it is run as a file
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=110, check=False, cwd=SOAK.parent, stdin=subprocess.DEVNULL
    )
    assert done.stdout, done.stderr
    told = json.loads(done.stdout)
    assert told["wrong"] == []
    for name in ("first", "second"):
        found = told[name]
        assert (found["ended"], found["calls"], found["lost"], found["repeated"]) == (60, 1200, 0, 0)
        assert found["retried"] > 0
    assert done.returncode == 0
