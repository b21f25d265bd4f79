"""Text that others have written, in a prompt of your own."""

from __future__ import annotations

from toolsmith._feedback import FEEDBACK, Feedback
from toolsmith._untrusted.fences import mark_for

__all__ = ["untrusted_text"]


def untrusted_text(text: str, source: str = "document", *, feedback: Feedback = FEEDBACK) -> str:
    """A text that others have written, fenced off as data, to be put into a prompt.

        agent.run_sync("Answer this mail:\\n" + untrusted_text(mail.body, "mail"))

    Without it, all of a prompt counts as the user's own words. The fence has a random mark and is not the same twice.

    Args:
        text: what they have written.
        source: where it comes from, in a word.
        feedback: says it; an agent's own, where that has one.
    """
    return feedback.untrusted(text, source, mark_for(text))
