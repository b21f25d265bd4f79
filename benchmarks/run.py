"""toolsmith side by side with the loop by hand on the SDKs, and with other frameworks: one command for the whole table.

    python benchmarks/run.py                        # everything: three rounds, some 40 minutes
    python benchmarks/run.py --rounds 1 --only loop call --sides raw toolsmith      # print these alone
    python benchmarks/run.py --only cold --sides raw sketch toolsmith toolsmith_plain --into    # renew these alone
    python benchmarks/run.py --report               # write the tables and plots anew from the last figures

Each side (`peers/`) is installed from PyPI into a virtual environment of its own below `--work`, and measured in fresh
processes: on a core of their own where there are two, while the service that answers (`fake_service.py`) has the other.
The sides take turns, round by round, so that all meet the same noise. Rounds after the first are for toolsmith and the
loops by hand alone: the others take most of the time. The figures are CPU time; the report goes by ratios to the loop
by hand.

Everything, or with `--into` what is chosen, is written to `benchmarks/results.json`, `benchmarks/RESULTS.md`,
docs/speed.md and `docs/plots/*.svg`: each stage when it has ended, in place of its own old figures and of no others.
Without `--into` a choice is only printed, and kept as `last.json` below `--work`. Exits with 1 where a side failed, and
with 130 when interrupted; stages that had ended are then kept.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import figures
import report
from arguments import at_least_one
from fake_service import FakeService
from figures import HERE, RESULTS, Found
from sides import NAMES, OURS, OWN, SIDES

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
    "thousand": Stage("thousand", ("chat", "ant"), sides=("raw", *OURS)),
    "blocking": Stage("blocking", ("chat", "ant")),
    "1,000 at once": Stage("many", ("chat", "ant"), {"runs": 1000}, once=("raw",)),
}


class Bench:
    """The environments, and how a stage is measured in them."""

    def __init__(self, work: Path, sides: Sequence[str], cores: tuple[int, int] | None) -> None:
        self.work = work
        self.sides = {name: SIDES[name] for name in sides}
        self.cores = cores

    def python(self, side: str) -> str:
        return str(self.work / "venvs" / side / "bin" / "python")

    def install(self, *, tokens: bool) -> None:
        """Make what environments are not there yet; ours anew each time, for it is what changes."""
        wanted = {name: side.INSTALL for name, side in self.sides.items()}
        if tokens:
            wanted["tokens"] = ["bpe-openai"]
        for name, packages in wanted.items():
            home = self.work / "venvs" / name
            done = home / ".installed"
            made = done.exists() and Path(self.python(name)).exists()
            if made and name not in OURS:
                continue
            say(f"install {name}")
            done.unlink(missing_ok=True)
            if not made:
                _run([sys.executable, "-m", "venv", "--clear", str(home)], f"no environment could be made in {home}")
            again = ["--force-reinstall", "--no-deps"] if made else []
            command = [self.python(name), "-m", "pip", "install", "--quiet", *again, *packages]
            _run(command, f"{name} could not be installed into {home}")
            done.touch()

    def versions(self) -> tuple[Found, Found]:
        """By side: those of its packages, and that of its Python."""
        code = (
            "import sys, json, platform, importlib.metadata as m; "
            "print(json.dumps([{n: m.version(n) for n in sys.argv[1:]}, platform.python_version()]))"
        )
        known: Found = {}
        for name, side in self.sides.items():
            command = [self.python(name), "-c", code, *side.DISTS]
            told = _run(command, f"the versions of {name} (DISTS of peers/{name}.py) cannot be had")
            known[name] = json.loads(told)
        return {name: told[0] for name, told in known.items()}, {name: told[1] for name, told in known.items()}

    def measure(self, stage: str, rounds: int, url: str) -> Found:
        """Side -> API -> what each round found."""
        found: Found = {}
        for number in range(rounds):
            for side, wire in self.turns(stage, number):
                try:
                    sample = self._sample(STAGES[stage], side, wire, url)
                except subprocess.CalledProcessError as error:
                    sample = {"failed": str(error.stderr or error)[-400:]}
                if isinstance(sample.get("failed"), str):
                    say(f"{stage}: {side} {wire}: {sample['failed']}")
                found.setdefault(side, {}).setdefault(wire, []).append(sample)
            say(f"{stage}: round {number + 1} of {rounds}")
        return found

    def turns(self, stage: str, number: int) -> Iterator[tuple[str, str]]:
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
                if number and (name not in OWN or name in known.once):
                    continue
                yield name, wire

    def _sample(self, stage: Stage, side: str, wire: str, url: str) -> dict[str, Any]:
        if stage.what == "import":
            return self._import(side)
        options = {**stage.options, "wire": wire, "url": url}
        command = [self.python(side), str(HERE / "worker.py"), stage.what, side, json.dumps(options)]
        try:
            ended = subprocess.run(
                command, capture_output=True, text=True, env=self._environment(), timeout=400, check=False, cwd=HERE
            )
        except subprocess.TimeoutExpired:
            return {"failed": "more than 400 s"}
        lines = [line for line in ended.stdout.splitlines() if line.startswith("RESULT ")]
        if not lines:
            return {"failed": (ended.stderr or ended.stdout)[-400:] or f"it ended with {ended.returncode}"}
        sample: dict[str, Any] = json.loads(lines[-1][7:])
        if stage.what == "definitions":
            for mode in sample.values():
                text = mode.pop("text")
                mode |= {"bytes": len(text.encode()), "tokens": self._tokens(text)}
        return sample

    def _tokens(self, text: str) -> int:
        """In OpenAI's newest public vocabulary, o200k_base."""
        code = "import sys, bpe_openai; print(len(bpe_openai.get_encoding('o200k_base').encode(sys.stdin.read())))"
        command = [self.python("tokens"), "-c", code]
        return int(subprocess.run(command, input=text, capture_output=True, check=True, encoding="utf-8").stdout)

    def _import(self, side: str) -> dict[str, Any]:
        """CPU seconds of a process that imports, less one that does not; beside one that imports pydantic."""
        statements = {"seconds": self.sides[side].IMPORT, "pydantic": "import pydantic", "nothing": "pass"}
        for statement in statements.values():
            self._cpu_seconds(side, statement)
        samples = {
            name: sorted(self._cpu_seconds(side, statement) for _ in range(5))[2]
            for name, statement in statements.items()
        }
        return {name: samples[name] - samples["nothing"] for name in ("seconds", "pydantic")}

    def _cpu_seconds(self, side: str, statement: str) -> float:
        command = [self.python(side), "-P", "-c", statement]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stderr=subprocess.PIPE, text=True, env=self._environment())
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def _environment(self) -> dict[str, str]:
        return _environment() | ({} if self.cores is None else {"BENCH_CORE": str(self.cores[0])})


