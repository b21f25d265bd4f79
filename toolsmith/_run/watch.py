"""Where text that others have written goes in a run: what came in, and which calls would carry it out again.

Everything is read from the history, so that a conversation from elsewhere, or from yesterday, is known as well: fenced
text, and what tools gave that are marked `untrusted`. A run inside another one knows what that one knows, and trusts
its own prompt no more than the model that wrote it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal

from toolsmith._dataclass import dataclass
from toolsmith._feedback import NOT_TAKEN
from toolsmith._untrusted.fences import pieces
from toolsmith.media import File
from toolsmith.messages import Message, Text, ToolOutput

if TYPE_CHECKING:
    from toolsmith._untrusted.spans import Index, UntrustedSpan
    from toolsmith.registry import ToolRegistry
    from toolsmith.tool import Tool

Policy = Literal["allow", "ask", "deny"]
"""What becomes of a call that would carry untrusted text into a tool with effect="write"."""


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """What a run knows, for the runs inside it.

    Attributes:
        policy: theirs is no laxer.
        trusted: words of the user and of those who made the agents.
        untrusted: texts of others, each with its source.
    """

    policy: Policy = "allow"
    trusted: tuple[str, ...] = ()
    untrusted: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True, eq=False)
class Watch:
    """Watches one conversation.

    Attributes:
        policy: what becomes of calls that carry untrusted text.
        instructions: of the agent; trusted.
        around: what the run around this one knows; None for a run of its own, whose prompts are the user's.
        ours: places in the history of what the run itself says in the user's role; it may quote the model.
    """

    policy: Policy = "ask"
    instructions: str = ""
    around: Known | None = None
    ours: set[int] = field(default_factory=set[int])
    _trusted: list[str] = field(default_factory=list[str])
    _untrusted: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    _seen: int = 0
    _index: Index | None = None
    _indexed: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        if self.instructions:
            self._trusted.append(self.instructions)
        if self.around is not None:
            both = (self.policy, self.around.policy)
            self.policy = "deny" if "deny" in both else "ask" if "ask" in both else "allow"
            self._trusted += self.around.trusted
            self._untrusted += self.around.untrusted

    def known(self, history: Sequence[Message], tools: ToolRegistry) -> Known:
        """What a run inside this one is to know."""
        self._read(history, tools)
        return Known(self.policy, tuple(self._trusted), tuple(self._untrusted))

    def spans(
        self, arguments: Mapping[str, Any], history: Sequence[Message], tools: ToolRegistry
    ) -> tuple[UntrustedSpan, ...]:
        """The parts of a call's arguments that others have written; most often none.

        Args:
            arguments: by the tool's parameters, plain JSON data.
            history: up to the turn in which the call stands.
            tools: of the run.
        """
        self._read(history, tools)
        if not self._untrusted:
            return ()
        from toolsmith._untrusted.spans import Index

        index = self._index = self._index or Index()
        trusted, untrusted = self._indexed
        for text in self._trusted[trusted:]:
            index.trust(text)
        for text, source in self._untrusted[untrusted:]:
            index.add(text, source)
        self._indexed = len(self._trusted), len(self._untrusted)
        return index.find(arguments)

    def _read(self, history: Sequence[Message], tools: ToolRegistry) -> None:
        """Take in what the history has grown by."""
        for at, message in enumerate(history[self._seen :], self._seen):
            for part in message.parts:
                match part:
                    case Text(text) if message.role == "user":
                        if at not in self.ours and not text.startswith(NOT_TAKEN):
                            self._read_prompt(text)
                    case Text(_, citations):
                        # What the service's own search has found is not shown to us, but for what its model cites.
                        found = "\n".join(f"{c.url}\n{c.title}\n{c.cited_text}" for c in citations)
                        self._untrusted += [(found, "web_search")] if found else []
                    case ToolOutput():
                        self._read_output(part, tools)
                    case _:
                        pass
        self._seen = len(history)

    def _read_prompt(self, text: str) -> None:
        for piece in pieces(text):
            if piece.source is not None:
                self._untrusted.append((piece.text, piece.source))
            elif self.around is None:
                self._trusted.append(piece.text)

    def _read_output(self, output: ToolOutput, tools: ToolRegistry) -> None:
        found = [(piece.text, piece.source) for piece in pieces(output.text) if piece.source is not None]
        marked = output.name in tools and tools.get(output.name).options.untrusted
        # From before the tool was marked; or a failure, in which a page may have had its say. Of nothing nobody is the
        # author: what stands beside it are the tool's words, and the model's query in them.
        text = output.text
        ours = text.startswith((f"`{output.name}` was not run", "[]\n\n", "{}\n\n"))
        # Failures have no fence of ours around them: one that is in it was written by others.
        if (output.is_error or not found) and marked and not ours:
            found.append((text, output.name))
        if found or marked:
            found += [(words, output.name) for one in output.media if isinstance(one, File) and (words := _words(one))]
        self._untrusted += found


def reason(spans: Sequence[UntrustedSpan]) -> str:
    """Tells a person why a call waits."""
    sources = ", ".join(dict.fromkeys(span.source for span in spans))
    return f"It carries text that others have written (from {sources})."


def _words(file: File) -> str:
    """What a text file says, which the model reads as words."""
    if file.data is not None and file.media_type.startswith("text/"):
        return file.data.decode("utf-8", "replace")
    return file.text or ""


def gives_untrusted(tools: Iterable[Tool[..., Any]], depth: int = 0) -> bool:
    """Whether any of these tools gives untrusted text, or an agent among them has such tools."""
    return depth < 5 and any(t.options.untrusted or (t.inner and gives_untrusted(t.inner, depth + 1)) for t in tools)
