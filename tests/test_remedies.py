"""What the model is told of a tool's exceptions: the remedies of its author, and nothing else."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import AfterValidator
from wire import APIS, Wire

from toolsmith import (
    Agent,
    DefinitionError,
    Limits,
    ModelRetry,
    Remedy,
    Tool,
    ToolError,
    ToolRegistry,
    ToolResult,
    tool,
)
from toolsmith._feedback import FEEDBACK
from toolsmith.events import Event, ToolResultReady
from toolsmith.testing import Api, ScriptedModel, call, say

DOWN = Remedy("The database is not running.", use="start_service", args={"name": "postgres"})
DOWN_TEXT = '`run_tests` failed: The database is not running. Call `start_service` with {"name": "postgres"} next.'


class Machine:
    """A database that is down until it is started, and the two tools that know it."""

    def __init__(self) -> None:
        self.up = False
        self.runs = 0

    def tools(self) -> list[Tool[..., Any]]:
        def run_tests(path: str = ".") -> str:
            """Run the tests."""
            self.runs += 1
            if not self.up:
                raise ConnectionRefusedError(111, "refused by 10.0.0.7 (password hunter2)")
            return "all passed"

        def start_service(name: str) -> str:
            """Start a service."""
            self.up = name == "postgres"
            return f"{name} is running"

        return [Tool(run_tests, on_error={ConnectionRefusedError: DOWN}), Tool(start_service)]


def told_by(error: Exception, on_error: Any) -> str:
    """What the model reads when a tool with this `on_error` raises an exception."""

    @tool(on_error=on_error)
    def work() -> None:
        raise error

    return str(work.call_json_sync("{}").error)


def ask(tools: Any, *steps: Any, limits: Limits | None = None, **options: Any) -> list[str]:
    """What a model reads of its calls in the last of these turns."""
    model = ScriptedModel([*steps, say("done")])
    Agent(model.provider("openai"), tools=tools, limits=limits).run_sync("go", **options)
    assert not model.refusals
    return answers(model)


def answers(model: ScriptedModel) -> list[str]:
    """The text of each result that the model was sent in its last request."""
    return [text for _, text in model.requests[-1].results]


def test_the_first_answer_names_the_tool_that_repairs_the_cause(wire: Wire) -> None:
    """A refused connection becomes a sentence with a way out; the model takes it, and the second try works."""
    machine = Machine()
    model = wire.model(
        call("run_tests"), call("start_service", name="postgres"), call("run_tests"), say("All tests pass.")
    )
    seen: list[Event] = []
    agent = Agent(wire.provider(model), tools=machine.tools(), observers=[seen.append])
    result = wire.run(agent, "Run the tests.")
    assert (result.output, machine.runs) == ("All tests pass.", 2)
    assert model.requests[1].results[-1][1] == DOWN_TEXT
    assert result.tool_calls[0].result == ToolResult(False, error=DOWN_TEXT)
    # For people the exception is there, as it was.
    first = next(e for e in seen if isinstance(e, ToolResultReady))
    assert isinstance(first.exception, ConnectionRefusedError)
    assert all(b"hunter2" not in request.raw for request in model.requests)


# ---- which remedy


class Unavailable(ConnectionError):
    """An error of a library's own."""


def raised(make: Callable[[], None]) -> Exception:
    """The exception that a function raises, with all that hangs on it."""
    with pytest.raises(Exception) as caught:  # noqa: PT011 - any will do
        make()
    return caught.value


def _from_cause() -> None:
    try:
        raise ConnectionRefusedError("hunter2")
    except OSError as error:
        raise RuntimeError("hunter3") from error


def _from_context() -> None:
    try:
        raise ConnectionRefusedError("hunter2")
    except OSError:
        raise RuntimeError("hunter3")  # noqa: B904 - the careless way, which is common


def _from_none() -> None:
    try:
        raise ConnectionRefusedError("hunter2")
    except OSError:
        raise RuntimeError("hunter3") from None


def _from_group() -> None:
    raise ExceptionGroup("hunter3", [ValueError("x"), ExceptionGroup("y", [ConnectionRefusedError("hunter2")])])


