"""Embeddings of OpenAI's API, or of any server that speaks it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from toolsmith import _given as given
from toolsmith.errors import ConfigError

if TYPE_CHECKING:
    from openai import OpenAI

_MAX_CHARACTERS = 24_000  # of a text; the API's limit is 8,192 tokens, and a passage has far less
_MAX_BATCH = 2_048


class OpenAIEmbeddings:
    """Vectors from `POST /embeddings`.

    Args:
        model: as the service names it.
        dimensions: to shorten the vectors to, where the model can; None for its own number.
        batch: texts in a request, at most 2,048.
        client: an `openai.OpenAI` of your own: for another address, key, timeout or number of retries. Left out, one is
            made at the first use, with the key and address of OPENAI_API_KEY and OPENAI_BASE_URL.

    Raises:
        ConfigError: at the first use, if there is no key.
    """

    def __init__(
        self,
        model: str = "text-embedding-3-small",
        *,
        dimensions: int | None = None,
        batch: int = 256,
        client: OpenAI | None = None,
    ) -> None:
        given.text("OpenAIEmbeddings", model=model)
        given.whole("OpenAIEmbeddings", batch=batch)
        given.whole("OpenAIEmbeddings", dimensions=dimensions, or_none=True)
        if not 1 <= batch <= _MAX_BATCH:
            raise ValueError(f"OpenAIEmbeddings(batch={batch!r}) must be 1 to {_MAX_BATCH:,}.")
        self.model = model
        self.dimensions = dimensions
        self.batch = batch
        self._client = client
        self._own = client is None

    @property
    def name(self) -> str:
        """The model and the length of its vectors."""
        return self.model if self.dimensions is None else f"{self.model}-{self.dimensions}"

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """See `Embeddings.embed`. Raises what the SDK raises, after its retries."""
        # The API refuses empty texts.
        wanted = [text[:_MAX_CHARACTERS] or " " for text in texts]
        more: dict[str, Any] = {} if self.dimensions is None else {"dimensions": self.dimensions}
        answer = self._made().embeddings.create(model=self.model, input=wanted, encoding_format="float", **more)
        return [item.embedding for item in sorted(answer.data, key=lambda item: item.index)]

    def close(self) -> None:
        """Close the connections, if the client is not one of yours; the next use makes another."""
        if self._own and self._client is not None:
            self._client.close()
            self._client = None

    def _made(self) -> OpenAI:
        if self._client is None:
            from openai import OpenAI, OpenAIError

            try:
                self._client = OpenAI()
            except OpenAIError as error:
                raise ConfigError(
                    "OpenAIEmbeddings has no key: set OPENAI_API_KEY, or give OpenAIEmbeddings(client=...)."
                ) from error
        return self._client
