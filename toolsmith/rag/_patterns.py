"""The files that a pattern such as "docs/**/*.md" names.

`glob` follows links to folders below `**`: two links of a folder to itself are more paths than anybody can wait for.
Here they are not followed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from glob import glob, has_magic
from typing import Final

_DEEP: Final = "**"


def files(pattern: str) -> list[str]:
    """The paths of the files, sorted. Names that begin with a dot are found only where the pattern has the dot too."""
    return sorted(path for path in _paths(os.path.expanduser(pattern)) if os.path.isfile(path))


def _paths(pattern: str) -> Iterator[str]:
    parts = pattern.replace(os.sep, "/").split("/")
    if _DEEP not in parts:
        yield from glob(pattern)
        return
    at = parts.index(_DEEP)
    top, rest = "/".join(parts[:at]), parts[at:]
    if rest[-1] == _DEEP:
        rest = [*rest, "*"]
    roots = [top or ("/" if at else "")] if not has_magic(top) else sorted(glob(top))
    for root in roots:
        for folder, folders, names in os.walk(root or "."):
            folders[:] = [name for name in folders if _is_shown(name, rest)]
            below = os.path.relpath(folder, root or ".")
            above = [] if below == "." else below.split(os.sep)
            for name in names:
                if _fits([*above, name], rest):
                    yield os.path.join(root, *above, name)


def _is_shown(name: str, patterns: Sequence[str]) -> bool:
    return not name.startswith(".") or any(p.startswith(".") and fnmatch(name, p) for p in patterns)


def _fits(parts: Sequence[str], patterns: Sequence[str]) -> bool:
    """Whether the parts of a path are those of a pattern; `**` stands for any number of folders."""
    if not patterns:
        return not parts
    first, *others = patterns
    if first == _DEEP:
        return _fits(parts, others) or (bool(parts) and _is_shown(parts[0], ()) and _fits(parts[1:], patterns))
    if not parts or (parts[0].startswith(".") and not first.startswith(".")):
        return False
    return fnmatch(parts[0], first) and _fits(parts[1:], others)
