"""Bytes of a stream of server-sent events -> the `data` of each event, wherever the bytes are cut.

Rules: the HTML standard, "Server-sent events", 9.2.6 (https://html.spec.whatwg.org/multipage/server-sent-events.html,
read November 2026). Event names are not kept: the three APIs repeat them in their data.
"""

from __future__ import annotations

_BOM = b"\xef\xbb\xbf"
_FIELDS = (b"data:", b"event:", b":", b"id:", b"retry:", _BOM)


class EventSplitter:
    """Splits one stream. It works on bytes, so a cut inside a character, a line end or an event does not matter.

    Attributes:
        plain: the bytes so far while no event was seen: an HTML page, or an answer that was not streamed; else b"".
    """

    __slots__ = ("_carriage", "_pending", "_plain", "_seen")

    def __init__(self) -> None:
        self._pending: list[bytes] = []  # of the event under way; joined once it is complete, so slow bytes stay linear
        self._plain: list[bytes] = []
        self._seen = False
        self._carriage = False  # the last chunk ended in "\r", which may be half of "\r\n"

    @property
    def plain(self) -> bytes:
        start = b"".join(self._plain).removeprefix(_BOM)
        # The beginning of a stream that was cut off is no page.
        return b"" if any(start.startswith(field) or field.startswith(start) for field in _FIELDS) else start

    def feed(self, chunk: bytes) -> list[bytes]:
        """The data of the events that these bytes complete."""
        if not self._seen:
            self._plain.append(chunk)
        if self._carriage or b"\r" in chunk:
            chunk = self._newlines(chunk)
        if b"\n" not in chunk:
            self._pending.append(chunk)
            return []
        if self._pending:
            chunk = b"".join((*self._pending, chunk))
        *events, rest = chunk.split(b"\n\n")
        self._pending = [rest] if rest else []
        return self._data(events)

    def end(self) -> list[bytes]:
        """The data of an event that lacked its blank line when the bytes ended; some servers send none."""
        rest = b"".join(self._pending)
        self._pending = []
        return self._data([rest])

    def _newlines(self, chunk: bytes) -> bytes:
        if self._carriage:
            chunk = b"\r" + chunk
        self._carriage = chunk.endswith(b"\r")
        if self._carriage:
            chunk = chunk[:-1]
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _data(self, events: list[bytes]) -> list[bytes]:
        found = [data for event in events if (data := event_data(event))]
        if found and not self._seen:
            self._seen = True
            self._plain = []
        return found


def event_data(event: bytes) -> bytes:
    """The `data` of one event, its lines joined; b"" for comments and events without data."""
    event = event.removeprefix(_BOM)  # a byte order mark may open the stream
    if event.startswith(b"data:"):
        rest = event[5:]
    else:
        _, found, rest = event.partition(b"\ndata:")
        if not found:
            return b""
    if b"\n" in rest:  # rare: several lines of data, or fields after it
        first, *lines = rest.split(b"\n")
        more = [line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:")]
        rest = b"\n".join((first.removeprefix(b" "), *more))
    return rest.strip()
