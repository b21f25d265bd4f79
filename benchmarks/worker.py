"""One measurement of one side, in a process of its own; started by `run.py` with that side's Python.

    WORK/venvs/SIDE/bin/python worker.py MEASUREMENT SIDE '{"wire": "chat", "url": "http://127.0.0.1:1234", ...}'

Prints one line, "RESULT {json}". All times are CPU time of this process (`time.process_time`), unless named otherwise.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import inspect
import json
import os
import resource
import sys
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from statistics import median
from typing import Any

for _name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
    os.environ.setdefault(_name, "k")
os.environ |= {"NO_PROXY": "127.0.0.1", "OTEL_SDK_DISABLED": "true"}
if hasattr(os, "sched_setaffinity") and "BENCH_CORE" in os.environ:
    os.sched_setaffinity(0, {int(os.environ["BENCH_CORE"])})

Options = dict[str, Any]


def plan(turns: int = 0, calls: int = 1, deltas: int = 1, size: int = 0) -> str:
    return f"PLAN turns={turns} calls={calls} deltas={deltas} size={size}"


def resident() -> float:
    """KB of memory in use now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 1024


def check(text: object) -> None:
    if "word" not in str(text):
        raise RuntimeError(f"the run ended with {str(text)[:200]!r}")


# ---- the loop


def loop(side: Any, options: Options) -> Options:
    """Cases one after the other in one process and loop: one run to warm up, then `repeats` that count."""
    return asyncio.run(_loop(side, options))


async def _loop(side: Any, options: Options) -> Options:
    from functions import LOOKUPS, STAMPS

    found: Options = {}
    for name, case in options["cases"].items():
        session = side.Session(options["wire"], options["url"], [LOOKUPS[case.get("tool", "at once")]])
        turns, stream = case.get("turns", 0), case.get("stream", False)
        asked = {key: case[key] for key in ("calls", "deltas", "size") if key in case}
        seconds: list[float] = []
        steps: dict[int, list[float]] = {turn: [] for turn in (10, 50, 100, 150, 200)}
        pieces = 0
        for number in range(1 + case["repeats"]):
            at = session.fork() if number and hasattr(session, "fork") else session
            length = turns if number else min(turns, 3)
            STAMPS.clear()
            gc.collect()
            began = time.process_time()
            if stream:
                text, pieces = await at.stream(plan(length, **asked), length + 5)
            else:
                text = await at.run(plan(length, **asked), length + 5)
            took = time.process_time() - began
            check(text)
            if number:
                seconds.append(took)
                for turn, costs in steps.items() if turns >= 200 else ():
                    near = STAMPS[turn - 10 : turn + 9]  # the median of the turns around it
                    costs.append(median([b - a for a, b in pairwise(near)]) / 1e9)
        found[name] = {"seconds": seconds, "pieces": pieces}
        if turns >= 200:
            found[name]["by turn"] = {turn: median(costs) for turn, costs in steps.items()}
    return found


def many(side: Any, options: Options) -> Options:
    """`runs` runs of 5 turns of 4 calls at the same time, of a function that waits 10 ms."""
    return asyncio.run(_many(side, options))


