"""What the author of a tool may decide about it, beside its code."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable
from dataclasses import fields
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict, cast, get_args

from toolsmith._dataclass import dataclass

if TYPE_CHECKING:
    from toolsmith.approvals import PendingCall
    from toolsmith.remedies import OnError


Effect = Literal["read", "write"]
"""What a tool does to the world: it looks, or it changes something, such as sending a mail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOptions:
    """How a tool is offered and run.

    Attributes:
        strict: True: its calls must be held to the schema by the service, or offering it is an error. None: where that
            loses nothing and the service has room. False: never. Arguments are checked here in any case.
        max_calls_per_run: how often one run may call it, None for no limit of its own.
        group: tools of one group share a limit: `@tool(group="web")` and `Limits(groups={"web": 5})`.
        timeout: seconds for one call, None for the run's own limit (30 unless set), `math.inf` for none.
        sequential: its calls run alone: not before all earlier ones have ended, nor beside later ones.
        coerce: "3" may stand for 3, "true" for true, and null for an argument left out.
        repeatable: the same call with the same arguments may come again and again, as for a clock or a queue. Of other
            tools a call that has failed twice in the same way, or has twice found nothing, is not run a third time.
        effect: "read": it changes nothing, so that after it a call that failed would fail again. Mark searches and the
            like: what is not marked may have repaired the cause of a failure, and failed calls are tried anew. "write":
            it changes something that matters (sends, pays, deletes, publishes), so that text which others have written
            does not get into it unasked (see `Agent(untrusted=...)`). None: neither is said.
        read_only: short for effect="read", and True where that is given.
        untrusted: what it gives was written by others, as web pages and mails are. The model is shown it between
            fences, as data; see `Agent(untrusted=...)`.
        untrusted_in: parameters of a tool with effect="write" that such text may get into unasked: what only names
            something, such as the id of a mail to be archived.
        requires_approval: a person decides about each call (see `toolsmith.approvals`), or about those for which this
            function of a `PendingCall` gives True.
        on_error: what the model is told of exceptions that are foreseen (see `toolsmith.remedies`).
        max_result_size: characters of its result that the model is shown, None for the run's own limit (50,000 unless
            set). Longer ones are cut, and the model can read on.
        thread: a sync function runs on a worker thread; False runs it on the event loop's own, which it then blocks.
    """

    strict: bool | None = None
    max_calls_per_run: int | None = None
    group: str | None = None
    timeout: float | None = None
    sequential: bool = False
    coerce: bool = False
    repeatable: bool = False
    effect: Effect | None = None
    read_only: bool = False
    untrusted: bool = False
    untrusted_in: Collection[str] = ()
    requires_approval: bool | Callable[[PendingCall], bool] = False
    on_error: OnError | None = None
    max_result_size: int | None = None
    thread: bool = True

    def __post_init__(self) -> None:
        # Two spellings of one thing, so that whoever asks may ask for either.
        if self.read_only and self.effect is None:
            object.__setattr__(self, "effect", "read")
        elif self.effect == "read":
            object.__setattr__(self, "read_only", True)


class Options(TypedDict, total=False):
    """The keywords of `@tool` and `Tool` that make up `ToolOptions`."""

    strict: bool | None
    max_calls_per_run: int | None
    group: str | None
    timeout: float | None
    sequential: bool
    coerce: bool
    repeatable: bool
    effect: Effect | None
    read_only: bool
    untrusted: bool
    untrusted_in: Collection[str]
    requires_approval: bool | Callable[[PendingCall], bool]
    on_error: OnError | None
    max_result_size: int | None
    thread: bool


LEAST_SIZE = 200
"""Characters: a cut result has to say that it is one."""

_KNOWN = tuple(f.name for f in fields(ToolOptions))
_FLAGS = frozenset({"sequential", "coerce", "repeatable", "read_only", "untrusted", "thread"})
_EFFECTS: Final = get_args(Effect)

