"""Calls that wait for a person: who is asked, and what is kept until the answer comes, in another process too.

@tool(requires_approval=True)
def pay(iban: str, amount: Decimal) -> str: ...

result = agent.run_sync("Pay the rent.")
if result.stop_reason == "approval":
    store(result.pending.dump())
...
pending = Pending.load(stored())
result = agent.resume_sync(pending, approve=[call.id for call in pending.calls])
"""

from __future__ import annotations

import inspect
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, field
from typing import TYPE_CHECKING, Any, cast

from toolsmith._dataclass import dataclass
from toolsmith._run.breaker import Breaker
from toolsmith.errors import HistoryError
from toolsmith.history import dump_messages, load_messages
from toolsmith.messages import Message, ToolResult, Usage

if TYPE_CHECKING:
    from toolsmith._calls.job import Job
    from toolsmith._run.loop import Conversation
    from toolsmith._run.steps import Decision
    from toolsmith._run.turn import Turn
    from toolsmith._untrusted.spans import UntrustedSpan
    from toolsmith.dialects import Offered
    from toolsmith.messages import ToolCall

VERSION = 1
"""Of the JSON that `Pending.dump` gives."""


@dataclass(frozen=True, slots=True)
class PendingCall:
    """A call that waits for a person.

    Attributes:
        id: to name it by in `resume`.
        name: the tool's.
        arguments: by the tool's parameters, as plain JSON data. A number with more digits than a float keeps is a float
            that prints as it was written.
        reason: why it waits, where the tool does not always ask; "" elsewhere.
        untrusted: the parts of the arguments that others have written (see `Agent(untrusted=...)`).
    """

    id: str
    name: str
    arguments: Mapping[str, Any]
    reason: str = ""
    untrusted: tuple[UntrustedSpan, ...] = ()

    @classmethod
    def load(cls, data: Mapping[str, Any]) -> PendingCall:
        """What `dataclasses.asdict` gave."""
        from toolsmith._untrusted.spans import UntrustedSpan

        spans = tuple(UntrustedSpan(**span) for span in data.get("untrusted", ()))
        return cls(data["id"], data["name"], data["arguments"], data.get("reason", ""), spans)


Approve = Callable[[PendingCall], "Decision | Awaitable[Decision]"]
"""Decides about a call: True runs it, False or a text (which the model is told) refuses it, None leaves it open.

So does anything else, or an exception: the log has the error.

It is asked on the thread that drives the run, in a blocking run without `Limits(seconds=...)`; else on a worker thread,
so that the run can end while it waits. What nobody has decided by then stays open.
"""


@dataclass(frozen=True, slots=True)
class Answered:
    """A call of the waiting turn that has its answer already; it is not run again."""

    result: ToolResult
    seconds: float
    ran: bool


