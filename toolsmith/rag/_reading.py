"""What reading a file gives, and how much it may cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from toolsmith._dataclass import dataclass
from toolsmith.rag._chunks import Section

MAX_BYTES: Final = 128_000_000
MAX_CHARACTERS: Final = 128_000_000
MAX_SECONDS: Final = 120.0


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much one file may cost.

    Attributes:
        bytes: of the file; a larger one is not read.
        characters: of text taken from it; more is left out.
        seconds: for reading it.
    """

    bytes: int = MAX_BYTES
    characters: int = MAX_CHARACTERS
    seconds: float = MAX_SECONDS


@dataclass(frozen=True, slots=True)
class Reading:
    """A file's text.

    Attributes:
        cut: why it is not all of it, "" where it is.
    """

    sections: Sequence[Section]
    title: str = ""
    cut: str = ""


class Unreadable(Exception):
    """A file that cannot be read; the text says why, to people."""
