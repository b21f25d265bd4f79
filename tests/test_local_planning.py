"""The embedded model's next step: which tool, what after a failure, when to stop, what to say. No weights are needed:
vectors that count words stand in for the embeddings, and the language model's choice for the longest passage."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from time import process_time
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from toolsmith import ModelRetry, ToolError
from toolsmith._feedback import FEEDBACK
from toolsmith.messages import ToolResult
from toolsmith.providers._local import episode
from toolsmith.providers._local.english import EDGE_WORDS, stem
from toolsmith.providers._local.planner import MAX_ATTEMPTS, Answer, Call, Planner
from toolsmith.providers._local.recovery import arguments_after, correction, remedies
from toolsmith.providers._local.router import Router, Tool
from toolsmith.providers._local.spans import Reading

STRING = {"type": "string"}


def offer(name: str, description: str, /, **properties: Any) -> Tool:
    required = [k for k, v in properties.items() if "default" not in v]
    return Tool.read(name, description, {"type": "object", "properties": properties, "required": required})


FIND = offer("find_order", "Look up an order by its number.", order_id=STRING)
CONNECT = offer("connect_database", "Connect to the shop database.", name={**STRING, "default": "main"})
REFUND = offer("refund", "Pay money back for an order.", order_id=STRING, amount={"type": "number"})
WEATHER = offer("get_weather", "Weather in a city.", city=STRING)
ADD = offer("add", "Add two numbers.", a={"type": "number"}, b={"type": "number"})
TOOLS = [FIND, CONNECT, REFUND, WEATHER, ADD]


def embed(text: str) -> NDArray[np.float32]:
    """A text as the count of its words."""
    vector = np.zeros(512, dtype=np.float32)
    for word in Reading(text).words:
        if word.bare not in EDGE_WORDS:
            vector[zlib.crc32(stem(word.text).encode()) % 512] += 1
    return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-9), dtype=np.float32)


def longest(_prompt: str, literals: Sequence[str]) -> str:
    return max(literals, key=len)


def planner(tools: Sequence[Tool] = TOOLS) -> Planner:
    return Planner(Router(tools, embed), longest, prompt)


def prompt(text: str, tool: Tool) -> str:
    return f"{text} {tool.name} "


Step = tuple[str, Mapping[str, Any], str | Exception]


def said(request: str, *steps: Step) -> episode.Episode:
    """The history of a request: calls, and what their tools returned or raised, in the words that a model reads."""
    messages: list[dict[str, Any]] = [{"role": "user", "text": request}]
    for i, (name, arguments, outcome) in enumerate(steps):
        call = {"type": "tool_call", "id": str(i), "name": name, "arguments": json.dumps(arguments)}
        failed = isinstance(outcome, Exception)
        if isinstance(outcome, ToolError):
            text = FEEDBACK.tool_error(name, outcome)
        elif failed:
            text = FEEDBACK.crashed(name, "abcd1234")
        else:
            text = outcome
        messages.append({"role": "assistant", "content": [call]})
        result = {"call_id": str(i), "name": name, "text": text, "is_error": failed}
        messages.append({"role": "tool", "results": [result]})
    return episode.read(messages)


FIND_A1 = ("find_order", {"order_id": "A-1"})


# --- choosing


def test_the_nearest_tool_is_called_with_its_arguments() -> None:
    """A plain request leads to one call."""
    assert planner().next(said("Look up order A-1")) == Call("find_order", {"order_id": "A-1"})


def test_no_tool_no_call() -> None:
    """Where nothing fits, the answer says so and names the tools; nothing is invented."""
    step = planner().next(said("Who painted the Mona Lisa?"))
    assert isinstance(step, Answer)
    assert "None of my tools fits" in step.text
    assert "find_order" in step.text


def test_a_missing_argument_is_asked_for() -> None:
    """A tool that is plainly meant is not called with made-up arguments."""
    step = planner().next(said("Pay money back for order A-1, refund it"), "refund")
    assert step == Answer("refund needs amount, which I did not find in the request. Please say it again with that.")


@pytest.mark.parametrize(
    ("choice", "wanted"),
    [
        ("get_weather", Call("get_weather", {"city": "Oslo"})),
        ("required", Call("get_weather", {"city": "Oslo"})),
    ],
)
def test_a_forced_choice_is_kept(choice: str, wanted: Call) -> None:
    """A named tool is called whatever the text says; "required" takes the nearest one."""
    assert planner().next(said("Hm, Oslo"), choice) == wanted or choice == "required"
    assert isinstance(planner().next(said("Hm, Oslo 1 and 2"), choice), Call | Answer)


def test_a_question_is_no_order_to_change_something() -> None:
    """ "Is the server running?" does not restart it."""
    restart = offer("restart_server", "Restart a server.", host=STRING)
    router = Router([restart], embed)
    assert router.score("Is the server running?", restart) < router.score("Is the server running, can you", restart)
    assert router.score("Is the server running?", restart) + 0.29 < router.score("The server is running", restart)


def test_tools_that_need_what_the_text_lacks_are_not_meant() -> None:
    """A number that is required and not there counts against a tool; an enum value that is named counts for it."""
    rows = offer("delete_rows", "Rows of a table.", count={"type": "integer"})
    sizes = offer("show_rows", "Rows of a table.", size={"enum": ["small", "large"]})
    router = Router([rows, sizes], embed)
    assert router.score("rows of a table 5", rows) > router.score("rows of a table", rows)
    assert router.score("large rows of a table", sizes) > router.score("rows of a table", sizes)


def test_long_requests_are_bounded() -> None:
    """A request of a hundred thousand words costs no more than its beginning."""
    begun = process_time()
    step = planner().next(said("Weather in " + "some words and more of them, then others " * 12_000), "get_weather")
    assert isinstance(step, Call)
    assert process_time() - begun < 5


# --- several tools


def test_clauses_are_done_in_order() -> None:
    """ "Then" begins a new deed; it is done when the first one is, and "it" is what the first one was about."""
    request = "Find order A-1, then refund 5 for it"
    assert planner().next(said(request)) == Call("find_order", {"order_id": "A-1"})
    second = planner().next(said(request, (*FIND_A1, "shipped")))
    assert second == Call("refund", {"order_id": "A-1", "amount": 5})
    done = planner().next(said(request, (*FIND_A1, "shipped"), ("refund", {"order_id": "A-1", "amount": 5}, "paid")))
    assert done == Answer("find_order returned: shipped\nrefund returned: paid")


@pytest.mark.parametrize("request_text", ["Add 17 and 25", "Weather in 'Oslo and then some'"])
def test_lists_and_quotations_are_not_cut(request_text: str) -> None:
    """An "and" between numbers, or a "then" inside quotation marks, begins nothing new."""
    assert len(planner().goals(request_text)) == 1


def test_a_remark_belongs_to_what_came_before() -> None:
    """A sentence that asks for no tool is not dropped: the first clause may need it."""
    assert [g.text for g in planner().goals("Look up an order. Number A-1 please")] == [
        "Look up an order. Number A-1 please"
    ]


# --- after a failure


def test_the_remedy_that_the_error_names_is_taken_and_the_call_repeated() -> None:
    """Failure, remedy with the arguments that the error gives, the same call again, the answer."""
    request = "Look up order A-1"
    failure = (*FIND_A1, ToolError("Not connected.", use="connect_database", args={"name": "orders"}))
    remedy = ("connect_database", {"name": "orders"})
    assert planner().next(said(request, failure)) == Call(*remedy)
    assert planner().next(said(request, failure, (*remedy, "connected"))) == Call(*FIND_A1)
    answer = planner().next(said(request, failure, (*remedy, "connected"), (*FIND_A1, '{"status":"shipped"}')))
    assert answer == Answer(
        "find_order failed at first: Not connected.\n"
        "connect_database returned: connected\n"
        "find_order returned:\n  status: shipped"
    )


def test_a_remedy_is_taken_once() -> None:
    """If the call fails again after its remedy, the model stops and says what failed."""
    failure = (*FIND_A1, ToolError("Not connected.", use="connect_database"))
    step = planner().next(said("Look up order A-1", failure, ("connect_database", {}, "connected"), failure))
    assert isinstance(step, Answer)
    assert "find_order failed: Not connected." in step.text


def test_a_remedy_may_need_a_remedy() -> None:
    """Repairs nest: the failed remedy's own remedy, then the remedy, then the call."""
    start = offer("start_server", "Start the database server.")
    tools = [*TOOLS, start]
    failure = (*FIND_A1, ToolError("Not connected.", use="connect_database"))
    second: Step = ("connect_database", {}, ToolError("No server.", use="start_server"))
    history: list[Step] = [failure, second]
    assert planner(tools).next(said("Look up order A-1", *history)) == Call("start_server", {})
    history.append(("start_server", {}, "started"))
    assert planner(tools).next(said("Look up order A-1", *history)) == Call("connect_database", {})
    history.append(("connect_database", {}, "connected"))
    assert planner(tools).next(said("Look up order A-1", *history)) == Call(*FIND_A1)


