"""Every sentence that a model reads from us can be said in other words, by one object, on all roads and services."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable
from datetime import date
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from wire import Wire

from toolsmith import (
    Agent,
    ConfigError,
    Feedback,
    File,
    Image,
    Limits,
    ModelRetry,
    ToolError,
    ToolOutput,
    ToolResult,
    dump_messages,
    load_messages,
    tool,
    untrusted_text,
)
from toolsmith.testing import ScriptedModel, call, raw_call, say, turn


def _marked(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def marked(self: Any, *args: Any, **kwargs: Any) -> Any:
        text = method(self, *args, **kwargs)
        return f"«{text}»" if isinstance(text, str) and text else text

    return marked


class Marked(Feedback):
    """Says what `Feedback` says, between marks: each public method is overridden."""


for _name, _method in inspect.getmembers(Feedback, inspect.isfunction):
    if not _name.startswith("_"):
        setattr(Marked, _name, _marked(_method))

WORDS = Marked()


# ---- tools that go wrong in all ways


@tool(max_calls_per_run=2, strict=False)
def book(room: int, day: date = date(2026, 12, 24)) -> str:
    """A room."""
    return f"booked {room}"


@tool(strict=False)
def broken() -> str:
    """Broken."""
    raise RuntimeError("secret")


@tool(strict=False)
def helpless(way: int) -> Any:
    """Helpless."""
    match way:
        case 0:
            raise ToolError("no", hint="maybe", use="book", args={"room": 1})
        case 1:
            raise ModelRetry("again")
        case 2:
            return ToolResult(False)
        case _:
            return object()


@tool(timeout=0.05)
async def slow() -> None:
    """Slow."""
    await asyncio.sleep(5)


@tool(strict=False)
def nothing(kind: int) -> Any:
    """Nothing."""
    kinds: list[Any] = [None, "", [], float("nan"), b"\xff"]
    return kinds[kind]


@tool(max_result_size=900)
def much() -> dict[str, Any]:
    """Much."""
    return {"rows": [{"id": i} for i in range(900)], "text": "word " * 900}


@tool(requires_approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return "paid"


@tool(untrusted=True)
def page() -> str:
    """Page."""
    return "Buy now!"


TOOLS = (book, broken, helpless, slow, nothing, much, pay, page)

WRONG: list[Any] = [call("book"), call("book", room="x", day="never", extra=1), call("bok", room=1)]
NO_JSON: list[Any] = [raw_call("book", '{"room": 1'), raw_call("helpless", '{"way": 1, "way": 2}')]

TURNS: tuple[Any, ...] = (
    [call("book", room=1), call("book", room=2), call("book", room=3)],
    [call("broken"), call("slow"), *(call("helpless", way=way) for way in range(4))],
    [call("broken")],
    [call("broken")],
    [call("nothing", kind=kind) for kind in range(5)],
    [call("nothing", kind=2)],
    [call("nothing", kind=2)],
    [call("much"), call("pay", amount=1), call("page")],
    [
        call("read_more", handle="r1", at="text"),
        call("read_more", handle="r1", at="rows", start=5),
        call("read_more", handle="r1", at="none"),
        call("read_more", handle="r1", at="rows", start=9_000),
        call("read_more", handle="r8"),
        call("helpless", way="0"),
    ],
    turn(call("much").cut(1), stop="length"),
)


def unmarked(text: str) -> bool:
    return not (text.startswith("«") and text.endswith("»")) or text.count("«") != text.count("»")


def test_no_sentence_of_ours_goes_unmarked(wire: Wire) -> None:
    """Mistakes of many kinds, limits, cuts and pages: whatever is said of them, the run's own object says it."""
    wrong = [*WRONG, *NO_JSON] if wire.carries_any_arguments else WRONG
    model = wire.model(wrong, *TURNS, call("book"), say("done"))
    agent = Agent(
        wire.provider(model),
        tools=TOOLS,
        feedback=WORDS,
        limits=Limits(turns=len(TURNS) + 2),
        approve=lambda call: "not now",
    )
    result = wire.run(agent, "go")
    assert result.stop_reason in ("end", "turn_limit")
    assert len(model.requests) == len(TURNS) + 3
    told = [text for request in model.requests for _, text in request.results]
    assert len(told) == 29 + len(wrong)
    assert not [text for text in told if unmarked(text)]
    bodies = json.dumps(model.requests[-1].body, ensure_ascii=False)
    assert WORDS.closing("turn_limit")[1:-1] in bodies
    assert f"«{Feedback().closing('turn_limit')}»" in bodies
    assert f"«{Feedback().reader_described()}»" in bodies
    assert f"«{Feedback().untrusted_rule()}»" in bodies


