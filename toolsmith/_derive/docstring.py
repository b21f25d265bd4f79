"""Docstring to description and parameter texts: Google, NumPy, reST and Epydoc, mixed and imperfect ones.

Finding the sections is done here, line by line, since real docstrings break every style's rules: no blank line before
`Args:`, no summary, a wrapped line that is not indented, two styles in one text. What a parameter section says is then
read by `docstring_parser`, one section at a time, in the style that the section is written in.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Mapping
from dataclasses import field
from itertools import pairwise
from types import MappingProxyType
from typing import Literal

from toolsmith._dataclass import dataclass

Style = Literal["google", "numpy", "rest", "epydoc"]

_PARAMETERS = frozenset(
    {
        "args",
        "arguments",
        "kwargs",
        "keyword args",
        "keyword arguments",
        "keyword parameters",
        "other args",
        "other arguments",
        "other parameters",
        "parameters",
        "params",
    }
)
_RETURNS = frozenset({"return", "returns"})
# Any other section survives in the description, as text.
_OTHER = frozenset(
    {
        *("attributes", "example", "examples", "note", "notes", "references", "see also", "todo", "yield", "yields"),
        *("except", "exceptions", "raise", "raises", "warning", "warnings", "warns"),
    }
)
# Words that begin a remark inside a parameter section, and are no parameter of this name.
_REMARKS = frozenset({"caution", "default", "defaults", "e.g", "example", "i.e", "important", "note", "tip", "warning"})

_MARK = re.compile(
    r"^[ \t]*(?:[A-Za-z][A-Za-z ]*:[ \t]*$|-{3,}[ \t]*$|:[A-Za-z]+(?:[ \t][^:\n]*)?:|@[a-z]+\b)", re.MULTILINE
)
_REST = re.compile(r"[ \t]*:([A-Za-z]+)(?:[ \t]([^:]*))?:(?:[ \t]|$)")
_EPYDOC = re.compile(r"[ \t]*@([a-z]+)\b")
_ENTRY = re.compile(r"\\?\*{0,2}([A-Za-z_]\w*(?:\s*,\s*\\?\*{0,2}[A-Za-z_]\w*)*)\s*(?:\(.*?\)|\[.*?\])?\s*:(?!:)")
_DECORATED = re.compile(r"(?:[-*+•]\s+)?[`*\\]*([A-Za-z_]\w*)[`*]*(\s*\([^)]*\))?\s*(?::[`*]*|\s(?:--?|–|—)(?=\s))\s*")
_BULLET = re.compile(r"[-*+•]\s|\d+[.)]\s|>>>|```|\|")
# A line that stands for itself: a title, an item, code, a row of a table, a quotation, a directive.
_OWN_LINE = re.compile(rf"\s|{_BULLET.pattern}|[#>:@|+=~$%]|\.\.|---|___|\*\*\*")
_COLUMNS = re.compile(r"[^\s.!?:;]\s{2,}\S| \| ")
_NARROWEST = 60
"""Characters: a shorter line is not taken for one that was cut at the margin."""
_FIELD_PARAMETERS = frozenset({"param", "parameter", "arg", "argument", "key", "keyword", "kwarg"})
_FIELD_DROPPED = frozenset({"type", "rtype", "kwtype"})
_FIELD_RAISES = frozenset({"raises", "raise", "except", "exception"})


@dataclass(frozen=True, slots=True)
class Doc:
    """What a docstring says.

    Attributes:
        description: all of it but the parameters and the returns: summary, prose (without the line breaks of the
            margin), and sections such as Raises or Examples, in their order.
        params: text by parameter, wrapped lines joined. Also names that the function may not have.
        returns: what comes back, "" where the docstring does not say.
        styles: the styles that its parameter and return sections are written in.
    """

    description: str = ""
    params: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    returns: str = ""
    styles: frozenset[Style] = frozenset()

    @property
    def text(self) -> str:
        """What a model is told of the tool: the description, then what comes back."""
        if not self.returns:
            return self.description
        last = f"Returns: {self.returns}"
        return f"{self.description}\n\n{last}" if self.description else last


def parse(docstring: str | None, parameters: Collection[str]) -> Doc:
    """Read a docstring.

    Args:
        docstring: as in `__doc__`; None and "" give an empty `Doc`.
        parameters: names of the function's parameters; they decide what is an entry where indentation does not.
    """
    if not docstring:
        return Doc()
    text = inspect.cleandoc(docstring.replace("\r\n", "\n").replace("\r", "\n"))
    if _MARK.search(text) is None:
        return Doc(description=_unwrapped(text.strip()))
    reader = _Reader([line.rstrip() for line in text.splitlines()], parameters)
    reader.read()
    return reader.doc()


class _Reader:
    """Walks over the lines once; each section goes to the one who reads its style."""

    def __init__(self, lines: list[str], parameters: Collection[str]) -> None:
        self.lines = lines
        self.parameters = parameters
        self.at = 0
        self.kept: list[str] = []
        self.params: dict[str, str] = {}
        self.stray: set[str] = set()  # told by a bullet among entries that have none: perhaps another one's list
        self.returns: list[str] = []
        self.styles: set[Style] = set()

    def doc(self) -> Doc:
        description = _unwrapped(re.sub(r"\n{3,}", "\n\n", "\n".join(self.kept)).strip())
        return Doc(description, MappingProxyType(self.params), " ".join(self.returns), frozenset(self.styles))

    def read(self) -> None:
        inside = -1  # indentation of the kept section we are in: what is deeper is its text, whatever it looks like
        while self.at < len(self.lines):
            line = self.lines[self.at]
            indent = _indent(line)
            if not line.strip() or (0 <= inside < indent):
                self._keep(line)
                continue
            inside = -1
            if (title := self._underlined(self.at)) is not None:
                self._numpy(title, indent)
            elif (title := _title(line)) is not None:
                if title in _OTHER:
                    inside = indent
                    self._keep(line)
                else:
                    self._google(title, indent)
            elif not self._fields(line, indent):
                self._keep(line)

    def _keep(self, line: str) -> None:
        self.kept.append(line)
        self.at += 1

    def _underlined(self, at: int) -> str | None:
        """The title of the NumPy section that begins at this line."""
        if at + 1 < len(self.lines) and self.lines[at + 1].endswith("---") and not self.lines[at + 1].strip(" \t-"):
            title = self.lines[at].strip(" \t:").lower()
            if title in _PARAMETERS or title in _RETURNS or title in _OTHER:
                return title
        return None

    def _numpy(self, title: str, indent: int) -> None:
        first = self.at + 2
        end = first
        while end < len(self.lines):
            line = self.lines[end]
            if self._underlined(end) is not None or (_indent(line) <= indent and _title(line) is not None):
                break
            end += 1
        body = self.lines[first:end]
        self.at = end
        if title in _PARAMETERS:
            self._entries("numpy", body)
        elif title in _RETURNS:
            self._returned("numpy", body)
        else:
            self.kept += ["", f"{title.capitalize()}:", *(f"    {line}" if line else "" for line in body)]

    def _google(self, title: str, indent: int) -> None:
        body, end = self._body(self.at + 1, indent, entries=title in _PARAMETERS)
        self.at = end
        if title in _PARAMETERS:
            self._entries("google", body)
        else:
            self._returned("google", body)

    def _body(self, first: int, indent: int, *, entries: bool) -> tuple[list[str], int]:
        """The lines of a section: the deeper ones; where none is deeper, the entries right below its header."""
        end = first
        while end < len(self.lines) and (not self.lines[end].strip() or _indent(self.lines[end]) > indent):
            end += 1
        if any(line.strip() for line in self.lines[first:end]) or not entries:
            return self.lines[first:end], end
        while end < len(self.lines) and self.lines[end].strip() and _title(self.lines[end]) is None:
            end += 1
        return self.lines[first:end], end

    def _fields(self, line: str, indent: int) -> bool:
        """Take a reST or Epydoc field, with its continuation lines, if one begins here."""
        if line[indent] not in ":@":
            return False
        match = _REST.match(line)
        style: Style = "rest" if match is not None else "epydoc"
        match = match or _EPYDOC.match(line)
        name = match.group(1).lower() if match is not None else ""
        if name in _FIELD_DROPPED | _FIELD_PARAMETERS | _RETURNS | _FIELD_RAISES:
            end = self.at + 1
            while end < len(self.lines) and self._continues(end, indent):
                end += 1
            block = inspect.cleandoc("\n".join(self.lines[self.at : end]))
            self.at = end
            self._field(style, name, block)
            return True
        return False

    def _continues(self, at: int, indent: int) -> bool:
        line = self.lines[at]
        if not line.strip():  # a paragraph of the same field goes on deeper
            following = next((after for after in self.lines[at:] if after.strip()), "")
            return _indent(following) > indent
        if _REST.match(line) or _EPYDOC.match(line) or _title(line) is not None:
            return _indent(line) > indent
        return True

    def _field(self, style: Style, name: str, block: str) -> None:
        if name in _FIELD_DROPPED:
            return
        if name in _FIELD_PARAMETERS:
            self._entries(style, [re.sub(r"\w+", "param", block, count=1)])
            return
        # ":raises ValueError: if bad", "@raise ValueError: if bad"
        head, _, said = block.lstrip(":@").partition(":")
        about = head.split()[1:]
        if name in _RETURNS:
            self.styles.add(style)
            self.returns.append(_joined(said))
        else:
            self.kept.append(" ".join(["Raises", *about]) + f": {_joined(said)}")

    def _entries(self, style: Style, body: list[str]) -> None:
        self.styles.add(style)
        stray: set[str] = set()
        if style == "google":
            if self._plain(body):
                return
            body, stray = self._aligned(body)
        for names, said in _read_entries(style, "\n".join(body)):
            for name in names.split(","):
                name = name.strip().lstrip("\\").lstrip("*").strip()
                if name and said:
                    self._put(name, _joined(said), stray=name in stray)

    def _put(self, name: str, said: str, *, stray: bool = False) -> None:
        """Keep the first text of a parameter; but one that may be a stray bullet gives way."""
        if name not in self.params or (name in self.stray and not stray):
            self.params[name] = said
            (self.stray.add if stray else self.stray.discard)(name)

    def _plain(self, body: list[str]) -> bool:
        """Take a section of nothing but "name: text" lines, which is most of them and needs no parser."""
        found: dict[str, str] = {}
        for line in body:
            if line:
                name, colon, said = line.strip().partition(": ")
                if not colon or name not in self.parameters or _indent(line) != _indent(body[0]):
                    return False
                found[name] = said
        for name, said in found.items():
            self._put(name, said.strip())
        return True

    def _aligned(self, body: list[str]) -> tuple[list[str], set[str]]:
        """Indent what is no entry below the entry that it belongs to.

        Gives also the names of which only a bullet speaks, where other entries have none.
        """
        base = min((_indent(line) for line in body if line.strip()), default=0)
        out: list[str] = []
        bullets: set[str] = set()
        entries = False
        for line in body:
            bare = line[base:] if line.strip() else ""
            if bare and not bare[0].isspace() and not self._is_entry(bare):
                regular = self._regular(bare)
                if regular is None and not out:
                    continue  # words between the header and the first entry say nothing of a parameter
                if regular is not None and _BULLET.match(bare):
                    bullets.add(regular.partition(":")[0].partition("(")[0].strip())
                bare = regular or f"    {bare}"
            elif bare and not bare[0].isspace():
                entries = True
            out.append(f"    {bare}" if bare else "")
        return out, bullets if entries else set()

    def _regular(self, line: str) -> str | None:
        """Write "- `city` (str) -- its name" as "city (str): its name", where `city` is a parameter."""
        match = _DECORATED.match(line)
        if match is None or match.group(1) not in self.parameters:
            return None
        return f"{match.group(1)}{match.group(2) or ''}: {line[match.end() :]}"

    def _is_entry(self, line: str) -> bool:
        match = _ENTRY.match(line)
        if match is None:
            return False
        name = match.group(1)
        return name in self.parameters or name.lower() not in _REMARKS

    def _returned(self, style: Style, body: list[str]) -> None:
        self.styles.add(style)
        said = _read_returns(style, body)
        if said:
            self.returns.append(said)


def _read_entries(style: Style, text: str) -> list[tuple[str, str]]:
    """(names, text) of each entry of one parameter section."""
    if not text.strip():
        return []
    from docstring_parser import ParseError, epydoc, google, numpydoc, rest
    from docstring_parser.common import DocstringParam

    try:
        match style:
            case "google":
                # The empty first line keeps `cleandoc` from taking the entries' indentation for the margin.
                parsed = google.parse(f"\nArgs:\n{text}")
            case "numpy":
                parsed = numpydoc.parse(f"\nParameters\n----------\n{inspect.cleandoc(chr(10) + text)}")
            case "rest":
                parsed = rest.parse(text)
            case "epydoc":
                parsed = epydoc.parse(text)
    except ParseError:
        return []
    return [(m.arg_name, m.description or "") for m in parsed.meta if isinstance(m, DocstringParam)]


def _read_returns(style: Style, body: list[str]) -> str:
    text = inspect.cleandoc("\n" + "\n".join(body)).strip()
    if style == "numpy":
        from docstring_parser import numpydoc
        from docstring_parser.common import DocstringReturns

        metas = numpydoc.parse(f"\nReturns\n-------\n{text}").meta
        parts = [_joined(m.description) for m in metas if isinstance(m, DocstringReturns) and m.description]
        return " ".join(parts) or _joined(text)
    # "dict[str, int]: amounts" tells the type first. A sentence that has a colon is not cut: a type has no blank before
    # its colon but inside brackets.
    match = re.match(r"[A-Za-z_][\w.|]*(?:\[[^\n]*?\])?(?: \| [\w.\[\], ]+)*:\s+(?=\S)", text)
    return _joined(text[match.end() :] if match else text)


def _title(line: str) -> str | None:
    """The section that this line is the header of, in lower case."""
    if not line.endswith(":"):
        return None
    title = line[:-1].strip().lower()
    return title if title in _PARAMETERS or title in _RETURNS or title in _OTHER else None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _unwrapped(text: str) -> str:
    """Prose without the line breaks of the margin; code, lists, tables and deliberate breaks keep theirs."""
    blocks = re.split(r"(```.*?(?:```|\Z))", text, flags=re.DOTALL) if "```" in text else [text]
    for index in range(0, len(blocks), 2):
        parts = blocks[index].split("\n\n")
        blocks[index] = "\n\n".join([_paragraph(part) if "\n" in part else part for part in parts])
    return "".join(blocks)


def _paragraph(text: str) -> str:
    lines = text.split("\n")
    margin = max(_NARROWEST, *map(len, lines))
    if margin == _NARROWEST or ">>>" in text:
        return text
    out = lines[0]
    for before, line in pairwise(lines):
        # The next word would not have fitted; and languages without blanks between words are not joined by one.
        cut = len(before) + len(line.partition(" ")[0]) >= margin and (before[-1:] + line[:1]).isascii()
        own = _OWN_LINE.match(before) or _OWN_LINE.match(line) or _COLUMNS.search(before) or _COLUMNS.search(line)
        out += f" {line}" if cut and not own and not before.endswith((":", "-", "\\")) else f"\n{line}"
    return out


def _joined(text: str) -> str:
    """Wrapped lines become one; bullets and paragraphs keep their own."""
    if "\n" not in text:
        return text.strip()
    out = ""
    for line in text.strip().splitlines():
        bare = line.strip()
        if not out:
            out = bare
        elif not bare or _BULLET.match(bare) or out.endswith("\n"):
            out += "\n" + bare
        else:
            out += " " + bare
    return re.sub(r"\n{2,}", "\n", out)
