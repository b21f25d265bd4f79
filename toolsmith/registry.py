"""An ordered set of tools with unique names. Wrappers return new registries; the one they come from stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from difflib import get_close_matches
from typing import Any, Literal, Protocol, TypeVar, cast, overload

from toolsmith.errors import DefinitionError
from toolsmith.tool import Tool


class ToolSource(Protocol):
    """What is no tool itself, but gives one: `WebSearch()`."""

    def __tool__(self) -> Tool[..., Any]:
        """The tool, as an agent is to have it."""
        ...


ToolLike = Callable[..., Any] | Tool[..., Any] | ToolSource
F = TypeVar("F", bound=Callable[..., Any])


class ToolRegistry:
    """Tools by name, in the order they were registered.

        tools = ToolRegistry([get_weather, book_flight])
        "get_weather" in tools, len(tools), list(tools)

    Args:
        tools: functions (made into tools as by `@tool`), `Tool`s or registries.

    Raises:
        DefinitionError: two tools of one name, or a function that cannot be a tool; every problem at once.
    """

    def __init__(self, tools: Iterable[ToolLike | ToolRegistry] = ()) -> None:
        self._tools: dict[str, Tool[..., Any]] = {}
        self._left_out: frozenset[str] = frozenset()
        problems: list[str] = []
        for item in tools:
            if isinstance(item, ToolRegistry):
                self._left_out |= item.left_out
            for entry in item if isinstance(item, ToolRegistry) else (item,):
                try:
                    self._add(entry)
                except DefinitionError as error:
                    problems += error.problems
        if problems:
            raise DefinitionError(problems)

    @overload
    def register(self, entry: Tool[..., Any], /) -> Tool[..., Any]: ...
    @overload
    def register(self, entry: F, /) -> F: ...
    def register(self, entry: Any, /) -> Any:
        """Add a function or a `Tool`; give it back as it was, so that this works as a decorator too.

        Raises:
            DefinitionError: the name is taken (by which tool, and where), or this cannot be a tool.
        """
        self._add(entry)
        return entry

    def _add(self, entry: ToolLike) -> None:
        made: Tool[..., Any] = as_tool(entry)
        made.refuse_unbound()
        taken = self._tools.get(made.name)
        if taken is not None and taken.__wrapped__ is made.__wrapped__:
            raise DefinitionError(
                f"The same tool {made.name!r} is given twice: {made.origin}. Take one of the two out."
            )
        if taken is not None:
            raise DefinitionError(
                f"Two tools are named {made.name!r}: {taken.origin} and {made.origin}. A model tells tools apart by "
                f"name alone: rename one with @tool(name=...), or register it through a registry with .prefixed(...)."
            )
        self._tools[made.name] = made

    @property
    def left_out(self) -> frozenset[str]:
        """Names of tools that `filtered` or `without` took out: a remedy that names one is no mistake."""
        return self._left_out

    def has(self, name: str) -> bool:
        """Whether a tool of this name is here."""
        return name in self._tools

    def get(self, name: str) -> Tool[..., Any]:
        """The tool of this name.

        Raises:
            KeyError: there is none; the text names the nearest ones.
        """
        try:
            return self._tools[name]
        except KeyError:
            raise KeyError(self._unknown(name)) from None

    def filtered(self, names: Collection[str]) -> ToolRegistry:
        """A new registry of just these tools, in this registry's order.

        Raises:
            KeyError: one of the names is not here: a filter that silently keeps less than it says is a trap.
        """
        self._known(names)
        return self._of(
            (t for n, t in self._tools.items() if n in names), self._left_out | (set(self._tools) - set(names))
        )

    def without(self, names: Collection[str]) -> ToolRegistry:
        """A new registry that lacks these tools.

        Raises:
            KeyError: one of the names is not here: a misspelt name must not leave a tool in reach.
        """
        self._known(names)
        return self._of((t for n, t in self._tools.items() if n not in names), self._left_out | set(names))

    def prefixed(self, prefix: str) -> ToolRegistry:
        """A new registry whose tools are named PREFIX_NAME ("github" -> "github_search").

        A remedy of one that names another of them (`ToolError(use=...)`, `Remedy(use=...)`) goes on to mean that tool.

        Raises:
            DefinitionError: a name that results is not legal (too long, odd characters).
        """
        stem = prefix if prefix.endswith("_") else prefix + "_"
        problems: list[str] = []
        renamed: list[Tool[..., Any]] = []
        names = {name: stem + name for name in (*self._tools, *self._left_out)}
        for entry in self:
            try:
                renamed.append(entry.renamed(names[entry.name], beside=names))
            except DefinitionError as error:
                problems += error.problems
        if problems:
            raise DefinitionError(problems)
        return self._of(renamed, {names[name] for name in self._left_out})

    def merged(self, other: ToolRegistry) -> ToolRegistry:
        """A new registry with the tools of both, this one's first.

        Raises:
            DefinitionError: a name is in both, as two different tools.
        """
        return self._of(
            (*self, *(t for t in other if self._tools.get(t.name) is not t)), self._left_out | other.left_out
        )

    def to_openai(
        self, api: Literal["responses", "chat"] = "responses", strict: bool | None = None
    ) -> list[dict[str, Any]]:
        """The tool list for OpenAI's API, as wire dicts. `strict` overrides every tool's own switch where given."""
        return [t.to_openai(api=api, strict=strict) for t in self]

    def to_anthropic(self, strict: bool | None = None) -> list[dict[str, Any]]:
        """The tool list for Claude's Messages API, as wire dicts, within its ceilings for one request."""
        from toolsmith._dialects.tool_dicts import for_claude
        from toolsmith.dialects import CLAUDE, plan

        chosen = plan([(t.spec, t.options.strict if strict is None else strict) for t in self], CLAUDE)
        return [for_claude(o) for o in chosen]

    def _of(self, tools: Iterable[Tool[..., Any]], left_out: Iterable[str]) -> ToolRegistry:
        made = ToolRegistry(tools)
        made._left_out = frozenset(left_out)
        return made

    def _known(self, names: Collection[str]) -> None:
        if isinstance(names, str):
            raise TypeError(f"Give a collection of names, such as [{names!r}], not the bare string {names!r}.")
        for name in names:
            if name not in self._tools:
                raise KeyError(self._unknown(name))

    def _unknown(self, name: str) -> str:
        near = get_close_matches(name, self._tools, n=1)
        guess = f" Did you mean {near[0]!r}?" if near else ""
        return f"No tool is named {name!r}.{guess} There are: {', '.join(self._tools) or 'none'}."

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __iter__(self) -> Iterator[Tool[..., Any]]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __repr__(self) -> str:
        return f"ToolRegistry([{', '.join(self._tools)}])"


