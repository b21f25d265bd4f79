"""Each status of a response, and each code with which one fails, as the SDK's types name them: over the wire, in a run.

Stop reasons of the three APIs are in `test_stop_reasons`; here are the ends that only the Responses API has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import pytest
import sdk_judge
from service_answers import Answer, Call, Words, at_once, event, streamed
from test_stop_reasons import go
from wire import DRIVERS, Driver

from toolsmith import Agent, ProviderError, tool
from toolsmith.messages import Refusal
from toolsmith.testing import ScriptedModel, garbage, say
from toolsmith.testing.script import Scripted

RAN: list[int] = []


@tool
def add(a: int) -> int:
    """Add forty."""
    RAN.append(a)
    return a + 40


every_driver = pytest.mark.parametrize("driver", DRIVERS)

MEANINGS: Mapping[str, str] = {
    "completed": "end",
    "incomplete": "unknown",
    "failed": "error",
    "cancelled": "error",
    "queued": "unknown",
    "in_progress": "unknown",
    "a_status_of_the_future": "unknown",
}

CODES: Mapping[str, Literal["filter", "passes", "error"]] = {
    **dict.fromkeys(["server_error", "rate_limit_exceeded", "vector_store_timeout"], "passes"),
    **dict.fromkeys(["bio_policy", "misalignment_policy_violation", "image_content_policy_violation"], "filter"),
    **dict.fromkeys(
        [
            "invalid_prompt", "data_residency_mismatch", "invalid_image", "invalid_image_format",
            "invalid_base64_image", "invalid_image_url", "image_too_large", "image_too_small", "image_parse_error",
            "invalid_image_mode", "image_file_too_large", "unsupported_image_media_type", "empty_image_file",
            "failed_to_download_image", "image_file_not_found", "a_code_of_the_future",
        ],
        "error",
    ),
}  # fmt: skip


def answered(answer: Answer, driver: Driver) -> Scripted:
    """The answer in the bytes of the Responses API, as this driver asks for it."""
    if "stream" in driver:
        return garbage(streamed("openai", answer), content_type="text/event-stream")
    return garbage(at_once("openai", answer))


def test_the_tables_are_complete() -> None:
    """A new version of the SDK that knows another status or code fails here, and not in somebody's run."""
    from openai.types.responses.response_error import ResponseError
    from openai.types.responses.response_status import ResponseStatus

    assert {*get_args(ResponseStatus), "a_status_of_the_future"} == set(MEANINGS)
    codes = get_args(ResponseError.model_fields["code"].annotation)
    assert {*codes, "a_code_of_the_future"} == set(CODES)


@every_driver
@pytest.mark.parametrize("status", MEANINGS)
def test_a_status(driver: Driver, status: str) -> None:
    """Words and a call: the call is run where the response is complete, and answered in any case."""
    RAN.clear()
    pieces = [Words("I add."), Call("call_1", "add", {"a": 1})]
    first = answered(Answer(pieces, stop=status), driver)
    model = ScriptedModel([first, say("41"), say("Here.")])
    agent = Agent(model.provider("openai"), tools=[add])
    if "stream" in driver and status not in ("completed", "incomplete", "failed"):
        # no event ends a stream so: it has just stopped, behind words that somebody has read
        with pytest.raises(ProviderError) as caught:
            go(agent, "go", driver=driver)
        assert (caught.value.category, RAN, len(model.requests)) == ("connection", [], 1)
        return
    result = go(agent, "go", driver=driver)
    if status == "completed":
        assert (result.output, RAN) == ("41", [1])
        return
    assert (result.output, result.stop_reason, RAN) == ("I add.", MEANINGS[status], [])
    assert status in result.detail
    assert [(r.ran, r.result.success) for r in result.tool_calls] == [(False, False)]
    assert go(agent, "And?", driver=driver, history=result.messages).output == "41"
    assert sdk_judge.problems(model.requests[-1]) == []


@every_driver
@pytest.mark.parametrize("code", CODES)
def test_a_code(driver: Driver, code: str) -> None:
    """A policy's verdict is one; what may pass is tried again while nothing was said; the rest ends the run, named."""
    error = {"error": {"code": code, "message": "Oh no."}}
    spoken = answered(Answer([Words("Half a")], stop="failed", more=error), driver)
    result = go(Agent(ScriptedModel([spoken]).provider("openai")), "go", driver=driver)
    expected = "filter" if CODES[code] == "filter" else "error"
    assert (result.output, result.stop_reason) == ("Half a", expected)
    assert f"{code}: Oh no." in result.detail
    if expected == "filter":
        refusals = [part for part in result.messages[-1].parts if isinstance(part, Refusal)]
        assert refusals == [Refusal("Oh no.", code)]

    if CODES[code] == "passes" and driver not in ("sync", "async-stream"):
        return  # the waits between attempts are real
    silent = answered(Answer([], stop="failed", more=error), driver)
    model = ScriptedModel([silent, say("Better.")])
    result = go(Agent(model.provider("openai")), "go", driver=driver)
    assert (result.output, len(model.requests)) == (("Better.", 2) if CODES[code] == "passes" else ("", 1))


@every_driver
def test_an_error_event_without_words(driver: Driver) -> None:
    """The stream's own form of a failure: what may pass is tried again, what may not is named."""
    if "stream" not in driver:
        return
    told: dict[str, Any] = {"type": "error", "code": "invalid_prompt", "message": "No.", "param": None}
    model = ScriptedModel([garbage(event(told, "error"), content_type="text/event-stream")])
    with pytest.raises(ProviderError) as caught:
        go(Agent(model.provider("openai")), "go", driver=driver)
    assert (caught.value.category, caught.value.code, len(model.requests)) == ("bad_request", "invalid_prompt", 1)
