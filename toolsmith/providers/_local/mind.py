"""One request of the embedded model, from its bytes to the answer's bytes; runs on the engine's thread."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from toolsmith.providers._local import episode, wire
from toolsmith.providers._local.planner import Answer, Call, Planner
from toolsmith.providers._local.router import Router, Tool

if TYPE_CHECKING:
    from toolsmith.providers._local.engine import Models, Ticket

# Three made-up requests show the model the form: values are copied from the request, names and paths as they stand.
_EXAMPLES = """Request: Book a table at Luigi's for 4 people tonight
Tool: book_table. Reserve a table in a restaurant.
Arguments: {"restaurant": "Luigi's", "people": 4}

Request: Please message Tom Brown that the meeting moved to Friday
Tool: send_message. Send a text message to a person.
Arguments: {"recipient": "Tom Brown", "text": "the meeting moved to Friday"}

Request: copy notes.md from drafts to archive
Tool: copy_file. Copy a file between folders.
Arguments: {"file": "notes.md", "source": "drafts", "destination": "archive"}

"""
_REQUESTS = """Tool: book_table. Reserve a table in a restaurant.
Request: Can I get a table for four at Luigi's tonight?

Tool: send_message. Send a text message to a person.
Request: Tell Tom that the meeting moved to Friday

Tool: copy_file. Copy a file between folders.
Request: copy notes.md from drafts to archive

"""
_LONGEST_ANSWER = 200
_CHAT = "<|im_start|>{role}\n{text}<|im_end|>\n"


def prompt(text: str, tool: Tool) -> str:
    """What the language model reads before it fills an argument in."""
    return f"{_EXAMPLES}Request: {text}\nTool: {tool.name}. {_lead(tool)}\nArguments: "


def request_prompt(tool: Tool | None) -> str:
    """What the language model reads before a request whose likelihood is asked for."""
    about = "something else." if tool is None else f"{tool.name}. {_lead(tool)}"
    return f"{_REQUESTS}Tool: {about}\nRequest:"


def _lead(tool: Tool) -> str:
    return " ".join(tool.lead.split())[:300]


def answer(body: bytes, models: Models, ticket: Ticket, tell: Callable[[bytes], None] | None = None) -> bytes:
    """Answer a request.

    Args:
        body: a request, as `wire` describes it.
        models: the loaded models.
        ticket: says when to give up.
        tell: takes the events of a stream as they arise; None for an answer in one piece.
    """
    request = cast("Mapping[str, Any]", json.loads(body))
    messages = cast("Sequence[Mapping[str, Any]]", request["messages"])
    offered = cast("Sequence[Mapping[str, Any]]", request.get("tools") or ())
    before = models.tokens
    stop: str = "end"
    if not offered and not any(m.get("role") == "tool" for m in messages):
        text, stop = _chat(request, messages, models, ticket, tell)
        content: dict[str, Any] = {"type": "text", "text": text}
    else:
        content, stop = _step(request, messages, offered, models, ticket, tell)
    reply = wire.reply(
        content,
        model=str(request["model"]),
        stop=stop,
        input_tokens=models.tokens[0] - before[0],
        output_tokens=models.tokens[1] - before[1],
    )
    if tell is not None:
        tell(wire.event("done", reply=json.loads(reply)))
    return reply


def _step(
    request: Mapping[str, Any],
    messages: Sequence[Mapping[str, Any]],
    offered: Sequence[Mapping[str, Any]],
    models: Models,
    ticket: Ticket,
    tell: Callable[[bytes], None] | None,
) -> tuple[dict[str, Any], str]:
    tools = [Tool.read(t["name"], t.get("description") or "", t["parameters"]) for t in offered]

    def ask(text: str, literals: Sequence[str]) -> str:
        return models.language.choose(text, literals, ticket)

    def likelihood(text: str, tool: Tool | None) -> float:
        return models.language.likelihood(request_prompt(tool), f" {text}", ticket)

    planner = Planner(Router(tools, models.embedder.embed, likelihood), ask, prompt)
    choice = str(request.get("tool_choice") or "auto")
    # The run's last word to the model goes with a choice of "none", or of the tool that takes its answer.
    step = planner.next(episode.read(messages, closing=choice not in ("auto", "required")), choice)
    match step:
        case Call(name, arguments):
            call_id = wire.next_id(messages)
            text = json.dumps(arguments, ensure_ascii=False)
            if tell is not None:
                tell(wire.event("call", id=call_id, name=name))
                tell(wire.event("arguments", id=call_id, text=text))
            return {"type": "tool_call", "id": call_id, "name": name, "arguments": text}, "tool_calls"
        case Answer(text):
            if tell is not None:
                for piece in text.splitlines(keepends=True):
                    tell(wire.event("text", text=piece))
            return {"type": "text", "text": text}, "end"


def _chat(
    request: Mapping[str, Any],
    messages: Sequence[Mapping[str, Any]],
    models: Models,
    ticket: Ticket,
    tell: Callable[[bytes], None] | None,
) -> tuple[str, str]:
    """Without tools the language model talks by itself, as well as 135 million parameters can."""
    settings = cast("Mapping[str, Any]", request.get("settings") or {})
    most = int(settings.get("max_tokens") or _LONGEST_ANSWER)
    text = _CHAT.format(role="system", text=request.get("instructions") or "You are a helpful assistant.")
    for message in messages[-8:]:
        text += _CHAT.format(role=message["role"], text=_words(message)[: episode.LONGEST_REQUEST])
    text += "<|im_start|>assistant\n"

    def heard(piece: str) -> None:
        if tell is not None:
            tell(wire.event("text", text=piece))

    said = models.language.complete(text, ticket, most=most, heard=heard)
    return said.text, "end" if said.whole else "length"


def _words(message: Mapping[str, Any]) -> str:
    parts = cast("Sequence[Mapping[str, Any]]", message.get("content") or ())
    return str(message.get("text") or "") + "".join(str(p.get("text") or "") for p in parts)