def test_images_and_files(wire: Wire) -> None:
    """What stands for them where a service does not take them, and what stands beside them where it does."""

    @tool
    def scan(kind: str) -> Any:
        """Scan."""
        return {"image": [Image(url="ftp://x/a.png"), "b"], "file": File(b"\xd0\xcf", name="a.doc")}[kind]

    model = wire.model([call("scan", kind="image"), call("scan", kind="file")], say("done"))
    agent = Agent(wire.provider(model), tools=[scan], feedback=WORDS)
    wire.run(agent, ["What is this?", File(b"\xd0\xcf\x11", name="plan.doc")])
    bodies = json.dumps(model.requests[-1].body, ensure_ascii=False)
    for word in ("cannot be shown", "Do not guess", "[image 1", "[file 1"):
        for place in (i for i in range(len(bodies)) if bodies.startswith(word, i)):
            assert bodies.rfind("«", 0, place) > bodies.rfind('"', 0, place), bodies[max(place - 80, 0) : place + 40]


def test_answers_of_a_type(wire: Wire) -> None:
    """What is wrong with an answer, by a tool or in words, and how the tool is described."""
    for kind, wrong in ((int, say('{"answer": "x"}')), (dict[str, Any], say("words"))):
        right = say('{"answer": 7}') if kind is int else call("final_answer", answer={})
        model = wire.model(wrong, right)
        agent = Agent(wire.provider(model), output_type=kind, feedback=WORDS)
        try:
            wire.run(agent, "go")
        except Exception:  # noqa: BLE001 - which road an API takes is another test's concern
            wire.expect_refusals = True
        body = json.dumps(model.requests[1].body, ensure_ascii=False)
        assert "«Your answer was not taken" in body or "«That answer was not taken" in body


def test_a_conversation_that_is_mended() -> None:
    """What stands for an answer that a stored history lacks."""
    model = ScriptedModel([call("book", room=1), say("done")])
    first = Agent(model.provider("openai"), tools=[book]).run_sync("go")
    stored = load_messages(dump_messages([m for m in first.messages if m.role != "tool"]))
    model = ScriptedModel([say("done")])
    second = Agent(model.provider("openai"), tools=[book], feedback=WORDS).run_sync("on", message_history=stored)
    lost = [p.text for m in second.messages for p in m.parts if isinstance(p, ToolOutput)]
    assert lost == [WORDS.answer_lost("book")]


def test_a_prompt_with_text_of_others() -> None:
    """Its fence is announced in the same words."""
    assert untrusted_text("Buy!", "mail", feedback=WORDS).startswith("«Others have written")


def test_a_run_that_waited() -> None:
    """`resume` says it in the same words."""
    model = ScriptedModel([[call("pay", amount=1), call("nothing", kind=0)], say("done")])
    agent = Agent(model.provider("openai"), tools=[pay, nothing], feedback=WORDS)
    waiting = agent.run_sync("go")
    assert waiting.pending is not None
    final = agent.resume_sync(waiting, deny={waiting.pending.calls[0].id: "no"})
    told = [p.text for m in final.messages for p in m.parts if isinstance(p, ToolOutput)]
    assert told == [WORDS.denied("pay", "no"), WORDS.result_text(ToolResult(True, None))]


def test_an_agent_within_a_run() -> None:
    """It speaks as the run around it, unless it has words of its own; what the outer model reads is the outer run's."""
    for own, mark in ((None, "«"), (Feedback(), "`")):
        inner_model = ScriptedModel([call("bok"), say("")])
        inner = Agent(inner_model.provider("openai"), name="inner", tools=[book], feedback=own, limits=Limits(turns=1))
        model = ScriptedModel([call("inner", task="x"), say("done")])
        Agent(model.provider("openai"), tools=[inner.as_tool()], feedback=WORDS).run_sync("go")
        told = inner_model.requests[1].results[0][1]
        assert told.startswith(mark) or (own is not None and told.startswith("Nothing"))
        assert WORDS.agent_unanswered("turn_limit") in model.requests[1].results[0][1]


def test_in_a_settings_file(tmp_path: Path) -> None:
    """A class or an object, by its name."""
    (tmp_path / "words.py").write_text(
        "from toolsmith import Feedback\n\n\nclass Loud(Feedback):\n    pass\n\n\nloud = Loud()\nwrong = 7\n",
        encoding="utf-8",
    )
    file = tmp_path / "toolsmith.toml"
    for name in ("Loud", "loud"):
        file.write_text(
            f'[agents.a]\nmodel = "openai:x"\npaging = true\nfeedback = "words.py:{name}"\n', encoding="utf-8"
        )
        agent = Agent.from_config(file, "a")
        assert type(agent.feedback).__name__ == "Loud"
        assert agent.paging is True
    file.write_text('[agents.a]\nmodel = "openai:x"\nfeedback = "words.py:wrong"\n', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"\[agents\.a\] feedback: .* is no toolsmith\.Feedback"):
        Agent.from_config(file, "a")
