"""Images and files over the wire: in prompts and out of tools, each API in its own form, judged by both judges."""

from __future__ import annotations

import asyncio
import json
import logging
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import httpx2
import pytest
from pictures import PDF, jpeg, png
from wire import APIS, Wire

from toolsmith import Agent, File, Image, Limits, Message, Pending, Text, ToolError, ToolOutput, ToolResultReady, tool
from toolsmith.events import Event, RunStarted, ToolProgress
from toolsmith.history import dump_messages, load_messages
from toolsmith.media import Media
from toolsmith.providers.anthropic import AnthropicMessages
from toolsmith.testing import Api, ScriptedModel, call, say, think

PNG, JPEG = png(), jpeg()
CHART, PHOTO, REPORT = Image(PNG), Image(JPEG), File(PDF, name="report.pdf")
NOTES = File("Grüße aus Oslo.".encode(), name="notes.md")
WORD = File(b"PK\x03\x04\xff\xfe", name="letter.docx")
REMOTE = Image(url="https://example.org/cat.jpg")


@tool
def screenshot(page: str) -> Image:
    """Take a screenshot of a page."""
    return CHART


@tool
async def gather(page: str) -> list[Any]:
    """Everything about a page."""
    return ["Three things:", PHOTO, {"n": 1}, REPORT]


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def fail(page: str) -> Image:
    """Always fails."""
    raise ToolError("The printer is out of paper.")


def test_an_image_and_a_file_in_the_prompt(wire: Wire) -> None:
    """They arrive byte for byte, in their places between the words; those who listen are told of them in words."""
    model = wire.model(say("A chart."))
    agent = Agent(wire.provider(model), instructions="Look.", observers=[(seen := list[Event]()).append])
    result = wire.run(agent, ["What is this?", CHART, "And this?", REPORT, PHOTO])
    assert result.output == "A chart."
    assert model.requests[0].media == [CHART, REPORT, PHOTO]
    (content,) = [m["content"] for m in model.requests[0].messages if m["role"] == "user"]
    kinds = [part["type"].removeprefix("input_") for part in content]
    assert [kind in ("text",) for kind in kinds] == [True, False, True, False, False]
    assert model.requests[0].prompt == "What is this?And this?"
    assert result.messages[0] == Message("user", (Text("What is this?"), CHART, Text("And this?"), REPORT, PHOTO))
    started = next(e for e in seen if isinstance(e, RunStarted))
    assert started.prompt == (
        f"What is this?\n[image/png, {len(PNG)} bytes]\nAnd this?\n[report.pdf, application/pdf, {len(PDF)} bytes]\n"
        f"[image/jpeg, {len(JPEG)} bytes]"
    )


def test_an_image_alone_and_one_at_an_address(wire: Wire) -> None:
    """No words are needed; the service fetches what has an address."""
    model = wire.model(say("A cat."), say("Again."))
    agent = Agent(wire.provider(model))
    first = wire.run(agent, REMOTE)
    assert wire.run(agent, CHART, history=first.messages).output == "Again."
    assert [m.url for m in model.requests[1].media] == [REMOTE.url, None]


def test_an_image_out_of_a_tool(wire: Wire) -> None:
    """Among parallel calls and a failed one: each answer has its words, and what there is to see goes with it."""
    calls = [call("screenshot", page="a"), call("add", a=1, b=2), call("gather", page="b"), call("fail", page="c")]
    model = wire.model([think("Hm."), *calls], say("I see."))
    seen: list[Event] = []
    agent = Agent(wire.provider(model), tools=[screenshot, gather, add, fail], observers=[seen.append])
    result = wire.run(agent, "go")
    assert result.output == "I see."
    request = model.requests[1]
    assert request.media == [CHART, PHOTO, REPORT]
    one = f"[image 1: image/png, {len(PNG)} bytes]"
    three = f"[image 1: image/jpeg, {len(JPEG)} bytes]"
    four = f"[file 2: report.pdf, application/pdf, {len(PDF)} bytes]"
    told = [text for _, text in request.results]
    assert told == [
        one,
        "3",
        f'Three things:\n{three}\n{{"n": 1}}\n{four}',
        "`fail` failed: The printer is out of paper.",
    ]
    assert [record.result.data for record in result.tool_calls[:3]] == [
        one,
        3,
        ["Three things:", three, {"n": 1}, four],
    ]
    ready = {e.call.name: e.result.media for e in seen if isinstance(e, ToolResultReady)}
    assert ready == {"screenshot": (CHART,), "add": (), "gather": (PHOTO, REPORT), "fail": ()}
    assert not [
        m for m in wire.run(Agent(wire.provider(wire.model(say("x")))), "no images").messages if m.role == "tool"
    ]


