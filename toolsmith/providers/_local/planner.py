"""The next step of the local model: a call, or the answer. It reads the whole episode anew each time and keeps nothing.

A request is cut into clauses, each clause is routed to a tool; they are done in order. After a failure it takes the
remedy that the error names, and then repeats the failed call; or a value that the error suggests; or it stops and says
what failed. It never repeats a call that failed unless something was changed in between.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from toolsmith.providers._local import answers
from toolsmith.providers._local.candidates import Source
from toolsmith.providers._local.english import QUESTION_WORDS
from toolsmith.providers._local.episode import Done, Episode
from toolsmith.providers._local.filling import Choose, Filler
from toolsmith.providers._local.recovery import correction, remedies
from toolsmith.providers._local.router import Routed, Router, Tool
from toolsmith.providers._local.spans import Reading

MAX_ATTEMPTS = 6
"""Calls that one clause of a request may take, remedies and corrections included."""

_SURE_PART = 0.35
_MOST_CLAUSES = 6
_STRONG_CUT = re.compile(
    r"\s*(?:[,;.?!]?\s+(?:and\s+)?(?:then|afterwards|after that)\s*,?\s+|;\s+|[.?!]\s+(?:and\s+|also\s+)?)"
)
_WEAK_CUT = re.compile(r",?\s+and\s+(?:also\s+)?|,\s+(?:also\s+)?")
_PRONOUN = re.compile(r"\b(?:it|them|this one|that one)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Call:
    """Call a tool."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """Say this, and end."""

    text: str


@dataclass(frozen=True, slots=True)
class Goal:
    """A clause of the request and the tool it asks for."""

    text: str
    tool: Tool


@dataclass
class Planner:
    """Decides on the next step.

    Attributes:
        ask: the language model: prompt and literals in, one literal out.
        prompt: makes the beginning of the prompt for a text and a tool.
    """

    router: Router
    ask: Choose
    prompt: Callable[[str, Tool], str]
    _tools: dict[str, Tool] = field(init=False)

    def __post_init__(self) -> None:
        self._tools = {t.name: t for t in self.router.tools}

    def next(self, episode: Episode, tool_choice: str = "auto") -> Call | Answer:
        """The next step.

        Args:
            episode: what was asked and done so far.
            tool_choice: "auto", "none", "required" or a tool's name.
        """
        if tool_choice == "none":
            return Answer(answers.report(episode.done) or answers.nothing_fits(list(self._tools)))
        goals = self.goals(episode.request, tool_choice)
        if not goals:
            return Answer(answers.nothing_fits(list(self._tools)))
        goal, attempts = self._progress(goals, episode.done)
        if goal is None:
            return Answer(answers.report(episode.done))
        if not attempts:
            return self._begin(goal, episode)
        return self._again(goal, attempts, episode)

    def goals(self, request: str, tool_choice: str = "auto") -> list[Goal]:
        """What the request asks for, clause by clause; empty where no tool fits."""
        if tool_choice in self._tools:
            return [Goal(request, self._tools[tool_choice])]
        whole = self.router.route(request)
        if whole is None:
            return []
        goals = self._clauses(request)
        if len(goals) > 1:
            return goals
        if whole.sure or tool_choice == "required":
            return [Goal(request, whole.tool)]
        return goals

    def _clauses(self, request: str) -> list[Goal]:
        goals: list[Goal] = []
        for part in _cut(request, _STRONG_CUT):
            routed = self.router.route(part)
            remark = routed is None or not routed.sure
            if remark or (goals and routed and routed.tool is goals[-1].tool and not _begins_anew(part)):
                if goals:  # about what came before: "It is urgent." "Number A-1, please."
                    goals[-1] = Goal(f"{goals[-1].text}. {part}", goals[-1].tool)
                continue
            goals += self._halves(part, routed) if routed else []
        return goals

    def _halves(self, part: str, routed: Routed) -> list[Goal]:
        """Cut at an "and" only where both sides plainly ask for a tool of their own."""
        reading = Reading(part)
        for m in islice(_WEAK_CUT.finditer(part), _MOST_CLAUSES):
            left, right = part[: m.start()], part[m.end() :]
            if any(q.start < m.start() < q.end for q in reading.quoted) or not _begins_clause(right):
                continue
            one, two = self.router.glance(left), self.router.glance(right)
            if one and two and min(one.score, two.score) >= _SURE_PART and one.tool is not two.tool:
                return [Goal(left, one.tool), *self._halves(right, two)]
        return [Goal(part, routed.tool)]

    def _progress(self, goals: Sequence[Goal], done: Sequence[Done]) -> tuple[Goal | None, list[Done]]:
        """The first goal that is not reached, and the calls made for it."""
        left, attempts = list(goals), list[Done]()
        for step in done:
            attempts.append(step)
            if left and step.name == left[0].tool.name and not step.failed:
                left.pop(0)
                attempts = []
        return (left[0] if left else None), attempts

    def _begin(self, goal: Goal, episode: Episode) -> Call | Answer:
        text = _resolved(goal.text, episode)
        arguments, missing = self._fill(goal.tool, text, episode)
        if missing and text != episode.request:
            arguments, missing = self._fill(goal.tool, episode.request, episode)
        if missing:
            return Answer(answers.report(episode.done, answers.lacking(goal.tool.name, missing)))
        return Call(goal.tool.name, arguments)

    def _again(self, goal: Goal, attempts: Sequence[Done], episode: Episode) -> Call | Answer:
        """After a failure, or after a remedy."""
        last = attempts[-1]
        stop = Answer(answers.report(episode.done, "I stopped there."))
        if len(attempts) >= MAX_ATTEMPTS:
            return stop
        if not last.failed:
            failed = _open_failure(attempts)
            return stop if failed is None else Call(failed.name, dict(failed.arguments))
        for remedy in remedies(last.text, last.name, self.router.tools):
            arguments = remedy.arguments
            if arguments is None:
                text = f"{last.text} {episode.request}"
                needed = replace(remedy.tool, fields=tuple(f for f in remedy.tool.fields if not f.optional))
                arguments, missing = self._fill(needed, text, episode, known=dict(last.arguments))
                if missing:
                    continue
            if not _tried(remedy.tool.name, arguments, attempts):
                return Call(remedy.tool.name, arguments)
        return self._corrected(last, attempts, episode) or stop

    def _corrected(self, last: Done, attempts: Sequence[Done], episode: Episode) -> Call | None:
        tool = self._tools.get(last.name)
        change = correction(last, tool) if tool else None
        if tool is None or change is None:
            return None
        value = change.values[0]
        if not change.certain:
            literals = [json.dumps(v, ensure_ascii=False) for v in change.values]
            opening = f"{self.prompt(episode.request, tool)}{{{json.dumps(change.name)}: "
            value = json.loads(self.ask(opening, literals))
        arguments = {**last.arguments, change.name: value}
        return None if _tried(last.name, arguments, attempts) else Call(last.name, arguments)

    def _fill(
        self, tool: Tool, text: str, episode: Episode, known: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], tuple[str, ...]]:
        prompt = self.prompt(text, tool)
        filler = Filler(
            choose=lambda prefix, literals: self.ask(prompt + prefix, literals),
            source=Source(Reading(text), tool.vocabulary),
            known={**episode.known(), **(known or {})},
            alike=self.router.alike,
        )
        filled = filler.fill(tool.fields)
        return filled.values, filled.missing


def _cut(text: str, pattern: re.Pattern[str]) -> list[str]:
    quoted = Reading(text).quoted
    parts: list[str] = []
    begun = 0
    for m in islice(pattern.finditer(text), _MOST_CLAUSES):
        if any(q.start < m.start() < q.end for q in quoted):
            continue
        parts.append(text[begun : m.start()])
        begun = m.end()
    return [p.strip() for p in (*parts, text[begun:]) if p.strip()]


def _begins_anew(text: str) -> bool:
    """Whether a sentence is a command or a question of its own."""
    words = text.split()
    return Source(Reading(text)).imperative is not None or (bool(words) and words[0].lower() in QUESTION_WORDS)


def _open_failure(attempts: Sequence[Done]) -> Done | None:
    """The last failed call that has not gone well since: the one that a remedy was for."""
    for i in range(len(attempts) - 1, -1, -1):
        step = attempts[i]
        if step.failed and not any(s.name == step.name and not s.failed for s in attempts[i + 1 :]):
            return step
    return None


def _begins_clause(text: str) -> bool:
    """Whether a text begins as a request does, not as the next item of a list ("the office", "Paris", "25")."""
    first = text.split(maxsplit=1)[0] if text.split() else ""
    return len(text.split()) > 1 and first[:1].islower() and first not in ("the", "a", "an", "my", "his", "her", "its")


def _resolved(text: str, episode: Episode) -> str:
    """The clause with "it" replaced by what the last call was about."""
    before = [step for step in episode.done if not step.failed]
    values = [v for v in before[-1].arguments.values() if isinstance(v, str) and v] if before else []
    if not values or not text:
        return text
    return _PRONOUN.sub(lambda _: values[0], text)


def _tried(name: str, arguments: dict[str, Any], attempts: Sequence[Done]) -> bool:
    return any(step.name == name and dict(step.arguments) == arguments for step in attempts)
