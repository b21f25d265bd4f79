"""What a tool costs beside bare pydantic: to derive it, to call it, and in tokens to offer it.

    python benchmarks/contract.py [--rounds 200]
    python benchmarks/contract.py --write       # keep the figures in contract.json

Both sides run in this process and take turns, each round a few milliseconds of one and then of the other; a figure is
the median of the rounds, a ratio the median of the rounds' ratios, so that a noisy machine does them less harm. Nothing
is asserted. Tokens are counted in OpenAI's o200k_base where the package bpe-openai is installed.

    derive      `Tool(function)` with its docstring, beside `TypeAdapter(TypedDict)` and `json_schema()`.
    call        `call_json`: JSON text to a `ToolResult` of data that is proved to be plain JSON; beside pydantic-core's
                `validate_json`, the call, and `to_json`, which proves nothing.
    to text     the same, with `to_json(result.data)`.
    tokens      50 definitions as a request holds them, per tool.

The ratios are to pydantic alone: to a `TypeAdapter` of the parameters, or of the function, which reads no docstring.
`run.py` has other ratios for the same work, since its base is the loop by hand (`peers/raw.py`), which gives a model
the docstring's texts too.

Where the rest goes, for six arguments (Python 3.11, of some 9.1 us): pydantic-core's validation 2.2, the function 1.5,
the proof that its result is plain JSON 3.0 to 3.6 (56 values; `to_json` would also take NaN, sets, generators and
objects, and no other C function on hand tells them apart: marshal takes sets and keys of any type, and a validator of
pydantic's that looks at types takes as long), the look for names sent twice and infinities 0.9, the `ToolResult` 0.2.
Strict definitions on OpenAI (Responses) hold, per tool, 26 tokens for `required`, 17 for null as "left out", 14 for
what the function returns, 11 for defaults in words, 11 for the types of enumerations and 10 for closed objects; each
says something that would be lost, or that the service asks for.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import platform
from collections.abc import Awaitable, Callable, Coroutine
from importlib.metadata import version
from inspect import Parameter, iscoroutinefunction, signature
from pathlib import Path
from statistics import median
from time import process_time_ns
from typing import Any, NotRequired, cast

import functions
from arguments import at_least_one
from pydantic import TypeAdapter
from pydantic_core import to_json
from typing_extensions import TypedDict

from toolsmith import Tool

KEPT = Path(__file__).resolve().parent / "contract.json"
Batch = Callable[[], Coroutine[Any, Any, None]]
WANTED = {
    "derive 6 arguments": "1.15",
    "call, 2 arguments, async": "5",
    "call, 6 arguments nested, async": "1.8",
    "tokens, chat loose": "305",
    "tokens, chat strict": "320",
}


def bare_definition(function: Callable[..., Any]) -> dict[str, Any]:
    """What pydantic alone makes of the parameters: no docstring, no check, no way to call."""
    hints: dict[str, Any] = {}
    for parameter in signature(function).parameters.values():
        hint: Any = parameter.annotation
        hints[parameter.name] = hint if parameter.default is Parameter.empty else NotRequired[hint]
    return TypeAdapter(cast("Any", TypedDict)(function.__name__, hints)).json_schema()


def derived(function: Callable[..., Any]) -> Any:
    return Tool(function).spec


def bare_call(function: Callable[..., Any]) -> Callable[[str], Awaitable[Any]]:
    """Text to text, as near to pydantic-core as Python gets."""
    validate_json = TypeAdapter(cast("Any", function)).validator.validate_json

    async def call(text: str) -> bytes:
        return to_json(await validate_json(text))

    def call_at_once(text: str) -> Any:
        return to_json(validate_json(text))

    async def call_sync(text: str) -> Any:
        return call_at_once(text)

    return call if iscoroutinefunction(function) else call_sync


def our_text(made: Tool[..., Any]) -> Callable[[str], Awaitable[Any]]:
    call_json = made.call_json

    async def call(text: str) -> bytes:
        return to_json((await call_json(text)).data)

    return call


def calls(call: Callable[[str], Awaitable[Any]], text: str, count: int) -> Batch:
    async def batch() -> None:
        for _ in range(count):
            await call(text)

    return batch


def derivations(derive: Callable[..., Any], count: int) -> Batch:
    made = functions.searches(count)

    async def batch() -> None:
        for function in made:
            derive(function)

    return batch


async def compared(sides: dict[str, Batch], rounds: int, count: int) -> dict[str, dict[str, float]]:
    """Side -> microseconds of CPU for one of `count`, and the ratio to the first side."""
    taken: dict[str, list[float]] = {name: [] for name in sides}
    for batch in sides.values():
        await batch()
    gc.collect()
    for _ in range(rounds):
        for name, batch in sides.items():
            began = process_time_ns()
            await batch()
            taken[name].append((process_time_ns() - began) / count / 1e3)
    bare = next(iter(taken.values()))
    return {
        name: {"us": median(times), "ratio": median(t / b for t, b in zip(times, bare, strict=True))}
        for name, times in taken.items()
    }


async def measured(rounds: int) -> dict[str, Any]:
    two, six = functions.add_async, functions.searches(1, kind="async ")[0]
    cases: dict[str, Any] = {
        "derive 6 arguments": await compared(
            {
                "bare": derivations(bare_definition, 5),
                "ours": derivations(derived, 5),
            },
            max(rounds // 5, 3),
            5,
        )
    }
    for name, function, text, count in (
        ("2 arguments, async", two, functions.TWO, 200),
        ("6 arguments nested, async", six, functions.SIX, 100),
        ("2 arguments, sync", functions.add, functions.TWO, 50),
    ):
        made = Tool(function)
        result = await made.call_json(text)
        assert result.success, result.error
        sides = {"bare": bare_call(function), "ours": made.call_json, "to text": our_text(made)}
        cases[f"call, {name}"] = await compared({n: calls(c, text, count) for n, c in sides.items()}, rounds, count)
    return cases


def tokens() -> dict[str, float]:
    """Tokens of a definition, by form; nothing where there is no vocabulary."""
    try:
        import bpe_openai  # pyright: ignore
    except ImportError:
        return {}
    encoding: Any = cast("Any", bpe_openai).get_encoding("o200k_base")
    made = [Tool(function) for function in functions.searches(50)]
    forms = {
        "chat loose": [t.to_openai("chat", strict=False) for t in made],
        "chat strict": [t.to_openai("chat", strict=True) for t in made],
        "responses loose": [t.to_openai(strict=False) for t in made],
        "responses strict": [t.to_openai(strict=True) for t in made],
        "anthropic loose": [t.to_anthropic(strict=False) for t in made],
        "anthropic strict": [t.to_anthropic(strict=True) for t in made],
    }
    return {name: len(encoding.encode(to_json(form).decode())) / len(made) for name, form in forms.items()}


def report(found: dict[str, Any]) -> None:
    print(f"{'':34} {'bare':>9} {'ours':>9} {'ratio':>6} {'to text':>9} {'ratio':>6} {'wanted':>7}")
    for name, sides in found["cases"].items():
        ours, text = sides["ours"], sides.get("to text")
        more = f"{text['us']:7.2f}us {text['ratio']:6.2f}" if text else f"{'':16}"
        print(
            f"{name:34} {sides['bare']['us']:7.2f}us {ours['us']:7.2f}us {ours['ratio']:6.2f} {more} "
            f"{WANTED.get(name, ''):>7}"
        )
    for name, count in found["tokens"].items():
        print(f"{'tokens, ' + name:34} {'':9} {count:9.1f} {'':23} {WANTED.get('tokens, ' + name, ''):>7}")
    if not found["tokens"]:
        print("No tokens were counted: pip install bpe-openai")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=at_least_one, default=200)
    parser.add_argument("--write", action="store_true", help=f"keep the figures in {KEPT.name}")
    options = parser.parse_args()
    found: dict[str, Any] = {
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("pydantic", "pydantic-core", "jiter")},
        "rounds": options.rounds,
        "cases": asyncio.run(measured(options.rounds)),
        "tokens": tokens(),
    }
    if options.write:
        KEPT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    report(found)


if __name__ == "__main__":
    main()
