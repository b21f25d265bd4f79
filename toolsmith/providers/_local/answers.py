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
                lines.append(f"{step.name} failed: {step.text.strip()}")
        else:
            lines.append(f"{step.name} failed at first: {_first_sentence(step.text)}")
    return "\n".join([*lines, *([stopped] if stopped else [])])


def quoted(step: Done) -> str:
    """A call's result in its own words."""
    found = data(step.text)
    if found is None or found == "":
        return f"{step.name} is done; it returned nothing."
    text = _plain(found)
    return f"{step.name} returned:\n{text}" if "\n" in text else f"{step.name} returned: {text}"


def _plain(found: Any) -> str:
    match found:
        case dict():
            items = cast("Mapping[str, Any]", found).items()
            return "\n".join(f"  {k}: {_inline(v)}" for k, v in items) or "{}"
        case list():
            values = cast("list[Any]", found)
            return "\n".join(f"  - {_inline(v)}" for v in values) or "nothing (an empty list)"
        case str():
            return found.strip("\n")
        case _:
            return _inline(found)


def _inline(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


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
