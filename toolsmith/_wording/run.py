"""Words for a run's bounds: what is left, what is used up, what has been tried before.

The part of `_feedback.Feedback` that speaks of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Final

from toolsmith._wording.arguments import Wording

_TOOLS_SHOWN: Final = 12
_ORDINALS: Final = {2: "second", 3: "third", 4: "fourth", 5: "fifth"}


class RunWording(Wording):
    """Turns limits and repetitions into sentences."""

    # ---- answers

    def answer_shape(self, member: str, accepted: str) -> str:
        """How a typed answer has to look, where it looked otherwise.

        Args:
            member: of the one object that is sent.
            accepted: what stands there, as a noun phrase: "a whole number".
        """
        return f'The whole answer is one JSON object, {{"{member}": ...}}, and `{member}` is {accepted}.'

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

    def group_limit(self, tool: str, tools: Sequence[str], limit: int) -> str:
        """The tools of a group have together been called as often as they may be in one run.

        Args:
            tool: which was called.
            tools: all of the group.
            limit: how often they may be called.
        """
        if len(tools) < 2 or limit == 0:
            return self.tool_limit(tool, limit)
        used = "that call is" if limit == 1 else "all of these calls are"
        times = "once" if limit == 1 else f"{limit:,} times"
        return (
            f"`{tool}` was not run: {self.names(tools, _TOOLS_SHOWN)} may together be called {times} in a run, and "
            f"{used} used. Go on with the results you have, use another tool, or answer without it."
        )

    def shared_limit(self, tool: str, tools: Sequence[str], limit: int, seconds: float | None) -> str:
        """All runs together have made as many calls as they may.

        Args:
            tool: which was called.
            tools: the ones that the limit is for; none stands for all.
            limit: how many calls.
            seconds: until there are new ones; None if there never are.
        """
        calls = self.counted(limit, "call" if tools else "tool call")
        of = f" of {self.names(tools, _TOOLS_SHOWN)}{' together' if len(tools) > 1 else ''}" if tools else ""
        later = "" if seconds is None else f" There are new ones in {self.span(seconds)}."
        return (
            f"`{tool}` was not run: the {calls}{of} that this run shares with others {'is' if limit == 1 else 'are'} "
            f"used.{later} "
            "Go on with the results you have, use another tool, or answer without it."
        )

    def not_counted(self, tool: str) -> str:
        """The call could not be counted, and so not be allowed."""
        return (
            f"`{tool}` was not run: its calls are limited together with those of other runs, and they cannot be "
            "counted at the moment. Use another tool, or answer without it."
        )

    def span(self, seconds: float) -> str:
        """A long span of time, rounded up: "50 seconds", "12 minutes", "3 hours", "2 days"."""
        for size, noun in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
            if seconds > 2 * size:
                return self.counted(ceil(seconds / size), noun)
        return self.counted(max(ceil(seconds), 1), "second")

    # ---- not allowed yet

    def not_yet_allowed(self, tool: str) -> str:
        """The run has ended while the call waits for a person; for those who go on from its history without them."""
        return f"`{tool}` was not run: the user has not allowed it yet. Call it again only if it is still wanted."

    # ---- what is left

    def left_of_tools(self, tools: Sequence[str], left: int, limit: int, *, shared: bool = False) -> str:
        """Follows a result: few calls of a tool, or of a group of tools, are left.

        Args:
            tools: one, or those of the group.
            left: how many calls; 0 goes with a failure, whose words may ask for another call.
            limit: how many there were.
            shared: all runs together have no more.
        """
        together = " together" if len(tools) > 1 else ""
        return self._left(f"calls of {self.names(tools, _TOOLS_SHOWN)}{together}", left, limit, shared=shared)

    def left_of_run(self, left: int, limit: int, *, shared: bool = False) -> str:
        """Follows a result: few calls of any tool are left; the arguments are those of `left_of_tools`."""
        return self._left("tool calls" if shared else "tool calls of this run", left, limit, shared=shared)

    def _left(self, what: str, left: int, limit: int, *, shared: bool) -> str:
        owners = " that this run shares with others" if shared else ""
        if not left:
            return f"But no more {what}{owners} are left: go on without."
        return f"{left:,} of {limit:,} {what}{owners} {'is' if left == 1 else 'are'} left."

    # ---- the end

    def unread(self, tools: Sequence[str]) -> str:
        """The service could not read the model's message as a call, and nor can we."""
        words = "Your last message could not be read as a tool call, so nothing was run."
        if not tools:
            return f"{words} There are no tools in this run. Answer in words."
        return (
            f"{words} Call a tool by its name, with one JSON object as its arguments, or answer in words. "
            f"{self.available(tools, _TOOLS_SHOWN)}"
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

    # ---- agents that are tools

    def agent_described(self, name: str) -> str:
        """What a model is told of an agent that is a tool, where its author has said nothing."""
        who = "another agent" if name == "agent" else f"the agent {name}"
        return f"Hand a task to {who} and get its answer. It works on its own and sees only the task."

    def agent_task(self) -> str:
        """Describes the one argument of such a tool."""
        return "What is to be done, with everything that must be known for it."

    def agent_without_task(self) -> str:
        """Such a tool was called with an empty task."""
        return "The task is empty. Say in `task` what is to be done, with everything that must be known for it."

    def agent_cut_short(self, reason: str) -> str:
        """Goes with an answer of such an agent.

        Args:
            reason: "turn_limit", "call_limit", "token_limit", "time_limit", "length" or "context".
        """
        what = {
            "turn_limit": "its turns were used up",
            "call_limit": "its tool calls were used up",
            "token_limit": "its token budget was used up",
            "time_limit": "its time was over",
        }.get(reason, "its answer had grown too long")
        return f"this answer was given when {what}; it may be incomplete."

    def agent_unanswered(self, reason: str) -> str:
        """Such an agent has ended without an answer; the text follows the words that say so.

        Args:
            reason: a `StopReason` other than "end".
        """
        return {
            "turn_limit": "Its turns were used up before it had an answer. Give it a smaller task.",
            "call_limit": "Its tool calls were used up before it had an answer. Give it a smaller task.",
            "token_limit": "Its token budget was used up before it had an answer. Give it a smaller task.",
            "time_limit": "Its time was over before it had an answer. Give it a smaller task.",
            "length": "Its answer had grown too long. Give it a smaller task.",
            "context": "The task has grown too long for it. Give it a smaller task.",
            "refusal": "It declined the task. Do not send it again; go another way, or say that it was declined.",
            "filter": "Its answer was held back by a content filter. Go another way, or say so.",
            "approval": "It needs a person's permission for a step, and nobody could be asked. Go on without it.",
        }.get(reason, "It was broken off. Try it once more, or go another way.")

    def agent_too_deep(self) -> str:
        """An agent was asked by an agent that was asked by an agent, and so on."""
        return "Too many agents have handed this task on already. Do it without another one."

    def _times(self, number: int) -> str:
        return {1: "once", 2: "twice"}.get(number, f"{number:,} times")


def _ordinal(number: int) -> str:
    return _ORDINALS.get(number, f"{number:,}th")
