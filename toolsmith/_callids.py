"""Ids for calls whose own ids were given before.

Some servers count anew with each answer: "call_0" in each turn. Other services want each id once in a whole history,
and whoever listens to a run keeps its calls by their ids.
"""

from __future__ import annotations

import re
from collections.abc import Container

LONGEST = 54
"""Characters of an id that can be found again from its substitute: all services take 64."""

_AGAIN = re.compile(r"again\d+_")


def another_id(call_id: str, taken: Container[str]) -> str:
    """An id for a call whose own id, legal on all services, another call has already.

    `first_id` finds the own one again, where it is no longer than `LONGEST`.
    """
    number = 2
    while (label := f"again{number}_{call_id[-LONGEST:]}") in taken:
        number += 1
    return label


def first_id(label: str) -> str:
    """The id that `another_id` was given; any other id is itself."""
    found = _AGAIN.match(label)
    return label[found.end() :] if found else label
