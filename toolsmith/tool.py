"""A plain function as a tool: `@tool`, and the `Tool` that it makes.

@tool
def add(a: int, b: int) -> int:
    "Add two whole numbers."
    return a + b

add(19, 23)                               # still the function it was
add.input_schema                          # JSON Schema of its arguments
add.call_json_sync('{"a": 19, "b": 23}')  # ToolResult(success=True, data=42, ...)
"""

from __future__ import annotations

import copy
import inspect
from asyncio import CancelledError
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Literal, ParamSpec, TypeVar, overload

from typing_extensions import Unpack

from toolsmith._arguments.check import Checked, Door
from toolsmith._calls import results
from toolsmith._calls.invoke import run_one
from toolsmith._calls.job import Outcome, alone, may_wait
from toolsmith._calls.settle import settle
from toolsmith._derive.definition import (
    Definition,
    bound_to,
    dress,
    from_function,
    from_schema,
    is_callable,
    kind_of,
    no_instance,
    not_callable,
)
from toolsmith._derive.names import name_problem
from toolsmith._derive.options import Options, ToolOptions, option_problems, unknown_options
from toolsmith._derive.schema import Deferred
from toolsmith._derive.signature import read
from toolsmith._dialects import tool_dicts
from toolsmith._feedback import FEEDBACK, Feedback
from toolsmith._plain import FEW_LEFT, values_left
from toolsmith._run.context import RunContext
from toolsmith.errors import DefinitionError
from toolsmith.messages import ToolResult, ToolSpec

if TYPE_CHECKING:
    from toolsmith.dialects import Offered, Service, StrictReport
    from toolsmith.messages import HostedTool

__all__ = ["Checked", "RunContext", "Tool", "ToolOptions"]

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")

_NOT_GIVEN: Any = object()