# What the same thing is called elsewhere, and what is on its way.
_ELSEWHERE = {
    "strict_mode": "strict",
    "name_override": "name",
    "title": "name",
    "description_override": "description",
    "max_calls": "max_calls_per_run",
    "max_uses": "max_calls_per_run",
    "usage_limit": "max_calls_per_run",
    "call_limit": "max_calls_per_run",
    "timeout_seconds": "timeout",
    "result_chars": "max_result_size",
    "max_result_chars": "max_result_size",
    "max_output_length": "max_result_size",
    "parallel": "sequential",
    "args_schema": "parameters",
    "input_schema": "parameters",
    "func": "handler",
    "needs_approval": "requires_approval",
    "requires_confirmation": "requires_approval",
    "readonly": "read_only",
    "read_only_hint": "read_only",
    "readOnlyHint": "read_only",
    "side_effect": "effect",
    "side_effects": "effect",
    "tainted": "untrusted",
    "failure_error_function": "on_error",
    "handle_tool_error": "on_error",
    "error_handler": "on_error",
}


def unknown_options(options: Iterable[str], where: str, *, raw: bool = False) -> str:
    """What to tell the author of options that do not exist; "" where all do."""
    known = (
        *(("name", "description", "parameters", "handler") if raw else ("name", "description", "strict_docs")),
        *_KNOWN,
    )
    told: list[str] = []
    for name in options:
        if name in _KNOWN:
            continue
        meant = _ELSEWHERE.get(name)
        if meant not in known:
            near = get_close_matches(name, known, n=1)
            meant = near[0] if near else None
        told.append(f"{where} has no option {name!r}.{f' Did you mean {meant}=?' if meant is not None else ''}")
    return " ".join([*told, f"The options are: {', '.join(known)}."]) if told else ""


def option_problems(options: dict[str, Any]) -> list[str]:
    """What is wrong with the values of options, one sentence each."""
    found: list[str] = []
    strict = options.get("strict")
    if strict is not None and not isinstance(strict, bool):
        found.append(f"strict={strict!r}: give True, False or None.")
    calls = options.get("max_calls_per_run")
    if calls is not None and (isinstance(calls, bool) or not isinstance(calls, int) or calls < 0):
        found.append(f"max_calls_per_run={calls!r}: give a whole number from 0 on, or None for no limit.")
    group = options.get("group")
    if group is not None and (not isinstance(group, str) or not group):
        found.append(f"group={group!r}: give the name of a group, such as 'web', or None.")
    seconds = options.get("timeout")
    if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds > 0):
        found.append(f"timeout={seconds!r}: give seconds, more than 0, or None for the run's own limit.")
    effect = options.get("effect")
    if effect is not None and effect not in _EFFECTS:
        found.append(f"effect={effect!r}: give {' or '.join(map(repr, _EFFECTS))}, or None.")
    elif effect == "write" and options.get("read_only"):
        found.append("effect='write' and read_only=True contradict each other: leave one of them out.")
    found += _untrusted_in_problems(options)
    size = options.get("max_result_size")
    if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < LEAST_SIZE):
        found.append(
            f"max_result_size={size!r}: give a whole number of characters, {LEAST_SIZE} or more, or None for the run's "
            "own limit."
        )
    approval = options.get("requires_approval", False)
    if not isinstance(approval, bool) and not callable(approval):
        found.append(f"requires_approval={approval!r}: give True, False or a function of the call.")
    elif inspect.iscoroutinefunction(approval):
        found.append(f"requires_approval={approval.__name__}: give a plain function: an async one would be no answer.")
    if options.get("on_error") is not None:
        from toolsmith.remedies import on_error_problems

        found += on_error_problems(options["on_error"])
    found += [
        f"{name}={options[name]!r}: give True or False."
        for name in _FLAGS
        if name in options and not isinstance(options[name], bool)
    ]
    return found


def _untrusted_in_problems(options: dict[str, Any]) -> list[str]:
    names: object = options.get("untrusted_in", ())
    if isinstance(names, str):
        return [f"untrusted_in={names!r}: give a list, ({names!r},)."]
    if not isinstance(names, Collection) or not all(isinstance(n, str) for n in cast("Collection[object]", names)):
        return [f"untrusted_in={names!r}: give the names of parameters."]
    if names and options.get("effect") != "write":
        return ["untrusted_in is for tools with effect='write'; of others all parameters take such text."]
    return []
