"""Names of sites: "python.org" stands for itself and all that is below it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from toolsmith._given import texts
from toolsmith.errors import ConfigError


def sites(where: str, given: Sequence[str]) -> tuple[str, ...]:
    """Names of sites, checked.

    Args:
        where: they were given, "WebSearch(allowed_domains=".

    Raises:
        ConfigError: one of them is written otherwise.
    """
    if isinstance(given, str):
        raise ConfigError(f"{where}{given!r}): give a list, [{given!r}].")
    call, _, name = where.removesuffix("=").partition("(")
    texts(call, **{name: cast("Any", given)})
    wrong = [d for d in given if not d.strip(".") or d != d.strip() or set(d) & set("/:*@? ")]
    if wrong:
        raise ConfigError(f"{where}...) takes names of sites such as 'python.org', not {wrong[0]!r}.")
    return tuple(d.lower().strip(".") for d in given)


def is_below(host: str, site: str) -> bool:
    """Whether a host is of a site."""
    return host == site or host.endswith(f".{site}")
