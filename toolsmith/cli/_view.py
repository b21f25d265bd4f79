"""What a view of runs is, and what both of them need: secrets hidden, anything at all as JSON."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from toolsmith.agent import Agent, RunResult
    from toolsmith.approvals import Approve
    from toolsmith.events import Event
    from toolsmith.messages import Message

_SECRET_NAME = re.compile(r".*(_KEY|_TOKEN|_SECRET|_PASSWORD)", re.IGNORECASE)


class View(Protocol):
    """Shows runs: an observer that is also told how a run ended."""

    @property
    def live(self) -> bool:
        """Whether it shows the words of the model as they come."""
        ...

    def __call__(self, event: Event) -> None: ...

    def ended(self, result: RunResult[Any], *, exit_code: int) -> None:
        """A run is over and has a result."""
        ...

    def failed(self, error: BaseException, *, exit_code: int) -> None:
        """There is no result: an error, or the user's interruption."""
        ...

    def note(self, text: str) -> None:
        """A line for people."""
        ...

    def told(self, text: str) -> None:
        """A line of what the user has asked for."""
        ...

    def waiting(self) -> AbstractContextManager[object]:
        """Around a run."""
        ...

    def approve(self, agent: Agent[Any]) -> Approve | None:
        """Who decides about calls that need approval; None leaves them open, and the run ends there."""
        ...


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with the history so far, in which every call has an answer."""

    def __init__(self, messages: Sequence[Message]) -> None:
        super().__init__()
        self.messages = messages


def run_shown(agent: Agent[Any], view: View, prompt: str, history: Sequence[Message] | None = None) -> RunResult[Any]:
    """One run, as a stream where somebody watches it.

    Elsewhere at once: an answer of which nobody has seen the beginning can be asked for again when the connection
    breaks. A typed answer comes from the model in the service's own form, which is not for people.

    Raises:
        Interrupted: by the user, in the middle of a stream.
    """
    approve = view.approve(agent)
    with view.waiting():
        if not view.live or agent.output_type is not str:
            return agent.run_sync(prompt, message_history=history, approve=approve)
        with agent.run_stream_sync(prompt, message_history=history, approve=approve) as events:
            try:
                for _ in events:  # the view is among the agent's observers
                    pass
            except KeyboardInterrupt:
                raise Interrupted(events.messages) from None
        return events.result


class Mask:
    """Hides the values of secret environment variables in everything that is printed.

    A service or a tool may echo the key it was called with.

    Args:
        variables: names to hide whatever they are called, next to those that end in _KEY, _TOKEN, _SECRET, _PASSWORD.
    """

    def __init__(self, variables: Sequence[str] = ()) -> None:
        values = {
            value
            for name, value in os.environ.items()
            # Short or wordlike values are settings rather than secrets, and hiding them would garble the output.
            if name in variables
            or (_SECRET_NAME.fullmatch(name) and len(value) >= 12 and any(c.isdigit() for c in value))
        }
        # Also as JSON writes them.
        values |= {json.dumps(value)[1:-1] for value in values}
        self._values = sorted((v for v in values if v), key=len, reverse=True)

    def __call__(self, text: str) -> str:
        for value in self._values:
            text = text.replace(value, "[secret]")
        return text

    def stream(self, text: str) -> tuple[str, str]:
        """Text that goes on later: what of it can be shown, and the end that may be the beginning of a secret."""
        shown: list[str] = []
        at = 0
        while at < len(text):
            rest = len(text) - at
            if any(len(value) > rest and value.startswith(text[at:]) for value in self._values):
                break
            found = next((value for value in self._values if text.startswith(value, at)), None)
            shown.append("[secret]" if found else text[at])
            at += len(found or " ")
        return "".join(shown), text[at:]


def jsonable(output: Any) -> Any:
    """An answer as plain JSON data."""
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(output, fallback=type_name)


def type_name(value: object) -> str:
    """What stands in JSON for a value that has no place there."""
    return f"<{type(value).__name__}>"
