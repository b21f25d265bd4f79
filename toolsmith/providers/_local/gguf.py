"""Any other model in a GGUF file: the engine's own OpenAI-compatible server, spoken to as any server is."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Any

from toolsmith.errors import ConfigError
from toolsmith.providers._local import engine
from toolsmith.providers._media import Shown, read_in_words
from toolsmith.providers.openai_chat import OpenAIChat

if TYPE_CHECKING:
    from toolsmith.media import Media
    from toolsmith.providers import ModelSettings

_CONTEXT = 8192
_MAGIC = b"GGUF"


@dataclass(frozen=True, slots=True)
class _Served:
    server: Any
    key: str


_lock = threading.Lock()
_servers: dict[tuple[Path, int], _Served] = {}


class GGUFModel(OpenAIChat):
    """A model from a file, in this process. Its server listens on the loopback interface and wants a secret key.

    Attributes:
        path: the file.
    """

    def __init__(self, path: Path, settings: ModelSettings, context: int) -> None:
        self.path = path
        served = _serve(path, context)
        address = f"{served.server.listening_address}/v1"
        settings = replace(settings, base_url=address, api_key=served.key, api_key_env=None)
        super().__init__(path.stem, settings=settings)

    @property
    def name(self) -> str:
        """For people: "local:models/qwen.gguf"."""
        return f"local:{self.path}"

    def _shown(self, media: Media, number: int = 0) -> Shown:
        return read_in_words(media, self.name, number)

    def _make(self, kind: str) -> Any:
        """The SDK's client without the environment's proxies: they cannot reach this process."""
        sdk: Any = import_module(self._sdk)
        transport = sdk.DefaultAsyncHttpxClient if kind.startswith("Async") else sdk.DefaultHttpxClient
        made = super()._make(kind).with_options(http_client=transport(trust_env=False))
        if not kind.startswith("Async"):  # those are closed with their event loops
            weakref.finalize(self, made.close)
        return made


def create(model: str, settings: ModelSettings) -> GGUFModel:
    """The provider for "local:PATH.gguf". Loads the file, once a process.

    Args:
        model: the path; "~" is understood.
        settings: parameters of Chat Completions; `context`, the tokens of a conversation (8192), is the engine's.

    Raises:
        ConfigError: no such file, no GGUF file, or the engine is not installed.
    """
    path = Path(model).expanduser()
    if not path.is_file():
        raise ConfigError(f"There is no file {str(path)!r} for the model local:{model}.")
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise ConfigError(f"{str(path)!r} is no GGUF file, so local:{model} cannot be loaded.")
    if find_spec("xllamacpp") is None:
        raise ConfigError(f"local:{model} needs llama.cpp. Install it: {engine.INSTALL[0]}")
    given: Mapping[str, Any] = settings.settings or {}
    context = given.get("context", _CONTEXT)
    if not isinstance(context, int) or isinstance(context, bool) or context < 1:
        raise ConfigError(f"local:{model}: the setting context takes a number of tokens, not {context!r}.")
    rest = {k: v for k, v in given.items() if k != "context"}
    return GGUFModel(path, replace(settings, settings=rest), context)


def _serve(path: Path, context: int) -> _Served:
    """The server for a file; a second agent on the same file shares it."""
    at = (path.resolve(), context)
    with _lock:
        if at not in _servers:
            key = token_urlsafe(24)
            try:
                server = engine.open_server(path, context=context, key=key, threads=64)
            except Exception as error:
                raise ConfigError(f"llama.cpp cannot load {str(path)!r}: {error}") from error
            _servers[at] = _Served(server, key)
        return _servers[at]
