"""The sides of the benchmark: the modules in `peers/`, whose docstring says what such a module must have."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent / "peers"
OURS = ("toolsmith", "toolsmith_plain")
OWN = ("raw", "sketch", *OURS)
"""Measured in each round; what is not among these is another framework, and is measured in the first."""
NEEDED = ("NAME", "INSTALL", "DISTS", "IMPORT", "WIRES", "derive", "caller", "Session")


def found() -> dict[str, Any]:
    """File name -> module, in the order in which they are shown."""
    modules: dict[str, Any] = {}
    for path in sorted(FOLDER.glob("[!_]*.py")):
        module = import_module(f"peers.{path.stem}")
        missing = [name for name in NEEDED if not hasattr(module, name)]
        if missing:
            sys.exit(f"{path} has no {', '.join(missing)}: peers/__init__.py says what a side must have.")
        modules[path.stem] = module
    return dict(sorted(modules.items(), key=lambda one: getattr(one[1], "ORDER", len(modules))))


SIDES = found()
NAMES: dict[str, str] = {side: module.NAME for side, module in SIDES.items()}
LABELS: dict[str, str] = {side: getattr(module, "LABEL", module.NAME) for side, module in SIDES.items()}
COLORS: dict[str, str] = {side: getattr(module, "COLOR", "#b6bdc6") for side, module in SIDES.items()}
OTHERS = [side for side in SIDES if side not in OWN]
