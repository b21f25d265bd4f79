"""Which tool a request asks for: static embeddings of the request and of "name: description", and what can be filled.

A score is a cosine of the whole texts, plus a part of how well the single words meet, moved by plain evidence: a tool
that needs a number cannot be meant by a text without one; a tool one of whose values the text names is more likely
meant. Where that leaves a doubt, the language model adds its word: how much likelier it finds the request behind the
tool's description than behind none. The weights were set on the tuning set of `benchmarks/local_model.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from toolsmith.providers._local.candidates import Source, mentions
from toolsmith.providers._local.english import CHANGING, EDGE_WORDS, LIGHT, QUESTION_WORDS, stems
from toolsmith.providers._local.fields import Field, read
from toolsmith.providers._local.kinds import is_code, is_marked, is_path, takes_path
from toolsmith.providers._local.passages import strings
from toolsmith.providers._local.spans import Reading

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Embed = Callable[[str], NDArray[np.float32]]

THRESHOLD = 0.20
"""Below this score no tool is meant."""

_WORDS_WEIGHT = 0.3
_LIKELIHOOD_WEIGHT = 0.05
_PLAIN, _CLEAR, _HOPELESS = 0.6, 0.3, -0.15
_JUDGED, _LONGEST_JUDGED = 3, 40  # tools, words: each word costs the language model a step


@dataclass(frozen=True)
class Tool:
    """A tool as this model sees it."""

    name: str
    description: str
    fields: tuple[Field, ...]

    @classmethod
    def read(cls, name: str, description: str, schema: Mapping[str, Any]) -> Tool:
        return cls(name, description, read(schema))

    @property
    def title(self) -> str:
        """The name in words."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", self.name).replace("_", " ")

    @property
    def lead(self) -> str:
        """The first paragraph of the description; what follows is about details."""
        return self.description.strip().split("\n\n")[0]

    @cached_property
    def summary(self) -> str:
        """What is compared with a request."""
        names = " ".join(f.name.replace("_", " ") for f in self.fields)
        return expanded(f"{self.title}: {self.lead} {names}".strip())

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """Stems of the words that describe this tool."""
        return stems(self.title, self.lead, *(f.name for f in self.fields))


@dataclass(frozen=True, slots=True)
class Routed:
    """The best tool for a text, and its score."""

    tool: Tool
    score: float

    @property
    def sure(self) -> bool:
        return self.score >= THRESHOLD


class Router:
    """Finds the tool that a text asks for; remembers what it has seen.

    Args:
        tools: those to choose from.
        embed: gives a text's vector, of length 1.
        likelihood: asked where the vectors leave a doubt: how likely a text is as a request for a tool, or as a request
            for something else (None), as logarithms. Left out, the vectors decide alone.
    """

    def __init__(
        self, tools: Sequence[Tool], embed: Embed, likelihood: Callable[[str, Tool | None], float] | None = None
    ) -> None:
        self.tools = tuple(tools)
        self._embed = lru_cache(4096)(embed)
        self._likelihood = likelihood
        self._seen: dict[str, Routed | None] = {}

    def route(self, text: str) -> Routed | None:
        """The best tool, whatever its score; None where there are no tools."""
        if text not in self._seen:
            scored = self._scored(text)
            self._seen[text] = self._reconsidered(text, scored) if scored else None
        return self._seen[text]

    def glance(self, text: str) -> Routed | None:
        """`route` by the vectors alone."""
        return next(iter(self._scored(text)), None)

    def _scored(self, text: str) -> list[Routed]:
        return sorted((Routed(tool, self.score(text, tool)) for tool in self.tools), key=lambda r: -r.score)

    def _reconsidered(self, text: str, scored: Sequence[Routed]) -> Routed:
        """The best of the nearest few, with the language model's word where they are close or far off."""
        best, margin = scored[0], scored[0].score - (scored[1].score if len(scored) > 1 else 0.0)
        plain = best.score >= _PLAIN and margin >= _CLEAR
        if self._likelihood is None or plain or best.score < _HOPELESS:
            return best
        said = " ".join(text.split()[:_LONGEST_JUDGED])
        anything = self._likelihood(said, None)
        judged = [
            Routed(r.tool, r.score + _LIKELIHOOD_WEIGHT * (self._likelihood(said, r.tool) - anything))
            for r in scored[:_JUDGED]
        ]
        return max(judged, key=lambda r: r.score)

    def score(self, text: str, tool: Tool) -> float:
        """How likely a text asks for a tool."""
        plain = expanded(without_values(text))
        return self.alike(plain, tool.summary) + _WORDS_WEIGHT * self._by_words(plain, tool) + evidence(text, tool)

    def alike(self, left: str, right: str) -> float:
        """How near two texts are in meaning: a cosine."""
        return float(self._embed(left) @ self._embed(right))

    def _by_words(self, text: str, tool: Tool) -> float:
        """The mean over the words of a text of how near the nearest word of the tool comes."""
        import numpy as np

        asked, offered = _content(text), _content(tool.summary)
        if not asked or not offered:
            return 0.0
        matrix = np.stack([self._embed(w) for w in offered])
        return float(np.mean([(matrix @ self._embed(w)).max() for w in asked]))


def expanded(text: str) -> str:
    """ "How many" with the words it stands for: word vectors do not know that it counts."""
    return re.sub(r"\bhow many\b", "how many count number of", text, flags=re.IGNORECASE)


def evidence(text: str, tool: Tool) -> float:
    """What the text holds or lacks of the tool's arguments, and of its name."""
    source = Source(Reading(text), tool.vocabulary)
    found = 0.0
    for f in tool.fields:
        given = f.optional or f.nullable
        match f.kind:
            case "enum":
                found += 0.12 if mentions(f, source) else (0.0 if given else -0.2)
            case "integer" | "number" if not given:
                found += 0.03 if source.reading.numbers else -0.2
            case "string" if not given and f.format in ("email", "uri", "uuid", "date", "date-time"):
                found += 0.1 if strings(f, source) else -0.2
            case "string" if not given and is_marked(f) and not f.format:
                found += 0.12 if any(is_code(w.text) for w in source.reading.words) else -0.08
            case _:
                pass
    takes = any(f.kind in ("integer", "number") or is_marked(f) for f in tool.fields)
    found -= 0.1 if source.reading.numbers and not takes else 0.0
    paths = any(is_path(w.text) for w in source.reading.words)
    found -= 0.1 if paths and not any(takes_path(f) for f in tool.fields) else 0.0
    verb, *rest = tool.title.lower().split() or [""]
    if rest and verb in CHANGING and _is_question(source):
        found -= 0.3
    said = {w.bare for w in source.reading.words} - EDGE_WORDS - LIGHT
    return found + 0.04 * len(stems(*said) & stems(tool.title))


def _is_question(source: Source) -> bool:
    """Whether a text asks about something; "Can you ...?" and "Could you ...?" ask for a deed."""
    words = source.reading.words
    first = words[0].bare.removesuffix("'s").removesuffix("’s") if words else ""
    return first in QUESTION_WORDS and source.reading.text.rstrip().endswith("?")


def without_values(text: str) -> str:
    """A request without quoted passages, numbers and codes: they say nothing about what is to be done."""
    reading = Reading(text)
    for quoted in reversed(reading.quoted):
        text = text[: quoted.start] + text[quoted.end :]
    return " ".join(w for w in text.split() if not any(c.isdigit() for c in w)) or reading.text


def _content(text: str) -> list[str]:
    words = [w.bare for w in Reading(text).words]
    return [w for w in words if w not in EDGE_WORDS and w not in LIGHT and not any(c.isdigit() for c in w)]
