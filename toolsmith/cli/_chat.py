"""A conversation on the command line: lines in, answers out, Ctrl-C for the turn, Ctrl-D for the whole."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolsmith.cli import _exits
from toolsmith.cli._view import Interrupted, run_shown
from toolsmith.cli._words import UsageError, check_text, guess
from toolsmith.errors import RunError, ToolsmithError

if TYPE_CHECKING:
    from toolsmith.agent import Agent
    from toolsmith.cli._view import View
    from toolsmith.messages import Message

COMMANDS = {
    "/tools": "lists the tools",
    "/reset": "forgets the conversation",
    "/help": "says this",
    "/quit": "leaves",
}
_OTHER_NAMES = {"/exit": "/quit", "/bye": "/quit", "/clear": "/reset", "/?": "/help"}
HELP = (
    "/tools lists the tools, /reset forgets the conversation, /quit or Ctrl-D leaves; Ctrl-C cancels a turn. A space "
    "before it sends a line that begins with a slash."
)
HISTORY_LINES = 1000

# A path has a second slash: "/etc/hosts is what?" is said to the model.
_COMMAND = re.compile(r"(/[\w?!-]*)(?:\s+(.*))?", re.DOTALL)


def converse(agent: Agent[Any], view: View, *, interactive: bool, first: str | None = None) -> None:
    """Talk until the user leaves.

    Args:
        agent: answers; `view` is among its observers.
        view: shows.
        interactive: at a terminal, with a prompt and line editing; otherwise each line of standard input is a prompt.
        first: the first line, before any that is read.
    """
    count = f"{len(agent.tools)} tool{'' if len(agent.tools) == 1 else 's'}"
    view.note(f"{agent.name} on {agent.providers[0].name}, {count}. {HELP}")
    history: list[Message] = []
    with _line_editing(interactive):
        for line in _lines(interactive, first):
            match _command(line):
                case None if line.strip():
                    history = _turn(agent, view, line.strip(), history)
                case None:
                    pass
                case "/quit":
                    return
                case "/reset":
                    history = []
                    view.told("The conversation is forgotten.")
                case "/tools":
                    for tool in agent.tools:
                        view.told(f"{tool.name}: {tool.description.splitlines()[0] if tool.description else ''}")
                    if not agent.tools:
                        view.told("There are no tools.")
                case "/help":
                    view.told(HELP)
                case wrong:
                    view.failed(UsageError(wrong), exit_code=_exits.USAGE)


def _command(line: str) -> str | None:
    """A command's name; what is wrong, where it is none that there is; None for what the model is told."""
    found = _COMMAND.fullmatch(line.rstrip()) if line.startswith("/") else None
    if found is None:
        return None
    word, more = found[1].lower(), found[2]
    name = _OTHER_NAMES.get(word, word)
    if name in COMMANDS and not more:
        return name
    told = f"{name} stands alone on its line." if name in COMMANDS else f"There is no command {found[1]}."
    known = ", ".join(f"{one} ({what})" for one, what in COMMANDS.items())
    near = "" if name in COMMANDS else guess(word, list(COMMANDS))
    return f"{told}{near} The commands are {known}. To send the line to the model, begin it with a space."


def _lines(interactive: bool, first: str | None) -> Generator[str]:
    """What is typed, line by line, until it ends."""
    if first is not None:
        if interactive:
            print(f"> {first}")
            if (readline := _readline()) is not None:
                readline.add_history(first)
        yield first
    while (line := _read(interactive)) is not None:
        yield line


def _read(interactive: bool) -> str | None:
    """The next line, None at the end of the input."""
    if not interactive:
        return sys.stdin.readline() or None
    try:
        return input("> ")
    except EOFError:
        print()
        return None
    except KeyboardInterrupt:
        # As in a shell: drops the half-written line, not the conversation.
        print()
        return ""


def _turn(agent: Agent[Any], view: View, prompt: str, history: list[Message]) -> list[Message]:
    """One turn; gives the history to go on from."""
    try:
        check_text(prompt, "this")
        result = run_shown(agent, view, prompt, history)
    except KeyboardInterrupt as error:
        view.failed(error, exit_code=_exits.INTERRUPTED)
        said = [*error.messages] if isinstance(error, Interrupted) else []
        if any(message.tool_calls for message in said[len(history) :]):  # they may have had an effect
            view.note("The turn is cancelled; the model is told which calls were begun.")
            return said
        view.note("The turn is cancelled; the conversation goes on without it.")
        return history
    except UsageError as error:
        view.failed(error, exit_code=_exits.USAGE)
        return history
    except ToolsmithError as error:
        view.failed(error, exit_code=_exits.of_error(error))
        # What the tools did is kept; a prompt that never got an answer need not stand in the way of the next one.
        kept = error.messages if isinstance(error, RunError) else []
        return kept if len(kept) > len(history) + 1 else history
    view.ended(result, exit_code=_exits.of_result(result))
    return result.messages


@contextmanager
def _line_editing(interactive: bool) -> Generator[None]:
    """Arrow keys bring back earlier lines, those of earlier conversations too."""
    readline = _readline() if interactive else None
    if readline is None:
        yield
        return
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "toolsmith"
    file = state / "history"
    with suppress(OSError):
        readline.read_history_file(file)
    try:
        yield
    finally:
        with suppress(OSError):
            state.mkdir(parents=True, exist_ok=True, mode=0o700)
            readline.set_history_length(HISTORY_LINES)
            # Made before it is written: what was typed is nobody else's business.
            file.touch(mode=0o600)
            readline.write_history_file(file)


def _readline() -> Any:
    """Line editing where Python has it: not on Windows, and not in every build."""
    try:
        return import_module("readline")
    except ImportError:
        return None
