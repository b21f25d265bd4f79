"""The words of a command line: options that are told apart from typing errors, references from a prompt."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from os.path import isdir, isfile  # a name that is too long is no file
from typing import Any, NoReturn

from toolsmith._references import is_reference
from toolsmith.cli import _exits
from toolsmith.errors import ConfigError

_OTHER_NAMES: Mapping[str, str] = {"--system": "--instructions", "--system-prompt": "--instructions"}
"""What other programs call it."""

_LIKE_A_REFERENCE = re.compile(r"[\w./\\-]+:[^\W\d][\w.]*")


class UsageError(Exception):
    """The command line itself is wrong."""


def ended_wrong(message: str) -> dict[str, Any]:
    """The last line of a run that never began, for machines."""
    error = {"type": "UsageError", "message": message, "problems": [message]}
    return {"event": "end", "exit_code": _exits.USAGE, "output": None, "error": error}


def check_text(text: str, what: str) -> None:
    """Refuse bytes that are no text in the encoding of this terminal; no service takes them.

    Raises:
        UsageError: says where they stand.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{what} is no text: there is a byte at position {error.start} that is no UTF-8.") from None


def guess(name: str, known: Sequence[str]) -> str:
    """ " Did you mean NAME?", or nothing."""
    near = get_close_matches(name, known, n=1)
    return f" Did you mean {near[0]}?" if near else ""


def one_of(known: Sequence[str]) -> Callable[[str], str]:
    """An option's type: one of these words."""

    def chosen(word: str) -> str:
        if word in known:
            return word
        raise argparse.ArgumentTypeError(f"there is no {word!r}; there are: {', '.join(known)}.{guess(word, known)}")

    return chosen


def number_in(least: int, most: int) -> Callable[[str], int]:
    """An option's type: a whole number of this range."""

    def chosen(word: str) -> int:
        if re.fullmatch(r"[+-]?\d{1,18}", word) and least <= int(word) <= most:
            return int(word)
        raise argparse.ArgumentTypeError(f"{word!r} must be {least} to {most}.")

    return chosen


class Parser(argparse.ArgumentParser):
    """The parser of one command, whose other words come as `words`. What is wrong is told, for machines as well."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        self.end: Callable[[str], Mapping[str, Any]] = ended_wrong
        """Makes of a message the JSON object that ends the output of this command."""
        self.others: Mapping[str, Parser] = {}
        """All commands by their names: an option may be another one's."""
        self._machine = False

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """Options, wherever they stand between other words; behind "--" there are none.

        Raises:
            SystemExit: of 2, told; of 0 for `--help`.
        """
        end = list(words).index("--") if "--" in words else len(words)
        self._machine = "--json" in words[:end]
        # Not through the parent: only so may options stand between references and prompt.
        options, unknown = self.parse_known_intermixed_args(list(words[:end]))
        if unknown:
            self.error(" ".join(self._unknown(word) for word in unknown))
        options.words += words[end + 1 :]
        return options

    def error(self, message: str) -> NoReturn:
        """Tell what is wrong, and leave."""
        self.complain(message)
        sys.exit(_exits.USAGE)

    def complain(self, message: str) -> None:
        """Tell what is wrong: on standard error, and with `--json` as the last line too."""
        self.print_usage(sys.stderr)
        print(f"{self.prog}: error: {message}", file=sys.stderr)
        if self._machine:
            print(json.dumps(self.end(message)))

    def check_given(self, options: argparse.Namespace) -> None:
        """Look at the values of options: a variable of the shell that is not set must not leave an option out.

        Raises:
            UsageError: an empty value, or one that is no text.
        """
        for name, value in vars(options).items():
            if isinstance(value, str):
                if name not in ("config", "index"):  # a path is whatever the system takes
                    check_text(value, f"--{name}")
                if not value.strip() and name != "instructions":
                    raise UsageError(f"--{name} is empty.")

    def names(self) -> list[str]:
        """The options that there are."""
        return list(self._option_string_actions)

    def _unknown(self, word: str) -> str:
        """Of an option that there is not: what may have been meant."""
        name = word.partition("=")[0]
        told = f"there is no option {name}."
        known = self.names()
        if name in _OTHER_NAMES and _OTHER_NAMES[name] in known:
            return f"{told} Did you mean {_OTHER_NAMES[name]}?"
        if elsewhere := [parser.prog for parser in self.others.values() if name in parser.names()]:
            return f"{told} It is one of {', '.join(elsewhere)}."
        if near := guess(name.lower(), known):
            return told + near
        if re.fullmatch(r"-\w.*", name) and (long := [k for k in known if k.startswith(f"--{name[1].lower()}")]):
            return f"{told} Did you mean {' or '.join(long)}?"
        return f"{told} `{self.prog} --help` lists them; words that begin with a dash stand behind --."


def divided(words: Sequence[str]) -> tuple[list[str], str | None]:
    """References, and the text behind them: one word in quotes, or several words without; None where there is none.

    Where it is in doubt which is which, nothing is guessed: a prompt that swallows the name of a tool would be answered
    without it.

    Raises:
        UsageError: says what to write.
    """
    count = next((i for i, word in enumerate(words) if not _names(word) or _is_model(word)), len(words))
    references, rest = list(words[:count]), words[count:]
    if not rest:
        return references, None
    first = rest[0]
    _check_first(first, alone=len(rest) == 1)
    if len(rest) == 1:
        return references, first
    quoted = next((word for word in rest if any(c.isspace() for c in word)), None)
    if quoted is not None and quoted != first:
        raise UsageError(
            f"{first!r} names no Python object; tools are written module:name or path/file.py:name. If it belongs to "
            "the prompt, put the whole prompt in quotes."
        )
    if quoted is not None:
        raise UsageError(
            f"there are words behind the prompt {quoted!r}: {' '.join(rest[1:])}. Tools stand before the prompt, which "
            "is last, in quotes."
        )
    if named := next((word for word in rest if _names(word)), None):
        raise UsageError(
            f"{named!r} stands behind the beginning of the prompt. If it names a tool, put it before the prompt; if it "
            "belongs to the prompt, put the whole prompt in quotes."
        )
    return references, " ".join(rest)


def _names(word: str) -> bool:
    """Whether a word is a reference. A path may hold spaces, but so does a question about a file."""
    return is_reference(word) and (not any(c.isspace() for c in word) or isfile(word.rpartition(":")[0]))


def _check_first(word: str, *, alone: bool) -> None:
    """A first word of a prompt that was surely not meant as one.

    Raises:
        UsageError: says what to write.
    """
    if any(c.isspace() for c in word):
        return
    if _is_model(word):
        raise UsageError(f"{word!r} names a model: write --model {word}.")
    if word.endswith(".py") and (isfile(word) or not alone):
        raise UsageError(f"{word!r} is a file: say which of its tools, {word}:NAME.")
    if not alone and isfile(f"{word.replace('.', '/')}.py"):
        raise UsageError(
            f"{word!r} is a module here: say which of its tools, {word}:NAME; or put the whole prompt in quotes."
        )
    if _LIKE_A_REFERENCE.fullmatch(word):
        raise UsageError(
            f"{word!r} names no Python object: write module:name (a module's name, with dots) or path/file.py:name."
        )


def _is_model(word: str) -> bool:
    """Whether a word is PROVIDER:MODEL, and not of a module of that name which stands here."""
    from toolsmith.providers import split_model

    prefix, colon, _ = word.partition(":")
    if not colon or isfile(f"{prefix}.py") or isdir(prefix):
        return False
    try:
        return split_model(word)[0] == prefix
    except ConfigError:
        return False
