"""Words for images and files: where they stand, and what could not be shown.

The part of `_feedback.Feedback` that speaks of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, cast

if TYPE_CHECKING:
    from toolsmith.media import Media

Why = Literal["none", "kind", "size", "pixels", "url", "room"]
"""Why a service cannot be given something: it takes no images and files at all; none of this kind; it is too large; too
wide or too high; it stands at an address that the service does not fetch; the conversation holds as much as fits into a
request."""

REASONS: Final[Mapping[Why, str]] = {
    "none": "only text can be shown here",
    "kind": "this kind cannot be read here",
    "size": "it is too large",
    "pixels": "it is too wide or too high",
    "url": "its address cannot be opened here",
    "room": "this conversation has no room for it any more",
}


class MediaWording:
    """Turns images and files into what can be said of them.

    Attributes:
        reasons: why something is not shown.
    """

    reasons: Mapping[Why, str] = REASONS

    def media_mark(self, number: int, media: Media) -> str:
        """Stands in the text of a result where the tool gave an image or a file.

        Args:
            number: which one of the result, from 1.
            media: what is shown beside the text.
        """
        return f"[{self.media_noun(media)} {number}: {media.label}]"

    def media_lines(self, data: Any) -> str:
        """A result that has images or files in it: what stands in a list goes line by line, texts as they are."""
        if data is None:
            return ""
        items = cast("list[Any]", data) if isinstance(data, list) else [data]
        return "\n".join(i if isinstance(i, str) else json.dumps(i, ensure_ascii=False) for i in items)

    def media_marked(self, text: str, media: Sequence[Media]) -> str:
        """A result's text, in which each of its images and files is named; a cut may have taken the marks away."""
        marks = [self.media_mark(number, one) for number, one in enumerate(media, 1)]
        return "\n".join(part for part in (text, *(mark for mark in marks if mark not in text)) if part)

    def media_noun(self, media: Media) -> str:
        """What it is called."""
        from toolsmith.media import Image

        return "image" if isinstance(media, Image) else "file"

    def media_of(self, tool: str, call_id: str, number: int, media: Media) -> str:
        """Precedes what a tool gave, where a service takes it only in a message of the user's role."""
        return f"From `{tool}` (call {call_id}), not from the user: {self.media_noun(media)} {number}, {media.label}."

    def media_unshown(self, media: Media, why: Why, number: int = 0) -> str:
        """Stands in place of what a service does not take.

        Args:
            media: what is missing.
            why: the reason.
            number: which one of a result, 0 for one of the user's.
        """
        noun, reason = self.media_noun(media), self.reasons[why]
        which = f"{noun.capitalize()} {number}" if number else f"The {noun} ({media.label})"
        return f"[{which} cannot be shown to you: {reason}. Do not guess what is in it; say so if it matters.]"

    def media_text(self, name: str, text: str) -> str:
        """The words of a text file, where a service takes them only as words."""
        called = f"`{name}`" if name else "A file"
        ends = f"`{name}`" if name else "the file"
        return f"{called} begins here.\n{text}\n[End of {ends}.]"
