"""For tests that write modules and import them: afterwards it is as if they had never been."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def forgotten(folder: Path) -> Generator[None]:
    """Take away what was imported from within a folder, and what was put on `sys.path`."""
    path = list(sys.path)
    try:
        yield
    finally:
        sys.path[:] = path
        for name, module in list(sys.modules.items()):
            if str(folder) in str(getattr(module, "__spec__", "")):
                del sys.modules[name]
