"""WordLlama's static embeddings, from the files in its package: a text's vector is the mean of those of its tokens.

Nothing is downloaded and the package is not imported: its own loader looks, offline, for the tokenizer in a folder that
the package does not have (0.4.0.post1), and importing it configures the root logger.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from toolsmith.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WIDTH: Final = 256
_VECTORS = ("wordllama", "weights/l2_supercat_256.safetensors")
_TOKENIZER = ("wordllama", "tokenizers/l2_supercat_tokenizer_config.json")
_LIBRARIES = ("numpy", "tokenizers", "safetensors")


def missing() -> list[str]:
    """The packages that are lacking here, by their names on the package index."""
    lacking = [name for name in _LIBRARIES if find_spec(name) is None]
    return lacking if package_file(*_VECTORS) and package_file(*_TOKENIZER) else [*lacking, "wordllama"]


def package_file(package: str, name: str) -> Path | None:
    """A file of an installed package, which is not imported."""
    spec = find_spec(package)
    for folder in (spec.submodule_search_locations if spec else None) or ():
        path = Path(folder, name)
        if path.is_file():
            return path
    return None


class WordVectors:
    """The vectors of all tokens, and the tokenizer."""

    def __init__(self, vectors: Path, tokenizer: Path) -> None:
        import numpy as np
        from tokenizers import Tokenizer

        load_file: Any = import_module("safetensors.numpy").load_file
        self._vectors: NDArray[np.float32] = load_file(vectors)["embedding.weight"].astype(np.float32)
        self._tokenizer = Tokenizer.from_file(str(tokenizer))

    def tokens(self, text: str) -> list[int]:
        """The numbers of a text's tokens."""
        return self._tokenizer.encode(text, add_special_tokens=False).ids

    def of_tokens(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """The vector of some tokens, of length 1; of none, zeros."""
        import numpy as np

        if not tokens:
            return np.zeros_like(self._vectors[0])
        mean = self._vectors[np.minimum(tokens, len(self._vectors) - 1)].mean(axis=0)
        return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-9), dtype=np.float32)


@cache
def word_vectors() -> WordVectors:
    """Loaded at the first call, then shared.

    Raises:
        ConfigError: packages are missing, or the one with the vectors has none.
    """
    vectors, tokenizer = package_file(*_VECTORS), package_file(*_TOKENIZER)
    if vectors is None or tokenizer is None or missing():
        raise ConfigError(
            f'WordLlama\'s vectors need {", ".join(missing()) or "wordllama"}: pip install "toolsmith-agents[local]".'
        )
    return WordVectors(vectors, tokenizer)