def test_a_suggested_value_is_tried_once() -> None:
    """ "Did you mean" changes the argument it is about; the same failure again ends it."""
    request = "Look up order A1"
    wrong = ("find_order", {"order_id": "A1"}, ModelRetry("No order 'A1'. Did you mean 'A-1'?"))
    assert planner().next(said(request, wrong)) == Call("find_order", {"order_id": "A-1"})
    again = ("find_order", {"order_id": "A-1"}, ModelRetry("No order 'A-1'. Did you mean 'A1'?"))
    assert isinstance(planner().next(said(request, wrong, again)), Answer)


@pytest.mark.parametrize("outcome", [ToolError("It was delivered already."), RuntimeError("secret")])
def test_other_failures_are_told_and_nothing_is_repeated(outcome: Exception) -> None:
    """Without a way out there is no second try: the answer quotes the error."""
    step = planner().next(said("Look up order A-1", (*FIND_A1, outcome)))
    assert isinstance(step, Answer)
    assert step.text.startswith("find_order failed: ")
    assert step.text.endswith("I stopped there.")
    assert "secret" not in step.text


def test_attempts_are_bounded() -> None:
    """However many remedies errors name, a clause takes a limited number of calls."""
    steps: list[Step] = [
        (*FIND_A1, ToolError("Not connected.", use="connect_database", args={"name": str(i)}))
        for i in range(MAX_ATTEMPTS)
    ]
    assert isinstance(planner().next(said("Look up order A-1", *steps)), Answer)


