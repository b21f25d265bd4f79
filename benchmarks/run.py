"""toolsmith side by side with the loop by hand on the SDKs, and with other frameworks: one command for the whole table.

    python benchmarks/run.py                        # everything: three rounds, some 40 minutes
    python benchmarks/run.py --rounds 1 --only loop call --sides raw toolsmith
    python benchmarks/run.py --report               # write the tables and plots anew from the last figures

Each side is installed from PyPI into a virtual environment of its own below `--work`, and measured in fresh processes:
on a core of their own where there are two, while the service that answers (`fake_service.py`) has the other. The sides
take turns, round by round, so that all meet the same noise. Rounds after the first are for toolsmith and the loops by
hand alone: the others take most of the time. The figures are CPU time; the report goes by ratios to the loop by hand.

Writes `benchmarks/results.json`, `benchmarks/RESULTS.md` and `docs/plots/*.svg`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import report
from fake_service import FakeService

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results.json"
OURS = ("toolsmith", "toolsmith_plain")
SIDES = (
    "raw", "sketch", *OURS, "pydantic_ai", "openai_agents", "langchain", "agno", "openai_runner", "anthropic_runner",
)  # fmt: skip
SHORT: dict[str, dict[str, Any]] = {
    "10 turns": {"turns": 10, "repeats": 5},
    "5 turns of 1 call": {"turns": 5, "repeats": 8},
    "5 turns of 33 calls": {"turns": 5, "calls": 33, "repeats": 2},
    "2,000 deltas": {"deltas": 2000, "stream": True, "repeats": 3},
    "20 KB of arguments": {"turns": 1, "size": 20480, "tool": "length", "stream": True, "repeats": 3},
}
LONG: dict[str, dict[str, Any]] = {"200 turns": {"turns": 200, "repeats": 1}}


@dataclass(frozen=True)
class Stage:
    """What is measured together.

    Attributes:
        what: the function of `worker.py`.
        wires: the APIs; "" for what needs none.
        options: for that function.
        sides: None for all.
        once: of these, those that are measured in the first round only; the other frameworks are anyway.
    """

    what: str
    wires: tuple[str, ...] = ("",)
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    sides: tuple[str, ...] | None = None
    once: tuple[str, ...] = ()


ALL = ("chat", "resp", "ant")
STAGES: dict[str, Stage] = {
    "200 turns": Stage("loop", ALL, {"cases": LONG}),
    "loop": Stage("loop", ALL, {"cases": SHORT}),
    "call": Stage("call"),
    "cold": Stage("cold", ALL),
    "derive": Stage("derive"),
    "200 at once": Stage("many", ("chat", "ant"), {"runs": 200}),
    "import": Stage("import"),
    "definitions": Stage("definitions", ALL),
    "thousand": Stage("thousand", ("chat", "ant"), sides=("raw", "toolsmith")),
    "blocking": Stage("blocking", ("chat", "ant")),
    "1,000 at once": Stage("many", ("chat", "ant"), {"runs": 1000}, sides=(*SIDES,), once=("raw",)),
}


class Bench:
    """The environments, and the figures so far."""

    def __init__(self, work: Path, sides: list[str]) -> None:
        self.work = work
        self.sides = {name: importlib.import_module(f"peers.{name}") for name in sides}
        self.found: dict[str, Any] = {}

    def python(self, side: str) -> str:
        return str(self.work / "venvs" / side / "bin" / "python")

    def install(self) -> None:
        """Make what environments are not there yet; ours anew each time, for it is what changes."""
        wanted = {name: side.INSTALL for name, side in self.sides.items()} | {"tokens": ["bpe-openai"]}
        for name, packages in wanted.items():
            home = self.work / "venvs" / name
            done = home / ".installed"
            if done.exists() and name not in OURS:
                continue
            say(f"install {name}")
            if not done.exists():
                subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
            again = ["--force-reinstall", "--no-deps"] if done.exists() else []
            command = [self.python(name), "-m", "pip", "install", "--quiet", *again, *packages]
            subprocess.run(command, check=True, env=_environment())
            done.touch()

    def versions(self) -> dict[str, dict[str, str]]:
        code = "import sys, json, importlib.metadata as m; print(json.dumps({n: m.version(n) for n in sys.argv[1:]}))"
        return {
            name: json.loads(subprocess.check_output([self.python(name), "-c", code, *side.DISTS]))
            for name, side in self.sides.items()
        }

    def measure(self, stage: str, rounds: int, urls: dict[str, str]) -> None:
        for number in range(rounds):
            for side, wire in self._turns(stage, number):
                sample = self._sample(STAGES[stage], side, wire, urls)
                if "failed" in sample and isinstance(sample["failed"], str):
                    say(f"{stage}: {side} {wire}: {sample['failed']}")
                self.found.setdefault(stage, {}).setdefault(side, {}).setdefault(wire, []).append(sample)
            self.save()
            say(f"{stage}: round {number + 1} of {rounds}")

    def _turns(self, stage: str, number: int) -> Iterator[tuple[str, str]]:
        known = STAGES[stage]
        for wire in known.wires:
            for name, side in self.sides.items():
                if known.sides is not None and name not in known.sides:
                    continue
                if wire and wire not in side.WIRES:
                    continue
                missing = {"call": "caller", "derive": "derive", "import": "IMPORT"}.get(known.what)
                if missing and not getattr(side, missing):
                    continue
                if number and (name not in (*OURS, "raw", "sketch") or name in known.once):
                    continue
                yield name, wire

    def _sample(self, stage: Stage, side: str, wire: str, urls: dict[str, str]) -> dict[str, Any]:
        if stage.what == "import":
            return self._import(side)
        options = {**stage.options, "wire": wire, "url": urls.get("url", "")}
        command = [self.python(side), str(HERE / "worker.py"), stage.what, side, json.dumps(options)]
        try:
            ended = subprocess.run(
                command, capture_output=True, text=True, env=_environment(0), timeout=400, check=False, cwd=HERE
            )
        except subprocess.TimeoutExpired:
            return {"failed": "more than 400 s"}
        lines = [line for line in ended.stdout.splitlines() if line.startswith("RESULT ")]
        if not lines:
            return {"failed": (ended.stderr or ended.stdout)[-400:]}
        sample: dict[str, Any] = json.loads(lines[-1][7:])
        if stage.what == "definitions":
            for mode in sample.values():
                text = mode.pop("text")
                mode |= {"bytes": len(text.encode()), "tokens": self._tokens(text)}
        return sample

    def _tokens(self, text: str) -> int:
        """In OpenAI's newest public vocabulary, o200k_base."""
        code = "import sys, bpe_openai; print(len(bpe_openai.get_encoding('o200k_base').encode(sys.stdin.read())))"
        return int(subprocess.check_output([self.python("tokens"), "-c", code], input=text, encoding="utf-8"))

    def _import(self, side: str) -> dict[str, Any]:
        """CPU seconds of a process that imports, less one that does not; beside one that imports pydantic."""
        statements = {"seconds": self.sides[side].IMPORT, "pydantic": "import pydantic", "nothing": "pass"}
        for statement in statements.values():
            cpu_seconds(self.python(side), statement)
        samples = {
            name: sorted(cpu_seconds(self.python(side), statement) for _ in range(5))[2]
            for name, statement in statements.items()
        }
        return {name: samples[name] - samples["nothing"] for name in ("seconds", "pydantic")}

    def save(self) -> None:
        RESULTS.write_text(json.dumps(self.found, indent=1) + "\n", encoding="utf-8")


