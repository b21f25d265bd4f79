"""What a run costs beside the loop that one would write by hand on the SDKs, in CPU time of this process.

    python benchmarks/loop.py [--rounds 3] [--api anthropic ...] [--only "10 turns" ...] [--json]

Both loops run in this process and take turns, against `fake_service` in a process of its own, with the same function
and the same answers; each figure is the median of the rounds. The hand-written loop is what the SDKs' documentation
shows: `create(...)` with the history as a list of dicts, arguments through pydantic, calls of a turn by
`asyncio.gather`.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import resource
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, cast

from fake_service import APIS, FakeService

from toolsmith import Agent, ModelSettings, tool

RESULT = "x" * 1000


async def lookup(key: str, number: int, note: str = "") -> str:
    """Look something up.

    Args:
        key: what to look up.
        number: which of them.
        note: a remark.
    """
    return RESULT


# ---- the loop by hand


class ByHand(ABC):
    """A loop on an SDK's own client."""

    def __init__(self, url: str) -> None:
        from pydantic import TypeAdapter

        adapter = TypeAdapter(lookup)
        self.schema = adapter.json_schema()
        self._validate = adapter.validator.validate_json
        self.client = self.made(url)

    @abstractmethod
    def made(self, url: str) -> Any:
        """The SDK's client."""

    @abstractmethod
    async def turn(self, history: list[Any]) -> tuple[str, list[tuple[str, str]]]:
        """Ask once; the words, or the ids and arguments of calls. Puts the answer into the history."""

    @abstractmethod
    async def streamed_turn(self, history: list[Any]) -> tuple[str, list[tuple[str, str]]]:
        """The same, of a stream."""

    @abstractmethod
    def add(self, history: list[Any], results: Sequence[tuple[str, str]]) -> None:
        """Put results into the history."""

    async def run(self, prompt: str, *, stream: bool) -> str:
        history: list[Any] = [{"role": "user", "content": prompt}]
        ask = self.streamed_turn if stream else self.turn
        while True:
            words, calls = await ask(history)
            if not calls:
                return words
            made = [cast("Awaitable[str]", self._validate(arguments)) for _, arguments in calls]
            results = [await made[0]] if len(made) == 1 else await asyncio.gather(*made)
            self.add(history, [(call[0], result) for call, result in zip(calls, results, strict=True)])


class OpenAIByHand(ByHand):
    def made(self, url: str) -> Any:
        from openai import AsyncOpenAI

        return AsyncOpenAI(base_url=url, api_key="k", max_retries=0)


class ChatByHand(OpenAIByHand):
    @property
    def _asked(self) -> dict[str, Any]:
        function = {"name": "lookup", "description": lookup.__doc__, "parameters": self.schema}
        return {"model": "m", "tools": [{"type": "function", "function": function}]}

    async def turn(self, history: list[Any]) -> tuple[str, list[tuple[str, str]]]:
        answer = await self.client.chat.completions.create(messages=history, **self._asked)
        message = answer.choices[0].message
        calls = [(c.id, c.function.arguments) for c in message.tool_calls or ()]
        self._keep(history, message.content, calls)
        return message.content or "", calls

    async def streamed_turn(self, history: list[Any]) -> tuple[str, list[tuple[str, str]]]:
        more = {"stream": True, "stream_options": {"include_usage": True}}
        words: list[str] = []
        made: dict[int, tuple[str, list[str]]] = {}
        async for chunk in await self.client.chat.completions.create(messages=history, **self._asked, **more):
            if not chunk.choices:
                continue
            delta = chunk.choices[0].delta
            if delta.content:
                words.append(delta.content)
            for piece in delta.tool_calls or ():
                _, pieces = made.setdefault(piece.index, (piece.id, []))
                pieces.append(piece.function.arguments or "")
        calls = [(label, "".join(pieces)) for label, pieces in made.values()]
        self._keep(history, "".join(words), calls)
        return "".join(words), calls

    def _keep(self, history: list[Any], words: str | None, calls: Sequence[tuple[str, str]]) -> None:
        entries = [{"id": i, "type": "function", "function": {"name": "lookup", "arguments": a}} for i, a in calls]
        history.append({"role": "assistant", "content": words, **({"tool_calls": entries} if entries else {})})

    def add(self, history: list[Any], results: Sequence[tuple[str, str]]) -> None:
        history += [{"role": "tool", "tool_call_id": label, "content": text} for label, text in results]


