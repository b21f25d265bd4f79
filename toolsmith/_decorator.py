"""`@tool`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from toolsmith._derive.options import unknown_options

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from toolsmith._derive.options import Options
    from toolsmith.tool import Tool

P = ParamSpec("P")
R = TypeVar("R")


@overload
def tool(fn: Callable[P, R], /) -> Tool[P, R]: ...
@overload
def tool(
    *, name: str | None = None, description: str | None = None, strict_docs: bool = False, **options: Unpack[Options]
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
def tool(
    fn: Any = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    strict_docs: bool = False,
    **options: Any,
) -> Any:
    """Make a function a tool; see `Tool` for the arguments.

        @tool
        def today() -> date: ...

        @tool(max_calls_per_run=3, timeout=5)
        async def search(query: str) -> list[str]: ...

    Raises:
        DefinitionError: this cannot be a tool; every reason at once, with its place and the way out.
        TypeError: an option that does not exist.
    """
    if wrong := unknown_options(options, "@tool"):
        raise TypeError(wrong)

    # Only now: the name `tool` alone loads no schemas.
    from toolsmith.tool import Tool

    def made(function: Any) -> Tool[..., Any]:
        return Tool(function, name=name, description=description, strict_docs=strict_docs, **options)

    return made if fn is None else made(fn)
