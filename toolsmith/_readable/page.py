"""The target of the parser's events: writes the text of a page as they come."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from toolsmith._readable.rules import absolute, is_hidden, language, target

_MAX_DEPTH = 5_000  # an end tag costs libxml2 a look at each open element
_MAX_TITLE, _MAX_ANCHORS, _MAX_CELLS = 300, 20, 200

_ON_THEIR_OWN = (
    "address article aside blockquote body caption center dd details div dl dt fieldset figcaption figure footer form "
    "h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main ol p pre section summary table tbody td tfoot th thead tr "
    "ul"
)
_BLOCKS = frozenset(_ON_THEIR_OWN.split())
# Shown by no browser, read by every model: format and tag characters. The two joiners of real scripts are not here.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e0fff]"
)
_BREAK = "\x00"


@dataclass(slots=True)
class _Block:
    text: str
    kind: str = ""  # blocks of one kind, "li" or "tr", stand on lines that follow each other


@dataclass(slots=True)
class _Table:
    rows: list[list[list[_Block]]] = field(default_factory=list[list[list[_Block]]])


def _no_blocks() -> list[_Block]:
    return []


@dataclass
class Page:
    """One page. Its methods `start` to `close` are called by the parser.

    Attributes:
        url: the address against which links are resolved.
        links: whether they are written.
        most: characters of text after which it stops.
        title: what `<title>` says.
        heading: the first heading.
        cut: why reading stopped early; the parser's driver looks at it.
        blocks: where finished paragraphs go.
    """

    url: str
    links: bool
    most: int
    title: str = ""
    heading: str = ""
    cut: str = ""
    blocks: list[_Block] = field(default_factory=_no_blocks)

    def __post_init__(self) -> None:
        self._root = self.blocks
        self._line: list[str] = []
        self._depth = self._hidden = self._pre = self._quotes = self._size = 0
        self._in_title = False
        self._language = ""
        self._lists: list[int | None] = []  # the next number of each open list, None for bullets
        self._marker = ""
        self._anchors: list[tuple[int, str]] = []
        self._tables: list[tuple[_Table, list[_Block]]] = []
        self._regions: list[tuple[int, int]] = []
        self._region_depth, self._region_start = 0, 0

    # ---- events

    def start(self, tag: str, attrib: Mapping[str, str]) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            self.cut = f"nested more than {_MAX_DEPTH:,} deep"
        if self._hidden or self.cut or is_hidden(tag, attrib):
            self._hidden += 1
            return
        if tag in _BLOCKS:
            self._flush()
        match tag:
            case "title":
                self._in_title = not self.title
            case "base":
                self.url = absolute(self.url, attrib.get("href", "")) or self.url
            case "main" | "article":
                if self._region_depth == 0 and self.blocks is self._root:
                    self._region_start = len(self.blocks)
                self._region_depth += 1
            case "pre":
                self._pre += 1
                self._language = language(attrib)
            case "code":
                self._language = self._language or language(attrib)
                self._inline("" if self._pre else "`")
            case "br":
                self._inline("\n" if self._pre else _BREAK)
            case "hr":
                self._put(_Block("---"))
            case "img":
                self._inline(f" {attrib['alt']} " if attrib.get("alt", "").strip() else "")
            case "a" if len(self._anchors) < _MAX_ANCHORS:
                self._anchors.append((len(self._line), attrib.get("href", "")))
            case _:
                self._start_of_structure(tag)

    def _start_of_structure(self, tag: str) -> None:
        match tag:
            case "blockquote":
                self._quotes += 1
            case "ul" | "ol" | "menu":
                self._lists.append(1 if tag == "ol" else None)
            case "li":
                self._item()
            case "table":
                self._tables.append((_Table(), self.blocks))
            case "tr" if self._tables:
                self._tables[-1][0].rows.append([])
            case "td" | "th" if self._tables:
                self._cell()
            case _:
                pass

    def end(self, tag: str) -> None:
        self._depth -= 1
        if self._hidden:
            self._hidden -= 1
            return
        if tag == "pre" and self._pre:
            self._end_of_code()
        elif tag in ("h1", "h2", "h3", "h4", "h5", "h6"):
            self._end_of_heading(int(tag[1]))
        elif tag in _BLOCKS:
            self._flush()
        match tag:
            case "title":
                self._in_title = False
            case "code":
                self._inline("" if self._pre else "`")
            case "a" if self._anchors:
                self._end_of_link(*self._anchors.pop())
            case "blockquote":
                self._quotes = max(self._quotes - 1, 0)
            case "ul" | "ol" | "menu" if self._lists:
                self._lists.pop()
                self._marker = ""
            case "li":
                self._marker = ""
            case "table" if self._tables:
                self._end_of_table(*self._tables.pop())
            case "main" | "article" if self._region_depth:
                self._region_depth -= 1
                if self._region_depth == 0 and self.blocks is self._root:
                    self._regions.append((self._region_start, len(self.blocks)))
            case _:
                pass

    def data(self, data: str) -> None:
        if self._in_title:
            self.title = (self.title + data)[:_MAX_TITLE]
        elif not self._hidden:
            self._inline(data)

    def comment(self, text: str) -> None:
        """Comments are not for readers."""

    def pi(self, target: str, data: str | None = None) -> None:
        """Nor are processing instructions."""

    def doctype(self, *_: object) -> None:
        """Nor is the document type."""

    def close(self) -> None:
        """The parser wants to hear that it is over."""

    def finished(self) -> tuple[str, str]:
        """Title and text of what has come so far."""
        self._flush()
        while self._tables:
            self._end_of_table(*self._tables.pop())
        return _one_line(self.title) or self.heading, _joined(self._main())

    # ---- lines and blocks

    def _inline(self, text: str) -> None:
        self._line.append(text)
        self._size += len(text)
        if self._size > self.most:
            self.cut = self.cut or f"more than {self.most:,} characters of text"

    def _taken(self) -> str:
        text = _INVISIBLE.sub("", "".join(self._line).replace(_BREAK, "\x85"))
        self._line.clear()
        self._anchors = [(0, href) for _, href in self._anchors]
        return text

    def _flush(self) -> None:
        """End the present paragraph."""
        if not self._line:
            return
        if self._pre:
            return
        lines = [" ".join(line.split()) for line in self._taken().split("\x85")]
        text = "\n".join(line for line in lines if line)
        if text.strip("` \n"):
            self._put(_Block("\\" + text if re.match(r"#{1,6}\s|```", text) else text))

    def _put(self, block: _Block) -> None:
        if self._lists and not block.kind:
            indent = "  " * min(len(self._lists) - 1, 6)
            first = indent + self._marker if self._marker else indent + "  "
            rest = " " * len(first)
            text = block.text.replace("\n", f"\n{rest}")
            block = _Block(first + text, "li")
            self._marker = ""
        if self._quotes:
            mark = "> " * min(self._quotes, 3)
            block = _Block("\n".join(mark + line for line in block.text.split("\n")), block.kind)
        self.blocks.append(block)

    def _item(self) -> None:
        number = self._lists[-1] if self._lists else None
        self._marker = "- " if number is None else f"{number}. "
        if number is not None:
            self._lists[-1] = number + 1

    def _end_of_heading(self, level: int) -> None:
        text = " ".join(self._taken().split())
        if not text:
            return
        self.heading = self.heading or text
        self._put(_Block("#" * level + " " + text, "" if not self._lists else "li"))

    def _end_of_code(self) -> None:
        self._pre -= 1
        if self._pre:
            return
        text = self._taken().replace("\x85", "\n").replace("\r\n", "\n").expandtabs(4).strip("\n").rstrip()
        if text:
            longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
            fence = "`" * (longest + 1)
            self._put(_Block(f"{fence}{self._language}\n{text}\n{fence}"))
        self._language = ""

    def _end_of_link(self, begin: int, href: str) -> None:
        address = target(self.url, href) if self.links and not self._pre else ""
        text = "".join(self._line[begin:])
        if address and text.strip() and _BREAK not in text:
            self._line[begin:] = [f"[{_one_line(text)}]({address})"]
            self._inline("")

    # ---- tables

    def _cell(self) -> None:
        table, _ = self._tables[-1]
        if not table.rows:
            table.rows.append([])
        if len(table.rows[-1]) >= _MAX_CELLS:
            return
        self.blocks = []
        table.rows[-1].append(self.blocks)

    def _end_of_table(self, table: _Table, outer: list[_Block]) -> None:
        self.blocks = outer
        rows = [row for row in table.rows if any(row)]
        # A table of paragraphs is a page's layout; one of lines is data.
        data = all(len(cell) <= 1 and "\n" not in _joined(cell) for row in rows for cell in row)
        if not data or max(map(len, rows), default=0) < 2:
            for block in (b for row in rows for cell in row for b in cell):
                self.blocks.append(block)
            return
        for i, row in enumerate(rows):
            cells = [_joined(cell).strip().replace("|", "\\|") for cell in row]
            self.blocks.append(_Block("| " + " | ".join(cells) + " |", "tr"))
            if i == 0:
                self.blocks.append(_Block("|" + " --- |" * len(cells), "tr"))

    def _main(self) -> list[_Block]:
        if self._region_depth and self.cut and self._root is self.blocks:
            self._regions.append((self._region_start, len(self._root)))
        inside = [b for begin, end in self._regions for b in self._root[begin:end]]
        size = sum(len(b.text) for b in inside)
        return inside if size >= 500 or size * 3 >= sum(len(b.text) for b in self._root) > 0 else self._root


def _joined(blocks: list[_Block]) -> str:
    parts: list[str] = []
    for before, block in zip([None, *blocks], blocks, strict=False):
        if before is not None:
            parts.append("\n" if block.kind and block.kind == before.kind else "\n\n")
        parts.append(block.text)
    return "".join(parts)


def _one_line(text: str) -> str:
    return " ".join(_INVISIBLE.sub("", text).split())
