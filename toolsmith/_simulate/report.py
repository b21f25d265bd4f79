"""Sends a tool the mistakes that models make, and reports what the model would read of each."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from toolsmith._dataclass import dataclass
from toolsmith._dialects.sent_names import in_sent_names, with_sent_names
from toolsmith._feedback import FEEDBACK, Feedback
from toolsmith._simulate.baseline import NoBaseline, baseline
from toolsmith._simulate.grade import Fault, faults
from toolsmith._simulate.mistakes import MISTAKES, Mistake
from toolsmith._simulate.places import Case, Slip
from toolsmith._simulate.strict_form import in_strict_form, place_in_strict_form
from toolsmith.errors import ConfigError
from toolsmith.messages import ToolResult
from toolsmith.registry import ToolRegistry

if TYPE_CHECKING:
    from toolsmith.dialects import Offered, Service
    from toolsmith.registry import ToolLike
    from toolsmith.tool import Tool

ProviderName = Literal["anthropic", "openai", "openai-chat", "local"]
Outcome = Literal["told", "mended", "meant", "taken"]
"""The call is refused, and the model told why; its meaning was certain, and the model is told what was mended; it is no
mistake in this form, as null for what is left out in OpenAI's strict mode; the function would get it as it is."""

RESULT = "(the result)"
"""Stands in a text for what the function would have given."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What comes of one mistake at one place.

    Attributes:
        tool: the tool.
        mistake: the name of the mistake: "near-enum".
        called: the name that is called.
        sent: the arguments as the model writes them.
        outcome: "told", "mended", "meant" or "taken".
        text: what the model would read; "" where the function would get the arguments as they are.
        faults: what the text lacks; () where it passes.
        advice: for the tool's author, where the mistake is taken; else "".
    """

    tool: str
    mistake: str
    called: str
    sent: str
    outcome: Outcome
    text: str
    faults: tuple[Fault, ...] = ()
    advice: str = ""

    def __str__(self) -> str:
        grade = "" if not self.text else "passes" if not self.faults else f"FAILS: {', '.join(self.faults)}"
        lines = [f"{self.mistake}, {self.outcome}{f', {grade}' if grade else ''}", f"  {self.called}({self.sent})"]
        return "\n".join([*lines, *(f"  {line}" for line in (self.text or self.advice).splitlines())])


@dataclass(frozen=True, slots=True)
class Simulation:
    """What comes of all mistakes; `print` it.

    Attributes:
        answers: in the order of tools and `MISTAKES`; several of one mistake, where it has several places.
        not_applicable: for each tool the mistakes that its schema has no room for.
        unmade: for each tool of which no valid arguments could be made, why; nothing was sent to those.
        forms: for each tool the form of its arguments: "its own", or "OpenAI strict".
    """

    answers: tuple[Answer, ...]
    not_applicable: Mapping[str, tuple[str, ...]]
    unmade: Mapping[str, str]
    forms: Mapping[str, str]

    @property
    def failed(self) -> tuple[Answer, ...]:
        """The answers whose text fails its grade."""
        return tuple(a for a in self.answers if a.faults)

    @property
    def taken(self) -> tuple[Answer, ...]:
        """The mistakes that would reach the function, since its schema does not forbid them."""
        return tuple(a for a in self.answers if a.outcome == "taken")

    @property
    def ok(self) -> bool:
        """Whether mistakes were sent to every tool, and each text passes."""
        return not self.failed and not self.unmade

    def __str__(self) -> str:
        lines = [f"{tool}: no valid arguments could be made: {why}" for tool, why in self.unmade.items()]
        lines += [str(a) for a in (*self.failed, *self.taken)]
        return "\n".join([*lines, self.summary])

    @property
    def summary(self) -> str:
        """What came of them, in one line."""
        counts = Counter(a.outcome for a in self.answers)
        each = ", ".join(f"{counts[o]} {o}" for o in get_args(Outcome) if counts[o])
        texts = "1 text fails" if len(self.failed) == 1 else f"{len(self.failed) or 'no'} texts fail"
        return f"{len(self.answers)} mistakes sent: {each or 'none'}; {texts} the grade."


