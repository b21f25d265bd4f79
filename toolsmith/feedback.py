"""Every sentence that a model reads from toolsmith, one method each: override some to say them in other words.

    class German(Feedback):
        def denied(self, tool: str, reason: str = "") -> str:
            return f"`{tool}` lief nicht: der Benutzer hat es nicht erlaubt. {reason}"

    agent = Agent(model, tools=[...], feedback=German())

What a method is for, and what it is given, says its docstring (`python -m pydoc toolsmith.Feedback` lists them all);
docs/errors.md shows each text where it is read. Three tables of short texts are attributes, not methods: `hints`,
`formats` and `reasons`. The methods without a leading underscore are a promise, and so is what they are called with,
but for those about arguments (`problem`, `expected` and what belongs to them): what these are given may grow. Return
a text of about the same length, since no other bound is put on it, and keep a tool's name between backticks. An
object may be shared by many runs.
"""

from __future__ import annotations

from toolsmith._feedback import Feedback

__all__ = ["Feedback"]
