"""Many runs at once, with faults: do all end, is anything lost or repeated, and what is left when they are over?

    python benchmarks/soak.py [--runs 1000] [--turns 5] [--calls 4] [--faults 0.05] [--api anthropic ...]

All runs start together in this one process, on the three APIs in turn, every second one as a stream; the service
(`fake_service`) is a process of its own and breaks a share of the requests. A run that ends with an error goes on from
`error.messages`. Exits with 1 where

- a run did not end with its answer, or a call was lost or repeated;
- a task, thread or socket is left after a round, when its event loop is closed;
- the interpreter holds more memory blocks than before the first round, by more than `--blocks` of them (a share);
- the process has grown by more than `--grown` MB from the end of the first round to the end of the second.

From before the first round to its end the process does grow: CPython's own allocator keeps what it once had for a
thousand runs at a time, and uses it for the next ones. PYTHONMALLOC=malloc takes that allocator out, and shows what is
really held.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import gc
import json
import os
import resource
import sys
import threading
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from arguments import at_least_one
from fake_service import APIS, FakeService

from toolsmith import Agent, ModelSettings, ProviderError, RunContext, tool
from toolsmith.events import Event, RequestRetried

LEFT_AFTER_SECONDS = 6.0
"""Idle worker threads end by themselves after five."""


@dataclass
class Round:
    """What came of one round of runs."""

    runs: int
    ended: int = 0
    calls: int = 0
    lost: int = 0
    repeated: int = 0
    retried: int = 0
    errors: dict[str, int] = field(default_factory=dict[str, int])
    tasks: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    peak_mb: float = 0.0


@dataclass
class Held:
    """What the process holds."""

    mb: float
    blocks: int
    threads: int
    sockets: int


@tool
async def lookup(ctx: RunContext[Counter[str]], key: str, number: int) -> str:
    """Look something up.

    Args:
        key: what to look up.
        number: which of them.
    """
    ctx.deps[key] += 1
    await asyncio.sleep(0)
    return f"{key}: {number}"


def held() -> Held:
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)  # what the allocator keeps for later is not what we measure
    return Held(resident_mb(), sys.getallocatedblocks(), threading.active_count(), sockets())


def resident_mb() -> float:
    statm = Path("/proc/self/statm")
    if not statm.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return int(statm.read_text().split()[1]) * resource.getpagesize() / 2**20


def sockets() -> int:
    folder = Path("/proc/self/fd")
    if not folder.exists():
        return 0
    found = 0
    for entry in list(folder.iterdir()):
        try:
            found += os.readlink(entry).startswith("socket:")
        except OSError:
            continue
    return found


class Soak:
    """The agents, and the rounds that they run."""

    def __init__(self, service: FakeService, options: argparse.Namespace) -> None:
        self.options = options
        self.agents = [self._agent(service, api) for api in options.api]
        self.prompt = f"PLAN turns={options.turns} calls={options.calls} deltas=3 size=0"
        self.expected = {f"{t}/{n}": 1 for t in range(options.turns) for n in range(options.calls)}
        self.round = Round(0)

    def _agent(self, service: FakeService, api: str) -> Agent:
        settings = ModelSettings(model=f"{api}:m", base_url=service.url(api), api_key="k")
        return Agent(settings, tools=[lookup], max_calls_per_run=10_000, observers=[self._watch])

    def _watch(self, event: Event) -> None:
        self.round.retried += isinstance(event, RequestRetried)

    async def play(self, runs: int) -> Round:
        """So many runs at the same time."""
        found = self.round = Round(runs)
        watch = asyncio.create_task(self._watch_memory(found))
        began, cpu = time.monotonic(), time.process_time()
        await asyncio.gather(*(self._conversation(number, found) for number in range(runs)))
        found.seconds, found.cpu = time.monotonic() - began, time.process_time() - cpu
        watch.cancel()
        await asyncio.wait({watch})
        found.tasks = len(asyncio.all_tasks()) - 1
        return found

    async def _watch_memory(self, found: Round) -> None:
        while True:
            found.peak_mb = max(found.peak_mb, resident_mb())
            await asyncio.sleep(0.1)

    async def _conversation(self, number: int, found: Round) -> None:
        agent, seen = self.agents[number % len(self.agents)], Counter[str]()
        prompt: str | None = self.prompt
        history: Any = None
        for _ in range(20):
            try:
                if number % 2:
                    async with agent.run_stream(prompt, message_history=history, deps=seen) as events:
                        async for _ in events:
                            pass
                    result = events.result
                else:
                    result = await agent.run(prompt, message_history=history, deps=seen)
            except ProviderError as error:
                found.errors[error.category] = found.errors.get(error.category, 0) + 1
                prompt, history = None, error.messages
                continue
            found.ended += result.stop_reason == "end" and result.output == "word word word "
            break
        found.calls += seen.total()
        found.lost += sum(1 for key in self.expected if not seen[key])
        found.repeated += sum(count - 1 for count in seen.values() if count > 1)


def soak(service: FakeService, options: argparse.Namespace) -> dict[str, Any]:
    """Warm up, then two rounds, each on an event loop of its own; what they told, and what was held between them."""
    made = Soak(service, options)
    told: dict[str, Any] = {}
    for name, runs, after in (
        ("warm", 60, "before"),
        ("first", options.runs, "between"),
        ("second", options.runs, "after"),
    ):
        told[name] = asyncio.run(made.play(min(runs, options.runs)))
        end = time.monotonic() + (LEFT_AFTER_SECONDS if name == "second" else 0.0)
        while threading.active_count() > 1 and time.monotonic() < end:
            time.sleep(0.1)
        told[after] = held()
    return told


def verdict(told: dict[str, Any], options: argparse.Namespace) -> list[str]:
    """What is wrong, a line each."""
    wrong: list[str] = []
    for name, after in (("first", "between"), ("second", "after")):
        found: Round = told[name]
        left: Held = told[after]
        if found.ended != found.runs:
            wrong.append(f"{name} round: {found.runs - found.ended} of {found.runs} runs did not end with their answer")
        if found.lost or found.repeated:
            wrong.append(f"{name} round: {found.lost} calls lost, {found.repeated} repeated")
        if found.tasks:
            wrong.append(f"{name} round: {found.tasks} tasks are left")
        if name == "second" and left.threads > 1:
            wrong.append(f"{left.threads - 1} threads are left")
        if left.sockets:
            wrong.append(f"{name} round: {left.sockets} sockets are left")
    before, between, after = told["before"], told["between"], told["after"]
    if (more := after.blocks / max(before.blocks, 1) - 1) > options.blocks:  # 0 with PYTHONMALLOC=malloc
        wrong.append(f"{more:.1%} more memory blocks are held than before")
    if (grown := after.mb - between.mb) > options.grown:
        wrong.append(f"the process has grown by {grown:.1f} MB from round to round")
    return wrong


def report(told: dict[str, Any]) -> None:
    for name in ("first", "second"):
        found: Round = told[name]
        print(
            f"{name} round: {found.ended}/{found.runs} runs ended, {found.calls} calls, {found.lost} lost, "
            f"{found.repeated} repeated; {found.retried} requests tried again, went on after "
            f"{sum(found.errors.values())} errors {found.errors}; {found.seconds:.1f} s, CPU {found.cpu:.1f} s, "
            f"peak {found.peak_mb:.0f} MB"
        )
    for name in ("before", "between", "after"):
        what: Held = told[name]
        print(f"{name:8} {what.mb:6.1f} MB  {what.blocks:8d} blocks  {what.threads} threads  {what.sockets} sockets")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=at_least_one, default=1000)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--calls", type=int, default=4)
    parser.add_argument("--faults", type=float, default=0.05)
    parser.add_argument("--blocks", type=float, default=0.02)
    parser.add_argument("--grown", type=float, default=16.0)
    parser.add_argument("--api", nargs="+", choices=APIS, default=list(APIS))
    parser.add_argument("--json", action="store_true", help="print one line of JSON instead")
    options = parser.parse_args(arguments)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with FakeService(faults=options.faults) as service:
        told = soak(service, options)
    wrong = verdict(told, options)
    if options.json:
        print(json.dumps({**{name: asdict(what) for name, what in told.items()}, "wrong": wrong}))
    else:
        report(told)
        print("\n".join(wrong) or "all is well")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