def simulate(
    tools: ToolLike | ToolRegistry | Iterable[ToolLike | ToolRegistry],
    *,
    provider: ProviderName | None = None,
    strict: bool | None = None,
    arguments: Mapping[str, Any] | None = None,
    only: Collection[str] = (),
    feedback: Feedback = FEEDBACK,
) -> Simulation:
    """Send tools the mistakes that models make most, and see what the model would read.

        sent = simulate(search_hotels)
        assert sent.ok, sent

    No function is called: arguments are checked, and no more. What the check itself calls, as a pydantic validator of
    yours, is called.

    Args:
        tools: a function, a `Tool`, a registry, or several of these. An agent's are `agent.tools`.
        provider: in whose form the arguments are sent; None for the tool's own, as services take it without strict
            mode.
        strict: instead of each tool's own switch: in strict mode, or not. For a provider only.
        arguments: valid arguments of the tool, where none can be made of its schema; for one tool only.
        only: the names of tools to send mistakes to; () for all. The others are there, and may be suggested.
        feedback: the words.

    Raises:
        DefinitionError: something that cannot be a tool, or that cannot be strict.
        ConfigError: no tool, a name in `only` that no tool has, or `arguments` that do not fit.
    """
    registry = _registry(tools)
    chosen = [t for t in registry if not only or t.name in only]
    if unknown := sorted(set(only) - {t.name for t in registry}):
        raise ConfigError(f"There is no tool {unknown[0]!r}; there are: {', '.join(t.name for t in registry)}.")
    if not chosen:
        raise ConfigError("There is no tool to send mistakes to.")
    if arguments is not None and len(chosen) > 1:
        raise ConfigError("`arguments` are for one tool, and here are several: name one with `only` (--tool).")
    offers = _offers(registry, provider, strict)
    names = [t.name for t in registry]
    trials = [_Trial(t, names, offers.get(t.name), provider != "anthropic", feedback) for t in chosen]
    for trial in trials:
        trial.run(arguments)
    return Simulation(
        tuple(a for t in trials for a in t.answers),
        {t.tool.name: tuple(t.left_out) for t in trials},
        {t.tool.name: t.unmade for t in trials if t.unmade},
        {t.tool.name: t.form for t in trials},
    )


def _registry(tools: Any) -> ToolRegistry:
    if isinstance(tools, ToolRegistry):
        return tools
    several = not callable(tools) and isinstance(tools, Iterable)
    return ToolRegistry(cast("Iterable[Any]", tools) if several else [cast("Any", tools)])


def _offers(registry: ToolRegistry, provider: ProviderName | None, strict: bool | None) -> dict[str, Offered]:
    """Each tool as a service is told of it."""
    if provider is None:
        if strict is not None:
            raise ConfigError("Strict mode is a service's: name one with `provider` (--provider).")
        return {}
    from toolsmith.dialects import plan

    wanted = [(t.spec, t.options.strict if strict is None else strict) for t in registry]
    return {o.spec.name: o for o in plan(wanted, _service(provider))}


def _service(provider: str) -> Service:
    from toolsmith import dialects

    services = {
        "anthropic": dialects.CLAUDE,
        "openai": dialects.OPENAI,
        "openai-chat": dialects.OPENAI,
        "local": dialects.LOCAL,
    }
    if provider not in services:
        raise ConfigError(f"There is no provider {provider!r}; there are: {', '.join(services)}.")
    return services[provider]


