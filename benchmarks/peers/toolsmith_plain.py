"""toolsmith as `pip install` makes it, without the extra `aiohttp`."""

from __future__ import annotations

from peers import toolsmith
from peers.toolsmith import Session, caller, derive, full_road, modes

__all__ = ["DISTS", "IMPORT", "INSTALL", "WIRES", "Session", "caller", "derive", "full_road", "modes"]

ORDER, NAME = 3, "toolsmith without aiohttp"
LABEL, COLOR = "without aiohttp", "#1f6feb"
INSTALL = [str(toolsmith.PROJECT)]
DISTS = [name for name in toolsmith.DISTS if name != "aiohttp"]
IMPORT, WIRES = toolsmith.IMPORT, toolsmith.WIRES