def test_chat_is_shown_them_after_the_last_answer(wire: Wire) -> None:
    """Its tool messages take text only: one message of the user's role follows, which names the calls."""
    if wire.api != "openai-chat":
        return
    model = wire.model([call("screenshot", page="a"), call("add", a=1, b=2), call("gather", page="b")], say("I see."))
    wire.run(Agent(wire.provider(model), tools=[screenshot, gather, add]), "go")
    roles = [m["role"] for m in model.requests[1].messages]
    assert roles == ["user", "assistant", "tool", "tool", "tool", "user"]
    first, _, last = (m for m in model.requests[1].messages if m["role"] == "tool")
    content = model.requests[1].messages[-1]["content"]
    assert [part.get("text") for part in content if part["type"] == "text"] == [
        f"From `screenshot` (call {first['tool_call_id']}), not from the user: image 1, image/png, {len(PNG)} bytes.",
        f"From `gather` (call {last['tool_call_id']}), not from the user: image 1, image/jpeg, {len(JPEG)} bytes.",
        f"From `gather` (call {last['tool_call_id']}), not from the user: file 2, report.pdf, application/pdf, "
        f"{len(PDF)} bytes.",
    ]
    assert [part["type"] for part in content] == ["text", "image_url", "text", "image_url", "text", "file"]


def test_a_conversation_with_images_goes_on(wire: Wire) -> None:
    """Stored and loaded between runs: what was sent before is sent again byte for byte, signed thoughts hold."""
    model = wire.model([think("Hm."), call("gather", page="a")], say("seen"), [think("So."), say("yes")], say("bye"))
    agent = Agent(wire.provider(model), tools=[gather])
    first = wire.run(agent, ["Look.", CHART, NOTES])
    kept = load_messages(dump_messages(first.messages))
    assert kept == first.messages
    second = wire.run(agent, ["And now?", PHOTO], history=kept)
    third = wire.run(agent, "Bye!", history=load_messages(dump_messages(second.messages)))
    assert third.output == "bye"
    for before, after in pairwise([request.messages for request in model.requests]):
        assert after[: len(before)] == before
    assert third.messages[: len(second.messages)] == second.messages


@pytest.mark.parametrize("other", APIS)
def test_another_service_takes_over(wire: Wire, other: Api) -> None:
    """All that was shown to one is shown to the other, in its own form: also what a tool gave."""
    if other == wire.api:
        return
    here = wire.model([think("Hm."), call("gather", page="a"), call("screenshot", page="b")], say("seen"), say("home"))
    there = wire.model([call("screenshot", page="c")], say("too"))
    tools = [gather, screenshot]
    first = wire.run(Agent(wire.provider(here), tools=tools), ["Look.", CHART, REPORT])
    second = wire.run(Agent(wire.provider(there, other), tools=tools), ["You?", PHOTO], history=first.messages)
    third = wire.run(Agent(wire.provider(here), tools=tools), "Home?", history=second.messages)
    shown = [CHART, REPORT, PHOTO, REPORT, CHART, PHOTO]
    assert there.requests[0].media == shown
    assert there.requests[1].media == here.requests[-1].media == [*shown, CHART]
    assert third.output == "home"