def _environment() -> dict[str, str]:
    unwanted = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if name not in unwanted}


def _run(command: Sequence[str], otherwise: str) -> str:
    """What it prints; ends the program where it fails."""
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True, env=_environment()).stdout
    except OSError as error:
        sys.exit(f"{otherwise}: {error}")
    except subprocess.CalledProcessError as error:
        sys.exit(f"{otherwise}:\n{(error.stderr or error.stdout).strip()[-800:]}")


def cores_of_ours() -> tuple[int, int] | None:
    """The core for what is measured and that for the service; None where a process cannot be held to one."""
    if not hasattr(os, "sched_getaffinity"):
        return None
    free = sorted(os.sched_getaffinity(0))
    return free[0], free[1 % len(free)]


def say(words: str) -> None:
    print(time.strftime("%H:%M:%S"), words, flush=True)


def machine() -> str:
    model = ""
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {model}".rstrip(", ")


def now() -> dict[str, str]:
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "-"
    return {"date": time.strftime("%Y-%m-%d"), "load": load}


def measure(options: argparse.Namespace, bench: Bench) -> int:
    """The chosen stages, one after the other; gives the exit code."""
    whole = set(options.only) == set(STAGES) and set(options.sides) == set(SIDES)
    kept = whole or options.into
    path = RESULTS if kept else bench.work / "last.json"
    found: Found = figures.read() if options.into or (kept and RESULTS.exists()) else {}
    bench.install(tokens="definitions" in options.only)
    versions, pythons = bench.versions()
    same = {"commit": figures.commit(), "machine": machine(), "python": pythons}
    fresh: Found = {}
    with FakeService() as service:
        if bench.cores is not None:
            os.sched_setaffinity(service.pid, {bench.cores[1]})
        for stage in options.only:
            origin = same | now()
            fresh[stage] = bench.measure(stage, options.rounds, service.url("anthropic"))
            figures.merge(found, stage, fresh[stage], versions, origin, keep=not whole)
            if whole and len(fresh) == len(STAGES):
                found = figures.only(found, fresh)
            figures.save(found, path)
            if kept and report.whole(found):
                report.write(found)
    if not kept:
        print(report.partial(found, options.sides))
        say(f"These figures are in {path}; --into would put them into {RESULTS.name} and the pages.")
    return told_failures(fresh, options.into and not whole)


def told_failures(fresh: Found, kept: bool) -> int:
    """Say which side failed in which stage; 1 where one did."""
    code = 0
    for stage, sides in fresh.items():
        for side, samples in sides.items():
            if why := figures.failed(samples):
                code = 1
                say(f"{NAMES[side]} failed in the stage {stage}{', its old figures stay' if kept else ''}: {why}")
    return code


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=at_least_one, default=3)
    parser.add_argument("--only", nargs="+", choices=list(STAGES), default=list(STAGES))
    parser.add_argument("--sides", nargs="+", choices=list(SIDES), default=list(SIDES))
    parser.add_argument("--work", type=Path, default=HERE / ".work", help="for the environments (default: %(default)s)")
    parser.add_argument("--into", action="store_true", help="put what is chosen into the figures that there are")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    options = parser.parse_args(arguments)
    if options.report:
        report.write(figures.read())
        return 0
    options.only = [stage for stage in STAGES if stage in options.only]
    options.sides = [side for side in SIDES if side in options.sides]
    cores = cores_of_ours()
    bench = Bench(options.work.resolve(), options.sides, cores)
    for stage in options.only:
        if not list(bench.turns(stage, 0)):
            parser.error(f"the stage {stage} measures none of these sides")
    if cores is not None and cores[0] == cores[1]:
        say("There is one core only: the service shares it with what is measured.")
    try:
        return measure(options, bench)
    except KeyboardInterrupt:
        say("interrupted: stages that had ended are kept")
        return 130


if __name__ == "__main__":
    sys.exit(main())
