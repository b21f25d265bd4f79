"""Types of the benchmarks' command line arguments."""

from __future__ import annotations

import argparse


def at_least_one(text: str) -> int:
    """A whole number, at least 1."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of at least 1")
    return int(text)
