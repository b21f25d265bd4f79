"""The script: what a step may be, how it is taken, and what a test learns when it does not fit."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from toolsmith import Agent, ModelSettings
from toolsmith.errors import ProviderError
from toolsmith.testing import (
    Recorded,
    ScriptedModel,
    ScriptError,
    block,
    by_turn,
    call,
    deliver,
    fail,
    pause,
    raw_call,
    say,
    turn,
)

MESSAGES = "/v1/messages"
CHAT = "/v1/chat/completions"
RESPONSES = "/v1/responses"


def claude(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    found = list(messages) or [{"role": "user", "content": "Hi"}]
    return {"model": "claude-opus-4-5", "max_tokens": 9, "messages": found, **more}


def text(answer: tuple[int, bytes]) -> str:
    """The words of Claude's answer, or the error's."""
    found = json.loads(answer[1])
    return found["error"]["message"] if "error" in found else "".join(b.get("text", "") for b in found["content"])


def test_steps_are_taken_in_order_and_counted() -> None:
    """One step a request; what is left over or missing is said."""
    model = ScriptedModel([say("one"), say("two")])
    assert text(model(MESSAGES, claude())) == "one"
    with pytest.raises(AssertionError, match="1 of 2 turns of the script were not asked for"):
        model.assert_exhausted()
    assert text(model(MESSAGES, claude())) == "two"
    model.assert_exhausted()
    assert "The script has 2 turns, and request 3 asks for more" in text(model(MESSAGES, claude()))
    assert [request.number for request in model.requests] == [0, 1, 2]


def test_the_answer_to_a_request_is_a_pure_function_of_it() -> None:
    """The same script and the same request give the same bytes, ids and signatures included."""
    answers = [ScriptedModel([[say("x"), call("add", a=1)]])(MESSAGES, claude()) for _ in range(2)]
    assert answers[0] == answers[1]


def test_a_step_may_be_a_function_of_the_request() -> None:
    """For answers that depend on what the tools gave."""

    def answer(request: Recorded) -> Any:
        assert request.results == [("t1", "42"), ("t2", "no")]
        return say(f"It is {request.results[0][1]}, {request.prompt}.")

    uses: list[Any] = [{"type": "tool_use", "id": i, "name": "find", "input": {}} for i in ("t1", "t2")]
    results = [
        {"type": "tool_result", "tool_use_id": "t1", "content": "42"},
        {"type": "tool_result", "tool_use_id": "t2", "content": [{"type": "text", "text": "no"}]},
    ]
    history = (
        {"role": "user", "content": "Ann"},
        {"role": "assistant", "content": uses},
        {"role": "user", "content": results},
    )
    model = ScriptedModel([answer])
    assert text(model(MESSAGES, claude(*history))) == "It is 42, Ann."
    model.assert_exhausted()


def test_an_error_in_a_function_of_the_script_is_not_lost() -> None:
    """It is answered with a 400 that no client repeats, and raised again at the end."""

    def wrong(request: Recorded) -> Any:
        raise KeyError("oops")

    model = ScriptedModel([wrong])
    assert "The script raised KeyError: 'oops'" in text(model(MESSAGES, claude()))
    with pytest.raises(KeyError, match="oops"):
        model.assert_exhausted()


def test_many_runs_can_share_a_script() -> None:
    """`by_turn` reads from the request how far its conversation is, and so needs no count."""
    model = ScriptedModel(by_turn([say("first"), lambda request: say(f"second, {request.prompt}")]))
    later = ({"role": "user", "content": "a"}, {"role": "assistant", "content": "x"}, {"role": "user", "content": "b"})

    def both(_: int) -> tuple[str, str]:
        return text(model(MESSAGES, claude(*later))), text(model(MESSAGES, claude()))

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(both, range(100))) == {("second, b", "first")}
    assert sorted(request.number for request in model.requests) == list(range(200))
    end = (*later, {"role": "assistant", "content": "x"}, {"role": "user", "content": "c"})
    assert "asked for turn 3" in text(model(MESSAGES, claude(*end)))


def test_what_an_api_cannot_say_is_the_scripts_mistake() -> None:
    """A pause is Claude's; asking OpenAI for one says so."""
    body = {"model": "gpt-6-astra", "input": "Hi"}
    status, raw = ScriptedModel([pause()])(RESPONSES, body)
    assert (status, "has no pause" in raw.decode()) == (400, True)
    chat = {"model": "gpt-6-astra", "messages": [{"role": "user", "content": "Hi"}]}
    assert b"no way to say 'pause'" in ScriptedModel([pause()])(CHAT, chat)[1]


def test_a_block_of_the_script_may_come_back() -> None:
    """What the scripted model has said itself it knows, and takes again; another unknown block it refuses."""
    made = {"type": "hologram", "data": "x"}
    model = ScriptedModel([[say("Look."), block(made)], say("Nice.")])
    content = json.loads(model(MESSAGES, claude())[1])["content"]
    assert content[-1] == made
    ask, reply = {"role": "user", "content": "Hi"}, {"role": "assistant", "content": content}
    assert text(model(MESSAGES, claude(ask, reply, ask))) == "Nice."
    other = {"role": "assistant", "content": [{"type": "movie"}]}
    assert "does not match any of the expected tags" in text(model(MESSAGES, claude(ask, other, ask)))


