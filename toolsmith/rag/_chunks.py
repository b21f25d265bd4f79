"""Texts cut into passages along their structure.

A passage is made of whole blocks (paragraphs, lists, tables, code) of one section, up to a size; a block that is larger
by itself is cut at its lines, else at its sentences, else at its words. Headings are not passages; each passage knows
those above it. Lines are counted in the text as it was given.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final

from toolsmith._dataclass import dataclass
from toolsmith.rag.documents import Position

TARGET: Final = 1_000
"""Characters that a passage has, roughly."""
_MOST = 1.6  # times the target, for a block that stands alone
_MAX_HEADING = 200

_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_UNDERLINE = re.compile(r"(=+|-{3,})[ \t]*$")
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])")


@dataclass(frozen=True, slots=True)
class Section:
    """A piece of a document as its reader gives it.

    Attributes:
        text: Markdown or plain.
        page: that it stands on, in a PDF.
        lines: whether its line numbers mean something to those who open the source.
        markdown: whether lines with "#" are headings and fences hold code.
    """

    text: str
    page: int | None = None
    lines: bool = True
    markdown: bool = True


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage to be stored."""

    text: str
    position: Position


@dataclass(slots=True)
class _Block:
    lines: list[str]
    first: int
    code: bool = False

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@dataclass(slots=True)
class _Heading:
    level: int
    text: str


def chunks(sections: Iterable[Section], *, target: int = TARGET) -> Iterator[Chunk]:
    """The passages of a document, in order.

    Args:
        sections: their headings go on from one to the next.
        target: characters that a passage has, roughly; at most 1.6 times as many.
    """
    part = 0
    above: list[_Heading] = []
    for section in sections:
        held: list[_Block] = []
        for item in _items(section):
            if isinstance(item, _Heading):
                for text, lines in _passages(held, target):
                    yield _chunk(text, lines, above, section, part)
                    part += 1
                held = []
                above = [h for h in above if h.level < item.level] + [item]
            else:
                held.append(item)
        for text, lines in _passages(held, target):
            yield _chunk(text, lines, above, section, part)
            part += 1


def _chunk(text: str, lines: tuple[int, int], above: list[_Heading], section: Section, part: int) -> Chunk:
    headings = tuple(h.text for h in above if h.text)
    return Chunk(text, Position(part, headings, section.page, lines if section.lines else None))


def _items(section: Section) -> Iterator[_Block | _Heading]:
    """Headings and blocks, in order."""
    block = _Block([], 1)
    fence = ""
    for number, line in enumerate(section.text.split("\n"), 1):
        if fence:
            block.lines.append(line)
            closing = line.strip()
            if closing.startswith(fence) and not closing.strip(fence[0]):
                yield block
                block, fence = _Block([], number + 1), ""
            continue
        if section.markdown and (opened := _FENCE.match(line)):
            if block.lines:
                yield block
            block, fence = _Block([line], number, code=True), opened[1]
            continue
        if not line.strip():
            if block.lines:
                yield block
                block = _Block([], number + 1)
            continue
        heading = _heading(line, block) if section.markdown else None
        if heading is not None:
            if block.lines:
                yield block
            yield heading
            block = _Block([], number + 1)
            continue
        if not block.lines:
            block.first = number
        block.lines.append(line)
    if block.lines:
        yield block


def _heading(line: str, block: _Block) -> _Heading | None:
    """The heading that a line is, or makes of the one line before it (which is taken from the block)."""
    if found := _HEADING.match(line):
        return _Heading(len(found[1]), found[2][:_MAX_HEADING])
    if len(block.lines) == 1 and _UNDERLINE.match(line) and not block.lines[0].lstrip().startswith(("|", "-", ">")):
        return _Heading(1 if line[0] == "=" else 2, block.lines.pop().strip()[:_MAX_HEADING])
    return None


def _passages(blocks: list[_Block], target: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """Blocks of one section put together, or cut, to passages of a good size, with their first and last line."""
    held: list[_Block] = []
    size = 0
    for block in (part for whole in blocks for part in _cut(whole, target)):
        length = len(block.text)
        if held and size + length > target:
            yield _together(held)
            held, size = [], 0
        held.append(block)
        size += length + 2
    if held:
        yield _together(held)


def _together(blocks: list[_Block]) -> tuple[str, tuple[int, int]]:
    text = blocks[0].text
    for before, block in pairwise(blocks):
        # Pieces of one block follow each other without a gap.
        gap = "\n" if before.first + len(before.lines) >= block.first else "\n\n"
        text += gap + block.text
    return text, (blocks[0].first, max(blocks[-1].first + len(blocks[-1].lines) - 1, blocks[0].first))


def _cut(block: _Block, target: int) -> Iterator[_Block]:
    """A block as it is, or in pieces if it is too large."""
    most = int(target * _MOST)
    if sum(len(line) + 1 for line in block.lines) <= most:
        yield block
        return
    piece = _Block([], block.first, block.code)
    size = 0
    for number, line in enumerate(block.lines, block.first):
        if piece.lines and size + len(line) > target:
            yield piece
            piece, size = _Block([], number, block.code), 0
        if len(line) > most:
            for text in _cut_line(line, target):
                yield _Block([text], number, block.code)
            piece = _Block([], number + 1, block.code)
            continue
        piece.lines.append(line)
        size += len(line) + 1
    if piece.lines:
        yield piece


def _cut_line(line: str, target: int) -> Iterator[str]:
    """A long line at its sentences, else at its words, else anywhere."""
    held = ""
    for sentence in _SENTENCE.split(line):
        while len(sentence) > target:
            at = sentence.rfind(" ", target // 2, target)
            at = target if at < 0 else at
            if held:
                yield held
                held = ""
            yield sentence[:at]
            sentence = sentence[at:].lstrip()
        if held and len(held) + len(sentence) > target:
            yield held
            held = ""
        held = f"{held} {sentence}" if held and sentence else held or sentence
    if held.strip():
        yield held
