# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownParameterType=false
# pyright: reportUnknownMemberType=false, reportUndefinedVariable=false
"""Functions whose annotations are postponed and name what is not there at run time, or not yet."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from toolsmith import RunContext, Tool

if TYPE_CHECKING:
    import decimal as dec
    from datetime import date

    from a_package_that_is_not_installed import Frame, Secret


def dated(day: date, amount: dec.Decimal) -> Frame:
    return [day, amount]  # type: ignore[return-value]


def with_deps(n: int, ctx: RunContext[Secret]) -> Any:
    return n, ctx.deps


def framed(frame: Frame, ghost: Phantom) -> None: ...  # noqa: F821


def make_local() -> Tool[..., Any]:
    @dataclasses.dataclass
    class Local:
        size: int

    def measure(local: Local, many: list[Local] | None = None) -> Any:
        return local

    return Tool(measure)


def early(box: Box, boxes: dict[str, Box] | None = None) -> Any:
    return box


EARLY = Tool(early)


@dataclasses.dataclass
class Box:
    width: float


def hidden() -> Callable[..., Any]:
    @dataclasses.dataclass
    class Hidden:
        size: int

    def measure(thing: Hidden) -> None: ...

    return measure
