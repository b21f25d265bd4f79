"""A conversation on the command line: lines in, answers out, Ctrl-C for the turn, Ctrl-D for the whole."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolsmith.cli import _exits
from toolsmith.cli._view import Interrupted, run_shown
from toolsmith.errors import RunError, ToolsmithError

if TYPE_CHECKING:
    from toolsmith.agent import Agent
    from toolsmith.cli._view import View
    from toolsmith.messages import Message

HELP = "/tools lists the tools, /reset forgets the conversation, /quit or Ctrl-D leaves; Ctrl-C cancels a turn."
HISTORY_LINES = 1000


def converse(agent: Agent[Any], view: View, *, interactive: bool) -> None:
    """Talk until the user leaves.

    Args:
        agent: answers; `view` is among its observers.
        view: shows.
        interactive: at a terminal, with a prompt and line editing; otherwise each line of standard input is a prompt.
    """
    count = f"{len(agent.tools)} tool{'' if len(agent.tools) == 1 else 's'}"
    view.note(f"{agent.name} on {agent.providers[0].name}, {count}. {HELP}")
    history: list[Message] = []
    with _line_editing(interactive):
        while (line := _read(interactive)) is not None:
            match line.strip():
                case "":
                    pass
                case "/quit" | "/exit":
                    return
                case "/reset":
                    history = []
                    view.note("The conversation is forgotten.")
                case "/tools":
                    for tool in agent.tools:
                        view.note(f"{tool.name}: {tool.description.splitlines()[0] if tool.description else ''}")
                case "/help":
                    view.note(HELP)
                case prompt:
                    history = _turn(agent, view, prompt, history)


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
        result = run_shown(agent, view, prompt, history)
    except KeyboardInterrupt as error:
        view.failed(error, exit_code=_exits.INTERRUPTED)
        said = [*error.messages] if isinstance(error, Interrupted) else []
        if any(message.tool_calls for message in said[len(history) :]):  # they may have had an effect
            view.note("The turn is cancelled; the model is told which calls were begun.")
            return said
        view.note("The turn is cancelled; the conversation goes on without it.")
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
