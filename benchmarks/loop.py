"""What a run costs beside the loop that one would write by hand on the SDKs, in CPU time of this process.

    python benchmarks/loop.py [--rounds 3] [--api anthropic ...] [--only "10 turns" ...] [--json]

Both loops run in this process and take turns, against `fake_service` in a process of its own, with the same function
and the same answers; each figure is the median of the rounds. The hand-written loop is `by_hand`. A quick look while
one works on something; `run.py` is the whole comparison.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import resource
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from statistics import median

import by_hand
from arguments import at_least_one
from fake_service import APIS, FakeService
from pydantic import TypeAdapter

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


BY_HAND = {"anthropic": by_hand.MessagesByHand, "openai": by_hand.ResponsesByHand, "openai-chat": by_hand.ChatByHand}


def hand_written(api: str, url: str) -> by_hand.ByHand:
    """The loop by hand with `lookup`."""
    adapter = TypeAdapter(lookup)
    return BY_HAND[api](url, [(lookup, adapter.validator, adapter.json_schema(), lookup.__doc__ or "")])


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
        hand, ours = hand_written(api, service.url(api)), Ours(api, service.url(api))
        for made in (hand, ours):
            for stream in (False, True):
                await made.run("PLAN turns=2 calls=2 deltas=3 size=0", stream=stream)
        for name, case in CASES.items():
            if name not in options.only if options.only else case.at_once > options.at_once:
                continue
            rounds = [(await measure(hand.run, case), await measure(ours.run, case)) for _ in range(options.rounds)]
            found.setdefault(name, {})[api] = (median(r[0] for r in rounds), median(r[1] for r in rounds))
        await hand.client.close()
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
    parser.add_argument("--rounds", type=at_least_one, default=3)
    parser.add_argument("--api", nargs="+", choices=APIS, default=list(APIS))
    parser.add_argument("--only", nargs="+", choices=list(CASES), default=[])
    parser.add_argument(
        "--at-once", type=at_least_one, default=200, help="leave out cases with more runs than this at once"
    )
    parser.add_argument("--json", action="store_true", help="print one line of JSON instead")
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with FakeService() as service:
        found = asyncio.run(measured(service, options))
    print(json.dumps(found)) if options.json else report(found)


if __name__ == "__main__":
    main()