class Tool(Generic[P, R]):
    """A function that a model may call; for Python it stays the function it was.

    Args:
        fn: a function or any other callable: async ones, methods, partials, instances. Its parameters are annotated.
        name: instead of the function's own: letters, digits and underscores, at most 64.
        description: instead of the docstring's.
        strict_docs: a docstring entry for a parameter that does not exist is an error, not a warning.
        parameters: the raw road, with `handler`: a JSON Schema (dict) of the arguments, from elsewhere. Left out, the
            tool takes a single string, `input`.
        handler: called with the arguments by name; or, if it has a single parameter of another name, with all of them
            as a dict; or with the one string.
        options: see `ToolOptions`.

    Raises:
        DefinitionError: this cannot be a tool; every reason at once, with its place and the way out.
        TypeError: an option that does not exist.

    Attributes:
        name: as the model knows it.
        options: how it is offered and run.
        is_async: calling it gives something to await.
        code: of the coroutine function behind it; None for all others.
        inner: the tools of the agent that it runs, for `Agent.as_tool`; empty for all others.
        hosted: what takes its place where the model's service has that; None for all but `WebSearch`.
        only_hosted: nothing stands behind it here.
    """

    inner: Iterable[Tool[..., Any]] = ()
    hosted: HostedTool | None = None
    only_hosted: bool = False
    __name__: str
    __qualname__: str
    __wrapped__: Callable[P, R]

    @overload
    def __init__(
        self,
        fn: Callable[P, R],
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        strict_docs: bool = False,
        **options: Unpack[Options],
    ) -> None: ...
    @overload
    def __init__(
        self: Tool[..., Any],
        /,
        *,
        name: str,
        description: str,
        handler: Callable[..., Any],
        parameters: Mapping[str, Any] | None = None,
        **options: Unpack[Options],
    ) -> None: ...
    def __init__(
        self,
        fn: Any = None,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        strict_docs: bool = False,
        parameters: Any = _NOT_GIVEN,
        handler: Any = None,
        **options: Any,
    ) -> None:
        raw = fn is None
        call: Any = handler if raw else fn
        if wrong := unknown_options(options, "Tool", raw=raw):
            raise TypeError(wrong)
        if not is_callable(call):
            raise TypeError(not_callable(call))
        self._call: Any = call._call if isinstance(call, Tool) else call
        self._reading = read(self._call)
        self.name: str = self._reading.name if name is None else name
        self._reading.name = self.name
        self.is_async, self.code = kind_of(self._call)
        self._description = None if description is None else inspect.cleandoc(description)
        self._strict_docs = strict_docs
        self._spec: ToolSpec | None = None
        self._bound = False
        self._renames: Mapping[str, str] = {}
        self._definition: Definition | None = None
        problems = [f"{self.origin}: {self.name!r}: {p}" for p in option_problems(options)]
        self._define(problems, None if parameters is _NOT_GIVEN else parameters, raw=raw)
        self.options = ToolOptions(**options)
        dress(self, self._call, is_async=self.is_async)

    def _define(self, problems: list[str], parameters: Any, *, raw: bool) -> None:
        if raw:
            self._definition = from_schema(
                self._reading,
                description=self._description or "",
                parameters=parameters,
                handler=self._call,
                problems=problems,
            )
            return
        try:
            self._definition = from_function(
                self._reading, description=self._description, strict_docs=self._strict_docs, problems=problems
            )
        except Deferred:
            if problems:
                raise DefinitionError(problems) from None

    def _defined(self) -> Definition:
        """The definition, made now if a type was not there yet when the tool was."""
        if self._definition is None:
            self._reading = read(self._call, final=True)
            self._reading.name = self.name
            made = from_function(self._reading, description=self._description, strict_docs=self._strict_docs)
            self._definition = made
        return self._definition

    # ---- what it is

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function, exactly as if it had never been made a tool."""
        return self._call(*args, **kwargs)

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None, /) -> Tool[P, R]: ...
    @overload
    def __get__(
        self: Tool[Concatenate[Any, Q], S], instance: object, owner: type[Any] | None = None, /
    ) -> Tool[Q, S]: ...
    def __get__(self, instance: Any, owner: type[Any] | None = None, /) -> Tool[..., Any]:
        """A tool made of a method is bound like a method; any other stays what it is."""
        bound = bound_to(self._call, instance, owner) if self._reading.unbound else None
        return self if bound is None else self._copied(_call=bound, _bound=True)

    @property
    def origin(self) -> str:
        """Where the function is defined: "shop/tools.py:12"."""
        return str(self._reading.place)

    @property
    def description(self) -> str:
        """What the model is told of the tool, its parameters aside."""
        return self._defined().description

    @property
    def input_schema(self) -> dict[str, Any]:
        """Neutral JSON Schema (draft 2020-12) of the arguments; a copy, to do with as you like."""
        return copy.deepcopy(self._defined().schema)

    @property
    def spec(self) -> ToolSpec:
        """All that a provider may know of this tool.

        Raises:
            DefinitionError: it is a method that nobody has taken from an instance.
        """
        if self._spec is None:
            self.refuse_unbound()
            made = self._defined()
            self._spec = ToolSpec(self.name, made.description, made.schema)
        return self._spec

    def refuse_unbound(self) -> None:
        """See that no object is missing which only Python code could give.

        Raises:
            DefinitionError: it is a method that nobody has taken from an instance.
        """
        if self._reading.unbound and not self._bound:
            raise DefinitionError(no_instance(self._reading))

    @property
    def takes_context(self) -> bool:
        """Whether it has a parameter for the `RunContext`."""
        return (self._definition or self._defined()).takes_context

    @cached_property
    def _door(self) -> Door:
        made = self._defined()
        return Door(
            tool_name=self.name,
            validator=made.validator,
            schema=getattr(made.validator, "explained", made.schema),
            coerce=self.options.coerce,
            parameters=self._reading.parameters,
        )

    @cached_property
    def never_waits(self) -> bool:
        """Whether it is a coroutine function without an `await`: on an event loop it ends as soon as it begins."""
        return self.is_async and not may_wait(self.code)

    @cached_property
    def _straight(self) -> bool:
        """Whether a call by itself is the bare function's: it cannot wait, and others have no part in it."""
        return self.never_waits and self._defined().caller.by_name and not self.options.untrusted

    def renamed(self, name: str, *, beside: Mapping[str, str] | None = None) -> Tool[P, R]:
        """The same tool under another name.

        Args:
            name: the new one.
            beside: the new names of tools that are renamed together with it, so that its remedies go on to name them.

        Raises:
            DefinitionError: the name is not legal.
        """
        if wrong := name_problem(name):
            raise DefinitionError(f"{self.origin}: {self.name!r} cannot be renamed to {name!r}: {wrong}.")
        new = {**(beside or {}), self.name: name}
        before = {old: new.get(now, now) for old, now in self._renames.items()}
        return self._copied(name=name, _spec=None, _renames={**new, **before})

    def neighbour(self, name: str) -> str:
        """What a tool is called now that this one's remedies know as `name`, after `renamed` and `prefixed`."""
        return self._renames.get(name, name)

    def _copied(self, **changes: Any) -> Any:
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__, **changes)
        new.__dict__.pop("_door", None)  # it knows the tool by its name
        return new

    def __reduce__(self) -> str:
        return str(self.__dict__.get("__qualname__", self.name))  # found again by name, as functions are

    def __repr__(self) -> str:
        return f"<Tool {self.name} ({self.origin})>"

    # ---- how services are told of it

    def to_openai(self, api: Literal["responses", "chat"] = "responses", strict: bool | None = None) -> dict[str, Any]:
        """The tool as OpenAI's API takes it.

        Args:
            api: "responses", or "chat" for Chat Completions.
            strict: instead of the tool's own switch.

        Raises:
            DefinitionError: it must be strict, and has no strict form.
        """
        return tool_dicts.openai_dict(self.spec, self._strictness(strict), api)

    def to_anthropic(self, strict: bool | None = None) -> dict[str, Any]:
        """The tool as Claude's Messages API takes it, offered alone: a list of tools shares Claude's ceilings.

        Args:
            strict: instead of the tool's own switch.

        Raises:
            DefinitionError: it must be strict, and has no strict form.
        """
        return tool_dicts.anthropic_dict(self.spec, self._strictness(strict))

    def strict_report(self, provider: Literal["openai", "anthropic", "local"] | Service) -> StrictReport:
        """Whether this tool, offered alone, is held to its schema by a service, and why; `print` it."""
        return tool_dicts.report(self.spec, self.options.strict, provider)

    def _strictness(self, strict: bool | None) -> bool | None:
        return self.options.strict if strict is None else strict

    # ---- a call, in the three steps of which a run is made

    def check(self, text: str, offered: Offered | None = None, *, feedback: Feedback = FEEDBACK) -> Checked:
        """Arguments as the model wrote them: values for `invoke`, or what is wrong with them. Never raises.

        Args:
            text: JSON.
            offered: how the service was told of the tool, None for its neutral schema.
            feedback: the words.
        """
        if offered is None or offered.exact:
            return self._door.check(text, None, feedback)
        checked = self._door.check(text, offered.decode, feedback, offered)
        return checked.worded(offered.sent_names()) if checked.error or checked.notes else checked

    def invoke(self, values: Any, context: RunContext[Any] | None) -> Any:
        """Call the function with checked values: gives what it gives, a coroutine or a generator too.

        Args:
            values: from `check`; used up.
            context: for the parameter that takes one.
        """
        caller = (self._definition or self._defined()).caller
        return self._call(**values) if caller.by_name else caller.call(self._call, values, context)

    def finish(self, value: Any, *, feedback: Feedback = FEEDBACK) -> ToolResult:
        """What the function gave, as plain JSON data; or as a failure, where it cannot be shown.

        Raises:
            Exception: it gave one, or reading what it gave ran code that failed.
        """
        return results.result_of(value, self.name, self._reading.place, feedback)

    # ---- a call, all at once

    async def call_json(self, text: str, *, context: RunContext[Any] | None = None) -> ToolResult:
        """Call the tool as a model would. A sync function runs on a worker thread and does not stall the loop.

        Args:
            text: the arguments, JSON.
            context: for the parameter that takes one; None gives an empty one.

        Raises:
            CancelledError: the caller was cancelled. Whatever the tool itself raises becomes a failed result, but for
                `KeyboardInterrupt` and `SystemExit`.
        """
        checked = self._door.check(text)
        values, error, notes, _, _ = checked
        if error is not None:
            return ToolResult(False, error=error)
        if not notes and self._straight:
            # It needs no task and no timer: it ends here and now.
            try:
                value = await self._call(**values)
                if values_left(value) > FEW_LEFT:
                    return results.success(value)
                outcome = Outcome(value)
            except (Exception, CancelledError) as raised:  # noqa: BLE001 - whatever a tool raises is its failure
                outcome = Outcome(None, raised)
            return settle(alone(self, text, checked, context), outcome, FEEDBACK).result
        job = alone(self, text, checked, context)
        return settle(job, await run_one(job), FEEDBACK).result

    def call_json_sync(self, text: str, *, context: RunContext[Any] | None = None) -> ToolResult:
        """`call_json` for code that has no event loop, or must not use it. Blocks until the tool has ended."""
        from toolsmith._calls.invoke_blocking import run_one_blocking

        checked = self._door.check(text)
        if checked.error is not None:
            return ToolResult(False, error=checked.error)
        job = alone(self, text, checked, context)
        return settle(job, run_one_blocking(job), FEEDBACK).result
