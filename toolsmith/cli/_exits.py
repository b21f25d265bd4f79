"""Exit codes of the command line, and which ending of a run has which."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolsmith.errors import ConfigError, DefinitionError, ProviderError

if TYPE_CHECKING:
    from toolsmith.agent import RunResult

ANSWERED = 0
NO_ANSWER = 1
USAGE = 2
SERVICE = 3
INTERRUPTED = 130

MEANING = {
    ANSWERED: "answered",
    NO_ANSWER: "the run ended without an answer: refused, cut off, out of time, waiting for approval",
    USAGE: "usage or settings: a wrong option, a misspelt name, a missing key, a function that cannot be a tool",
    SERVICE: "the model's service failed or could not be reached",
    INTERRUPTED: "interrupted",
}


def of_result(result: RunResult[Any]) -> int:
    """Out of turns, calls or tokens, a model still gets one turn to answer; the other endings break off."""
    if result.stop_reason not in ("end", "turn_limit", "call_limit", "token_limit"):
        return NO_ANSWER
    empty = not result.output.strip() if isinstance(result.output, str) else result.output is None
    return NO_ANSWER if empty else ANSWERED


def of_error(error: BaseException) -> int:
    """The code of a run that ended in an exception."""
    match error:
        case KeyboardInterrupt():
            return INTERRUPTED
        case ProviderError():
            return SERVICE
        case ConfigError() | DefinitionError():
            return USAGE
        case _:
            return NO_ANSWER
