"""`Tool` and `@tool`: the function it was, its options, its wire forms, and one call from JSON text to result."""

from __future__ import annotations

import asyncio
import copy
import inspect
import logging
import pickle
import threading
import time
from typing import Any

import pytest

from toolsmith import DefinitionError, ModelRetry, RunContext, Tool, ToolError, ToolResult, tool


@tool
def add(a: int, b: int = 1) -> int:
    """Add two whole numbers."""
    return a + b


@tool(name="plus", description="Sum.", strict=False, max_calls_per_run=3, timeout=5, sequential=True, coerce=True)
async def add_async(a: int, b: int = 1) -> int:
    """Add two whole numbers."""
    await asyncio.sleep(0)
    return a + b


# ---- the function it was


def test_a_tool_is_called_as_the_function_it_was() -> None:
    """Positions, keywords, errors and awaiting are Python's own."""
    assert add(1, b=2) == 3
    assert asyncio.run(add_async(1)) == 2
    with pytest.raises(TypeError):
        add()  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]


def test_a_tool_looks_like_the_function_it_was() -> None:
    """`help`, `inspect` and `pickle` find what they look for."""
    assert (add.__name__, add.__doc__, add.__module__) == ("add", "Add two whole numbers.", __name__)
    assert str(inspect.signature(add)) == "(a: 'int', b: 'int' = 1) -> 'int'"
    assert pickle.loads(pickle.dumps(add)) is add
    assert copy.deepcopy(add) is add
    assert repr(add) == f"<Tool add ({add.origin})>"
    assert add.origin.endswith("test_tool.py:19")


def test_options_are_kept() -> None:
    """Name and description are the model's, the options the run's."""
    assert (add_async.name, add_async.description, add_async.is_async) == ("plus", "Sum.", True)
    options = add_async.options
    assert (options.strict, options.max_calls_per_run, options.timeout) == (False, 3, 5)
    assert (options.sequential, options.coerce, options.repeatable, options.thread) == (True, True, False, True)
    assert (add.name, add.is_async, add.takes_context, add.options.strict) == ("add", False, False, None)


@pytest.mark.parametrize(
    ("option", "guess"),
    [("strict_mode", "strict"), ("name_override", "name"), ("max_calls", "max_calls_per_run"), ("time_out", "timeout")],
)
def test_a_misspelt_option_is_named(option: str, guess: str) -> None:
    """Options of other frameworks are not swallowed: the error says what the thing is called here."""
    with pytest.raises(TypeError, match=rf"@tool has no option '{option}'. Did you mean {guess}="):
        tool(**{option: True})  # type: ignore[call-overload] # pyright: ignore
    with pytest.raises(TypeError, match=f"Tool has no option '{option}'"):
        Tool(add, **{option: True})  # type: ignore[call-overload] # pyright: ignore


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"timeout": 0}, "more than 0"),
        ({"timeout": True}, "more than 0"),
        ({"max_calls_per_run": -1}, "from 0 on"),
        ({"max_calls_per_run": 1.5}, "from 0 on"),
        ({"strict": "yes"}, "True, False or None"),
        ({"sequential": 1}, "True or False"),
    ],
    ids=str,
)
def test_a_wrong_value_is_an_error_at_definition(options: dict[str, Any], words: str) -> None:
    """With its place, its value and what is allowed."""
    made: Any = tool(**options)
    with pytest.raises(DefinitionError, match=words) as caught:
        made(lambda: None)
    assert "test_tool.py" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "legal"),
    [
        ("get weather!", "get_weather"),
        ("2fast", "tool_2fast"),
        ("größe.prüfen", "grosse_prufen"),
        ("", "my_tool"),
        ("a-b", "a_b"),
        ("find_" * 20, "find_find_find_find_find_find_find_find_find_find_find_find"),
        ("x" * 65, "x" * 64),
    ],
)
def test_an_illegal_name_comes_with_a_legal_one(name: str, legal: str) -> None:
    """Services refuse the whole request for one name, so it is refused here, with one that will do."""
    with pytest.raises(DefinitionError, match=f"name='{legal}'"):
        Tool(lambda: None, name=name)
    assert Tool(lambda: None, name=legal).name == legal


def test_what_is_no_function() -> None:
    """The error says both ways to make a tool."""
    with pytest.raises(TypeError, match="Tool takes a function"):
        Tool(3)  # type: ignore[call-overload] # pyright: ignore
    with pytest.raises(DefinitionError, match="'<lambda>' cannot be a tool as it is"):
        Tool(lambda: None)


def test_a_tool_of_a_tool_is_of_its_function() -> None:
    """Decorating twice, or again with other options, starts from the function."""
    again = Tool(add, name="more")
    assert again.call_json_sync('{"a": 1}') == ToolResult(True, 2)
    assert again.origin == add.origin