class _Trial:
    """The mistakes of one tool."""

    def __init__(
        self, tool: Tool[..., Any], tools: list[str], offered: Offered | None, fill: bool, feedback: Feedback
    ) -> None:
        self.tool = tool
        self._tools = tools
        self._offered = offered
        self._fill = fill and (offered is None or offered.dialect.name != "local grammar")
        self._feedback = feedback
        self.answers: list[Answer] = []
        self.left_out: list[str] = []
        self.unmade = ""
        self.form = "its own" if offered is None else offered.dialect.name
        self._names: Mapping[str, str] = {} if offered is None else offered.sent_names()
        self._own = tuple(_patterns(tool.spec.schema))

    def run(self, arguments: Mapping[str, Any] | None) -> None:
        """Send all mistakes."""
        try:
            value = baseline(self.tool) if arguments is None else dict(arguments)
        except NoBaseline as error:
            self.unmade = f"{error} Give some that are (--arguments JSON)."
            return
        if (error := self.tool.check(self._write(value), self._offered, feedback=self._feedback).error) is not None:
            if arguments is not None:
                raise ConfigError(f"The given arguments are not accepted themselves: {error}")
            self.unmade = f"in the form {self.form!r} they are not accepted: {error}"
            return
        case = Case(self.tool.name, self._tools, self.tool.spec.schema, value, self._write)
        for mistake in MISTAKES:
            slips = list(mistake.make(case))
            self.answers += [self._answer(mistake, slip) for slip in slips]
            if not slips:
                self.left_out.append(mistake.name)

    def _write(self, value: Mapping[str, Any]) -> str:
        """Arguments as the model writes them in the form that it was shown."""
        sent: object = with_sent_names(dict(value), self._names)
        if self._offered is not None and self._offered.strict:
            sent = in_strict_form(sent, self._offered.schema, fill=self._fill)
        return json.dumps(sent, ensure_ascii=False)

    def _answer(self, mistake: Mistake, slip: Slip) -> Answer:
        name = self.tool.name
        slip = self._in_sent_form(self._in_sent_names(slip))
        sent = slip.text if slip.value is None else self._write(slip.value)
        if slip.tool:
            return self._told(mistake, slip, sent, self._feedback.unknown_tool(slip.tool, self._tools))
        if slip.length:
            return self._told(mistake, slip, sent, self._feedback.cut_off(name, len(sent)))
        checked = self.tool.check(sent, self._offered, feedback=self._feedback)
        if checked.error is not None:
            return self._told(mistake, slip, sent, checked.error)
        if not checked.notes:
            meant = mistake.name == "null" and self._offered is not None and not self._offered.exact
            advice = "" if meant else slip.advice or "its schema takes this"
            return Answer(name, mistake.name, name, sent, "meant" if meant else "taken", "", advice=advice)
        text = self._feedback.result_text(ToolResult(True, RESULT, notes=checked.notes))
        wrong = faults(text, slip, name, mended=True, own=self._own, feedback=self._feedback)
        return Answer(name, mistake.name, name, sent, "mended", text, wrong)

    def _in_sent_names(self, slip: Slip) -> Slip:
        """What the answer must name, as the model knows it."""
        if not self._names:
            return slip
        path = slip.path and tuple(self._names.get(p, p) if isinstance(p, str) else p for p in slip.path)
        return replace(slip, path=path, wants=tuple(in_sent_names(w, self._names) for w in slip.wants))

    def _in_sent_form(self, slip: Slip) -> Slip:
        """The same, where the model knows another form: a tuple is an object there, a mapping a list."""
        if self._offered is None or not self._offered.strict or slip.value is None or slip.path is None:
            return slip
        value = with_sent_names(dict(slip.value), self._names)
        path = place_in_strict_form(slip.path, value, self._offered.schema)
        either = ("list", "object") if {"a list", "list", "object"} & {*slip.wants} else ()
        return replace(slip, path=path, wants=(*slip.wants, *either))

    def _told(self, mistake: Mistake, slip: Slip, sent: str, text: str) -> Answer:
        name = self.tool.name
        wrong = faults(text, slip, name, own=self._own, feedback=self._feedback)
        return Answer(name, mistake.name, slip.tool or name, sent, "told", text, wrong)


def _patterns(node: Any) -> Iterator[str]:
    """The regular expressions of a schema."""
    if isinstance(node, Mapping):
        for word, inner in cast("Mapping[str, Any]", node).items():
            if word == "pattern" and isinstance(inner, str):
                yield inner
            yield from _patterns(inner)
    elif isinstance(node, list):
        for inner in cast("list[Any]", node):
            yield from _patterns(inner)
