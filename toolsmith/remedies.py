"""What to tell the model when a tool fails in a way that its author foresaw.

    @tool(on_error={
        ConnectionRefusedError: Remedy("The database is not running.", use="start_service", args={"name": "postgres"}),
        FileNotFoundError: "There is no such file.",
    })
    def run_tests(path: str) -> str: ...

The model reads the remedy's words; of the exception itself it reads nothing. `on_error` is one of

- a mapping from exception classes to answers: the class nearest to the exception's own counts;
- a list of pairs `(case, answer)`, where a case is a class, a tuple of classes, or a function of an exception that says
  whether it fits: the first pair that fits counts;
- a function of the exception that gives the answer, or None where it knows none.

An answer is a `Remedy`, a text, or a function of the exception that gives one of these or None. Cases are tried on the
exception, then on what it came from: its cause or context, and the members of a group.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, cast

from toolsmith._dataclass import dataclass
from toolsmith.errors import ToolError

if TYPE_CHECKING:
    from toolsmith.tool import Tool

log = logging.getLogger("toolsmith")

MAX_LINKS: Final = 32
"""Exceptions looked at behind one that was raised: chains may be endless, and groups wide."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """What the model is told of a failure, and how the cause is repaired.

    Attributes:
        message: what failed and why, as you would tell a colleague.
        hint: what to do next, a sentence.
        use: name of the tool that repairs the cause. It is checked when the agent is built; in a registry that is
            `prefixed`, it goes on to mean the tool that it was registered beside. Where a run cannot call that tool,
            it is not named to the model.
        args: arguments to call that tool with.
    """

    message: str
    _: KW_ONLY
    hint: str = ""
    use: str = ""
    args: Mapping[str, object] | None = None

    def error(self, *, untrusted: bool | None = None) -> ToolError:
        """The same, as a tool would have raised it; see there for `untrusted`."""
        return ToolError(self.message, hint=self.hint, use=self.use, args=self.args, untrusted=untrusted)


Handler = Callable[[Exception], "Remedy | str | None"]
Answer = Remedy | str | Handler
Case = type[Exception] | tuple[type[Exception], ...] | Callable[[Exception], bool]
# `type[Any]`: keys of a mapping are invariant, so `dict[type[KeyError], str]` would not be one from `type[Exception]`.
OnError = Mapping[type[Any], Answer] | Sequence[tuple[Case, Answer]] | Handler


def remedy_for(error: Exception, on_error: OnError, *, tool: str) -> ToolError | None:
    """What a tool's `on_error` has to say of an exception, None where it has nothing. Never raises.

    Words that were there before the exception are the author's own; a handler may have put some of others into its.

    Args:
        tool: its name, for the log: what a case or a handler raises itself counts as "does not fit".
    """
    for link in _chain(error):
        for answer in _answers(link, on_error, tool):
            if isinstance(answer, (Remedy, str)):
                return _remedy(answer).error(untrusted=False)
            try:
                given: object = answer(link)
            except Exception:
                log.exception("on_error of tool %s failed itself; the model is told of an internal error.", tool)
                continue
            if isinstance(given, (Remedy, str)):
                return _remedy(given).error()
            if given is not None:
                log.error("on_error of tool %s gave a %s; it takes a Remedy, a text or None.", tool, type(given))
        if callable(on_error):
            return None  # a handler is asked about the exception itself, and looks behind it as it likes
    return None


def _remedy(answer: Remedy | str) -> Remedy:
    return answer if isinstance(answer, Remedy) else Remedy(answer)


def _chain(error: Exception) -> Iterator[Exception]:
    """The exception, then what it came from, nearest first. `raise ... from None` hides what was before."""
    waiting: deque[BaseException] = deque([error])
    seen: set[int] = set()
    while waiting and len(seen) < MAX_LINKS:
        link = waiting.popleft()
        if id(link) in seen:
            continue
        seen.add(id(link))
        if isinstance(link, Exception):
            yield link
        before = link.__cause__ if link.__suppress_context__ else link.__cause__ or link.__context__
        if before is not None:
            waiting.append(before)
        if isinstance(link, BaseExceptionGroup):
            waiting += cast("BaseExceptionGroup[Any]", link).exceptions[:MAX_LINKS]


def _answers(error: Exception, on_error: OnError, tool: str) -> Iterator[Answer]:
    """The answers for one exception, the best first."""
    if isinstance(on_error, Mapping):
        kinds = cast("Mapping[type[Any], Answer]", on_error)
        for kind in sorted((k for k in kinds if isinstance(error, k)), key=lambda k: _distance(error, k)):
            yield kinds[kind]
    elif callable(on_error):
        yield on_error
    else:
        yield from (answer for case, answer in on_error if _fits(error, case, tool))


def _distance(error: Exception, kind: type[Any]) -> int:
    """How far a class is from the exception's own; virtual base classes come last."""
    order = type(error).__mro__
    return order.index(kind) if kind in order else len(order)


