"""Instructions that the hottest paths take, counted, not timed: the same on a busy machine and on a quiet one.

    python benchmarks/counts.py            # the counts, beside those of counts.json
    python benchmarks/counts.py --check    # exit with 1 where one is more than 5 % above counts.json
    python benchmarks/counts.py --write    # make these the counts of this Python in counts.json

What is counted: the bytecode instructions that run in toolsmith's own frames, and the calls of C functions from there.
An SDK's, pydantic's and asyncio's own work is left out, so that another version of theirs changes nothing here, and no
valgrind is needed, which takes root to install. The service is `fake_service`, in this process. Each figure is a
difference of two lengths (20 turns less 10, say), so that what happens once is in none of them; `PYTHONHASHSEED` is
fixed, and the counts then are the same each time. The 5 % are for honest small changes: who needs more says so by a new
`counts.json`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

HERE = Path(__file__).resolve().parent
KEPT = HERE / "counts.json"
TOLERANCE = 0.05
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
APIS = {
    "chat": (b"/v1/chat/completions", "AsyncOpenAI"),
    "responses": (b"/v1/responses", "AsyncOpenAI"),
    "anthropic": (b"/v1/messages", "AsyncAnthropic"),
}


class Answered:
    """What an SDK's client gives for a raw post."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    async def aiter_bytes(self) -> AsyncIterator[bytes]:
        for at in range(0, len(self.content), 4096):
            yield self.content[at : at + 4096]

    async def aclose(self) -> None:
        pass


def client(path: bytes, name: str) -> Any:
    """An SDK's client as far as it is used, that answers at once."""
    from fake_service import PLAN, RESULT, SPEAKERS, calls_of, dumps

    async def post(self: object, _: str, *, content: bytes, **options: Any) -> Answered:
        found = PLAN.search(content)
        assert found is not None
        turns, calls, deltas, size = (int(n) for n in found.groups())
        turn = len(RESULT.findall(content)) // max(calls, 1)
        said = (turn, calls_of(turn, calls, size) if turn < turns else [], ["word "] * deltas)
        whole, events = SPEAKERS[path]
        streamed = b'"stream":true' in content  # whole answers are handed over open as well
        return Answered("".join(events(*said)).encode() if streamed else dumps(whole(*said)).encode())

    return type(name, (), {"post": post, "base_url": "http://127.0.0.1:1"})()


def agent(api: str) -> Any:
    from functions import LOOKUPS

    from toolsmith import Agent, Limits
    from toolsmith.providers.anthropic import AnthropicMessages
    from toolsmith.providers.openai_chat import OpenAIChat
    from toolsmith.providers.openai_responses import OpenAIResponses

    kinds: dict[str, Any] = {"chat": OpenAIChat, "responses": OpenAIResponses, "anthropic": AnthropicMessages}
    path, name = APIS[api]
    made = kinds[api]("m", client=client(path, name))
    return Agent(made, tools=[LOOKUPS["at once"]], limits=Limits(turns=1_000, calls=10_000))


