"""What the providers on OpenAI's SDK share: its clients, and whether it is OpenAI itself that they speak to."""

from __future__ import annotations

import os

from toolsmith.providers._http import SDKCarrier


class OpenAICarrier(SDKCarrier):
    """Base of the providers on the `openai` package."""

    _sdk = "openai"
    _clients = ("OpenAI", "AsyncOpenAI")
    _key_variable = "OPENAI_API_KEY"

    @property
    def _is_openai(self) -> bool:
        """Whether the address is OpenAI's own, or Azure's; other servers take less, and read some things otherwise."""
        given = self._client or self._async_client
        address = (
            str(given.base_url) if given is not None else self._base_url or os.environ.get("OPENAI_BASE_URL") or ""
        )
        host = address.partition("://")[2].partition("/")[0]
        return not address or host.endswith((".openai.com", ".openai.azure.com"))