def cpu_seconds(python: str, statement: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([python, "-P", "-c", statement], check=True, env=_environment(0))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _environment(core: int | None = None) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV")}
    return kept if core is None or (os.cpu_count() or 1) < 2 else {**kept, "BENCH_CORE": str(core)}


def say(words: str) -> None:
    print(time.strftime("%H:%M:%S"), words, flush=True)


def about() -> dict[str, str]:
    model = ""
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    return {
        "date": time.strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {model}".rstrip(", "),
        "load": load,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=list(STAGES), default=list(STAGES))
    parser.add_argument("--sides", nargs="*", choices=SIDES, default=list(SIDES))
    parser.add_argument("--work", type=Path, default=HERE / ".work", help="for the environments (default: %(default)s)")
    parser.add_argument("--into", action="store_true", help="keep the figures of other stages and sides")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    options = parser.parse_args()
    if not options.report:
        bench = Bench(options.work.resolve(), options.sides)
        if options.into and RESULTS.exists():
            bench.found = json.loads(RESULTS.read_text(encoding="utf-8"))
            for stage in options.only:
                for side in options.sides:
                    bench.found.get(stage, {}).pop(side, None)
        bench.install()
        bench.found.setdefault("versions", {}).update(bench.versions())
        bench.found["about"] = {**about(), "rounds": options.rounds}
        with FakeService() as service:
            if hasattr(os, "sched_setaffinity") and (os.cpu_count() or 1) > 1:
                os.sched_setaffinity(service.pid, {1})
            for stage in options.only:
                bench.measure(stage, options.rounds, {"url": service.url("anthropic")})
    report.write(json.loads(RESULTS.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
