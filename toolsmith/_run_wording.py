"""Words for a run's bounds: what is left, what is used up, what has been tried before.

The part of `_feedback.Feedback` that speaks of them.
"""

from __future__ import annotations

from typing import Final

from toolsmith._wording import Wording

_ORDINALS: Final = {2: "second", 3: "third", 4: "fourth", 5: "fifth"}


class RunWording(Wording):
    """Turns limits and repetitions into sentences."""

    # ---- used up

    def tool_limit(self, tool: str, limit: int) -> str:
        """The tool has been called as often as it may be in one run."""
        times = "once" if limit == 1 else f"{limit:,} times"
        used = "that call is" if limit == 1 else "all of these calls are"
        if limit == 0:
            return f"`{tool}` was not run: it may not be called in this run. Use another tool, or answer without it."
        return (
            f"`{tool}` was not run: it may be called {times} in a run, and {used} used. "
            "Go on with the results you have, use another tool, or answer without it."
        )

    def run_limit(self, tool: str, limit: int) -> str:
        """The run has made as many calls as it may."""
        return (
            f"`{tool}` was not run: this run may make {self.counted(limit, 'tool call')}, and none is left. "
            "Answer with what you have, and say what is missing."
        )

    def closing(self, reason: str) -> str:
        """The run's own budget has ended; this asks for the answer.

        Args:
            reason: "turn_limit", "call_limit", "token_limit" or "time_limit".
        """
        what = {
            "turn_limit": "its last turn",
            "call_limit": "the end of its tool calls",
            "token_limit": "the end of its token budget",
            "time_limit": "the end of its time",
        }.get(reason, "its end")
        return (
            f"This run has reached {what}: no more tools can be called. "
            "Answer now with what you have. Say plainly what is missing or uncertain."
        )

    # ---- tried before

    def repeated(self, tool: str, times: int) -> str:
        """Follows the text of a failed call that has failed in the same way before, with the same arguments.

        Args:
            tool: its name.
            times: how often in a row, this time included; from 2 on.
        """
        return (
            f"This is the {_ordinal(times)} time that the same call of `{tool}` has failed in the same way. It will "
            "not be run again like this: send other arguments, use another tool to repair the cause, or answer without "
            "it."
        )

    def repeated_empty(self, tool: str, times: int) -> str:
        """Goes with an empty result that the same call has given before; `times` as for `repeated`."""
        return (
            f"this is the {_ordinal(times)} time that the same call of `{tool}` has given an empty result. It will not "
            "be run again like this: send other arguments, use another tool, or answer with what you have."
        )

    def repeat_stopped(self, tool: str, times: int, *, empty: bool) -> str:
        """The call was not run, since the same one has failed before and nothing has changed.

        Args:
            tool: its name.
            times: how often in a row it has ended in the same way.
            empty: it did not fail, but gave an empty result each time.
        """
        ended = "given an empty result" if empty else "failed in the same way"
        return (
            f"`{tool}` was not run: the same call has {ended} {self._times(times)}, and nothing has changed since. "
            "Send other arguments, use another tool to repair the cause, or answer with what you have."
        )

    def _times(self, number: int) -> str:
        return {1: "once", 2: "twice"}.get(number, f"{number:,} times")


def _ordinal(number: int) -> str:
    return _ORDINALS.get(number, f"{number:,}th")
