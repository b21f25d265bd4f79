"""Writes the parts of the pages that come from the code.

    python docs/make_tables.py            # write them
    python docs/make_tables.py --check    # say which are stale; exit code 1 if any is

A part stands between `<!-- begin: NAME ... -->` and `<!-- end: NAME -->`. `tests/test_docs.py` runs the check.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

from _gallery import gallery, tools_source  # noqa: E402
from _types import types_tables  # noqa: E402

from toolsmith.providers import local  # noqa: E402
from toolsmith.testing import MISTAKES, rules_table  # noqa: E402


def local_figures() -> str:
    """How often the embedded model is right, as its own module has it."""
    told = (local.__doc__ or "").partition("never tuned on")[2]
    rows = re.findall(r"^    (\S.*?)  +(\d+) of +(\d+)$", told, re.MULTILINE)
    return "\n".join(["| | right |", "|---|---|", *(f"| {what} | {right} of {all_} |" for what, right, all_ in rows)])


def mistakes_table() -> str:
    """What `toolsmith simulate` sends."""
    rows = [f"| `{m.name}` | {m.title} | {m.applies} | {m.source} |" for m in MISTAKES]
    return "\n".join(["| mistake | the model | made where | seen in |", "|---|---|---|---|", *rows])


PARTS = {
    ("types.md", "types"): types_tables,
    ("errors.md", "tools"): tools_source,
    ("errors.md", "gallery"): gallery,
    ("simulate.md", "mistakes"): mistakes_table,
    ("testing.md", "rules"): rules_table,
    ("providers.md", "figures"): local_figures,
    ("../README.md", "figures"): local_figures,
}


def rewritten(text: str, name: str, content: str) -> str:
    """A page with one of its parts made new.

    Raises:
        ValueError: the page has no such part.
    """
    pattern = re.compile(rf"(<!-- begin: {name}\b[^\n]*-->\n).*?(<!-- end: {name} -->)", re.DOTALL)
    made, count = pattern.subn(lambda m: f"{m[1]}\n{content.strip()}\n\n{m[2]}", text)
    if count != 1:
        raise ValueError(f"There are {count} parts named {name!r}; there must be one.")
    return made


def pages() -> dict[Path, str]:
    """Every page that has such parts, as it should be."""
    made: dict[Path, str] = {}
    for (page, name), content in PARTS.items():
        path = (DOCS / page).resolve()
        made[path] = rewritten(made.get(path) or path.read_text(encoding="utf-8"), name, content())
    return made


def main() -> int:
    """Write, or with --check compare; the exit code."""
    stale = {path: text for path, text in pages().items() if path.read_text(encoding="utf-8") != text}
    for path, text in stale.items():
        if "--check" in sys.argv:
            print(f"{path.name} is stale: run python docs/make_tables.py")
        else:
            path.write_text(text, encoding="utf-8")
            print(f"{path.name} was written anew")
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
