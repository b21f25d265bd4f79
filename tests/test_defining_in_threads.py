"""Tools are defined in several threads at once, as a server that makes them per request does."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from toolsmith import Tool

SOURCE = '''
from __future__ import annotations
from enum import Enum
from toolsmith import tool

class Unit(Enum):
    """How it is counted."""
    KELVIN = "kelvin"
    """Absolute."""
    CELSIUS = "celsius"
    """From where water freezes."""

def define():
    Local = dict[str, int]

    @tool
    def f{n}(unit: "Unit", rows: Local, more: "list[tuple[int, Local]] | None" = None) -> str:
        """Read."""
        return ""

    return f{n}
''' + "\n".join(f"def unused_{i}(a, b=(1, 2), *, c={{}}): return [a + b for a in c if (a, b)]" for i in range(60))


@pytest.fixture
def switching() -> Iterator[None]:
    """Threads take turns whenever garbage is collected, also in the middle of what else is never interrupted."""

    def yield_to_another(phase: str, info: dict[str, int]) -> None:
        time.sleep(0)

    interval = sys.getswitchinterval()
    gc.callbacks.append(yield_to_another)
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)
    gc.callbacks.remove(yield_to_another)


@pytest.mark.usefixtures("switching")
def test_tools_are_made_by_many_threads(tmp_path: Path) -> None:
    """Reading the source takes turns: Python 3.11 fails where two threads make syntax trees at once."""

    def made(n: int) -> Tool[..., str]:
        path = tmp_path / f"made_{n}.py"
        path.write_text(SOURCE.replace("{n}", str(n)), encoding="utf-8")
        spec = spec_from_file_location(f"made_{n}", path)
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module.define()

    with ThreadPoolExecutor(4) as threads:
        for n, one in enumerate(threads.map(made, range(80))):
            assert one.name == f"f{n}"
            assert "Absolute." in str(one.input_schema)