class Counter:
    """Counts while it is on. One thread, no other tracer."""

    def __init__(self) -> None:
        import toolsmith

        assert toolsmith.__file__ is not None
        self._ours = os.path.dirname(toolsmith.__file__) + os.sep
        self.count = 0

    def _call(self, frame: FrameType, event: str, arg: object) -> Any:
        if not frame.f_code.co_filename.startswith(self._ours):
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        return self._step

    def _step(self, frame: FrameType, event: str, arg: object) -> Any:
        if event == "opcode":
            self.count += 1
        return self._step

    def _instruction(self, code: CodeType, offset: int) -> Any:
        if not code.co_filename.startswith(self._ours):
            return sys.monitoring.DISABLE
        self.count += 1
        return None

    def _profile(self, frame: FrameType, event: str, arg: object) -> None:
        if event == "c_call" and frame.f_code.co_filename.startswith(self._ours):
            self.count += 1

    @contextmanager
    def _on(self) -> Generator[None]:
        sys.setprofile(self._profile)
        if sys.version_info >= (3, 12):  # there tracing misses the first instructions of some frames
            tool, events = sys.monitoring.DEBUGGER_ID, sys.monitoring.events
            sys.monitoring.use_tool_id(tool, "counts")
            sys.monitoring.register_callback(tool, events.INSTRUCTION, self._instruction)
            sys.monitoring.set_events(tool, events.INSTRUCTION)
            try:
                yield
            finally:
                sys.monitoring.set_events(tool, events.NO_EVENTS)
                sys.monitoring.free_tool_id(tool)
                sys.setprofile(None)
            return
        sys.settrace(self._call)
        try:
            yield
        finally:
            sys.settrace(None)
            sys.setprofile(None)

    async def of(self, what: Callable[[], Awaitable[object]]) -> int:
        await what()  # imports, caches
        self.count = 0
        with self._on():
            await what()
        return self.count


async def counts() -> dict[str, float]:
    """Path -> instructions."""
    import functions

    from toolsmith import Tool

    counter = Counter()
    found: dict[str, float] = {}
    for api in APIS:
        made = agent(api)

        async def run(turns: int, calls: int = 1, made: Any = made) -> int:
            return await counter.of(lambda: made.run(f"PLAN turns={turns} calls={calls} deltas=1 size=0"))

        async def stream(deltas: int, made: Any = made) -> int:
            async def read() -> None:
                async with made.run_stream(f"PLAN turns=0 calls=0 deltas={deltas} size=0") as events:
                    async for _ in events:
                        pass

            return await counter.of(read)

        ten, twenty, sixty, seventy = [await run(turns) for turns in (10, 20, 60, 70)]
        found[f"a turn, {api}"] = (twenty - ten) / 10
        found[f"a turn after sixty, {api}"] = (seventy - sixty) / 10
        found[f"a further call in a turn, {api}"] = (await run(2, 33) - await run(2, 1)) / 64
        found[f"a piece of a stream, {api}"] = (await stream(900) - await stream(300)) / 600
    [six] = functions.searches(1, kind="async ")
    for name, function, text in (("two", functions.add_async, functions.TWO), ("six", six, functions.SIX)):
        call = Tool(function).call_json
        found[f"a call of {name} arguments"] = await counter.of(lambda call=call, text=text: call(text))

    async def derive() -> None:
        Tool(six)

    found["a tool from a function"] = await counter.of(derive)
    return {name: round(count, 1) for name, count in found.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if os.environ.get("PYTHONHASHSEED") != "0":
        command = [sys.executable, __file__, *sys.argv[1:]]
        return subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": "0"}, check=False).returncode
    kept: dict[str, dict[str, float]] = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    before, found = kept.get(VERSION, {}), asyncio.run(counts())
    late: list[str] = []
    for name, count in found.items():
        known = before.get(name)
        more = "" if not known else f"{100 * (count / known - 1):+.1f} %"
        if known is not None and count > known * (1 + TOLERANCE):
            late.append(name)
        print(f"{name:36} {count:10,.1f}  {'' if known is None else f'{known:10,.1f}'}  {more}")
    for api in APIS:
        if found[f"a turn after sixty, {api}"] > found[f"a turn, {api}"] * 1.01:
            late.append(f"a turn on {api} costs more the longer the history is")
    if options.write:
        kept[VERSION] = found
        KEPT.write_text(json.dumps(dict(sorted(kept.items())), indent=1) + "\n", encoding="utf-8")
    elif options.check and not before:
        print(f"counts.json has no counts of Python {VERSION}: nothing to compare with.")
    elif options.check and late:
        print(f"More than {TOLERANCE:.0%} above counts.json of Python {VERSION}: {'; '.join(late)}.")
        print("If it must be so: python benchmarks/counts.py --write")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
