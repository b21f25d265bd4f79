"""How much a service can be shown in one request, all its messages together: images, their size, bytes.

A history only grows, and what was shown once is shown with each request. So what does not fit any more is told in words
when it comes, instead of a request that the service would refuse from then on.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from toolsmith._dataclass import dataclass
from toolsmith.media import File, Image
from toolsmith.messages import Message, Part, Text, ToolOutput

if TYPE_CHECKING:
    from toolsmith._feedback import Feedback
    from toolsmith.media import Media

log = logging.getLogger("toolsmith")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """What one request may hold; None for what is not known.

    Attributes:
        images: how many.
        many: with more images than this, each of them may only be `many_pixels` wide and high.
        size: bytes of the whole request.
        pixels: an image that is wider or higher than this is never shown.
        image_size: nor is one that has more bytes than this in base64.
    """

    images: int | None = None
    many: int | None = None
    many_pixels: int = 0
    size: int | None = None
    pixels: float = inf
    image_size: float = inf


class Room:
    """What is left of a ceiling while a history is encoded, message by message."""

    def __init__(self, ceiling: Ceiling, provider: str) -> None:
        self._ceiling = ceiling
        self._provider = provider
        self._images = 0
        self._widest = 0
        self._size = 0
        self._coming = 0  # bytes of the message under way
        self._told = False

    def taken(self, size: int) -> None:
        """So many bytes have been put into the request."""
        self._size += size
        self._coming = 0

    def fit(self, message: Message, say: Feedback) -> Message:
        """The message with what there is room for, and in words what there is not."""
        match message.role:
            case "user" if any(isinstance(p, (Image, File)) for p in message.parts):
                return replace(message, parts=tuple(self._shown(p, say) for p in message.parts))
            case "tool" if any(isinstance(p, ToolOutput) and p.media for p in message.parts):
                return replace(message, parts=tuple(self._output(p, say) for p in message.parts))
            case _:
                return message

    def _shown(self, part: Part, say: Feedback) -> Part:
        if isinstance(part, (Image, File)) and not self._fits(part):
            return Text(say.media_unshown(part, "room"))
        return part

    def _output(self, part: Part, say: Feedback) -> Part:
        """A tool's result: the first that does not fit, and all behind it, so that the others keep their numbers."""
        if not isinstance(part, ToolOutput) or part.is_error:
            return part
        kept = next((n for n, one in enumerate(part.media) if not self._fits(one)), len(part.media))
        words = [say.media_unshown(one, "room", n) for n, one in enumerate(part.media[kept:], kept + 1)]
        return replace(part, text="\n".join([part.text, *words]), media=part.media[:kept]) if words else part

    def _fits(self, media: Media) -> bool:
        if self._is_never_shown(media):
            return True  # the provider has words for it, and it takes no room
        if any(self._lacking(media)):
            if not self._told:
                self._told = True
                log.warning("%s: from %r on, no more fits into a request; the model is told so.", self._provider, media)
            return False
        self._coming += 0 if media.data is None else _encoded_size(media.data)
        if isinstance(media, Image):
            self._images += 1
            self._widest = max(self._widest, *(media.pixels or (0, 0)))
        return True

    def _is_never_shown(self, media: Media) -> bool:
        if not isinstance(media, Image) or media.data is None:
            return False
        most = self._ceiling
        return max(media.pixels or (0, 0)) > most.pixels or _encoded_size(media.data) > most.image_size

    def _lacking(self, media: Media) -> Iterator[bool]:
        most = self._ceiling
        if most.size is not None and media.data is not None:
            yield self._size + self._coming + _encoded_size(media.data) > most.size
        if isinstance(media, Image):
            number = self._images + 1
            yield most.images is not None and number > most.images
            wide = max(self._widest, *(media.pixels or (0, 0))) > most.many_pixels
            yield most.many is not None and number > most.many and wide


def _encoded_size(data: bytes) -> int:
    return (len(data) + 2) // 3 * 4  # in base64
