"""Words for results that are too long: what is left out, and how to read on.

The part of `_feedback.Feedback` that speaks of them. Positions count from 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from toolsmith._wording.arguments import Wording, shortened

What = Literal["item", "name", "character", "digit"]
"""What is counted: of a list, of an object, of a text, of a number."""

_HANDLES_SHOWN: Final = 8


class SizeWording(Wording):
    """Turns cuts and pages into sentences."""

    # ---- what is left out

    def left_out(self, what: What, count: int, start: int | None = None) -> str:
        """Stands in a result where something is missing; inside JSON as a string.

        Args:
            what: what is counted.
            count: how many are missing.
            start: the position of the first of them; None where there is nothing else of it.
        """
        counted = self.counted(count, what)
        if start is None:
            return f"[... {counted} ...]"
        where = f"{start}" if count == 1 else f"{start}-{start + count - 1}"
        return f"[... {counted}: {where} ...]"

    def cut_note(self, tool: str, total: int, *, reader: str = "", more: str = "") -> str:
        """Goes with a result of which something is left out.

        Args:
            tool: which gave it.
            total: characters of the whole.
            reader: the tool to read on with; "" where there is none.
            more: its arguments for the first gap, as JSON.
        """
        gaps = self._gaps(total)
        if reader:
            return f"{gaps} To read on, call `{reader}` with {more}, or `{tool}` for a smaller part."
        return f"{gaps} To see it, call `{tool}` for a smaller part."

    def cut_whole(self, tool: str, total: int, *, reader: str = "", more: str = "") -> str:
        """As `cut_note`, of a tool that takes no arguments: it cannot be asked for less.

        Args:
            tool: which gave it.
            total: characters of the whole.
            reader: the tool to read on with; "" where there is none.
            more: its arguments for the first gap, as JSON.
        """
        gaps = self._gaps(total)
        if reader:
            return f"{gaps} To read on, call `{reader}` with {more}."
        return f"{gaps} There is no more of it to be had: `{tool}` takes no arguments, and would give the same again."

    def _gaps(self, total: int) -> str:
        return f"[... ] marks what is left out of {self.counted(total, 'character')}."

    # ---- reading on

    def page_note(
        self, what: What, start: int, end: int, total: int, *, place: str, reader: str, more: str, gap: str
    ) -> str:
        """Goes with a part of a result.

        Args:
            what: what the part has.
            start: the position of the first.
            end: the position behind the last.
            total: how many the whole has.
            place: where in the result the part is from; "" for all of it.
            reader: the tool that reads on.
            more: its arguments for what follows, as JSON; only `start`, if the place is too long to be said again; ""
                at the end.
            gap: its arguments for the first gap inside this part; "" where there is none.
        """
        inside = f" in `{shortened(place, 120)}`" if place else ""
        words = f"{self._span(what, start, end, total)}{inside}"
        if more:
            again = "" if '"handle"' in more else " and the same other arguments"
            left = f"{total - end:,} {'is' if total - end == 1 else 'are'} left"
            words += f"; {left}. Call `{reader}` with {more}{again} for the next."
        else:
            words += "; the end."
        return f"{words} [... ] marks a gap; call `{reader}` with {gap} for it." if gap else words

    def _span(self, what: What, start: int, end: int, total: int) -> str:
        """Which part it is. Positions are sent back, so they are written as they are sent."""
        if not total:
            return f"0 {what}s"
        if end <= start:
            return f"0 of {self.counted(total, what)}"
        if end - start > 1:
            return f"{what}s {start} to {end - 1} of {total:,}"
        return f"the only {what}" if total == 1 else f"{what} {start}, counted from 0, of {total:,}"

    def result_place(self, place: str) -> str:
        """Goes with a value that has no parts; `place` is where in the result it stands."""
        return f"this is all of `{shortened(place, 120)}`."

    def not_kept(self, reader: str, handle: str, kept: Sequence[str]) -> str:
        """Nothing of this run is kept under a handle.

        Args:
            reader: the tool that was called.
            handle: as the model sent it.
            kept: the handles that there are.
        """
        are = "is" if len(kept) == 1 else "are"
        known = f" Kept {are} {self.names(kept, _HANDLES_SHOWN)}." if kept else ""
        return (
            f"`{reader}` was not run: there is no result `{shortened(handle, 60)}` in this run; those of earlier runs "
            f"are not kept.{known} If you need it, call the tool that gave it again."
        )

    def no_longer_kept(self, reader: str, handle: str, tool: str) -> str:
        """What was kept under a handle has made room for later results.

        Args:
            reader: the tool that was called.
            handle: as the model sent it.
            tool: which gave the result.
        """
        return (
            f"`{reader}` was not run: the result `{handle}` is no longer kept, it has made room for later ones. "
            f"Call `{tool}` again, for a smaller part."
        )

    def no_such_place(self, reader: str, at: str, known: str, what: What | None, total: int) -> str:
        """A place is not in the result.

        Args:
            reader: the tool that was called.
            at: the place, as the model sent it.
            known: how far it leads; "" for the whole result.
            what: what is counted there; None for what has no parts.
            total: how many there are.
        """
        there = f"`{shortened(known, 120)}`" if known else "The result"
        has = f"has {self.counted(total, what)}" if what else "has no parts"
        return f"`{reader}` was not run: there is nothing at `{shortened(at, 120)}`. {there} {has}. Correct `at`."

    def past_the_end(self, reader: str, what: What, start: int, total: int) -> str:
        """A position behind the last one.

        Args:
            reader: the tool that was called.
            what: what is counted.
            start: the position, as the model sent it.
            total: how many there are.
        """
        there = f"there {'is' if total == 1 else 'are'} {self.counted(total, what)}"
        last = "`start` can only be 0" if total < 2 else f"`start` may be 0 to {total - 1}"
        sent = f"{start}" if start < 10**12 else "a very large number"
        return f"`{reader}` was not run: {there}, so {last}, not {sent}."

    def reader_described(self) -> str:
        """Describes the tool that reads on."""
        return "Read more of a result that was too long to be shown whole. The result says what to send."

    def reader_handle(self) -> str:
        """Describes its argument `handle`."""
        return "Which result, such as r1."

    def reader_at(self) -> str:
        """Describes its argument `at`."""
        return "Where in the result, such as rows[3].text; leave it out for the result itself."

    def reader_start(self) -> str:
        """Describes its argument `start`."""
        return "The first item, name or character to show, counted from 0."
