"""What the name and the description of an argument say about the passages that suit it. Pure."""

from __future__ import annotations

import re

from toolsmith.providers._local.english import CODE_NAMES, FREE_NAMES, NAMING_NAMES, PATH_NAMES
from toolsmith.providers._local.fields import Field
from toolsmith.providers._local.spans import EXTENSION, PATH


def is_free_text(f: Field) -> bool:
    """Whether a field takes words as they were said (a note, a query) rather than a name of something."""
    return bool(names(f) & FREE_NAMES)


def is_name(f: Field) -> bool:
    """Whether a field takes a name, be it one of several words, rather than a text."""
    return not is_free_text(f) or bool(names(f) & NAMING_NAMES)


def is_marked(f: Field) -> bool:
    """Whether the shape of a word alone shows that it is this field's (a path, an article number, a date)."""
    return bool(f.format or f.pattern or parts(f) & (PATH_NAMES | CODE_NAMES))


def takes_path(f: Field) -> bool:
    """Whether a field is called a path or a file."""
    return bool(parts(f) & PATH_NAMES)


def is_path(text: str) -> bool:
    """Whether a word looks like the path of a file or folder."""
    return PATH.match(text) is not None and ("/" in text or EXTENSION.search(text) is not None)


def is_code(text: str) -> bool:
    """Whether a word looks like an article number, a path or an acronym rather than a word of a language."""
    letters = any(c.isalpha() for c in text)
    return letters and len(text) > 1 and (any(c.isdigit() for c in text) or text.isupper())


def names(f: Field) -> set[str]:
    """The words of its name."""
    return {p.lower() for p in re.split(r"_|(?<=[a-z])(?=[A-Z])", f.name)}


def parts(f: Field) -> set[str]:
    """The words of its name, and "path" or "code" where its description speaks of one."""
    text = {w for w in re.findall(r"[a-z]+", f.description.lower()) if w in ("number", "identifier", "symbol", "path")}
    return names(f) | {"path" if w == "path" else "code" for w in text}