class ResponsesByHand(OpenAIByHand):
    @property
    def _asked(self) -> dict[str, Any]:
        made = {"type": "function", "name": "lookup", "description": lookup.__doc__, "parameters": self.schema}
        return {"model": "m", "tools": [{**made, "strict": False}]}

    async def turn(self, history: list[Any]) -> tuple[str, list[tuple[str, str]]]:
        answer = await self.client.responses.create(input=history, **self._asked)
        return answer.output_text, self._keep(history, answer.output)

    async def streamed_turn(self, history: list[Any]) -> tuple[str, list[tuple[str, str]]]:
        words: list[str] = []
        items: list[Any] = []
        async for event in await self.client.responses.create(input=history, stream=True, **self._asked):
            if event.type == "response.output_text.delta":
                words.append(event.delta)
            elif event.type == "response.output_item.done":
                items.append(event.item)
        return "".join(words), self._keep(history, items)

    def _keep(self, history: list[Any], items: Sequence[Any]) -> list[tuple[str, str]]:
        calls = [item for item in items if item.type == "function_call"]
        history += [
            {"type": "function_call", "call_id": c.call_id, "name": c.name, "arguments": c.arguments} for c in calls
        ]
        return [(c.call_id, c.arguments) for c in calls]

    def add(self, history: list[Any], results: Sequence[tuple[str, str]]) -> None:
        history += [{"type": "function_call_output", "call_id": label, "output": text} for label, text in results]


class MessagesByHand(ByHand):
    def made(self, url: str) -> Any:
        from anthropic import AsyncAnthropic

        return AsyncAnthropic(base_url=url, api_key="k", max_retries=0)

    @property
    def _asked(self) -> dict[str, Any]:
        made = {"name": "lookup", "description": lookup.__doc__, "input_schema": self.schema}
        return {"model": "m", "max_tokens": 4096, "tools": [made]}

    async def turn(self, history: list[Any]) -> tuple[str, list[tuple[str, str]]]:
        answer = await self.client.messages.create(messages=history, **self._asked)
        words = "".join(b.text for b in answer.content if b.type == "text")
        uses = [(b.id, b.input) for b in answer.content if b.type == "tool_use"]
        return words, self._keep(history, words, uses)

    async def streamed_turn(self, history: list[Any]) -> tuple[str, list[tuple[str, str]]]:
        words: list[str] = []
        made: dict[int, tuple[str, list[str]]] = {}
        async for event in await self.client.messages.create(messages=history, stream=True, **self._asked):
            if event.type == "content_block_start" and event.content_block.type == "tool_use":
                made[event.index] = (event.content_block.id, [])
            elif event.type == "content_block_delta" and event.delta.type == "text_delta":
                words.append(event.delta.text)
            elif event.type == "content_block_delta" and event.delta.type == "input_json_delta":
                made[event.index][1].append(event.delta.partial_json)
        uses = [(label, json.loads("".join(pieces))) for label, pieces in made.values()]
        return "".join(words), self._keep(history, "".join(words), uses)

    def _keep(self, history: list[Any], words: str, uses: Sequence[tuple[str, Any]]) -> list[tuple[str, str]]:
        blocks: list[Any] = [{"type": "text", "text": words}] if words else []
        blocks += [{"type": "tool_use", "id": label, "name": "lookup", "input": given} for label, given in uses]
        history.append({"role": "assistant", "content": blocks})
        return [(label, json.dumps(given)) for label, given in uses]

    def add(self, history: list[Any], results: Sequence[tuple[str, str]]) -> None:
        blocks = [{"type": "tool_result", "tool_use_id": label, "content": text} for label, text in results]
        history.append({"role": "user", "content": blocks})


BY_HAND: dict[str, type[ByHand]] = {
    "anthropic": MessagesByHand,
    "openai": ResponsesByHand,
    "openai-chat": ChatByHand,
}


class Ours:
    """The same by an agent."""

    def __init__(self, api: str, url: str) -> None:
        settings = ModelSettings(model=f"{api}:m", base_url=url, api_key="k")
        self._agent = Agent(settings, tools=[tool(lookup)], max_calls_per_run=10_000)
        self._agent.limits = type(self._agent.limits)(turns=1_000, calls=10_000)

    async def run(self, prompt: str, *, stream: bool) -> str:
        if not stream:
            return (await self._agent.run(prompt)).output
        async with self._agent.run_stream(prompt) as events:
            async for _ in events:
                pass
        return events.result.output


# ---- measuring


@dataclass(frozen=True)
class Case:
    """What is measured.

    Attributes:
        plan: for the service.
        repeats: runs in one measurement.
        per: by what the time is divided.
        at_once: so many runs at the same time; one that fails (connections time out) counts as one all the same.
        unit: what that is.
        most: our share of the hand-written loop's time that we want to keep to, by API; see the issue "Speed".
    """

    plan: str
    repeats: int
    per: int
    unit: str
    stream: bool = False
    at_once: int = 1
    most: dict[str, float] | None = None


