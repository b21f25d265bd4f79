"""What a model reads of a search in documents: the tool's description, passages with their marks, and nothing found.

Marks are the same for a passage in every search, so that an answer made from several searches cites without doubt.
"""

from __future__ import annotations

from collections.abc import Sequence

from toolsmith.rag.documents import Hit

MAX_DESCRIPTION = 1_000


def description(bucket: str, about: str, others: Sequence[str] = ()) -> str:
    """What the tool is told to be.

    Args:
        bucket: that it searches.
        about: what is in it, in the author's words; "" if nobody said.
        others: the names of the tools that search other buckets.
    """
    what = " ".join(about.split())[:MAX_DESCRIPTION].rstrip(".") or f"the documents in {bucket!r}"
    text = (
        f"Search {what}. Gives the passages that fit a question best, each with its source and a mark such as "
        f"[{bucket}-12] to cite it by."
    )
    if others:
        text += f" It searches these documents alone; for others there is {', '.join(f'`{name}`' for name in others)}."
    return text


QUERY = (
    "What to look for: the question itself, or the words that the answer would have in it. Names, numbers and "
    "technical terms help most."
)
LIMIT = "How many passages to give."


def passages(hits: Sequence[Hit]) -> str:
    """The passages that were found, best first."""
    return "\n\n".join(f"[{hit.mark}] {_place(hit)}\n{hit.text}" for hit in hits)


def cite(hits: Sequence[Hit]) -> str:
    """What to do with the passages; a note, since they are data that others have written and this is not."""
    number = "this is 1 passage" if len(hits) == 1 else f"these are {len(hits)} passages, the best first"
    return (
        f"{number}. Put the mark of a passage, such as [{hits[0].mark}], after each statement that you take from it. "
        "If none of them answers the question, search again in other words, or say that it is not there."
    )


def _place(hit: Hit) -> str:
    title = " ".join(hit.title.split())
    named = f"{title} ({hit.source})" if title and title not in (hit.source, *hit.position.headings[:1]) else hit.source
    return ", ".join(part for part in (named, str(hit.position)) if part)


def nothing(query: str, *, empty: bool) -> str:
    """Nothing was found.

    Args:
        query: that was asked.
        empty: there are no documents at all.
    """
    if empty:
        return "Nothing was found: there are no documents yet. Answer without them, and say so."
    shown = " ".join(query.split())
    shown = shown if len(shown) <= 100 else shown[:100] + "..."
    return (
        f"Nothing was found for {shown!r}. Try other words: a synonym, the technical term, a part of a name, or fewer "
        "words. If that finds nothing either, say that the documents do not answer this."
    )