def test_what_a_service_does_not_take_is_told(wire: Wire, caplog: pytest.LogCaptureFixture) -> None:
    """To the model in place of it, and once to the log: a run goes on, and nothing is lost silently."""

    @tool
    def letter() -> File:
        """Write a letter."""
        return WORD

    model = wire.model(call("letter"), say("done"), say("bye"))
    name = (
        f"gpt-4o-{wire.driver}-{wire.door}"
        if wire.api != "anthropic"
        else f"claude-haiku-4-5-{wire.driver}-{wire.door}"
    )
    agent = Agent(wire.provider(model, name=name), tools=[letter])
    with caplog.at_level(logging.WARNING, "toolsmith"):
        result = wire.run(agent, ["Read it.", WORD])
        wire.run(agent, "Bye.", history=result.messages)
    told = [record.getMessage() for record in caplog.records if "is not shown" in record.getMessage()]
    text = model.requests[1].raw.decode()
    label = f"letter.docx, {WORD.media_type}, 6 bytes"
    if wire.api == "openai":
        assert model.requests[1].media == [WORD, WORD]
        assert told == []
        return
    assert model.requests[1].media == []
    assert f"[The file ({label}) cannot be shown to you: this kind cannot be read here." in text
    assert f"[file 1: {label}]" in text
    assert "[File 1 cannot be shown to you: this kind cannot be read here." in text
    assert len(told) == 1
    assert "PDF" in told[0]
    assert repr(WORD) in told[0]


BROAD = Image(png(3000, 1))
"""Claude takes it among 20 images, and not among more."""


def test_many_images_of_which_one_is_wide(wire: Wire) -> None:
    """What came first stays, for a history only grows; the 21st is told in words, and the run goes on."""

    @tool
    def shots(count: int) -> list[Image]:
        """Take screenshots."""
        return [Image(png(n + 1)) for n in range(count)]

    model = wire.model(call("shots", count=12), call("shots", count=12), say("Many."), say("One more?"))
    agent = Agent(wire.provider(model), tools=[shots])
    result = wire.run(agent, ["Look.", BROAD, Image(png(9000, 1))])
    assert result.output == "Many."
    shown = len(model.requests[-1].media)
    assert shown == (20 if wire.api == "anthropic" else 26)
    again = wire.run(agent, ["And this?", CHART], history=load_messages(dump_messages(result.messages)))
    assert again.output == "One more?"
    if wire.api == "anthropic":
        assert "Image 8 cannot be shown to you: this conversation has no room for it" in model.requests[-1].raw.decode()
        before = json.loads(model.requests[2].raw)["messages"]
        assert json.loads(model.requests[3].raw)["messages"][: len(before)] == before


def test_many_small_images(wire: Wire) -> None:
    """25 of them are no trouble for anybody."""
    model = wire.model(say("Many."))
    wire.run(Agent(wire.provider(model)), ["Look.", *[CHART] * 25])
    assert len(model.requests[0].media) == 25


@pytest.mark.parametrize(
    ("name", "most"), [("claude-opus-5-5", 600), ("claude-haiku-4-5", 100), ("claude-opus-4-6", 600)]
)
def test_more_images_than_a_model_takes(name: str, most: int) -> None:
    model = ScriptedModel([say("Many.")])
    Agent(model.provider("anthropic", name)).run_sync(["Look.", *[CHART] * (most + 3)])
    model.assert_exhausted()
    assert len(model.requests[0].media) == most


def test_more_bytes_than_a_request_takes() -> None:
    """The service refuses 32 MB with a 413, from then on in each turn."""

    @tool
    def shot() -> Image:
        """Take a screenshot."""
        return Image(png(padding=7_000_000))

    model = ScriptedModel([*[call("shot", {}) for _ in range(4)], say("Big.")])
    result = Agent(model.provider("anthropic"), tools=[shot]).run_sync("Look.")
    model.assert_exhausted()
    assert result.output == "Big."
    assert len(model.requests[-1].media) == 3


def test_a_text_file_is_read_by_all(wire: Wire) -> None:
    """As a document where there is such a thing, else in words, between marks that name it."""

    @tool
    def read() -> File:
        """Read the notes."""
        return NOTES

    model = wire.model(call("read"), say("Oslo."))
    result = wire.run(Agent(wire.provider(model), tools=[read]), ["Where from?", NOTES])
    assert result.output == "Oslo."
    assert model.requests[1].raw.decode().count("Grüße aus Oslo.") == 2
    if wire.api == "anthropic":
        assert model.requests[1].media == [NOTES, NOTES]
    else:
        assert "`notes.md` begins here.\\nGrüße aus Oslo.\\n[End of `notes.md`.]" in model.requests[1].raw.decode()