def test_what_a_test_can_ask_of_a_request() -> None:
    """The same questions for the three APIs."""
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    model = ScriptedModel([say("x")] * 3)
    model(MESSAGES, claude(system="Be brief.", tools=[{"name": "now", "input_schema": schema, "strict": False}]))
    model(CHAT, {
        "model": "gpt-4.1",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
        "tools": [{"type": "function", "function": {"name": "now", "parameters": schema, "strict": False}}],
    })  # fmt: skip
    model(RESPONSES, {
        "model": "gpt-4.1", "instructions": "Be brief.", "input": "Hi", "stream": True,
        "tools": [{"type": "function", "name": "now", "parameters": schema, "strict": False}],
    })  # fmt: skip
    for request in model.requests:
        assert request.prompt == "Hi"
        assert request.instructions == "Be brief."
        assert request.turn == 0
        assert request.tools == {"now": {"schema": schema, "strict": False, "description": ""}}
    assert [request.api for request in model.requests] == ["anthropic", "openai-chat", "openai"]
    assert [request.streamed for request in model.requests] == [False, False, True]
    assert [request.model for request in model.requests] == ["claude-opus-4-5", "gpt-4.1", "gpt-4.1"]


def test_ids_never_meet_those_of_the_request() -> None:
    """A history that was cut, or came from elsewhere, may hold an id that would be next."""
    first = json.loads(ScriptedModel([call("add", a=1)])(MESSAGES, claude())[1])["content"][0]["id"]
    again = claude({"role": "user", "content": f"What is {first}?"})
    assert json.loads(ScriptedModel([call("add", a=1)])(MESSAGES, again)[1])["content"][0]["id"] != first


def test_a_turn_ends_as_its_parts_say() -> None:
    """Calls make it a turn of calls, a refusal a refusal, else it ends; a word of the API's own wins."""
    assert turn(say("x")).stop == "end"
    assert turn(say("x"), call("add")).stop == "tool_calls"
    model = ScriptedModel([turn(say("x"), raw_stop="stop_sequence")])
    assert json.loads(model(MESSAGES, claude())[1])["stop_reason"] == "stop_sequence"


def test_arguments_that_are_no_keywords() -> None:
    """A mapping takes names that Python cannot, and names of `call`'s own parameters just work."""
    assert call("add", {"class": 1}, name="x", arguments="y", id=3).arguments == {
        "class": 1, "name": "x", "arguments": "y", "id": 3,
    }  # fmt: skip


def test_a_misspelt_rule_is_an_error() -> None:
    with pytest.raises(ScriptError, match="No rule is named thinking"):
        ScriptedModel([], ignore={"thinking"})


def test_a_misspelt_category_is_an_error_at_once() -> None:
    """Where the script is written, with the word that was meant and all that there are."""
    with pytest.raises(ScriptError, match=r"'ratelimit'\. Did you mean 'rate_limit'\? The categories: rate_limit"):
        fail("ratelimit")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ScriptError, match="no category of errors 'teapot'"):
        deliver(say("x"), error="teapot")  # pyright: ignore[reportArgumentType]