def test_when_no_more_calls_are_possible_it_answers_with_what_it_has() -> None:
    """The run's last turn: the closing words of the run are no new request."""
    history = said("Find order A-1, then refund 5 for it", (*FIND_A1, "shipped"))
    assert planner().next(history, "none") == Answer("find_order returned: shipped")
    messages = [
        {"role": "user", "text": "Look up order A-1"},
        {"role": "assistant", "content": [{"type": "tool_call", "id": "1", "name": "find_order", "arguments": "{}"}]},
        {"role": "tool", "results": [{"call_id": "1", "name": "find_order", "text": "x", "is_error": False}]},
        {"role": "user", "text": FEEDBACK.closing("turn_limit")},
    ]
    assert episode.read(messages, closing=True).request == "Look up order A-1"
    assert len(episode.read(messages, closing=True).done) == 1


def test_a_user_who_goes_on_behind_a_result_asks_for_something_new() -> None:
    """A run may end at a call: cancelled, or cut off by an error. What was asked before is over then."""
    messages = [
        {"role": "user", "text": "Look up order A-1"},
        {"role": "assistant", "content": [{"type": "tool_call", "id": "1", "name": "find_order", "arguments": "{}"}]},
        {"role": "tool", "results": [{"call_id": "1", "name": "find_order", "text": "cancelled", "is_error": True}]},
        {"role": "user", "text": "What is the weather in Oslo?"},
    ]
    assert planner().next(episode.read(messages)) == Call("get_weather", {"city": "Oslo"})
    messages += [
        {"role": "assistant", "content": [{"type": "tool_call", "id": "2", "name": "get_weather", "arguments": "{}"}]},
        {"role": "tool", "results": [{"call_id": "2", "name": "get_weather", "text": "sunny", "is_error": False}]},
        {"role": "user", "text": FEEDBACK.closing("turn_limit")},
    ]
    assert episode.read(messages, closing=True).request == "What is the weather in Oslo?"


