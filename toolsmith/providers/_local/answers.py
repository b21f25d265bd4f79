"""The sentences of the local model's answers. They quote what tools returned and never say more than that."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from toolsmith.providers._local.episode import Done, data

_MANY = 12


def report(done: Sequence[Done], stopped: str = "") -> str:
    """What came of the calls, each quoted; a failure that was repaired is told with the repair.

    Args:
        done: the calls of this request.
        stopped: a sentence on why there are no more of them, "" where all was done.
    """
    lines: list[str] = []
    for i, step in enumerate(done):
        if not step.failed:
            lines.append(quoted(step))
        elif not any(later.name == step.name and not later.failed for later in done[i + 1 :]):
            if not any(later.name == step.name for later in done[i + 1 :]):
                lines.append(f"{step.name} failed: {_reason(step)}")
        else:
            lines.append(f"{step.name} failed at first: {_first_sentence(_reason(step))}")
    return "\n".join([*lines, *([stopped] if stopped else [])])


def _reason(step: Done) -> str:
    """The error's text, without the words that it shares with ours."""
    return step.text.strip().removeprefix(f"`{step.name}` failed: ")


def quoted(step: Done) -> str:
    """A call's result in its own words."""
    text, mark, notes = step.text.partition("\n\nNote: ")
    found = data(text)
    # A number is shown as the tool wrote it: read and written again, "64.20" would lose its last digit.
    lines = _lines(found if isinstance(found, dict | list) else text)
    whole = "\n".join(lines)
    said = f"\n{whole}" if len(lines) > 1 or whole.startswith(" ") else f" {whole}"
    return f"{step.name} returned:{said}" + (f"\nNote: {notes}" if mark else "")


def _lines(found: Any) -> list[str]:
    """A value in lines; indented where each is an entry of it."""
    match found:
        case dict() if found:
            items = cast("Mapping[str, Any]", found).items()
            return [f"  {k}: {_inline(v)}" for k, v in items]
        case list() if found:
            return [f"  - {_inline(v)}" for v in cast("list[Any]", found)]
        case list():
            return ["nothing (an empty list)"]
        case _:
            return str(found).strip("\n").splitlines() or ["(an empty text)"]


def _inline(value: Any) -> str:
    match value:
        case str():
            return value
        case dict() if value:
            items = cast("Mapping[str, Any]", value).items()
            return ", ".join(f"{k}: {v if isinstance(v, str) else json.dumps(v, ensure_ascii=False)}" for k, v in items)
        case _:
            return json.dumps(value, ensure_ascii=False)


def _first_sentence(text: str) -> str:
    return text.strip().split("\n")[0].split(". ")[0].rstrip(".") + "."


def nothing_fits(names: Sequence[str]) -> str:
    """No tool is meant."""
    shown = ", ".join(names[:_MANY]) + (f" and {len(names) - _MANY} more" if len(names) > _MANY else "")
    return (
        "None of my tools fits this request, and I answer only with what tools return. "
        f"I have: {shown}. Ask for one in words like those of its description."
    )


def lacking(name: str, missing: Sequence[str]) -> str:
    """The tool is clear, its arguments are not."""
    wanted = " and ".join(missing) if len(missing) < 3 else ", ".join(missing)
    return f"{name} needs {wanted}, which I did not find in the request. Please say it again with that."
