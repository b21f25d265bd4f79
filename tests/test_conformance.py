"""The conformance suite, byte for byte as it was given, at 100 %. Each case runs in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SUITE = Path(__file__).parent / "conformance"
KINDS = ("schema", "args", "result", "error")


@pytest.mark.timeout(600)
def test_every_case_passes() -> None:
    """A plain function becomes a tool as 263 cases say; the kinds run side by side."""
    running = {
        kind: subprocess.Popen(
            [sys.executable, "run.py", "toolsmith", "--kind", kind],
            cwd=SUITE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for kind in KINDS
    }
    told = {kind: process.communicate()[0] for kind, process in running.items()}
    failed = {kind: told[kind] for kind, process in running.items() if process.returncode != 0}
    assert not failed, "\n".join(failed.values())