CLASSES = {OSError: "No system.", ConnectionRefusedError: "No database.", ConnectionError: "No network."}


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ConnectionRefusedError("hunter2"), "No database."),
        (Unavailable("hunter2"), "No network."),
        (FileNotFoundError("hunter2"), "No system."),
        (raised(_from_cause), "No database."),
        (raised(_from_context), "No database."),
        (raised(_from_group), "No database."),
        (raised(_from_none), "internal error"),
        (ValueError("hunter2"), "internal error"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_the_nearest_class_counts(error: Exception, words: str) -> None:
    """In a mapping the order means nothing; the exception itself comes before its cause, its context and its group."""
    text = told_by(error, CLASSES)
    assert words in text
    assert "hunter" not in text


def test_in_a_list_the_first_pair_counts() -> None:
    """Cases are classes, tuples of classes, and functions of an exception; also of one behind it."""

    def starts_up(error: Exception) -> bool:
        return getattr(error, "code", None) == 57

    pairs: list[Any] = [
        (starts_up, Remedy("It starts up.", hint="Wait a moment.")),
        ((KeyError, IndexError), "There is no such entry."),
        (Exception, "Something else."),
    ]
    coded = RuntimeError("hunter2")
    coded.code = 57  # type: ignore[attr-defined] # pyright: ignore[reportAttributeAccessIssue]
    wrapped = ValueError("hunter3")
    wrapped.__cause__ = coded
    assert told_by(coded, pairs) == "`work` failed: It starts up. Wait a moment."
    assert told_by(IndexError(3), pairs) == "`work` failed: There is no such entry."
    assert told_by(wrapped, pairs) == "`work` failed: Something else."
    assert told_by(wrapped, pairs[:2]) == "`work` failed: It starts up. Wait a moment."


def test_a_handler_looks_for_itself() -> None:
    """It gives a remedy, a text or None; what it says of the exception is its author's choice."""

    def handle(error: Exception) -> Remedy | str | None:
        match error:
            case KeyError():
                return Remedy(f"There is no user {error.args[0]!r}", use="list_users")
            case TimeoutError():
                return "The service is slow today"
            case _:
                return None

    assert told_by(KeyError("ann"), handle) == "`work` failed: There is no user 'ann'. Call `list_users` next."
    assert told_by(TimeoutError("hunter2"), handle) == "`work` failed: The service is slow today."
    assert "internal error" in told_by(ValueError("hunter2"), handle)
    assert (
        told_by(KeyError("bob"), {KeyError: handle}) == "`work` failed: There is no user 'bob'. Call `list_users` next."
    )


def test_what_on_error_raises_itself_is_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    """A case or a handler that fails is logged, and the model hears of an internal error only."""

    def broken(error: Exception) -> Any:
        raise LookupError("hunter4")

    caplog.set_level(logging.ERROR, "toolsmith")

    def odd(error: Exception) -> Any:
        return 3

    for on_error in (broken, [(broken, "Never.")], {ValueError: broken}, odd):
        text = told_by(ValueError("hunter2"), on_error)
        assert "internal error" in text
        assert "hunter" not in text
    assert len([r for r in caplog.records if "on_error of tool work" in r.getMessage()]) == 4


def test_chains_without_end() -> None:
    """A chain that bites its tail, and one of a thousand links, are looked at for a while only."""
    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__cause__ = second, first
    assert "internal error" in told_by(first, CLASSES)
    error: Exception = ConnectionRefusedError("end")
    for n in range(1000):
        outer = ValueError(n)
        outer.__cause__ = error
        error = outer
    assert "internal error" in told_by(error, CLASSES)


def test_what_was_written_for_the_model_stays() -> None:
    """`ToolError`, `ModelRetry` and a failed `ToolResult` go the same road, and `on_error` does not touch them."""

    @tool(on_error={Exception: "Hidden."})
    def work(how: str) -> Any:
        """Work."""
        match how:
            case "error":
                raise ToolError("No such user", use="list_users", args={"page": 1})
            case "retry":
                raise ModelRetry("Names are written in full")
            case "value":
                return ToolError("Not today", use="nothing_there")
            case _:
                return ToolResult(success=False, error="Closed on Sundays")

    @tool
    async def list_users(page: int = 1) -> list[str]:
        """List users."""
        return ["ann"]

    ways = ["error", "retry", "value", "result"]
    assert ask([work, list_users], [call("work", how=how) for how in ways]) == [
        '`work` failed: No such user. Call `list_users` with {"page": 1} next.',
        "`work` failed: Names are written in full. Call `work` again with other arguments.",
        "`work` failed: Not today.",
        "`work` failed: Closed on Sundays.",
    ]


# ---- the tool that is named


def test_a_tool_that_the_run_cannot_call_is_not_named() -> None:
    """Not allowed, its limit spent, no calls left, or no turn left: then the remedy's words stand alone."""
    machine = Machine()
    alone = "`run_tests` failed: The database is not running."
    tools = machine.tools()
    spent = [tools[0], Tool(tools[1], max_calls_per_run=1)]
    tests, start = call("run_tests"), call("start_service", name="redis")
    assert ask(tools, tests) == [DOWN_TEXT]
    assert ask(tools, tests, allowed_tools=["run_tests"]) == [alone]
    assert ask(spent, start, tests) == [alone]
    assert ask(tools, tests, limits=Limits(turns=1)) == [alone]
    last = FEEDBACK.left_of_run(0, 2)
    assert ask(tools, start, tests, limits=Limits(calls=2)) == [f"{alone} {last}"]


def test_a_misspelt_remedy_is_found_when_the_agent_is_built() -> None:
    """Every one at once, with its place, its case and the names that are near."""

    @tool(on_error={OSError: Remedy("Down.", use="start_servce"), KeyError: "Gone."})
    def run_tests() -> None: ...

    @tool(on_error=[((ValueError, TypeError), Remedy("Odd.", use="cure"))])
    def build() -> None: ...

    start = Machine().tools()[1]
    with pytest.raises(DefinitionError) as caught:
        Agent("openai:x", tools=[run_tests, build, start])
    assert len(caught.value.problems) == 2
    first, second = caught.value.problems
    assert first.startswith(f"{run_tests.origin}: 'run_tests' answers OSError with the tool 'start_servce' (on_error)")
    assert "Did you mean 'start_service'?" in first
    assert "ValueError or TypeError" in second
    assert "Did you mean" not in second


def test_a_tool_that_was_taken_out_on_purpose_is_not_missed() -> None:
    """`filtered` and `without` say what they leave out, through all other wrappers."""
    tools = ToolRegistry(Machine().tools())
    for some in (tools.filtered(["run_tests"]), tools.without(["start_service"])):
        assert some.left_out == {"start_service"}
        for wrapped in (some, some.prefixed("ci"), some.merged(ToolRegistry()), ToolRegistry().merged(some)):
            Agent("openai:x", tools=wrapped)
            Agent("openai:x", tools=[wrapped])


def test_a_remedy_follows_its_neighbour_into_a_prefix() -> None:
    """In `prefixed` registries it means the tool it was registered beside, in `on_error` and in `ToolError` alike."""
    machine = Machine()

    @tool
    def check() -> None:
        """Check."""
        raise ToolError("Not yet", use="run_tests")

    tools = ToolRegistry([*machine.tools(), check]).prefixed("db").prefixed("ops")
    calls = [call("ops_db_run_tests"), call("ops_db_check")]
    first, second = ask([*tools, *Machine().tools()], calls)
    assert 'Call `ops_db_start_service` with {"name": "postgres"} next.' in first
    assert second == "`ops_db_check` failed: Not yet. Call `ops_db_run_tests` next."


@pytest.mark.parametrize(
    ("on_error", "words"),
    [
        ("oops", "a mapping from exception classes"),
        (ValueError, "a mapping from exception classes"),
        ({"ValueError": "Odd."}, "'ValueError' is no class of exceptions"),
        ({KeyboardInterrupt: "Odd."}, "is no class of exceptions"),
        ({callable: "Odd."}, "functions go into a list of pairs"),
        ({ValueError: 3}, "ValueError is answered by 3"),
        ([ValueError], "is no pair of a case and an answer"),
        ([(3, "Odd.")], "3 is no class of exceptions, no tuple of them and no function"),
        ([((), "Odd.")], r"\(\) is no class"),
    ],
    ids=str,
)
def test_what_cannot_be_an_on_error_is_refused_at_definition(on_error: Any, words: str) -> None:
    with pytest.raises(DefinitionError, match=words) as caught:
        Tool(Machine.tools, name="work", on_error=on_error)
    assert "test_remedies.py" in str(caught.value)


# ---- development, and secrets


class Unreadable(dict[str, int]):
    """Data that fails when it is read, after its tool has ended."""

    def items(self) -> Any:
        raise ConnectionError("password=hunter2")


@pytest.mark.parametrize("declared", [False, True])
def test_a_result_that_fails_when_it_is_read_is_a_failure_like_any_other(wire: Wire, declared: bool) -> None:
    """Lazy data: it has its reference, record and event, its remedies, and is not read a third time."""
    on_error = {ConnectionError: "The database is not running."} if declared else None
    lazy = Tool(lambda: Unreadable(a=1), name="lazy", on_error=on_error)
    model = wire.model(call("lazy"), call("lazy"), call("lazy"), say("done"))
    seen: list[Event] = []
    result = wire.run(Agent(wire.provider(model), tools=[lazy], observers=[seen.append]), "go")
    assert [record.ran for record in result.tool_calls] == [True, True, False]
    for record in result.tool_calls[:2]:
        assert isinstance(record.exception, ConnectionError)
        assert bool(record.reference) is not declared
        assert record.reference in str(record.result.error)
    assert ("The database is not running." in str(result.tool_calls[0].result.error)) is declared
    assert next(e.exception for e in seen if isinstance(e, ToolResultReady)) is result.tool_calls[0].exception
    assert "hunter2" not in "".join(request.raw.decode() for request in model.requests)


def test_expose_errors_shows_them(wire: Wire) -> None:
    """For development: type and text, bounded; of the tool, and of its own check of an argument."""

    @tool
    def work() -> None:
        """Work."""
        raise ConnectionError("refused by 10.0.0.7" + "!" * 10_000)

    def check(value: str) -> str:
        raise KeyError("no such table")

    @tool
    def price(code: Annotated[str, AfterValidator(check)]) -> None:
        """A price."""

    calls = [call("work"), call("price", code="x")]
    model = wire.model(calls, say("done"))
    seen: list[Event] = []
    agent = Agent(wire.provider(model), tools=[work, price], expose_errors=True, observers=[seen.append])
    result = wire.run(agent, "go")
    first, second = answers(model)
    assert "ConnectionError: refused by 10.0.0.7!!!" in first
    assert "KeyError: 'no such table'" in second
    assert len(first) < 3_000
    # One reference ties text, record and event together.
    for record in result.tool_calls:
        assert record.reference
        assert record.reference in str(record.result.error)
    assert {e.reference for e in seen if isinstance(e, ToolResultReady)} == {r.reference for r in result.tool_calls}

    hidden = wire.model(calls, say("done"))
    wire.run(Agent(wire.provider(hidden), tools=[work, price]), "go")
    assert "10.0.0.7" not in "".join(answers(hidden))
    assert "no such table" not in "".join(answers(hidden))


SECRET = "sk-live-Zq81"

Plant = Callable[[Exception], Exception]


def _in_args(error: Exception) -> Exception:
    return type(error)(f"key {SECRET}") if type(error) is not ExceptionGroup else error


def _in_cause(error: Exception) -> Exception:
    error.__cause__ = ToolError(f"never meant to be seen: {SECRET}")
    return error


def _in_context(error: Exception) -> Exception:
    error.__context__ = KeyError({"key": SECRET})
    return error


def _in_notes(error: Exception) -> Exception:
    error.add_note(f"with {SECRET}")
    return error


def _in_attribute(error: Exception) -> Exception:
    error.request = {"authorization": SECRET}  # type: ignore[attr-defined] # pyright: ignore[reportAttributeAccessIssue]
    return error


def _in_group(error: Exception) -> Exception:
    return ExceptionGroup(f"both {SECRET}", [error, OSError(SECRET)])


def _in_class_name(error: Exception) -> Exception:
    return type(f"Error_{SECRET}", (type(error), Exception), {})("x") if type(error) is not ExceptionGroup else error


def _in_traceback(error: Exception) -> Exception:
    password = SECRET
    try:
        raise error
    except Exception as caught:  # noqa: BLE001 - any will do
        assert password
        return caught


PLANTS: list[Plant] = [
    *(_in_args, _in_cause, _in_context, _in_notes, _in_attribute, _in_group, _in_class_name, _in_traceback)
]


def _holds_it(error: Exception) -> bool:
    return SECRET in str(error)


def _knows_none(error: Exception) -> None:
    return None


ON_ERROR: list[Any] = [
    None,
    {OSError: Remedy("Down.", use="cure", hint="Wait.")},
    [(_holds_it, Remedy("Seen.", use="cure"))],
    _knows_none,
]


@given(
    plants=st.lists(st.sampled_from(PLANTS), min_size=1, max_size=5),
    start=st.sampled_from([ValueError, OSError, KeyError, RuntimeError, asyncio.TimeoutError]),
    on_error=st.sampled_from(ON_ERROR),
    api=st.sampled_from(APIS),
    returned=st.booleans(),
    waits=st.booleans(),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_secret_of_an_exception_reaches_a_request(
    plants: list[Plant], start: type[Exception], on_error: Any, api: Api, returned: bool, waits: bool
) -> None:
    """Wherever it hides - message, cause, context, notes, attributes, groups, class names, frames -, however the tool
    fails, no body that leaves for a service holds it."""
    error: Exception = start("plain")
    for plant in plants:
        error = plant(error)

    def give() -> Any:
        if returned:
            return error
        raise error

    @tool(on_error=on_error)
    def work() -> Any:
        """Work."""
        return give()

    @tool(on_error=on_error)
    async def awaited() -> Any:
        """Work, and wait."""
        await asyncio.sleep(0)
        return give()

    def refuse(value: int) -> int:
        raise error

    @tool
    def checked(n: Annotated[int, AfterValidator(refuse)]) -> None:
        """Has a check of its own."""

    @tool
    def cure() -> None:
        """Cure."""

    # What a check raises as a ValueError or AssertionError is by pydantic's contract written for the sender.
    door = [] if isinstance(error, (ValueError, AssertionError)) else [call("checked", n=1)]
    model = ScriptedModel([[call("awaited" if waits else "work"), *door], say("done")])
    logging.getLogger("toolsmith").disabled = True
    try:
        result = Agent(model.provider(api), tools=[work, awaited, checked, cure]).run_sync("go")
    finally:
        logging.getLogger("toolsmith").disabled = False
    assert result.output == "done"
    assert not model.refusals
    assert all(SECRET.encode() not in request.raw for request in model.requests)


def test_a_remedy_that_nobody_has_is_told_to_its_author_once(caplog: pytest.LogCaptureFixture) -> None:
    """The model is not told of a tool that is not there; that must not be all that ever comes of it."""

    @tool
    def pay(to: str) -> str:
        """Pay."""
        raise ToolError("No account.", use="create_acount" if to == "a" else "see")

    @tool
    def see() -> str:
        """See."""
        return "seen"

    for _ in range(2):
        model = ScriptedModel([call("pay", to="a"), call("pay", to="b"), say("done")])
        result = Agent(model.provider("openai"), tools=[pay, see]).run_sync("go")
        assert [record.result.error for record in result.tool_calls] == [
            "`pay` failed: No account.",
            "`pay` failed: No account. Call `see` next.",
        ]
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert warnings[0].startswith(f"{pay.origin}: the tool pay raised ToolError(use='create_acount')")
