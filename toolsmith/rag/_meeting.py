"""How near the words of a passage come to those of a query: for each word of the query the nearest one, in meaning.

A vector of a whole passage blurs what each of its words says; here each word of the query is looked for by itself, so
that "folder" is met by "directory". It costs too much to be done for all passages, and little for the best hundred.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from toolsmith._wordllama import word_vectors
from toolsmith.rag._words import words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WORD = re.compile(r"[^\W\d_]+")
_MAX_TEXT = 4_000  # characters of a passage
_LONGEST = 40  # characters
_FREQUENT_TOKENS = 300


def meeting(query: str, texts: Sequence[str]) -> list[float]:
    """0 to 1 for each text: the mean over the query's words of the nearest word's squared cosine, rare words first."""
    import numpy as np

    asked = [word for word in words(query) if _WORD.fullmatch(word)]
    found: list[list[str]] = [list(dict.fromkeys(_WORD.findall(text[:_MAX_TEXT].lower()))) for text in texts]
    known: dict[str, int] = {}
    for those in found:
        for word in those:
            known.setdefault(word, len(known))
    if not asked or not known:
        return [0.0] * len(texts)
    weights = np.array([_rarity(word) for word in asked], np.float32)
    weights /= max(float(weights.sum()), 1e-9)
    # All at once: a passage's words are columns of one matrix.
    near = np.stack([_vector(word) for word in asked]) @ np.stack([_vector(word) for word in known]).T
    worth = np.maximum(near, 0.0) ** 2 * weights[:, None]
    return [float(worth[:, [known[word] for word in those]].max(axis=1).sum()) if those else 0.0 for those in found]


@lru_cache(50_000)
def _vector(word: str) -> NDArray[np.float32]:
    vectors = word_vectors()
    return vectors.of_tokens(vectors.tokens(word[:_LONGEST]))


@lru_cache(50_000)
def _rarity(word: str) -> float:
    """By its rarest token: the numbers of tokens go up as their frequency goes down."""
    tokens = word_vectors().tokens(word[:_LONGEST])
    return math.log((max(tokens, default=0) + _FREQUENT_TOKENS) / _FREQUENT_TOKENS)
