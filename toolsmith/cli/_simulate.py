"""`toolsmith simulate`: the mistakes that models make, sent to tools, and what a model would read of each."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Any, TextIO, cast, get_args

from toolsmith.cli import _exits
from toolsmith.cli._words import Parser, guess, one_of
from toolsmith.errors import ConfigError, ToolsmithError

if TYPE_CHECKING:
    from rich.console import Console

    from toolsmith._simulate.report import Answer, Simulation

PASSED, FAILED = 0, 1
PROVIDERS = ("anthropic", "openai", "openai-chat", "local")

DESCRIPTION = """\
Send tools the 24 mistakes that models make most, made of each tool's own schema, and show the exact text that a model
would read. No tool is executed: arguments are checked and no more. (A check of your own that is part of a type, such
as a pydantic validator, is called.) No model is asked, and nothing goes over a network."""

EPILOG = f"""\
The valid arguments that the mistakes are made of come from the schema: its examples and defaults first. Where none can
be made that the tool accepts, the command says so, and --arguments has to give some.

Each text is graded. It passes if it names the tool, says that the call was not run, names the argument that is wrong,
says what is accepted and what to do next, is no longer than 2,000 characters, and has no class name, no stack trace, no
link and no apology. A mistake that is mended has to be named as such; one that is taken would reach the function.

exit codes:
  {PASSED}    every text passes
  {FAILED}    a text fails, or no valid arguments could be made; with --catch-all: or a mistake is taken
  {_exits.USAGE}    usage: a wrong option, a misspelt name, a function that cannot be a tool

output:
  With --json, one JSON object a line: an "answer" for each mistake at each place, "not_applicable" for mistakes that a
  tool's schema has no room for, "unmade" for tools without valid arguments, last one "end".
