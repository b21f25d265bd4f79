"""The scripted model: a pure function from a request to an answer, with a record of what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from toolsmith.testing import anthropic_wire, chat_wire, responses_wire
from toolsmith.testing.recorded import Recorded, api_of, dumps
from toolsmith.testing.rules import No, Refusal, Rule, first_refusal
from toolsmith.testing.script import (
    DEFAULT_MODELS,
    Answering,
    Api,
    Block,
    Delivery,
    Fault,
    ScriptError,
    Step,
    Turn,
    as_answer,
    steps_of,
    turns,
)
from toolsmith.testing.speech import Voice
from toolsmith.testing.wire import JSON, SSE, Answer, error_answer, error_object, fault_answer, travelling, usual_error

if TYPE_CHECKING:
    from toolsmith.providers import Provider
    from toolsmith.testing.server import ScriptServer

_WIRES = {"anthropic": anthropic_wire, "openai": responses_wire, "openai-chat": chat_wire}
_REQUEST_ID = {"anthropic": "request-id", "openai": "x-request-id", "openai-chat": "x-request-id"}


class ScriptedModel:
    """A model that answers from a script, in the words of Claude's Messages, OpenAI's Responses and Chat Completions.

    It refuses what the real services refuse, with their status and their words, so that a test of your agent fails
    where the real run would. `toolsmith.testing.rules_table()` lists the rules.

        model = ScriptedModel([call("add", a=1, b=2), say("3")])
        agent = Agent(model.provider("anthropic"), tools=[add])
        assert agent.run_sync("1 + 2?").output == "3"
        model.assert_exhausted()

    Args:
        script: one step for each request, or a function of the request. A step is a part or a list of parts
            (`say`, `think`, `call`, ...), a `turn`, a fault (`fail`, `html`, `drop`), or a function of the request
            that gives one of these.
        ignore: names of rules that do not apply.

    Raises:
        TypeError: the script is no list of steps, or a step of it is none.

    Attributes:
        requests: all requests, in the order they came.
        refusals: those of them that a rule refused, and why.
    """

    def __init__(self, script: Sequence[Step] | Answering, *, ignore: Collection[str] = ()) -> None:
        self._script: Answering | None = script if callable(script) else None
        self._steps: list[Step] = [] if callable(script) else steps_of(script, "ScriptedModel")
        self._ignore = frozenset(ignore)
        self._next = 0
        self._known_blocks: frozenset[str] = frozenset()
        self._raised: list[Exception] = []
        self._lock = threading.Lock()
        self.requests: list[Recorded] = []
        self.refusals: list[Refusal] = []
        _check_names(self._ignore)

    def __call__(
        self, path: str, body: bytes | str | Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> tuple[int, bytes]:
        """Answer a request: `(path, body) -> (status, body)`. Without headers the rules about headers do not apply."""
        raw = dumps(body).encode() if isinstance(body, Mapping) else body.encode() if isinstance(body, str) else body
        answer = self.answer("POST", path, headers or {}, raw)
        return answer.status, answer.body

    def answer(self, method: str, path: str, headers: Mapping[str, str], raw: bytes) -> Answer:
        """Answer a request in full, headers, pieces and delays included. Both doors come through here."""
        if path.partition("?")[0] == "/v1/messages/count_tokens":
            return _plain_answer({"input_tokens": len(raw) // 4 + 1})
        api = api_of(path)
        if api is None or method != "POST":
            return _not_found(method, path, headers)
        with self._lock:
            request = self._record(api, path, headers, raw)
        ids = {_REQUEST_ID[api]: f"req_{request.number:06d}"}
        refusal = self._refusal(request)
        if refusal is not None:
            self.refusals.append(refusal)
            no = refusal.no
            error = error_object(api, type=no.type, message=no.message, code=no.code, param=no.param)
            return error_answer(api, status=no.status, error=error, headers=ids)
        try:
            return _spoken(request, self._take(request), ids)
        except ScriptError as problem:
            error = error_object(api, type="invalid_request_error", message=f"[toolsmith.testing] {problem}")
            return error_answer(api, status=400, error=error, headers=ids)

    def provider(self, api: Api, model: str | None = None) -> Provider:
        """A provider on the real SDK client, with this scripted model behind its transport (sync and async).

        Args:
            api: "anthropic", "openai" or "openai-chat".
            model: the model's name; None for a current one of that API.

        Raises:
            ValueError: another API.
        """
        if api not in DEFAULT_MODELS:
            raise ValueError(f"ScriptedModel.provider({api!r}): give {', '.join(map(repr, DEFAULT_MODELS))}.")
        from toolsmith.testing.transport import in_process_provider

        return in_process_provider(self, api, model or DEFAULT_MODELS[api])

    def serve(self) -> ScriptServer:
        """A real server on a free port of 127.0.0.1, for the length of a `with` block."""
        from toolsmith.testing.server import ScriptServer

        return ScriptServer(self)

    def assert_exhausted(self) -> None:
        """Check that the script was played to its end, and that no rule refused a request.

        Raises:
            AssertionError: with what is left, or what was refused; or what a function of the script itself raised.
        """
        if self._raised:
            raise self._raised[0]
        if self.refusals:
            raise AssertionError("Refused, as the real service would:\n" + "\n".join(map(str, self.refusals)))
        left = len(self._steps) - self._next
        if left:
            one = "The one turn of the script was" if len(self._steps) == 1 else ""
            raise AssertionError(f"{one or f'{left} of {len(self._steps)} turns of the script were'} not asked for.")

    def _record(self, api: Api, path: str, headers: Mapping[str, str], raw: bytes) -> Recorded:
        try:
            parsed = json.loads(raw)
        except ValueError:
            parsed = None
        request = Recorded(
            api=api,
            path=path,
            headers={name.lower(): value for name, value in headers.items()},
            raw=raw,
            body=cast("dict[str, Any]", parsed) if isinstance(parsed, dict) else {},
            number=len(self.requests),
            known_blocks=self._known_blocks,
        )
        self.requests.append(request)
        return request

    def _refusal(self, request: Recorded) -> Refusal | None:
        return first_refusal(rules(request.api), request, self._ignore)

    def _take(self, request: Recorded) -> Turn | Fault:
        step = self._script
        with self._lock:
            if step is None:
                if self._next >= len(self._steps):
                    asked = f"request {request.number + 1} asks for more"
                    raise ScriptError(f"The script has {turns(len(self._steps))}, and {asked}.")
                step = self._steps[self._next]
                self._next += 1
        answer = self._called(step, request) if callable(step) else as_answer(step)
        if isinstance(answer, Turn):
            kinds = {word for part in answer.parts if isinstance(part, Block) for word in _words_of(part)}
            with self._lock:
                self._known_blocks |= kinds
        return answer

    def _called(self, step: Answering, request: Recorded) -> Turn | Fault:
        try:
            return as_answer(step(request), "A function of the script gave")
        except ScriptError:
            raise
        except Exception as error:
            # it must not get lost in a client that retries what looks like a broken connection
            self._raised.append(error)
            raise ScriptError(f"The script raised {type(error).__name__}: {error}") from error


def _words_of(part: Block) -> Iterator[str]:
    """What a client sends back of a block: its type, or for Chat Completions its keys."""
    yield str(part.raw["type"]) if "type" in part.raw else ""
    yield from part.raw


def _plain_answer(value: object) -> Answer:
    body = dumps(value).encode()
    return Answer(headers={"content-type": JSON}, chunks=(body,), length=len(body))


def _not_found(method: str, path: str, headers: Mapping[str, str]) -> Answer:
    """What a service says of an address that it does not have; which service, the request gives away."""
    if "messages" in path or "anthropic-version" in {name.lower() for name in headers}:
        api, error = "anthropic", error_object("anthropic", type="not_found_error", message="Not Found")
    else:
        words = f"Invalid URL ({method} {path})"
        api, error = "openai", error_object("openai", type="invalid_request_error", message=words)
    return error_answer(api, status=404, error=error, headers={_REQUEST_ID[api]: "req_none"})


def _spoken(request: Recorded, answer: Turn | Fault, ids: Mapping[str, str]) -> Answer:
    api = request.api
    if isinstance(answer, Turn):
        answer = _as_that_api_has_it(request, answer)
    if isinstance(answer, Fault):
        return fault_answer(api, answer, ids)
    voice, how = Voice(request, answer), answer.delivery
    if not request.streamed:
        body = _WIRES[api].body(voice)
        whole = Answer(headers={"content-type": JSON, **ids}, chunks=(body,), length=len(body))
        return travelling(whole, how)
    events = list(_WIRES[api].events(voice))
    if how.unfinished:
        events = events[: _last_of_content(api, events)]
    if how.error is not None:
        after = len(events) // 2 if how.error_after is None else how.error_after
        events = [*events[:after], _error_event(api, how)]
    streamed = Answer(headers={"content-type": SSE, "cache-control": "no-cache", **ids}, chunks=tuple(events))
    return travelling(streamed, how)


def _as_that_api_has_it(request: Recorded, turn: Turn) -> Turn | Fault:
    """Endings that an API does not put into an answer, but into an HTTP error or an event of the stream."""
    api, how = request.api, turn.delivery
    if turn.stop == "context" and api != "anthropic":
        return Fault(kind="context", delivery=how)
    if turn.stop == "error" and api != "openai":
        how = replace(how, error=how.error or "server")
        turn = replace(turn, stop="end", delivery=how)
    if how.error is not None and not request.streamed:
        return Fault(kind=how.error, delivery=replace(how, error=None))
    return turn


def _last_of_content(api: Api, events: Sequence[bytes]) -> int:
    """How many events come before those that end a stream."""
    ends = (b"message_delta", b"response.completed", b"response.incomplete", b'"finish_reason":"')
    return next((n for n, event in enumerate(events) if any(word in event for word in ends)), len(events))


def _error_event(api: Api, how: Delivery) -> bytes:
    from toolsmith.testing.wire import sse

    error = usual_error(api, how.error or "server")[1]
    if api == "anthropic":
        return sse("error", {"type": "error", "error": error})
    if api == "openai":
        told = {"code": error["code"], "message": error["message"], "param": None}
        return sse("error", {"type": "error", "sequence_number": 0, **told})
    return sse(None, {"error": error})


@cache
def rules(api: Api) -> tuple[Rule, ...]:
    """What the service behind an API refuses, rule by rule, in the order in which it looks."""
    from toolsmith.testing.anthropic_history import HISTORY_RULES
    from toolsmith.testing.anthropic_rules import ENVELOPE_RULES
    from toolsmith.testing.chat_rules import CHAT_RULES
    from toolsmith.testing.responses_rules import RESPONSES_RULES

    both = {
        "anthropic": (*ENVELOPE_RULES, *HISTORY_RULES),
        "openai": RESPONSES_RULES,
        "openai-chat": CHAT_RULES,
    }
    return (Rule(api, "json", "A body that is no JSON object.", "docs: errors", _json_body), *both[api])


def rules_table() -> str:
    """All rules as a Markdown table."""
    lines = ["| API | rule | refuses | known from |", "|---|---|---|---|"]
    for api in DEFAULT_MODELS:
        lines += [f"| {one.api} | `{one.name}` | {one.about} | {one.source} |" for one in rules(api)]
    return "\n".join(lines) + "\n"


def _json_body(request: Recorded) -> No | None:
    if request.body:
        return None
    return No(message="The request body is not valid JSON, or no JSON object.")


def _check_names(ignore: frozenset[str]) -> None:
    known = {one.name for api in DEFAULT_MODELS for one in rules(api)}
    unknown = sorted(ignore - known)
    if unknown:
        raise ScriptError(f"No rule is named {', '.join(unknown)}. Rules: {', '.join(sorted(known))}.")
