"""The loop that one would write by hand on the SDKs: what everything else is measured against."""

from __future__ import annotations

import asyncio
import re
from typing import Any

ORDER, NAME = 0, "by hand"
LABEL, COLOR = "by hand on the SDK", "#57606a"
INSTALL = ["openai", "anthropic", "pydantic"]
DISTS = ["openai", "anthropic", "pydantic", "httpx2"]
IMPORT = "from pydantic import TypeAdapter"
WIRES = ("chat", "resp", "ant")
_LINE = re.compile(r"^\s{4,}(\w+): (.*)$", re.MULTILINE)


def _built(fn: Any) -> tuple[Any, dict[str, Any], str]:
    """A validator that calls the function too; the schema with the docstring's words; the description."""
    from pydantic import TypeAdapter

    adapter = TypeAdapter(fn)
    schema = adapter.json_schema()
    words, _, rest = (fn.__doc__ or "").partition("Args:")
    for name, text in _LINE.findall(rest.partition("Returns:")[0]):
        schema["properties"][name]["description"] = text
    return adapter.validator, schema, " ".join(words.split())


def derive(fn: Any) -> dict[str, Any]:
    return _built(fn)[1]


def caller(fn: Any) -> Any:
    from pydantic_core import to_json

    validate_json = _built(fn)[0].validate_json

    async def waits(text: str) -> bytes:
        return to_json(await validate_json(text))

    def at_once(text: str) -> bytes:
        return to_json(validate_json(text))

    return waits if asyncio.iscoroutinefunction(fn) else at_once


class Session:
    def __init__(self, wire: str, base: str, fns: Any) -> None:
        self._loop = self.loops()[wire](base if wire == "ant" else base + "/v1", [(fn, *_built(fn)) for fn in fns])

    @staticmethod
    def loops() -> Any:
        from by_hand import BY_HAND

        return BY_HAND

    async def run(self, prompt: str, turns: int) -> str:
        return await self._loop.run(prompt, stream=False)

    async def stream(self, prompt: str, turns: int) -> tuple[str, int]:
        self._loop.pieces = 0
        return await self._loop.run(prompt, stream=True), self._loop.pieces
