"""Exceptions for developers. What a *model* reads is made elsewhere, in `_feedback.py`.

    ToolsmithError
    ├── DefinitionError     a tool, registry or agent cannot be built; lists every problem at once
    ├── ConfigError         settings: an unknown provider, a missing key, a misspelt name in toolsmith.toml
    ├── HistoryError        a stored conversation cannot be read
    ├── RAGError            an index of documents cannot be opened, read or written
    ├── RunError            a run ended without an answer; carries the history so far
    │   ├── OutputError     the model gave no answer of the type that was asked for
    │   └── ProviderError   the service failed or refused; `category` says how, `retryable` whether to try again
    └── ToolError           raised *by a tool* to say something to the model
        └── ModelRetry      the same, when other arguments would work

Catch `ToolsmithError` for all. Nothing here is ever told apart by its text: use the class and its attributes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from toolsmith.messages import Message, Usage

ErrorCategory = Literal[
    "rate_limit",  # too many requests; try again later
    "quota",  # money or plan is used up; trying again cannot help
    "overloaded",  # the service is short of capacity
    "server",  # the service failed
    "timeout",  # no answer in time
    "connection",  # no connection, or it broke
    "auth",  # missing, wrong or powerless key
    "not_found",  # no such model or address
    "context",  # the request is longer than the model takes
    "grammar",  # the strict schemas are together too complex for the service
    "bad_request",  # the service refuses the request as it stands
    "bad_response",  # what came back is no answer of this API (HTML, half JSON)
    "unknown",
]

RETRYABLE: frozenset[ErrorCategory] = frozenset({"rate_limit", "overloaded", "server", "timeout", "connection"})


class ToolsmithError(Exception):
    """Base of all exceptions raised by toolsmith."""

    def __reduce__(self) -> tuple[object, ...]:
        # Python's own way calls the class with `args` alone, which fails for errors with keyword-only arguments, in
        # the process that waits for a pool's answer.
        return _restore, (type(self), self.args, self.__dict__)


def _restore(cls: type[ToolsmithError], args: tuple[object, ...], state: dict[str, object]) -> ToolsmithError:
    error = cls.__new__(cls, *args)
    error.__dict__.update(state)
    return error


class _ListedError(ToolsmithError):
    """Errors that are found many at a time and raised once."""

    def __init__(self, problems: str | Sequence[str]) -> None:
        self.problems: tuple[str, ...] = (problems,) if isinstance(problems, str) else tuple(problems)
        text = self.problems[0] if len(self.problems) == 1 else "\n".join(f"- {p}" for p in self.problems)
        super().__init__(text if len(self.problems) == 1 else f"{len(self.problems)} problems:\n{text}")


class DefinitionError(_ListedError):
    """A tool, a registry or an agent cannot be built.

    Attributes:
        problems: every problem found, one sentence or two each: what, where (file:line) and what to do.
    """


class DefinitionWarning(UserWarning):
    """A tool can be built, but what its author wrote of it is wrong.

    A docstring has a parameter that is not there, or a default is no value of its parameter's type.
    """


class ConfigError(_ListedError):
    """A setting is missing, misspelt or contradicts another; the text says where to set it.

    Attributes:
        problems: every problem found, one sentence or two each: where, what and what is allowed.
    """


class HistoryError(ToolsmithError, ValueError):
    """What should be a stored conversation is none, or of a version that this package does not know."""


class RAGError(ToolsmithError):
    """An index of documents is damaged, busy, full or out of reach; the text says what to do."""


class RunError(ToolsmithError):
    """A run ended without an answer, and nothing it did is lost.

    Attributes:
        messages: the history so far, valid to go on from with `agent.run(prompt, message_history=error.messages)`.
        usage: what the run had used, or None where it never started.
    """

    def __init__(self, text: str, *, messages: Sequence[Message] = (), usage: Usage | None = None) -> None:
        super().__init__(text)
        self.messages: list[Message] = list(messages)
        self.usage = usage


class OutputError(RunError):
    """The model gave no answer that fits the run's `output_type`, though it was told each time what was wrong."""


class ProviderError(RunError):
    """The model service failed or refused the request.

    Attributes:
        category: what kind of failure; decide on this, never on the text.
        provider: "anthropic:claude-opus-5-5" and the like.
        status: HTTP status, or None where there was no answer.
        code: the service's own error code or type, "" where it gave none.
        request_id: the service's id of the request, "" where it gave none.
        retry_after: seconds that the service asked to wait, or None.
        generation: what the model had written, where the service could not read it as a call and says so; else "".
    """

    def __init__(
        self,
        text: str,
        *,
        category: ErrorCategory,
        provider: str,
        status: int | None = None,
        code: str = "",
        request_id: str = "",
        retry_after: float | None = None,
        generation: str = "",
    ) -> None:
        super().__init__(text)
        self.generation = generation
        self.category: ErrorCategory = category
        self.provider = provider
        self.status = status
        self.code = code
        self.request_id = request_id
        self.retry_after = retry_after

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed later."""
        return self.category in RETRYABLE


class ToolError(ToolsmithError):
    """Raise this inside a tool to tell the model what went wrong, in your words.

    The text of any *other* exception stays in the log: it may hold secrets. This one is meant for the model.

    Args:
        message: what failed and why, as you would tell a colleague.
        hint: what to do next, a sentence.
        use: name of the tool that repairs the cause.
        args: arguments to call that tool with.
        untrusted: whether `message` has words that others have written, and is shown to the model between fences. None:
            if the tool is marked as `untrusted`. The hint and the rest are your own words in any case.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        use: str = "",
        args: Mapping[str, object] | None = None,
        untrusted: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.use = use
        self.arguments: Mapping[str, object] | None = args
        self.untrusted = untrusted


class ModelRetry(ToolError):
    """A `ToolError` that asks the model to call the same tool again with other arguments."""