@dataclass(frozen=True, slots=True, eq=False)
class Pending:
    """A run that waits for a person.

    Attributes:
        calls: the ones that wait.
        messages: the history, to go on from without a decision too: it ends with the answers to the turn whose calls
            these are, which say of those that wait that they were not run.
        answered: what became of the other calls of that turn, by their place in it.
        usage, turns, tool_calls, by_tool, by_group: what the run has used, so that its limits go on to hold.
        breaker: which calls have failed before.
        allowed: the names of the tools that may be called, None for all.
        pages: results that were cut, so that the model can go on to read them.
        had_deps: whether the run had `deps`, which are not kept: `resume` is to be given some.
    """

    calls: tuple[PendingCall, ...]
    messages: list[Message]
    answered: Mapping[int, Answered] = field(default_factory=dict[int, Answered])
    usage: Usage = field(default_factory=Usage)
    turns: int = 0
    tool_calls: int = 0
    by_tool: Counter[str] = field(default_factory=Counter[str])
    breaker: Breaker = field(default_factory=Breaker)
    by_group: Counter[str] = field(default_factory=Counter[str])
    allowed: Collection[str] | None = None
    pages: Mapping[str, Any] = field(default_factory=dict[str, Any])
    had_deps: bool = False
    _made_of: str = field(default="", init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_made_of", self._digest())

    def _digest(self) -> str:
        from toolsmith._run.stored import digest

        return digest([asdict(call) for call in self.calls])

    def check(self) -> None:
        """That the calls are those that the model asked for: their arguments are dicts, which can be changed.

        Raises:
            HistoryError: they were changed.
        """
        if self._made_of != self._digest():
            raise HistoryError("The calls of this `Pending` were changed since it was made. Nothing was run.")

    @classmethod
    def of(cls, talk: Conversation, turn: Turn, calls: tuple[PendingCall, ...]) -> Pending:
        """A run as it stands, whose `turn` waits; later changes of the run do not reach it."""
        allowed, pages, budget = talk.allowed, talk.pages, talk.budget
        if pages is not None and allowed is not None:
            allowed = [name for name in allowed if name != pages.reader.name]
        kept = {} if pages is None else pages.dump()  # before `so_far`, which cuts results that are cut again later
        return cls(
            calls,
            [*talk.history, turn.so_far()],
            {i: Answered(r.result, r.seconds, r.ran) for i, r in turn.records.items()},
            budget.usage,
            budget.turns,
            budget.calls,
            budget.by_tool.copy(),
            talk.breaker.copy(),
            budget.by_group.copy(),
            allowed,
            kept,
            talk.deps is not None,
        )

    def dump(self) -> str:
        """As JSON text, for `load`.

        Raises:
            HistoryError: the calls were changed.
        """
        from toolsmith._arguments.jsontext import number, written
        from toolsmith._run.stored import dumped, seal

        self.check()
        calls, history = written([asdict(c) for c in self.calls], exact=True).decode(), dump_messages(self.messages)
        kept = json.dumps(
            {
                "toolsmith_pending": VERSION,
                "seal": seal(json.loads(calls, parse_float=number), history),
                "history": history,
                "answered": {
                    str(i): {"result": dumped(a.result), "seconds": a.seconds, "ran": a.ran}
                    for i, a in self.answered.items()
                },
                "usage": asdict(self.usage),
                "turns": self.turns,
                "tool_calls": self.tool_calls,
                "by_tool": dict(self.by_tool),
                "breaker": self.breaker.dump(),
                "by_group": dict(self.by_group),
                "allowed": None if self.allowed is None else sorted(self.allowed),
                "pages": self.pages,
                "had_deps": self.had_deps,
            }
        )
        return f'{{"calls": {calls}, {kept[1:]}'

    @classmethod
    def load(cls, text: str | bytes) -> Pending:
        """What `dump` gave.

        Raises:
            HistoryError: this is no such JSON, or of another version; or it was changed since, so that what a person
                is shown is not what the model asked for.
        """
        from toolsmith._arguments.jsontext import number
        from toolsmith._run.stored import agree, check, loaded, pages, seal

        try:
            data: dict[str, Any] = json.loads(text, parse_float=number)
            if data["toolsmith_pending"] != VERSION:
                raise HistoryError(f"This has version {data['toolsmith_pending']!r}; this toolsmith reads {VERSION}.")
            check(data)
            if data["seal"] != seal(data["calls"], data["history"]):
                raise HistoryError(
                    "This `Pending` was changed since it was dumped. Nothing was run; start the run again."
                )
            pending = cls(
                tuple(PendingCall.load(c) for c in data["calls"]),
                load_messages(data["history"]),
                {int(i): Answered(loaded(a["result"]), a["seconds"], a["ran"]) for i, a in data["answered"].items()},
                Usage(**data["usage"]),
                data["turns"],
                data["tool_calls"],
                Counter(data["by_tool"]),
                Breaker.load(data["breaker"]) if "breaker" in data else Breaker(),
                Counter(data.get("by_group", {})),
                data.get("allowed"),
                pages(data.get("pages", {})),
                data.get("had_deps", False),
            )
            agree(pending.calls, pending.messages, pending.answered)
            return pending
        except HistoryError:
            raise
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
            raise HistoryError(f"This is no dumped `Pending`: {type(error).__name__} {error}.") from None

    def decisions(self, approve: Collection[str] | bool, deny: Mapping[str, str] | Collection[str]) -> list[Decision]:
        """A decision for each call, None where nothing was said.

        Raises:
            ValueError: an id that does not wait here, or one that is both approved and denied; or something else than
                ids, such as other arguments for a call.
        """
        ids = [c.id for c in self.calls]
        yes = set(ids) if approve is True else set(() if approve is False else _ids(approve, "approve", ids))
        no = _ids(deny, "deny", ids)
        if approve is True:
            yes -= set(no)
        for wrong in (*(i for i in yes if i not in ids), *(i for i in no if i not in ids)):
            raise ValueError(f"No call {wrong!r} waits for approval; these do: {', '.join(ids) or 'none'}.")
        if both := yes & set(no):
            raise ValueError(f"Approved and denied at once: {', '.join(sorted(both))}.")
        reasons = dict(cast("Mapping[str, str]", deny)) if isinstance(deny, Mapping) else dict.fromkeys(no, "")
        return [True if i in yes else (reasons[i] or False) if i in reasons else None for i in ids]


def _ids(given: object, name: str, ids: Sequence[str]) -> list[str]:
    """Ids as `resume` was given them. What only looks like ids must not run a call that a person has refused.

    Raises:
        ValueError: it is anything else; the text says what to give.
    """
    one = repr(ids[0] if ids else "call_1")
    everything = "True for all" if name == "approve" else "a list of all ids to refuse them all"
    lists = f"give ids in a list, as in {name}=[{one}]; {everything}."
    if isinstance(given, str):
        raise ValueError(f"{name}={given!r}: {lists}")
    if isinstance(given, Mapping):
        held = cast("Mapping[object, object]", given)
        if name == "approve":
            raise ValueError(
                f"approve={given!r}: it takes no mapping, since a call is run with the arguments that the model sent, "
                f"or not at all. Give approve=[{one}] for the calls to run and deny={{{one}: 'the reason'}} for the "
                "others; to have other arguments, deny the call, and say in the reason what to send instead."
            )
        for key, reason in held.items():
            if not isinstance(reason, (str, type(None))):
                raise ValueError(
                    f"deny={{{key!r}: {reason!r}}}: give the reason as a text, as in deny={{{one}: 'the reason'}}."
                )
    elif not isinstance(given, Collection):
        raise ValueError(f"{name}={given!r}: {lists}")
    found = list(cast("Collection[object]", given))
    for item in found:
        if not isinstance(item, str):
            raise ValueError(f"{name} has {item!r}, which is no id: {lists}")
    return cast("list[str]", found)


def may(job: Job) -> bool:
    """Whether its tool ever needs a person's word."""
    return job.tool.options.requires_approval is not False


def waits(job: Job, call: PendingCall) -> bool:
    """Whether a call needs a person's word. A predicate that fails counts as yes: nothing runs unasked."""
    needed = job.tool.options.requires_approval
    if isinstance(needed, bool):
        return needed
    try:
        return bool(needed(call))
    except Exception:  # noqa: BLE001 - the user's function; whatever it raises, the call must not run
        from toolsmith._calls.settle import log

        log.exception("requires_approval of %s failed; the call waits for approval.", job.tool.name)
        return True


def shown(job: Job, offered: Offered | None) -> PendingCall:
    """The call as a person is shown it: by the tool's own parameters, whatever form the service made of them."""
    from toolsmith._arguments.jsontext import accepted

    arguments = accepted(job.call.arguments)
    if offered is not None and not offered.exact:
        arguments = offered.decode(arguments)
    return PendingCall(job.call.id, job.tool.name, cast("dict[str, Any]", arguments))


def neutral(call: ToolCall, shown: PendingCall) -> str:
    """The arguments of a call that waited, as JSON of the tool's own schema, whatever form a service made of them.

    That service may not be the one that is asked now. What a person has seen is what is run; the model's own text
    stands where it says the same, since it may have more digits than a float.
    """
    from toolsmith._arguments.jsontext import accepted, written

    if accepted(call.arguments) == shown.arguments:
        return call.arguments
    return written(dict(shown.arguments), exact=True).decode()


def decide(approve: Approve | None, calls: Sequence[PendingCall], timeout: float | None = None) -> list[Decision]:
    """Ask about each call: on this thread, but for what waits (a coroutine, or anything for so many seconds)."""
    from toolsmith._calls import workers

    if approve is None:
        return [None] * len(calls)
    if timeout is not None:
        return workers.wait_for(adecide(approve, calls, timeout))

    async def wait(answer: Awaitable[Decision]) -> Decision:
        return await answer

    decisions: list[Decision] = []
    for call in calls:
        with _left_open_if_it_fails(call, decisions):
            answer = approve(call)
            decisions.append(_decision(workers.wait_for(wait(answer)) if inspect.isawaitable(answer) else answer))
    return decisions


@contextmanager
def _left_open_if_it_fails(call: PendingCall, decisions: list[Decision]) -> Generator[None]:
    """A function that fails has decided nothing, and must not cost the work so far."""
    try:
        yield
    except Exception:  # noqa: BLE001 - the user's function
        from toolsmith._calls.settle import log

        log.exception("approve failed on a call of %s; the call stays undecided.", call.name)
        decisions.append(None)


def _decision(answer: object) -> Decision:
    """What `approve` gave back: something that is merely true is no "yes"."""
    if answer is None or isinstance(answer, (bool, str)):
        return answer
    raise TypeError(f"approve gave {answer!r}. Give True, False, the reason for a no as a text, or None.")


async def adecide(
    approve: Approve | None, calls: Sequence[PendingCall], timeout: float | None = None
) -> list[Decision]:
    """Ask about each call; a sync `approve` runs on a worker thread, since it may wait for a person.

    When the time is over, calls on which nobody has decided stay undecided.
    """
    decisions: list[Decision] = []
    if approve is not None:
        import asyncio

        try:
            async with asyncio.timeout(timeout):
                for call in calls:
                    with _left_open_if_it_fails(call, decisions):
                        decisions.append(_decision(await _asked(approve, call)))
        except TimeoutError:  # the clock's: one of the user's own is a failure like any other
            pass
    return decisions + [None] * (len(calls) - len(decisions))


async def _asked(approve: Approve, call: PendingCall) -> Decision:
    import asyncio

    from toolsmith._calls import workers

    if inspect.iscoroutinefunction(approve):
        return await approve(call)
    answer = await workers.call(asyncio.get_running_loop(), lambda: approve(call))
    return await answer if inspect.isawaitable(answer) else answer