"""


def add_to(verbs: Any, references: str) -> Parser:
    """Add the command to the others; `references` says what may be named."""
    verb: Parser = verbs.add_parser(
        "simulate",
        help="send tools the mistakes that models make, and show what a model would read",
        usage="%(prog)s [options] MODULE:NAME ...",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verb.add_argument("words", nargs="*", metavar="MODULE:NAME", help=references)
    verb.add_argument("--tool", metavar="NAME", action="append", default=[], help="only this tool; may be repeated")
    verb.add_argument(
        "--mistake", metavar="NAME", action="append", default=[], help="show only this mistake; may be repeated"
    )
    verb.add_argument(
        "--provider",
        type=one_of(PROVIDERS),
        metavar="NAME",
        help=f"send arguments in the form of this service, one of {', '.join(PROVIDERS)} (default: the tool's own, "
        "which is that of all services without strict mode)",
    )
    form = verb.add_mutually_exclusive_group()
    form.add_argument("--strict", action="store_const", const=True, help="the provider's strict mode")
    form.add_argument(
        "--loose", action="store_const", const=False, dest="strict", help="its other mode (default: as an agent would)"
    )
    verb.add_argument("--arguments", metavar="JSON", help="valid arguments of the tool, to make mistakes of")
    verb.add_argument("--catch-all", action="store_true", help="fail as well where a mistake would reach the function")
    verb.add_argument("--every-place", action="store_true", help="show a mistake at every place, not only at the first")
    verb.add_argument("--list", action="store_true", help="list the mistakes with their sources, and stop")
    verb.add_argument("--json", action="store_true", help="one JSON object a line, for machines")
    verb.end = _ended_wrong
    return verb


def _ended_wrong(message: str) -> dict[str, Any]:
    return {"event": "end", "exit_code": _exits.USAGE, "error": message}


def run(options: argparse.Namespace, out: TextIO) -> int:
    """Send the mistakes, show what comes of them; the exit code."""
    if options.list:
        _list(out, as_json=options.json)
        return PASSED
    try:
        found = _simulation(options)
    except ToolsmithError as error:
        if options.json:
            _line(out, _ended_wrong(str(error)))
        print(f"toolsmith: {error}", file=sys.stderr)
        return _exits.USAGE
    code = PASSED if found.ok and not (options.catch_all and found.taken) else FAILED
    if options.json:
        _for_machines(out, found, options, code)
    else:
        _for_people(out, found, options)
    return code


def _simulation(options: argparse.Namespace) -> Simulation:
    from toolsmith._simulate.mistakes import MISTAKES
    from toolsmith._simulate.report import simulate
    from toolsmith.cli._assemble import load

    names = [m.name for m in MISTAKES]
    if wrong := [name for name in options.mistake if name not in names]:
        raise ConfigError(f"There is no mistake {wrong[0]!r}; there are: {', '.join(names)}.{guess(wrong[0], names)}")
    if not options.words:
        raise ConfigError("Name a tool: toolsmith simulate MODULE:NAME. `toolsmith simulate --help` says more.")
    arguments = None
    if options.arguments is not None:
        try:
            arguments = json.loads(options.arguments)
        except ValueError as error:
            raise ConfigError(f"--arguments is no JSON: {error}") from None
        if not isinstance(arguments, dict):
            raise ConfigError("--arguments must be a JSON object: an argument's name, and its value.")
    agents, tools = load(options.words)
    return simulate(
        [*(agent.tools for agent in agents), *tools],
        provider=options.provider,
        strict=options.strict,
        arguments=cast("dict[str, Any] | None", arguments),
        only=options.tool,
    )


# ---- for machines


def _line(out: TextIO, data: dict[str, Any]) -> None:
    print(json.dumps(data, ensure_ascii=False), file=out, flush=True)


def _list(out: TextIO, *, as_json: bool) -> None:
    from toolsmith._simulate.mistakes import MISTAKES

    for m in MISTAKES:
        if as_json:
            _line(out, {"event": "mistake", "name": m.name, "title": m.title, "needs": m.applies, "source": m.source})
        else:
            print(f"{m.name:<16} {m.title}\n{'':<16} if {m.applies}; seen in {m.source}", file=out)


def _for_machines(out: TextIO, found: Simulation, options: argparse.Namespace, code: int) -> None:
    for answer in _chosen(found, options):
        form = found.forms[answer.tool]
        _line(out, {"event": "answer", "form": form, **asdict(answer), "passes": not answer.faults})
    for tool, mistakes in found.not_applicable.items():
        for name in mistakes:
            if options.mistake and name not in options.mistake:
                continue
            _line(out, {"event": "not_applicable", "tool": tool, "mistake": name})
    for tool, why in found.unmade.items():
        _line(out, {"event": "unmade", "tool": tool, "why": why})
    end = {"answers": len(found.answers), "failed": len(found.failed), "taken": len(found.taken)}
    _line(out, {"event": "end", "exit_code": code, **end})


def _chosen(found: Simulation, options: argparse.Namespace) -> list[Answer]:
    return [a for a in found.answers if not options.mistake or a.mistake in options.mistake]


# ---- for people


def _for_people(out: TextIO, found: Simulation, options: argparse.Namespace) -> None:
    from rich.console import Console

    from toolsmith._simulate.mistakes import MISTAKES

    titles = {m.name: m.title for m in MISTAKES}
    needs = {m.name: m.applies for m in MISTAKES}
    console = Console(file=out, highlight=False, markup=False, emoji=False, soft_wrap=True)
    answers = _chosen(found, options)
    for tool, form in found.forms.items():
        console.print(
            f"{tool}, with arguments in {'its own form' if form == 'its own' else f'the form {form}'}\n", style="bold"
        )
        if tool in found.unmade:
            console.print(f"  No valid arguments could be made of its schema: {found.unmade[tool]}\n", style="red")
        for name, group in groupby([a for a in answers if a.tool == tool], key=lambda a: a.mistake):
            _show(console, titles[name], list(group), every=options.every_place)
        unmade = [n for n in found.not_applicable[tool] if not options.mistake or n in options.mistake]
        for name in unmade:
            console.print(f"  {name}: does not apply, only where {needs[name]}", style="dim")
        if unmade:
            console.print()
    console.print(found.summary, style="red" if not found.ok else "green")
    if found.taken:
        console.print("What is taken would reach the function: see there what its schema could forbid.", style="yellow")


def _show(console: Console, title: str, answers: list[Answer], *, every: bool) -> None:
    """The answers to one mistake: all of them, or the worst and how many others there are."""
    from toolsmith.cli._people import printable

    order = get_args(_outcome())
    ranked = sorted(answers, key=lambda a: (not a.faults, a.outcome != "taken", order.index(a.outcome)))
    for answer in answers if every else ranked[:1]:
        passes = "" if not answer.text else ", passes" if not answer.faults else f", FAILS: {', '.join(answer.faults)}"
        style = "red" if answer.faults else "yellow" if answer.outcome == "taken" else "green"
        console.print(f"  {answer.mistake}: {title}", end="")
        console.print(f"  [{answer.outcome}{passes}]", style=style)
        console.print(printable(f"    {answer.called}({answer.sent})"), style="dim")
        said = answer.text or answer.advice or "In this form it is no mistake: null stands for what is left out."
        for line in said.splitlines():
            console.print(printable(f"    {line}") if line else "")
    if not every and len(answers) > 1:
        others = len(answers) - 1
        console.print(f"    ... and {others} more, at other places or in other ways", style="dim")
    console.print()


def _outcome() -> Any:
    from toolsmith._simulate.report import Outcome

    return Outcome