def test_renamed_leaves_the_tool_as_it_was() -> None:
    """A new tool with another name and the same function."""
    other = add.renamed("math_add")
    assert (other.name, add.name, other.spec.name, add.spec.name) == ("math_add", "add", "math_add", "add")
    assert other(1) == 2
    with pytest.raises(DefinitionError, match="cannot be renamed"):
        add.renamed("math add")


# ---- wire forms


def test_the_wire_forms_say_strict_out_loud() -> None:
    """Three APIs, three shapes; `strict` is never left out, and what is given is the caller's own."""
    responses = add.to_openai(strict=False)
    assert responses == {
        "type": "function",
        "name": "add",
        "description": "Add two whole numbers.",
        "parameters": responses["parameters"],
        "strict": False,
    }
    chat = add.to_openai(api="chat")
    assert (chat["type"], chat["function"]["name"], chat["function"]["strict"]) == ("function", "add", True)
    claude = add.to_anthropic(strict=True)
    assert (claude["name"], claude["strict"], claude["input_schema"]["required"]) == ("add", True, ["a"])
    claude["input_schema"].clear()
    assert add.to_anthropic()["input_schema"]
    assert add_async.to_openai()["strict"] is False
    with pytest.raises(ValueError, match="api='responses' or api='chat'"):
        add.to_openai(api="completions")  # type: ignore[arg-type] # pyright: ignore


def test_strict_must_hold_or_say_why_not() -> None:
    """`strict=True` is refused where there is no strict form; the report explains without raising."""

    @tool
    def free(anything: dict[str, Any]) -> None: ...

    with pytest.raises(DefinitionError, match="free"):
        free.to_openai(strict=True)
    report = free.strict_report("openai")
    assert not report.strict
    assert "anything" in str(report)
    assert add.strict_report("anthropic").strict
    assert add.strict_report("local").strict
    with pytest.raises(ValueError, match="'openai', 'anthropic'"):
        add.strict_report("nobody")  # type: ignore[arg-type] # pyright: ignore


# ---- a call


def test_a_call_from_text_to_result() -> None:
    """Both roads give the same; an argument left out gets Python's default."""
    assert add.call_json_sync('{"a": 1}') == ToolResult(True, 2)
    assert asyncio.run(add.call_json('{"a": 1, "b": 5}')) == ToolResult(True, 6)
    assert asyncio.run(add_async.call_json('{"a": 1}')) == ToolResult(True, 2)
    assert add_async.call_json_sync('{"a": 1}') == ToolResult(True, 2)


def test_wrong_arguments_do_not_run_the_function() -> None:
    """The model reads what is wrong; repairs that were made are told."""
    result = add.call_json_sync('{"a": "1"}')
    assert not result.success
    assert "`a`" in str(result.error)
    mended = add_async.call_json_sync('{"a": "1"}')
    assert (mended.success, mended.data, len(mended.notes)) == (True, 2, 1)


def test_a_sync_function_does_not_stall_the_loop() -> None:
    """It runs on a worker thread, with the caller's context variables; two calls run side by side."""
    threads: set[int] = set()

    @tool
    def slow() -> None:
        threads.add(threading.get_ident())
        time.sleep(0.2)

    async def main() -> float:
        begun = time.perf_counter()
        await asyncio.gather(slow.call_json("{}"), slow.call_json("{}"))
        return time.perf_counter() - begun

    assert asyncio.run(main()) < 0.39
    assert threading.get_ident() not in threads


def test_a_call_ends_at_its_deadline() -> None:
    """The tool's own `timeout`; the model is told how long was waited."""

    @tool(timeout=0.1)
    async def hang() -> None:
        await asyncio.sleep(30)

    @tool(timeout=0.1)
    def block() -> None:
        time.sleep(1)

    for made in (hang, block):
        result = asyncio.run(made.call_json("{}"))
        assert "no result within 0.1 seconds" in str(result.error)
        assert "no result within 0.1 seconds" in str(made.call_json_sync("{}").error)


@pytest.mark.parametrize("waits", [False, True])
def test_an_exception_is_a_failed_result(waits: bool, caplog: pytest.LogCaptureFixture) -> None:
    """Its text may hold secrets: the model gets a reference, the log the exception under the same one."""

    @tool
    async def connect() -> None:
        if waits:
            await asyncio.sleep(0)
        raise RuntimeError("postgres://admin:hunter2@db")

    @tool
    async def quick() -> None:
        raise RuntimeError("postgres://admin:hunter2@db")

    with caplog.at_level(logging.ERROR, "toolsmith"):
        result = asyncio.run((connect if waits else quick).call_json("{}"))
    assert not result.success
    assert "hunter2" not in str(result.error)
    assert str(result.error).partition("reference ")[2][:8] in caplog.text
    assert "hunter2" in caplog.text


