"""The examples as modules: their names begin with a number, so that no `import` finds them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

EXAMPLES = Path(__file__).parent.parent / "examples"


def example(file: str) -> ModuleType:
    """An example by its file's name, such as "11_files_in_a_folder.py"."""
    spec = importlib.util.spec_from_file_location(f"example_{file[:2]}", EXAMPLES / file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # annotations that are strings are looked up there
    spec.loader.exec_module(module)
    return module