def check_names(tools: ToolRegistry, groups: Collection[str]) -> None:
    """See that what remedies, limits and `untrusted_in` name is there.

    Args:
        tools: what an agent has.
        groups: those that its limits bound.

    Raises:
        DefinitionError: some of it is not; all of that is named.
    """
    problems: list[str] = []
    if any(t.options.on_error is not None for t in tools):
        from toolsmith.remedies import missing_tools

        problems += missing_tools(list(tools), tools.left_out)
    known = _groups(tools) if groups else frozenset[str]()
    for name in groups:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            guess = f" Did you mean {near[0]!r}?" if near else ""
            problems.append(
                f"Limits(groups=...) bounds the group {name!r}, and no tool of this agent is in it.{guess} "
                f"Put tools into it with @tool(group={name!r})."
            )
    for entry in tools:
        if entry.options.untrusted_in:
            known = entry.spec.schema["properties"]
            problems += [
                f"{entry.origin}: {entry.name!r}: untrusted_in names {name!r}, which is no parameter of it. "
                f"These are: {', '.join(known)}."
                for name in entry.options.untrusted_in
                if name not in known
            ]
    if problems:
        raise DefinitionError(problems)


def _groups(tools: Iterable[Tool[..., Any]]) -> frozenset[str]:
    """The groups of tools, and of those that they call themselves."""
    found: set[str] = set()
    waiting, seen = [*tools], set[int]()
    while waiting:
        entry = waiting.pop()
        if id(entry) not in seen:
            seen.add(id(entry))
            found.add(entry.options.group or "")
            waiting += entry.inner
    return frozenset(found - {""})


def as_tool(entry: ToolLike) -> Tool[..., Any]:
    """A `Tool` as it is; what gives one asked for it; any other callable made into one."""
    if isinstance(entry, Tool):
        return cast("Tool[..., Any]", entry)
    if hasattr(type(entry), "__tool__"):
        return cast("ToolSource", entry).__tool__()
    return Tool(cast("Callable[..., Any]", entry))
