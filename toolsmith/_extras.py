"""Packages that only parts of toolsmith need: loaded at their first use, and named with their extra when missing."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from toolsmith.errors import ConfigError


def load(module: str, *, extra: str, purpose: str, package: str | None = None) -> Any:
    """An optional package's module.

    Args:
        module: as it is imported, "docx".
        extra: of toolsmith, which installs it: "rag".
        purpose: what cannot be done without it: "reading DOCX files".
        package: its name on the package index, where that is not the module's: "python-docx", "psycopg[binary]".

    Raises:
        ConfigError: it is not installed; says how to install it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        name = package or module.partition(".")[0]
        alone = f'"{name}"' if "[" in name else name  # for the shell
        raise ConfigError(
            f'{purpose} needs the package {name!r}: pip install "toolsmith-agents[{extra}]" (or pip install {alone}).'
        ) from error


def has(module: str) -> bool:
    """Whether a package is installed; it is not imported."""
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False