async def _many(side: Any, options: Options) -> Options:
    from functions import LOOKUPS

    shared = side.Session(options["wire"], options["url"], [LOOKUPS["after 10 ms"]])
    await shared.run(plan(2, 2), 10)
    new = getattr(shared, "fork", lambda: shared)
    failed: list[str] = []

    async def one() -> None:
        try:
            check(await new().run(plan(5, 4), 10))
        except Exception as error:  # noqa: BLE001 - counted
            failed.append(repr(error)[:200])

    gc.collect()
    before = most = resident()
    ended = threading.Event()

    def watch() -> None:
        nonlocal most
        while not ended.wait(0.02):
            most = max(most, resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    began = time.process_time()
    await asyncio.gather(*(one() for _ in range(options["runs"])))
    seconds = time.process_time() - began
    ended.set()
    watcher.join()
    each = (most - before) / options["runs"]
    return {"seconds": seconds, "failed": len(failed), "error": failed[:1], "KB a run": each}


def blocking(side: Any, options: Options) -> Options:
    """Four calls in one turn of a sync function that sleeps 200 ms: wall time, and the longest gap on the loop."""
    return asyncio.run(_blocking(side, options))


async def _blocking(side: Any, options: Options) -> Options:
    from functions import LOOKUPS

    session = side.Session(options["wire"], options["url"], [LOOKUPS["blocking"]])
    await session.run(plan(0), 5)
    session = getattr(session, "fork", lambda: session)()
    ended, gaps = asyncio.Event(), [0.0]

    async def beat() -> None:
        last = time.perf_counter()
        while not ended.is_set():
            await asyncio.sleep(0.002)
            now = time.perf_counter()
            gaps.append(now - last)
            last = now

    beating = asyncio.create_task(beat())
    await asyncio.sleep(0.02)
    began = time.perf_counter()
    check(await session.run(plan(1, 4), 5))
    wall = time.perf_counter() - began
    ended.set()
    await beating
    return {"wall": wall, "gap": max(gaps)}


def cold(side: Any, options: Options) -> Options:
    """The life of a small program: start, import, five tools, one call, the answer."""

    async def live() -> str:
        from functions import LOOKUPS, searches

        session = side.Session(options["wire"], options["url"], [LOOKUPS["at once"], *searches(4)])
        return await session.run(plan(1, 1), 5)

    check(asyncio.run(live()))
    return {"seconds": time.process_time(), "modules": len(sys.modules)}


# ---- tools


def derive(side: Any, options: Options) -> Options:
    """Seconds for a tool of six parameters, until its schema is there; and for a thousand against a hundred."""
    from functions import searches

    functions = searches(1 + 100 + 1000)
    side.derive(functions[0])
    found: Options = {}
    for name, some in (("100", functions[1:101]), ("1000", functions[101:])):
        gc.collect()
        began = time.process_time()
        for function in some:
            side.derive(function)
        found[name] = (time.process_time() - began) / len(some)
    return found


def call(side: Any, options: Options) -> Options:
    """Seconds for a call, from the text of its arguments to the text of its result."""
    import functions

    [six], [six_async] = functions.searches(1), functions.searches(1, kind="async ")
    cases: dict[str, tuple[Callable[..., Any], str]] = {
        "two, async": (functions.add_async, functions.TWO),
        "six, async": (six_async, functions.SIX),
        "two, sync": (functions.add, functions.TWO),
        "six, sync": (six, functions.SIX),
    }
    found = {name: asyncio.run(_calls(side.caller(function), text)) for name, (function, text) in cases.items()}
    if hasattr(side, "full_road"):
        found |= asyncio.run(side.full_road(functions.add_async, functions.TWO, _timed))
    return found


async def _calls(made: Callable[..., Any], text: str) -> float:
    waits = inspect.iscoroutinefunction(made)
    result = await made(text) if waits else made(text)
    assert "42" in str(result) or "hits" in str(result), result

    async def some(count: int) -> None:
        for _ in range(count):
            if waits:
                await made(text)
            else:
                made(text)

    return await _timed(some)


async def _timed(some: Callable[[int], Any]) -> float:
    """Seconds for one of what `some(count)` does `count` times: the median of batches of about 50 ms."""
    count = 32
    while True:
        began = time.process_time()
        await some(count)
        took = time.process_time() - began
        if took > 0.02:
            break
        count *= 2
    count = max(8, int(count * 0.05 / took))
    batches: list[float] = []
    for _ in range(7):
        began = time.process_time()
        await some(count)
        batches.append((time.process_time() - began) / count)
    return median(batches)


def definitions(side: Any, options: Options) -> Options:
    """The tool list of 50 functions by mode: as it goes out by default, loose, strict; and what it does not say."""
    from fake_service import answer, http
    from functions import searches, untold

    bodies: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(next(x for x in head.lower().split(b"\r\n") if x.startswith(b"content-length")).split(b":")[1])
        body = await reader.readexactly(length)
        bodies.append(body)
        path = head.split(b" ", 2)[1].partition(b"?")[0]
        writer.write(answer(path, (0, 1, 1, 0), 0, stream=b'"stream":true' in body) or http(500, b"{}"))
        await writer.drain()
        writer.close()

    async def run() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        session = side.Session(options["wire"], url, searches(50))
        await session.run(plan(0), 5)

    asyncio.run(run())
    lists: dict[str, Any] = {"default": json.loads(bodies[0])["tools"]}
    flags = {tool.get("function", tool).get("strict") for tool in lists["default"]}
    if flags <= {True} or flags <= {False, None}:
        lists["strict" if True in flags else "loose"] = lists["default"]
    if hasattr(side, "modes"):
        lists |= side.modes(options["wire"], searches(50), lists["default"])
    texts = {mode: json.dumps(tools, separators=(",", ":"), ensure_ascii=False) for mode, tools in lists.items()}
    return {mode: {"text": text, "untold": untold(text)} for mode, text in texts.items()}


def thousand(side: Any, options: Options) -> Options:
    """An agent of 1,000 tools: making it, its first run (no calls), and each one after it."""
    from functions import searches

    async def runs() -> Options:
        functions = searches(1000)
        gc.collect()
        began = time.process_time()
        session = side.Session(options["wire"], options["url"], functions)
        made = time.process_time()
        await session.run(plan(0), 5)
        first = time.process_time()
        for _ in range(3):
            await session.run(plan(0), 5)
        return {"made": made - began, "first": first - made, "next": (time.process_time() - first) / 3}

    return asyncio.run(runs())


def main() -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65536), hard))
    what, name, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    found = globals()[what](importlib.import_module(f"peers.{name}"), options)
    print("\nRESULT " + json.dumps(found), flush=True)
    os._exit(0)  # nobody's exit hooks in the time of the next one


if __name__ == "__main__":
    main()
