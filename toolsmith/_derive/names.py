"""Which names a tool may have, and a legal one for a name that it may not."""

from __future__ import annotations

import re
import unicodedata

MAX_LENGTH = 64
"""Chat Completions and Claude take up to 64 characters (Responses 128); a name has to do for all of them."""

_LEGAL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


def name_problem(name: str) -> str | None:
    """What is wrong with a tool's name and which one to take, as half a sentence; None if it is legal."""
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        return f"the name of a tool is a text (str), not {name!r}. Write name='...', or leave it out"
    if _LEGAL.fullmatch(name) is None:
        what = "takes letters, digits and underscores only, and no digit first"
    elif len(name) > MAX_LENGTH:
        what = f"takes at most {MAX_LENGTH} characters, and this has {len(name)}"
    else:
        return None
    return f"the name of a tool {what}. Give it another one: name={legal_name(name)!r}"


def legal_name(name: str) -> str:
    """A legal name as near as possible to `name`."""
    plain = name
    if _LEGAL.fullmatch(name) is None:
        plain = unicodedata.normalize("NFKD", name.replace("ß", "ss")).encode("ascii", "ignore").decode()
        plain = re.sub(r"[^a-zA-Z0-9]+", "_", plain).strip("_") or "my_tool"
        if plain[0].isdigit():
            plain = f"tool_{plain}"
    if len(plain) <= MAX_LENGTH:
        return plain
    # Whole words, as many as there is room for.
    end = plain.rfind("_", MAX_LENGTH // 2, MAX_LENGTH)
    return plain[: end if end > 0 else MAX_LENGTH]
