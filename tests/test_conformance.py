"""The conformance suite, byte for byte as it was given, at 100 %. Each case runs in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SUITE = Path(__file__).parent / "conformance"

LOADED = """
import importlib, pkgutil, runpy, sys
import jsonschema, toolsmith
others = ("__main__", "cli", "providers", "rag", "testing", "web")
for found in pkgutil.walk_packages(toolsmith.__path__, "toolsmith."):
    if found.name.split(".")[1] not in others:
        importlib.import_module(found.name)
sys.argv.pop(0)
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""Runs a program in which all that a call may load is loaded already, and nothing is used yet.

The suite forks a child for each case: each would load for itself what waits for its first use, which takes ten times as
long as the case. (`.ci/run` starts the suite as it stands, on another Python.)
"""


@pytest.mark.timeout(600)
def test_every_case_passes() -> None:
    """A plain function becomes a tool as 263 cases say."""
    command = [sys.executable, "-c", LOADED, "run.py", "toolsmith"]
    done = subprocess.run(
        command, cwd=SUITE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=580, check=False
    )
    assert done.returncode == 0, done.stdout
    assert "263 cases" in done.stdout
