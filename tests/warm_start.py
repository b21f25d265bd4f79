"""Programs in processes of their own that do not load the SDKs anew: children of one process that has loaded them.

    done = warm_start.run(["docs.py", "page.md"], cwd=folder, env={...}, timeout=60)

Loading both SDKs takes a second and a half, most programs of the tests a tenth of that. What is loaded is other
people's: toolsmith each program loads for itself, and it ends as any other does. Warnings are errors.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

LOADED = ("anthropic", "openai", "aiohttp", "httpx2", "jsonschema", "docstring_parser", "tenacity", "rich")


class _Start:
    """The process that has loaded them, as seen from the tests."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", __file__],
            env={**os.environ, "PYTHONIOENCODING": "utf-8"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
        )
        atexit.register(self.close)

    def run(self, asked: Mapping[str, Any], timeout: float) -> int:
        """The exit code, minus the signal's number for one that was killed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        late = threading.Timer(timeout, os.killpg, (self._process.pid, signal.SIGKILL))
        late.start()
        try:
            self._process.stdin.write(json.dumps(asked) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        finally:
            late.cancel()
        if not answer:
            self.close()
            _start.cache_clear()
            raise TimeoutError(f"{asked['program']} did not end in {timeout:.0f} seconds")
        return int(answer)

    def close(self) -> None:
        with contextlib.suppress(BrokenPipeError):
            self._process.communicate()


@cache
def _start() -> _Start:
    return _Start()


def run(
    program: Sequence[str], *, cwd: Path, env: Mapping[str, str], timeout: float
) -> subprocess.CompletedProcess[str]:
    """Run a Python file with its arguments, and wait for its end.

    Args:
        program: the file's path, and its arguments.
        cwd: its folder.
        env: the whole of its environment.
        timeout: seconds; the process is killed then.

    Raises:
        TimeoutError: it did not end in time.
    """
    with tempfile.TemporaryDirectory() as kept:
        out, err = Path(kept, "out"), Path(kept, "err")
        asked = {"program": list(program), "cwd": str(cwd), "env": dict(env), "out": str(out), "err": str(err)}
        code = _start().run(asked, timeout)
        told = [path.read_text(encoding="utf-8") for path in (out, err)]
    return subprocess.CompletedProcess(list(program), code, *told)


def _serve() -> list[str]:
    """Fork for each line of input. Comes back in the child, with what that one is to run; else ends."""
    for line in sys.stdin:
        asked = json.loads(line)
        child = os.fork()
        if child == 0:
            _become(asked)
            return asked["program"]
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    sys.exit()


def _become(asked: Mapping[str, Any]) -> None:
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    for number, path in ((0, os.devnull), (1, asked["out"]), (2, asked["err"])):
        opened = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.dup2(opened, number)
        os.close(opened)


if __name__ == "__main__":
    for name in LOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    sys.argv = _serve()
    sys.path[0] = str(Path(sys.argv[0]).parent)
    runpy.run_path(sys.argv[0], run_name="__main__")
