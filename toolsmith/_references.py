"""From the text "module:name" or "path/file.py:name" to the Python object it names.

Settings files and the command line name tools and agents this way.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import pkgutil
import re
import sys
import traceback
import zlib
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any

from toolsmith.errors import ConfigError, ToolsmithError

_REFERENCE = re.compile(r"(?P<place>[^\s:]+|[^\n]+\.py):(?P<name>[^\W\d]\w*(\.[^\W\d]\w*)*)")
_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


def is_reference(text: str) -> bool:
    """Whether `text` has the form "module:name" or "path/file.py:name"; whether it exists is another question."""
    match = _REFERENCE.fullmatch(text)
    return match is not None and (_is_file(match["place"]) or _MODULE.fullmatch(match["place"]) is not None)


def load_object(reference: str, *, folder: Path) -> Any:
    """Import what `reference` names, as Python would from within `folder`.

    The folder stays on `sys.path`: a tool may import its neighbours only when it is called.

    Args:
        reference: "module:name", "module:Class.method" or "path/file.py:name"; a path counts from `folder`.
        folder: where modules are looked for first.

    Raises:
        ConfigError: no such module, file or name, or the import failed; says what was tried.
        ToolsmithError: what the module itself raises while it defines its tools.
    """
    if not is_reference(reference):
        raise ConfigError(f"{reference!r} names no Python object. Write module:name or path/file.py:name.")
    place, _, name = reference.rpartition(":")
    module = _file(folder / place) if _is_file(place) else _module(place, folder)
    value: Any = module
    for part in name.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            raise ConfigError(_no_attribute(reference, module, value, part)) from None
    return value


def _is_file(place: str) -> bool:
    return place.endswith(".py")


def _put_on_path(folder: Path) -> None:
    entry = str(folder.resolve())
    if entry not in sys.path:
        sys.path.insert(0, entry)
        importlib.invalidate_caches()


def _module(name: str, folder: Path) -> ModuleType:
    _put_on_path(folder)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if name != missing and not name.startswith(f"{missing}."):
            raise ConfigError(_import_failed(name, error)) from error
        raise ConfigError(_no_module(name, missing, folder)) from None
    except ToolsmithError:
        raise
    except (Exception, SystemExit) as error:
        raise ConfigError(_import_failed(name, error)) from error


def _file(path: Path) -> ModuleType:
    path = path.resolve()
    if not os.path.isfile(path):  # which knows no error: a name that is too long is no file
        siblings = [p.name for p in path.parent.glob("*.py")] if path.parent.is_dir() else []
        raise ConfigError(f"There is no file {path}.{_guess(path.name, siblings)}")
    name = _name_for(path)
    if name in sys.modules:
        return sys.modules[name]
    _put_on_path(path.parent)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ConfigError(f"{path} cannot be loaded as Python source.")
    module = importlib.util.module_from_spec(spec)
    # Registered before it runs, as an import does: annotations are resolved through `sys.modules`.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        if isinstance(error, ToolsmithError):
            raise
        raise ConfigError(_import_failed(str(path), error)) from error
    return module


def _name_for(path: Path) -> str:
    """The file's own name, unless another module bears it: `json.py` must not take the place of `json`."""
    if path.stem.isidentifier():
        loaded = sys.modules.get(path.stem)
        found = getattr(loaded, "__spec__", None) if loaded else importlib.util.find_spec(path.stem)
        if (loaded is None and found is None) or (found is not None and found.origin == str(path)):
            return path.stem
    plain = re.sub(r"[^0-9A-Za-z_]", "_", path.stem)
    return f"{plain}_{zlib.crc32(str(path).encode()):08x}"


def _no_module(name: str, missing: str, folder: Path) -> str:
    parent, _, child = missing.rpartition(".")
    places: Iterable[str] = getattr(sys.modules.get(parent), "__path__", ()) if parent else (str(folder),)
    near = get_close_matches(child, [m.name for m in pkgutil.iter_modules(places)], n=1)
    rest = name.removeprefix(missing)
    guess = f" Did you mean {f'{parent}.{near[0]}{rest}'.lstrip('.')!r}?" if near else ""
    return f"There is no module {missing!r}: looked in {folder.resolve()} and on Python's own path.{guess}"


def _no_attribute(reference: str, module: ModuleType, owner: Any, name: str) -> str:
    place = f"{module.__name__!r} ({getattr(module, '__file__', None) or 'built in'})"
    own = [n for n in dir(owner) if not n.startswith("_") and _is_own(getattr(owner, n, None), module)]
    near = _guess(name, own)
    has = f" It defines: {', '.join(own[:8])}{', ...' if len(own) > 8 else ''}." if own and not near else ""
    return f"{reference!r}: module {place} has no {name!r}.{near}{has}"


def _is_own(value: Any, module: ModuleType) -> bool:
    """Whether a module made a thing itself: what it imports, as `tool` of toolsmith, was never meant.

    Registries and agents do not know where they were made, and no one imports them from here.
    """
    if isinstance(value, type) or callable(value):
        return getattr(value, "__module__", None) in (module.__name__, None)
    return isinstance(value, (list, tuple)) or type(value).__module__.partition(".")[0] == "toolsmith"


def _import_failed(name: str, error: BaseException) -> str:
    where = ""
    if isinstance(error, SyntaxError) and error.filename:
        where = f" at {error.filename}:{error.lineno}"
    else:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith("<frozen")]
        # The first frames are this file's; the last ones may be deep inside a library, or in `@tool`.
        here = str(Path(__file__).parent)
        own = [f for f in frames if not f.filename.startswith(here) and "site-packages" not in f.filename]
        if own:
            where = f" at {own[-1].filename}:{own[-1].lineno}"
    words = str(error.msg) if isinstance(error, SyntaxError) else str(error)
    return f"Importing {name!r} failed{where}: {type(error).__name__}{': ' if words else ''}{words}"


def _guess(name: str, names: Iterable[str]) -> str:
    near = get_close_matches(name, list(names), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""
