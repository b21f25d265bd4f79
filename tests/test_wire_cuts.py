"""Connections that break anywhere: no place of the break loses a finished call, repeats one, or spoils the history."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
import sdk_judge
from wire import APIS

from toolsmith import Agent, tool
from toolsmith.errors import ProviderError
from toolsmith.messages import Message
from toolsmith.testing import Api, Recorded, ScriptedModel, call, deliver, say
from toolsmith.testing.script import Scripted

PLACES = 40


def broken_run(api: Api, cut: int, *, stream: bool) -> ScriptedModel:
    """A run of two calls; the first answer to each request breaks at `cut`, the second one is whole."""
    ran: list[int] = []
    asked: Counter[int] = Counter()

    @tool
    def note(n: int) -> str:
        """Note."""
        ran.append(n)
        return f"noted {n}"

    def answer(request: Recorded) -> Scripted:
        asked[request.turn] += 1
        said = in_turn(request)
        return deliver(said, cut=cut) if asked[request.turn] == 1 else said

    model = ScriptedModel(answer)
    agent = Agent(model.provider(api), tools=[note])
    assert to_the_end(agent, stream=stream) == "Done. 🙂"
    assert ran == [1, 2]
    assert not model.refusals
    return model


def in_turn(request: Recorded) -> Scripted:
    """Two calls, one after the other, and the answer."""
    return [say("I note."), call("note", n=request.turn + 1)] if request.turn < 2 else say("Done. 🙂")


def to_the_end(agent: Agent, *, stream: bool) -> str:
    """Go on from each error, as its history allows."""
    prompt: str | None = "go"
    history: list[Message] = []
    for _ in range(6):
        try:
            if not stream:
                return agent.run_sync(prompt, message_history=history).output
            with agent.run_stream_sync(prompt, message_history=history) as events:
                for _ in events:
                    pass
            return events.result.output
        except ProviderError as error:
            if error.category != "connection":
                raise
            prompt, history = None, error.messages
    raise AssertionError("no end in six runs")


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "at once"])
@pytest.mark.parametrize("api", APIS)
def test_a_break_at_any_byte(api: Api, stream: bool) -> None:
    """Forty places over the length of an answer; the waits between attempts are real, so they go side by side."""
    request = broken_run(api, 0, stream=stream).requests[0]
    whole = len(ScriptedModel(in_turn)(request.path, request.raw)[1])
    places = [whole * n // PLACES for n in range(PLACES)]
    with ThreadPoolExecutor(PLACES) as threads:
        runs = [threads.submit(broken_run, api, cut, stream=stream) for cut in places]
    for model in [run.result() for run in runs]:
        assert [problem for request in model.requests for problem in sdk_judge.problems(request)] == []