def _fits(error: Exception, case: Case, tool: str) -> bool:
    if isinstance(case, (type, tuple)):
        return isinstance(error, case)
    try:
        return bool(case(error))
    except Exception:
        log.exception("A case in on_error of tool %s failed itself; it counts as one that does not fit.", tool)
        return False


# ---- when tools and agents are built


def on_error_problems(on_error: object) -> list[str]:
    """What is wrong with an `on_error`, one sentence each."""
    if on_error is None or (callable(on_error) and not isinstance(on_error, type)):
        return []
    found: list[str] = []
    if isinstance(on_error, Mapping):
        pairs = list(cast("Mapping[object, object]", on_error).items())
        for case, _ in pairs:
            if not _is_class(case):
                found.append(f"on_error: {case!r} is no class of exceptions; functions go into a list of pairs.")
    elif isinstance(on_error, Sequence) and not isinstance(on_error, (str, bytes)):
        pairs: list[tuple[object, object]] = []
        for item in cast("Sequence[object]", on_error):
            pair = cast("tuple[object, ...]", item) if isinstance(item, tuple) else ()
            if len(pair) != 2:
                found.append(f"on_error: {item!r} is no pair of a case and an answer.")
                continue
            case, answer = pair
            pairs.append((case, answer))
            if not _is_case(case):
                found.append(f"on_error: {case!r} is no class of exceptions, no tuple of them and no function.")
    else:
        return [f"on_error={on_error!r}: give a mapping from exception classes, a list of pairs, or a function."]
    for case, answer in pairs:
        if not isinstance(answer, (Remedy, str)) and (isinstance(answer, type) or not callable(answer)):
            found.append(f"on_error: {_named(case)} is answered by {answer!r}; give a Remedy, a text or a function.")
    return found


def _is_class(case: object) -> bool:
    return isinstance(case, type) and issubclass(case, Exception)


def _is_case(case: object) -> bool:
    if isinstance(case, tuple):
        members = cast("tuple[object, ...]", case)
        return len(members) > 0 and all(map(_is_class, members))
    return _is_class(case) or (callable(case) and not isinstance(case, type))


def _named(case: object) -> str:
    if isinstance(case, tuple):
        return " or ".join(map(_named, cast("tuple[object, ...]", case)))
    return getattr(case, "__name__", repr(case))


def missing_tools(tools: Collection[Tool[..., Any]], left_out: Collection[str]) -> list[str]:
    """The remedies that name a tool which is not there, one sentence each.

    Args:
        tools: what an agent has.
        left_out: names that were taken out of its registries on purpose; those are not missed.
    """
    names = [t.name for t in tools]
    known = {*names, *left_out}
    return [
        f"{tool.origin}: {tool.name!r} answers {_named(case)} with the tool {use!r} (on_error), and this agent has "
        f"none of that name.{_guess(use, names)} Give the agent that tool, or take `use` out."
        for tool in tools
        for case, remedy in _written(tool.options.on_error)
        if (use := tool.neighbour(remedy.use)) and use not in known
    ]


def _written(on_error: OnError | None) -> Iterator[tuple[object, Remedy]]:
    """The remedies that can be read without an exception at hand."""
    if on_error is None or callable(on_error):
        return
    pairs = on_error.items() if isinstance(on_error, Mapping) else on_error
    for case, answer in pairs:
        if isinstance(answer, Remedy):
            yield case, answer


def _guess(name: str, names: Sequence[str]) -> str:
    near = get_close_matches(name, names, n=2)
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