CASES: dict[str, Case] = {
    "10 turns": Case(
        "turns=10 calls=1 deltas=1 size=0", 8, 11, "request",
        most={"openai-chat": 0.45, "openai": 0.18, "anthropic": 1.0},
    ),
    "100 turns": Case("turns=100 calls=1 deltas=1 size=0", 1, 101, "request"),
    "200 turns": Case(
        "turns=200 calls=1 deltas=1 size=0", 1, 1, "run",
        most={"openai-chat": 1 / 20, "openai": 1 / 60, "anthropic": 1 / 2},
    ),
    "2,000 deltas": Case(
        "turns=0 calls=0 deltas=2000 size=0", 3, 1, "stream", stream=True,
        most={"openai-chat": 0.25, "openai": 0.25, "anthropic": 0.7},
    ),
    "20 KB of arguments": Case(
        "turns=1 calls=1 deltas=1 size=20480", 3, 1, "run", stream=True,
        most={"openai-chat": 0.25, "openai": 0.25, "anthropic": 0.7},
    ),
    "200 runs at once": Case(
        "turns=5 calls=4 deltas=1 size=0", 1, 1, "all", at_once=200,
        most={"openai-chat": 0.2, "anthropic": 0.4},
    ),
    "1,000 runs at once": Case(
        "turns=5 calls=4 deltas=1 size=0", 1, 1, "all", at_once=1000,
        most={"openai-chat": 0.2, "anthropic": 0.3},
    ),
    "5 turns of 1 call": Case("turns=5 calls=1 deltas=1 size=0", 8, 5, "turn"),
    "5 turns of 33 calls": Case("turns=5 calls=33 deltas=1 size=0", 3, 5, "turn"),
}  # fmt: skip


Runner = Callable[[str], Awaitable[str]]


async def measure(run: Callable[..., Awaitable[str]], case: Case) -> float:
    """CPU seconds for one unit of the case."""
    gc.collect()
    began = time.process_time()
    for _ in range(case.repeats):
        if case.at_once == 1:
            assert (await run(f"PLAN {case.plan}", stream=case.stream)).startswith("word")
            continue
        runs = (run(f"PLAN {case.plan}", stream=case.stream) for _ in range(case.at_once))
        await asyncio.gather(*runs, return_exceptions=True)
    return (time.process_time() - began) / case.repeats / case.per


async def measured(service: FakeService, options: argparse.Namespace) -> dict[str, dict[str, tuple[float, float]]]:
    """Case -> API -> seconds by hand, and ours."""
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for api in options.api:
        by_hand, ours = BY_HAND[api](service.url(api)), Ours(api, service.url(api))
        for made in (by_hand, ours):
            for stream in (False, True):
                await made.run("PLAN turns=2 calls=2 deltas=3 size=0", stream=stream)
        for name, case in CASES.items():
            if name not in options.only if options.only else case.at_once > options.at_once:
                continue
            rounds = [(await measure(by_hand.run, case), await measure(ours.run, case)) for _ in range(options.rounds)]
            found.setdefault(name, {})[api] = (median(r[0] for r in rounds), median(r[1] for r in rounds))
        await by_hand.client.close()
    return found


def report(found: dict[str, dict[str, tuple[float, float]]]) -> None:
    print(f"{'':20} {'API':12} {'by hand':>10} {'ours':>10} {'ratio':>7} {'wanted':>7}")
    for name, by_api in found.items():
        case = CASES[name]
        for api, (theirs, mine) in by_api.items():
            most = (case.most or {}).get(api)
            wanted = "" if most is None else f"{most:.3f}"
            late = "" if most is None or mine / theirs <= most else "  <-- more than wanted"
            print(
                f"{name:20} {api:12} {theirs * 1e3:8.2f}ms {mine * 1e3:8.2f}ms {mine / theirs:7.3f} {wanted:>7}{late}"
            )
    few, many = found.get("5 turns of 1 call"), found.get("5 turns of 33 calls")
    for api in few or () if many else ():
        assert few is not None
        assert many is not None
        theirs, mine = ((many[api][i] - few[api][i]) / 32 * 1e6 for i in (0, 1))
        print(f"{'one more call':20} {api:12} {theirs:8.1f}us {mine:8.1f}us {mine / theirs:7.3f}  45 us wanted")
    short, long = found.get("10 turns"), found.get("200 turns")
    for api in short or () if long else ():
        assert short is not None
        assert long is not None
        grown = long[api][1] / 201 / short[api][1]
        print(f"a request of 200 turns is {grown:.2f} times one of 10 turns on {api}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--api", nargs="*", choices=APIS, default=list(APIS))
    parser.add_argument("--only", nargs="*", choices=list(CASES), default=[])
    parser.add_argument("--at-once", type=int, default=200, help="leave out cases with more runs than this at once")
    parser.add_argument("--json", action="store_true", help="print one line of JSON instead")
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with FakeService() as service:
        found = asyncio.run(measured(service, options))
    print(json.dumps(found)) if options.json else report(found)


if __name__ == "__main__":
    main()