def test_it_needs_no_pytest_and_loads_no_sdk() -> None:
    """It is for users' tests with any runner, and costs nothing before a provider is made."""
    program = (
        "import sys, toolsmith.testing as t\n"
        "t.ScriptedModel([t.say('x')])('/v1/messages', {'model': 'm'})\n"
        "print([m for m in ('pytest', 'anthropic', 'openai', 'httpx2') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_words_alone_are_no_step() -> None:
    """Whatever is no step is refused where the script is written: never an empty answer, or one for each letter."""
    script: Any
    for script, told in (
        ("hello", r"ScriptedModel\('hello'\): a script is a list of steps.*ScriptedModel\(\[say\('hello'\)\]\)"),
        (say("x"), r"a script is a list of steps.*put it into one: \[say\(\.\.\.\)\]"),
        (turn(say("x")), r"put it into one: \[turn\(\.\.\.\)\]"),
        (fail(), r"put it into one: \[fail\(\.\.\.\)\]"),
        (None, r"ScriptedModel\(None\): a script is a list of steps"),
        (5, r"ScriptedModel\(5\): a script is a list of steps"),
    ):
        with pytest.raises(TypeError, match=told):
            ScriptedModel(script)
        with pytest.raises(TypeError, match="a script is a list of steps"):
            by_turn(script)
    steps: list[tuple[Any, str]] = [
        ("hello", r"Step 2 of the script is 'hello'.*For words write say\('hello'\)"),
        (None, r"Step 2 of the script is None.*a step is say\('\.\.\.'\), call\("),
        ({"text": "x"}, r"Step 2 of the script is \{'text': 'x'\}"),
        (["hello"], r"Step 2 of the script holds 'hello'.*For words write say\('hello'\)"),
        ([say("x"), [say("y")]], r"Step 2 of the script holds \[Say"),
        ([turn(say("x"))], r"Step 2 of the script holds a turn\(\.\.\.\), which is a step of its own"),
        ([say("x"), fail()], r"Step 2 of the script holds a fail\(\.\.\.\), which is a step of its own"),
        ([text], r"Step 2 of the script holds a function, which is a step of its own"),
    ]
    for step, told in steps:
        for make in (ScriptedModel, by_turn):
            with pytest.raises(TypeError, match=told):
                make([say("one"), step])


def test_what_a_function_gives_is_looked_at_as_well() -> None:
    """It is told as the mistake of that function, in the run and at its end."""

    def silent(_: Recorded) -> Any:
        return None

    def bare(_: Recorded) -> Any:
        return "hello"

    functions: list[tuple[Any, str]] = [
        (silent, "A function of the script gave None"),
        (bare, r"gave 'hello'.*say\('hello'\)"),
    ]
    for script, told in functions:
        for wrong in (script, [script], by_turn([script])):
            model = ScriptedModel(wrong)
            assert "The script raised TypeError: A function of the script gave" in text(model(MESSAGES, claude()))
            with pytest.raises(TypeError, match=told):
                model.assert_exhausted()


def test_parts_are_looked_at_where_they_are_made() -> None:
    """`say`, `call`, `turn` and the like take what they say that they take."""
    wrong: Any
    for wrong, told in (
        (lambda: say(3), r"say\(text=3\): give a text"),  # pyright: ignore[reportArgumentType]
        (lambda: raw_call("f", {"a": 1}), r"raw_call\(text=\{'a': 1\}\): give a text"),  # pyright: ignore[reportArgumentType]
        (lambda: call("f", "{}"), r"call\(arguments='\{\}'\): give a dict, as in arguments="),  # pyright: ignore[reportArgumentType]
        (lambda: block("x"), r"block\(raw='x'\): give a dict"),  # pyright: ignore[reportArgumentType]
        (lambda: turn("hello"), r"turn\(\.\.\.\) holds 'hello'.*say\('hello'\)"),  # pyright: ignore[reportArgumentType]
        (lambda: turn([say("x")]), r"turn\(\.\.\.\) holds \[Say.*turn\(\*parts\)"),  # pyright: ignore[reportArgumentType]
        (lambda: deliver("hello"), r"deliver\(\.\.\.\) is given 'hello'.*say\('hello'\)"),  # pyright: ignore[reportArgumentType]
    ):
        with pytest.raises(TypeError, match=told):
            wrong()


def test_one_is_told_as_one() -> None:
    """The words fit a script of one step."""
    model = ScriptedModel([say("one")])
    with pytest.raises(AssertionError, match="The one turn of the script was not asked for"):
        model.assert_exhausted()
    model(MESSAGES, claude())
    assert "The script has 1 turn, and request 2 asks for more" in text(model(MESSAGES, claude()))


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/v1/messages", True),
        ("/v1/messages?beta=true", True),
        ("/v1/messages/count_tokens", True),
        ("/v1/responses", True),
        ("/v1/chat/completions", True),
        ("/openai/v1/responses", True),
        ("/openai/v1/chat/completions", True),
        ("/openai/responses?api-version=2025-04-01-preview", True),
        ("/openai/deployments/gpt/chat/completions?api-version=2025-01-01", True),
        ("/messages", False),
        ("/v1/v1/messages", False),
        ("/v1/v1/messages/count_tokens", False),
        ("/api/v1/messages", False),
        ("/responses", False),
        ("/v1/v1/responses", False),
        ("/v1/responses/resp_1", False),
        ("/chat/completions", False),
        ("/v1/v1/chat/completions", False),
        ("/openai/deployments/chat/completions", False),
        ("/v1/completions", False),
        ("/", False),
    ],
)
def test_only_the_addresses_of_the_services_are_found(path: str, found: bool) -> None:
    """Those that the SDKs make of a right base URL, and those of OpenAI's clouds; others fail as at the service."""
    model = ScriptedModel([say("x")], ignore=["model", "json", "messages"])
    status, raw = model(path, {})
    assert (status == 404) is not found
    if not found:
        assert model.requests == []
        error = json.loads(raw)["error"]
        if "messages" in path:
            assert (json.loads(raw)["type"], error) == ("error", {"type": "not_found_error", "message": "Not Found"})
        else:
            words = f"Invalid URL (POST {path})"
            assert error == {"message": words, "type": "invalid_request_error", "param": None, "code": None}


@pytest.mark.parametrize(
    ("model", "end"), [("anthropic:claude-opus-5-5", "/v1"), ("openai:gpt-6-astra", ""), ("openai-chat:qwen", "/v1/v1")]
)
def test_a_wrong_base_url_fails(model: str, end: str) -> None:
    """With too much or too little of `/v1`, the most frequent mistake of all."""
    with ScriptedModel([say("x")]).serve() as server:
        where = ModelSettings(model=model, base_url=server.url("anthropic") + end, api_key="any")
        with pytest.raises(ProviderError) as caught:
            Agent(where).run_sync("Hi")
    assert caught.value.category == "not_found"
