"""The least that a loop on the SDKs' clients can cost (`ready_bytes.py`), on the transport for many runs at once."""

from __future__ import annotations

from typing import Any

from peers import raw

ORDER, NAME = 1, "sketch"
COLOR = "#9a6700"
INSTALL = ["openai[aiohttp]", "anthropic[aiohttp]", "pydantic"]
DISTS = [*raw.DISTS, "aiohttp"]
IMPORT, WIRES = "", raw.WIRES
derive = caller = None


class Session(raw.Session):
    @staticmethod
    def loops() -> Any:
        from ready_bytes import SKETCHES

        return SKETCHES
