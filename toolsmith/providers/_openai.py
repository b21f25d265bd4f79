"""What the providers on OpenAI's SDK share: its clients, and whether it is OpenAI itself that they speak to."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from toolsmith.messages import Request
from toolsmith.providers._http import SDKCarrier


class OpenAICarrier(SDKCarrier):
    """Base of the providers on the `openai` package."""

    _sdk = "openai"
    _clients = ("OpenAI", "AsyncOpenAI")
    _key_variable = "OPENAI_API_KEY"

    @property
    def _is_openai(self) -> bool:
        """Whether the address is OpenAI's own, or Azure's; other servers take less, and read some things otherwise."""
        return not self._host or self._host.endswith((".openai.com", ".openai.azure.com"))

    @property
    def _host(self) -> str:
        """Where the requests go, "" for the SDK's own default."""
        given = self._client or self._async_client
        address = (
            str(given.base_url) if given is not None else self._base_url or os.environ.get("OPENAI_BASE_URL") or ""
        )
        return address.partition("://")[2].partition("/")[0]

    def _tool_choice(
        self, request: Request, named: Callable[[str], dict[str, Any]], hosted: Iterable[dict[str, Any]] = ()
    ) -> str | dict[str, Any]:
        """`tool_choice` of a request; "auto" is what the API takes where none is sent.

        Only OpenAI's own service is told which tools a turn may call (O/types/responses/tool_choice_allowed_param.py
        and its like for Chat Completions): other servers, Azure's among them, are not known to take that.

        Args:
            request: what is wanted.
            named: how this API names a function.
            hosted: what it names hosted tools by; they are not ours to restrict.
        """
        choice, allowed = request.tool_choice, request.allowed
        if choice not in ("auto", "none", "required"):
            return named(choice)
        own = not self._host or self._host.endswith(".openai.com")
        if choice == "none" or allowed is None or not own:
            return choice
        tools = [*map(named, allowed), *hosted]
        mode = "required" if choice == "required" else "auto"
        return {"type": "allowed_tools", "mode": mode, "tools": tools} if tools else "none"