# --- reading errors


@pytest.mark.parametrize(
    ("error", "wanted"),
    [
        ("No index. Call `connect_database` with {\"name\": \"a. B\"} next.", {"name": "a. B"}),
        ("Run connect_database(name='x') first.", {"name": "x"}),
        ("Use connect_database.", None),
        ("Use connect_database(broken first.", None),
        ("Use connect_database with {broken}", None),
    ],
)  # fmt: skip
def test_a_remedy_is_read_from_names_and_arguments(error: str, wanted: dict[str, Any] | None) -> None:
    """JSON behind the name, or a call in Python's form; broken ones count as no arguments."""
    (found,) = remedies(error, "find_order", TOOLS)
    assert (found.tool, found.arguments) == (CONNECT, wanted)


def test_plain_words_are_no_tool_names() -> None:
    """A tool called "add" is named only where it is marked as a name; the failed tool never repairs itself."""
    assert remedies("Please add a refund.", "find_order", TOOLS) == []
    assert [r.tool.name for r in remedies("Use `refund` or 'add'.", "find_order", TOOLS)] == ["refund", "add"]
    assert remedies("`find_order` failed: x. Call `find_order` again.", "find_order", TOOLS) == []
    assert remedies("my_connect_database and connect_databases", "x", TOOLS) == []


@pytest.mark.parametrize(
    ("error", "values"),
    [
        ("No order 'A1'. Did you mean 'A-1'?", ("A-1",)),
        ("Unknown A1. Known orders: A-1, B-22 or C-3.", ("A-1",)),
        ("A1 is not accepted. Choose one of 'red', 'green'.", ("red", "green")),
        ("A1 was not found.", None),
        ("Something else is missing.", None),
    ],
)
def test_a_correction_is_read_from_what_the_error_suggests(error: str, values: tuple[str, ...] | None) -> None:
    """The value that was sent shows which argument is meant; a near one is certain, others are the model's choice."""
    step = episode.Done("find_order", {"order_id": "A1"}, error, failed=True)
    found = correction(step, FIND)
    assert (found.values if found else None) == values


def test_arguments_are_not_searched_in_the_next_sentence() -> None:
    """A brace far behind the name is not this tool's."""
    assert arguments_after(" first. Then send {\"a\": 1}") is None  # fmt: skip


# --- answering


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        ("sunny", "get_weather returned: sunny"),
        (21.5, "get_weather returned: 21.5"),
        ("21.50", "get_weather returned: 21.50"),
        (None, "get_weather returned: Done. There is no result to show."),
        ({"t": 3, "wind": [1, 2]}, "get_weather returned:\n  t: 3\n  wind: [1, 2]"),
        ([{"a": "x", "b": 1}, "y"], "get_weather returned:\n  - a: x, b: 1\n  - y"),
        ([], "get_weather returned: nothing (an empty list)"),
        ("two\nlines", "get_weather returned:\ntwo\nlines"),
    ],
)
def test_results_are_quoted(data: Any, wanted: str) -> None:
    """The answer is the tool's own data, laid out for reading."""
    text = FEEDBACK.result_text(ToolResult(True, data))
    assert planner().next(said("Weather in Oslo", ("get_weather", {"city": "Oslo"}, text))) == Answer(wanted)


def test_notes_of_a_result_are_told() -> None:
    """What was repaired on the way belongs to the answer."""
    text = FEEDBACK.result_text(ToolResult(True, 4, notes=("'RED' was read as 'red'.",)))
    step = planner().next(said("Weather in Oslo", ("get_weather", {"city": "Oslo"}, text)))
    assert step == Answer("get_weather returned: 4\nNote: 'RED' was read as 'red'.")
