"""What is to be added, found out: paths, folders, patterns, texts and documents as a list of things to read."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Final, cast

from toolsmith._dataclass import dataclass
from toolsmith._given import wrong
from toolsmith.rag._patterns import files
from toolsmith.rag._readers import SUFFIXES
from toolsmith.rag._where import is_key, is_scalar
from toolsmith.rag.documents import MAX_METADATA, Document, Failure

SKIPPED: Final = frozenset({"node_modules", "__pycache__", "venv", "site-packages"})
"""Folders that are not looked into; nor are those whose names begin with a dot."""


@dataclass(frozen=True, slots=True)
class FileSource:
    """A file to be read."""

    path: Path

    @property
    def name(self) -> str:
        """As it was given, with "/" on every system."""
        return source_name(self.path.as_posix())


_TAKEN: Final = "a path, a pattern, a text, a Document, or a list of them"

UNNAMED: Final = "text-"
"""Begins the names of texts that were given none."""

Item = FileSource | Document | Failure


def items(given: object, *, match: str | Sequence[str] = "*") -> Iterator[Item]:
    """What there is to add, each once.

    Args:
        given: a text, path, pattern, `Document`, or any iterable of them.
        match: patterns for the names of files in folders.

    Raises:
        TypeError: something of another type.
    """
    patterns = (match,) if isinstance(match, str) else tuple(match)
    seen: set[str] = set()
    for item in _each(given, patterns):
        name = item.source if isinstance(item, Document | Failure) else item.name
        if name not in seen:
            seen.add(name)
            yield item


def _each(given: object, patterns: tuple[str, ...]) -> Iterator[Item]:
    match given:
        case Document():
            yield given
        case Path():
            yield from _path(given, patterns)
        case str():
            yield from _string(given, patterns)
        case bytes() | bytearray() | Mapping():
            raise wrong("RAG.add", "what", cast("object", given), _TAKEN)
        case Iterable():
            for one in given:  # pyright: ignore[reportUnknownVariableType]
                yield from _each(one, patterns)  # pyright: ignore[reportUnknownArgumentType]
        case os.PathLike():
            yield from _path(Path(os.fspath(given)), patterns)  # pyright: ignore[reportUnknownArgumentType]
        case _:
            raise wrong("RAG.add", "what", given, _TAKEN)


def _string(text: str, patterns: tuple[str, ...]) -> Iterator[Item]:
    """A path, if there is one of that name or it looks like one; else a text."""
    short = len(text) < 1_000 and "\n" not in text and "\x00" not in text
    try:
        if short and text.strip() and os.path.exists(os.path.expanduser(text)):
            yield from _path(Path(text), patterns)
            return
    except (OSError, ValueError):
        pass
    if not text.strip():
        yield Failure(repr(text), "there is no text in it")
    elif short and any(c in text for c in "*?[") and ((found := files(text)) or _looks_like_a_pattern(text)):
        if not found:
            yield Failure(text, "no file fits this pattern. To add it as a text, add Document(text, source)")
        for path in found:
            yield FileSource(Path(path))
    elif short and _looks_like_a_path(text):
        yield Failure(text, "there is no such file. To add this text itself, add Document(text, source)")
    else:
        yield Document(text, f"{UNNAMED}{hashlib.blake2b(text.encode('utf-8', 'replace'), digest_size=6).hexdigest()}")


def _looks_like_a_path(text: str) -> bool:
    suffix = Path(text).suffix.lower()
    if any(c.isspace() for c in text):
        return text.startswith(("/", "./", "../", "~/")) and suffix in SUFFIXES
    return "/" in text or "\\" in text or suffix in SUFFIXES


def _looks_like_a_pattern(text: str) -> bool:
    """Whether a text with "*", "?" or "[" in it, which no file fits, is meant for a pattern all the same."""
    if not any(c.isspace() for c in text) or _looks_like_a_path(text) or Path(text).suffix.lower() in SUFFIXES:
        return True
    return text.startswith(("/", "./", "../", "~/")) or re.search(r"\*\*/|/\*|\w/[^/]*[*?]\.", text) is not None


def _path(path: Path, patterns: tuple[str, ...]) -> Iterator[Item]:
    path = path.expanduser()
    try:
        is_folder = stat.S_ISDIR(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        yield Failure(source_name(path.as_posix()), "there is no such file")
    except (OSError, ValueError) as error:  # a name that cannot be, a folder that may not be entered
        yield Failure(source_name(path.as_posix()), getattr(error, "strerror", None) or str(error))
    else:
        if is_folder:
            yield from _folder(path, patterns)
        else:
            yield FileSource(path)


def _folder(root: Path, patterns: tuple[str, ...]) -> Iterator[Item]:
    """The files of a folder whose names say that they hold text; links that lead out of it are left alone."""
    failures: list[Failure] = []

    def failed(error: OSError) -> None:
        failures.append(Failure(source_name(Path(error.filename or root).as_posix()), error.strerror or str(error)))

    real = root.resolve()
    for folder, folders, names in os.walk(root, onerror=failed):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in SKIPPED)
        for name in sorted(names):
            path = Path(folder, name)
            if name.startswith(".") or path.suffix.lower() not in SUFFIXES:
                continue
            if not any(fnmatch(name, p) or fnmatch(path.relative_to(root).as_posix(), p) for p in patterns):
                continue
            if path.is_symlink() and _leads_out(path, real):
                continue
            yield FileSource(path)
    yield from failures


def _leads_out(link: Path, root: Path) -> bool:
    try:
        return not link.resolve().is_relative_to(root)
    except (OSError, RuntimeError):
        return False  # a link to itself (Python 3.11 raises there): reading it says so


def source_name(name: str) -> str:
    """A name that any store takes. A file's that is no UTF-8 is spelled out: two of them stay two."""
    return name.replace("\x00", "").encode("utf-8", "backslashreplace").decode()


def clean(text: str) -> str:
    """Text without what no store takes: the character 0 and halves of characters."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode()


def checked_metadata(metadata: Mapping[str, Any] | None, source: str) -> dict[str, Any]:
    """Metadata as plain data.

    Raises:
        ValueError: a key or a value that cannot be stored and filtered by; says which.
    """
    kept: dict[str, Any] = {}
    for key, value in (metadata or {}).items():
        if not is_key(key):
            raise ValueError(f"metadata of {source}: {key!r} is no key: a printable string without quotes is.")
        values = list(value) if isinstance(value, list | tuple | set | frozenset) else [value]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        for one in values:  # pyright: ignore[reportUnknownVariableType]
            if not is_scalar(one):
                raise ValueError(
                    f"metadata of {source}: {key!r} is {one!r}. Strings, finite numbers, booleans and None can be "
                    "filtered by, and lists of them."
                )
        values = [clean(one) if isinstance(one, str) else one for one in values]  # pyright: ignore[reportUnknownVariableType]
        kept[key] = values if isinstance(value, list | tuple | set | frozenset) else values[0]
    if (size := len(json.dumps(kept))) > MAX_METADATA:
        raise ValueError(f"metadata of {source}: {size:,} characters of JSON; {MAX_METADATA:,} are the most.")
    return kept