def test_limits_on_a_result_count_its_text_alone(wire: Wire) -> None:
    """A long text is cut and says so; the image stays, and so does the word of where it is."""

    @tool
    def long() -> list[Any]:
        """Much text and an image in the middle of it."""
        return ["a" * 5000, CHART, "b" * 5000]

    model = wire.model(call("long"), say("done"))
    wire.run(Agent(wire.provider(model), tools=[long], limits=Limits(result_chars=500)), "go")
    ((_, text),) = model.requests[1].results
    assert len(text) < 700
    assert f"[image 1: image/png, {len(PNG)} bytes]" in text
    assert model.requests[1].media == [CHART]


def test_a_run_that_waits_keeps_them(wire: Wire) -> None:
    """What a tool of the waiting turn gave goes with the stored run into another process."""

    @tool(requires_approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        return "paid"

    model = wire.model([call("screenshot", page="a"), call("pay", amount=5)], say("done"))
    agent = Agent(wire.provider(model), tools=[screenshot, pay])
    waiting = wire.run(agent, ["Pay this.", PHOTO])
    assert waiting.pending is not None
    result = agent.resume_sync(Pending.load(waiting.pending.dump()), approve=True)
    assert result.output == "done"
    assert model.requests[1].media == [PHOTO, CHART]


def test_progress_may_be_an_image() -> None:
    """A generator's items are told as they come, and shown to the model at the end."""

    @tool
    def film() -> Any:
        """Take pictures."""
        yield CHART
        yield PHOTO

    model = ScriptedModel([call("film"), say("done")])
    with Agent(model.provider("anthropic"), tools=[film]).run_stream_sync("go") as events:
        progress = [event.progress for event in events if isinstance(event, ToolProgress)]
    assert progress == [CHART, PHOTO]
    assert model.requests[1].media == [CHART, PHOTO]


# ---- the edges of what each service takes


def _sent(provider: Any, media: Media) -> dict[str, Any]:
    """The part of the wire that stands for an image or a file."""
    item: dict[str, Any] = json.loads(provider.encode_message(Message("user", (media,))))
    (part,) = item["content"]
    return part


WIDE, HEAVY = Image(png(8001, 1)), Image(png(padding=7_900_000))
BITMAP = Image(b"BM123", media_type="image/bmp")
PAGE = File(url="https://example.org/report.pdf", name="Report")
CSV = File(b"a,b\n1,2\n", name="s.csv")


@pytest.mark.parametrize(
    ("api", "media", "shown"),
    [
        ("anthropic", CHART, {"type": "image"}),
        ("anthropic", WIDE, "too wide or too high"),
        ("anthropic", HEAVY, "too large"),
        ("anthropic", BITMAP, "this kind cannot be read"),
        ("anthropic", Image(url="http://example.org/x.png"), "address cannot be opened"),
        ("anthropic", REMOTE, {"source": {"type": "url", "url": REMOTE.url}}),
        ("anthropic", PAGE, {"type": "document", "title": "Report"}),
        ("anthropic", File(url="https://example.org/x.csv"), "this kind cannot be read"),
        ("anthropic", File(PDF + b"\0" * 25_000_000), "too large"),
        ("anthropic", CSV, {"source": {"type": "text", "media_type": "text/plain", "data": "a,b\n1,2\n"}}),
        ("anthropic", File(b" \n"), "this kind cannot be read"),
        ("anthropic", File(b"\xff\xfe", media_type="text/plain"), "this kind cannot be read"),
        ("openai", HEAVY, {"type": "input_image", "detail": "auto"}),
        ("openai", WIDE, {"type": "input_image"}),
        ("openai", BITMAP, "this kind cannot be read"),
        ("openai", PAGE, {"type": "input_file", "file_url": PAGE.url}),
        ("openai", File(PDF), {"filename": "document.pdf"}),
        ("openai", CSV, {"filename": "s.csv", "file_data": "data:text/csv;base64,YSxiCjEsMgo="}),
        ("openai", File(b"\0\xff", media_type="application/zip"), "this kind cannot be read"),
        ("openai-chat", HEAVY, {"type": "image_url"}),
        ("openai-chat", BITMAP, "this kind cannot be read"),
        ("openai-chat", REMOTE, {"image_url": {"url": REMOTE.url}}),
        ("openai-chat", PAGE, "address cannot be opened"),
        ("openai-chat", CSV, "a,b\n1,2\n"),
        ("openai-chat", File(PDF), {"type": "file"}),
    ],
)
def test_what_each_service_takes(api: Api, media: Media, shown: dict[str, Any] | str) -> None:
    """It gets the form that its SDK's types name; else words, and the request is taken all the same."""
    model = ScriptedModel([say("ok")])
    part = _sent(model.provider(api), media)
    if isinstance(shown, str):
        assert part["type"].endswith("text")
        assert shown in part["text"]
    else:
        assert part.items() >= shown.items()
    if media is not WIDE:  # OpenAI's own bounds on pixels are not known well enough to be a rule
        assert Agent(model.provider(api)).run_sync([media]).output == "ok"


def test_another_server_may_know_more_kinds_of_images() -> None:
    """Only OpenAI's own Chat Completions is known to take four."""
    with ScriptedModel([], ignore={"media"}).serve() as server:
        part = _sent(server.provider("openai-chat"), BITMAP)
    assert part == {"type": "image_url", "image_url": {"url": "data:image/bmp;base64,Qk0xMjM="}}


@pytest.mark.parametrize(
    ("media", "shown"), [(CHART, "image"), (REMOTE, "text"), (PAGE, "text"), (Image(png(padding=4_000_000)), "text")]
)
def test_clouds_take_less_of_claude(media: Media, shown: str) -> None:
    """No addresses, and half the size."""
    anthropic: Any = import_module("anthropic")  # its clouds' clients are loaded by name
    client = anthropic.AnthropicVertex(region="r", project_id="p", access_token="t", http_client=httpx2.Client())
    assert _sent(AnthropicMessages("claude-opus-5-5", client=client), media)["type"] == shown
    client.close()


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("role", ["tool", "assistant"])
def test_what_cannot_be_said_is_left_out(api: Api, role: Any) -> None:
    """A history made by hand: beside an error, and in the assistant's own words, no service takes an image."""
    failed = ToolOutput("c", "n", "no", True, (CHART,))
    message = Message(role, (failed,) if role == "tool" else (Text("x"), CHART))
    wire = ScriptedModel([]).provider(api).encode_message(message).decode()
    assert "base64" not in wire
    assert "cannot be shown" not in wire


def test_a_model_that_reads_text_only_is_told_in_words() -> None:
    """The embedded model: the words of a text file, and of an image that it is there."""
    pytest.importorskip("xllamacpp")
    if find_spec("wordllama") is None:  # looked for, not imported: importing it sets up the root logger
        pytest.skip("the packages of the extra `local` are not installed")
    from toolsmith.providers.local import LocalModel

    provider = LocalModel()
    user = json.loads(provider.encode_message(Message("user", (Text("Look."), CHART, NOTES))))
    assert user["text"].startswith(f"Look.\n[The image (image/png, {len(PNG)} bytes) cannot be shown to you: only text")
    assert "Grüße aus Oslo." in user["text"]
    answer = provider.encode_message(Message("tool", (ToolOutput("c", "n", "[image 1: x]", media=(CHART,)),)))
    assert "[image 1: x]\n[Image 1 cannot be shown" in json.loads(answer)["results"][0]["text"]


def test_runs_side_by_side_share_their_images() -> None:
    """Values, not streams: many runs may send the same one."""
    model = ScriptedModel([say("ok")] * 8)
    agent = Agent(model.provider("openai"))

    async def all_of_them() -> None:
        await asyncio.gather(*(agent.run(["Look.", CHART]) for _ in range(8)))

    asyncio.run(all_of_them())
    assert [request.media for request in model.requests] == [[CHART]] * 8