def test_a_tool_error_speaks_to_the_model() -> None:
    """The text of `ToolError` is meant for it, with the way on."""

    @tool
    def look(city: str) -> None:
        raise ModelRetry(f"No city {city!r}.", hint="Check the spelling.")

    @tool
    async def query() -> None:
        raise ToolError("The index is missing.", use="build_index", args={"path": "."})

    assert look.call_json_sync('{"city": "Oslo"}').error == (
        "`look` failed: No city 'Oslo'. Check the spelling. Call `look` again with other arguments."
    )
    assert asyncio.run(query.call_json("{}")).error == (
        '`query` failed: The index is missing. Call `build_index` with {"path": "."} next.'
    )


@pytest.mark.parametrize("fatal", [KeyboardInterrupt, SystemExit])
def test_what_is_for_the_program_passes_through(fatal: type[BaseException]) -> None:
    """Ctrl-C and exit are no failures of a tool."""

    @tool
    def stop() -> None:
        raise fatal

    @tool
    async def astop() -> None:
        raise fatal

    with pytest.raises(fatal):
        stop.call_json_sync("{}")
    with pytest.raises(fatal):
        asyncio.run(astop.call_json("{}"))


def test_a_cancellation_of_the_tools_own_is_its_failure() -> None:
    """Nobody cancelled the caller, so the caller goes on."""

    @tool
    async def quits() -> None:
        raise asyncio.CancelledError

    @tool
    async def quits_later() -> None:
        await asyncio.sleep(0)
        raise asyncio.CancelledError

    for made in (quits, quits_later):
        assert "was cancelled" in str(asyncio.run(made.call_json("{}")).error)


def test_cancelling_the_caller_cancels_the_tool() -> None:
    """And the tool's own `finally` runs."""
    cleaned: list[bool] = []

    @tool
    async def hang() -> None:
        try:
            await asyncio.sleep(30)
        finally:
            cleaned.append(True)

    async def main() -> None:
        task = asyncio.create_task(hang.call_json("{}"))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert cleaned == [True]


def test_the_context_of_a_single_call() -> None:
    """Given or not: the tool has one, and what it reports goes where the context says."""

    @tool
    async def ask(ctx: RunContext[str]) -> Any:
        ctx.report("half")
        return ctx.deps, ctx.tool_name, ctx.seconds_left

    told: list[Any] = []
    context = RunContext(deps="d", deadline=time.monotonic() + 60, reporter=told.append)
    deps, _, left = asyncio.run(ask.call_json("{}", context=context)).data
    assert (deps, told) == ("d", ["half"])
    assert 50 < left <= 60
    assert ask.call_json_sync("{}").data == [None, "ask", None]


# ---- the raw road


SCHEMA = {
    "type": "object",
    "properties": {"user-id": {"type": "integer"}, "text": {"type": "string", "maxLength": 5}},
    "required": ["text"],
    "additionalProperties": False,
}


def test_a_schema_from_elsewhere() -> None:
    """Arguments are checked against it, and go to the handler by name."""

    def handler(text: str, **rest: Any) -> Any:
        return [text, rest]

    made = Tool(name="raw", description="  Send it.\n", parameters=SCHEMA, handler=handler)
    assert made.input_schema == SCHEMA
    assert made.description == "Send it."
    assert made.call_json_sync('{"text": "a", "user-id": 3.0}').data == ["a", {"user-id": 3}]
    assert "at most 5" in str(made.call_json_sync('{"text": "abcdef"}').error)
    assert made.to_openai(strict=False)["parameters"]["required"] == ["text"]


def test_a_handler_may_take_all_arguments_as_one_dict() -> None:
    """Where it has a single parameter that is none of the schema's names; async ones and the context too."""

    async def handler(arguments: dict[str, Any], ctx: RunContext[Any]) -> Any:
        return arguments, ctx.deps

    made = Tool(name="raw", description="", parameters=SCHEMA, handler=handler)
    result = asyncio.run(made.call_json('{"text": "a"}', context=RunContext(deps=7)))
    assert result.data == [{"text": "a"}, 7]


def test_without_a_schema_a_tool_takes_one_string() -> None:
    """Called `input`; the handler may call it what it likes."""

    def shout(words: str) -> str:
        return words.upper()

    made = Tool(name="shout", description="Shout.", handler=shout)
    assert made.input_schema["properties"] == {"input": {"type": "string"}}
    assert made.call_json_sync('{"input": "hey"}').data == "HEY"
    assert not made.call_json_sync('{"input": 3}').success


def test_a_handler_that_does_not_fit_its_schema() -> None:
    """Found at definition, each misfit with the way out."""

    def handler(text: str, other: int, more: int) -> None: ...

    with pytest.raises(DefinitionError) as caught:
        Tool(name="no good", description="", parameters=SCHEMA, handler=handler)
    text = str(caught.value)
    assert len(caught.value.problems) == 4
    assert "name='no_good'" in text
    assert "no parameter 'user-id'" in text
    assert "needs 'other', which its schema does not require" in text


def test_a_schema_that_is_none() -> None:
    """What is wrong with it is told at definition."""
    with pytest.raises(DefinitionError, match="not an object"):
        Tool(name="raw", description="", parameters={"type": "string"}, handler=print)
