"""Local types that name each other in quotes."""

import dataclasses
from typing import Any

from toolsmith import Tool, tool


def quoted() -> Tool[..., Any]:
    @dataclasses.dataclass
    class Outer:
        inner: "Part"

    @dataclasses.dataclass
    class Part:
        size: int

    def take(x: "Outer") -> Any:
        return x

    return tool(take)
