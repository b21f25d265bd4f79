"""Web search that the model's own service makes: what is asked of it, what comes back, and who stands in for it."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest
from own_modules import forgotten
from web_servers import Site, respond_json, site
from wire import Wire

from toolsmith import (
    Agent,
    Citation,
    HostedTool,
    ModelSettings,
    Opaque,
    ToolLeftOut,
    dump_messages,
    load_messages,
    tool,
)
from toolsmith.cli import main
from toolsmith.errors import ConfigError, HistoryError, ProviderError
from toolsmith.events import Event, TextDelta
from toolsmith.providers import Provider, resolve
from toolsmith.testing import Recorded, ScriptedModel, call, deliver, fail, pause, say, search, turn
from toolsmith.web import WebSearch

PAGES = (("https://trains.example/night", "Night trains"), ("https://rail.example/", "Rail"))
FOUND = search("night train Oslo", *PAGES)
ANSWER = "It leaves at 23:20."
CITED = say(ANSWER, cites=[(*PAGES[0], "The night train leaves Oslo at 23:20.")])


@pytest.fixture(autouse=True)
def no_engine_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SEARXNG_URL", "TAVILY_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def engine() -> Iterator[Site]:
    """A search engine of the program's own."""
    with site() as served:
        rows = [{"title": "Night trains", "url": PAGES[0][0], "content": "The night train leaves Oslo at 23:20."}]
        served.answers["/search"] = respond_json({"results": rows})
        yield served


@dataclass(frozen=True)
class Departure:
    """A train and its minute."""

    train: str
    minute: int


@tool
def book(train: str) -> str:
    """Book a seat."""
    return f"A seat on {train}."


def offered(request: Recorded) -> list[Any]:
    """The types of the tools that a request offers; a function's name."""
    hosted = [t["type"] for t in request.body.get("tools", []) if t.get("type", "function") != "function"]
    return [*request.tools, *hosted]


def expected(api: str) -> Citation:
    passage = "The night train leaves Oslo at 23:20." if api == "anthropic" else ""
    return Citation(*PAGES[0], passage, 0, len(ANSWER))


def skip_chat(wire: Wire) -> None:
    if wire.api == "openai-chat":
        pytest.skip("Chat Completions has no such tool")


# ---- what is asked, what comes back


def test_the_service_searches_and_its_sources_are_carried(wire: Wire) -> None:
    """On both APIs and with each driver: the hosted tool in the request, citations in the result, no call of ours."""
    skip_chat(wire)
    model = wire.model([FOUND, CITED])
    result = wire.run(Agent(wire.provider(model), tools=[WebSearch(hosted=True), book]), "When?")
    assert result.output == ANSWER
    assert result.citations == [expected(wire.api)]
    assert result.tool_calls == []
    assert result.usage.searches == 1
    current = "web_search_20260318" if wire.api == "anthropic" else "web_search"
    assert offered(model.requests[0]) == ["book", current]
    assert {type(part) for part in result.messages[-1].parts} >= {Opaque}
    model.assert_exhausted()


@pytest.mark.parametrize("packet", [1, 5, 64])
@pytest.mark.parametrize("api", ["anthropic", "openai"])
def test_a_streamed_search_is_what_comes_at_once(api: Any, packet: int) -> None:
    """However it is cut: the same parts, citations and items to send back."""
    parts = [say("I look that up."), FOUND, CITED]
    model = ScriptedModel([deliver(parts, packet=packet, chop=1), parts])
    agent = Agent(model.provider(api), tools=[WebSearch()])
    with agent.run_stream_sync("When?") as stream:
        list(stream)
    streamed, whole = stream.result.messages[-1], agent.run_sync("When?").messages[-1]
    assert stream.result.usage.searches == 1
    assert streamed.parts == whole.parts
    assert streamed.native is not None
    assert whole.native is not None
    if api == "anthropic":
        assert json.loads(streamed.native.items) == json.loads(whole.native.items)


def test_a_search_is_sent_back_as_it_came(wire: Wire) -> None:
    """With encrypted results and ids, to the last byte: the service refuses what was altered."""
    skip_chat(wire)
    model = wire.model([FOUND, say("I book it."), call("book", train="night train")], say("Booked."), say("Yes."))
    agent = Agent(wire.provider(model), tools=[WebSearch(hosted=True), book])
    result = wire.run(agent, "Book the night train")
    history = load_messages(dump_messages(result.messages))
    assert wire.run(agent, "Really?", history=history).output == "Yes."
    for request in model.requests[1:]:
        text = request.raw.decode()
        if wire.api == "anthropic":
            assert text.count('"encrypted_content":"gAAAAAB') == 2
            assert text.count('"type":"server_tool_use"') == 1
        else:
            assert text.count('"type":"web_search_call"') == 1
    model.assert_exhausted()


def test_a_pause_in_a_search_goes_on(wire: Wire) -> None:
    if wire.api != "anthropic":
        pytest.skip("only Claude pauses")
    model = wire.model(pause(say("I look.")), [FOUND, CITED])
    result = wire.run(Agent(wire.provider(model), tools=[WebSearch(hosted=True)]), "When?")
    assert result.output == ANSWER
    assert result.citations == [expected(wire.api)]


def test_a_search_that_failed_at_the_service(wire: Wire) -> None:
    """The model was told; the run goes on."""
    skip_chat(wire)
    model = wire.model([search("x", error="unavailable"), say("I could not search.")])
    result = wire.run(Agent(wire.provider(model), tools=[WebSearch(hosted=True)]), "When?")
    assert result.output == "I could not search."
    assert result.citations == []


@pytest.mark.parametrize(
    ("api", "name", "tool_sent"),
    [
        (
            "anthropic",
            "claude-opus-5-5",
            {
                "type": "web_search_20260318",
                "name": "web_search",
                "allowed_callers": ["direct"],
                "max_uses": 3,
                "allowed_domains": ["trains.example"],
                "user_location": {"type": "approximate", "country": "NO", "city": "Oslo"},
            },
        ),
        (
            "openai",
            "gpt-6-astra",
            {
                "type": "web_search",
                "filters": {"allowed_domains": ["trains.example"]},
                "user_location": {"type": "approximate", "country": "NO", "city": "Oslo"},
            },
        ),
    ],
)
def test_options_reach_the_service(api: Any, name: str, tool_sent: dict[str, Any]) -> None:
    """Each in the words of the API; OpenAI counts the uses in the request."""
    model = ScriptedModel([say("Hi")])
    wanted = WebSearch(max_uses=3, allowed_domains=["trains.example"], location={"country": "NO", "city": "Oslo"})
    Agent(model.provider(api, name), tools=[wanted]).run_sync("Hi")
    (request,) = model.requests
    assert request.body["tools"] == [tool_sent]
    assert request.body.get("max_tool_calls") == (3 if api == "openai" else None)
    assert not model.refusals


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("claude-opus-5-5", "web_search_20260318"),
        ("claude-fable-5-2", "web_search_20260318"),
        ("claude-haiku-5-5@20260901", "web_search_20260318"),
        ("claude-opus-4-6", "web_search_20260318"),
        ("claude-sonnet-4-6-20260217", "web_search_20260318"),
        ("claude-opus-4-8", "web_search_20260318"),
        ("claude-sonnet-4-5-20250929", "web_search_20250305"),
        ("claude-haiku-4-5-20251001", "web_search_20250305"),
        ("claude-opus-4-1-20250805", "web_search_20250305"),
        ("claude-opus-4-20250514", "web_search_20250305"),
        ("claude-sonnet-4@20250514", "web_search_20250305"),
        ("claude-3-7-sonnet-20250219", "web_search_20250305"),
    ],
)
def test_the_version_is_one_that_the_model_knows(name: str, version: str) -> None:
    provider = ScriptedModel([]).provider("anthropic", name)
    (sent,) = json.loads(provider.encode_tools([], [HostedTool("web_search")]))
    assert sent["type"] == version


@pytest.mark.parametrize("api", ["anthropic", "openai"])
def test_a_typed_answer_after_a_search(api: Any) -> None:
    """Claude refuses a schema for answers that cite: there it answers by a tool."""
    answer = {"train": "R41", "minute": 20}
    by_tool, by_words = call("final_answer", answer=answer), say(json.dumps({"answer": answer}))
    model = ScriptedModel([[FOUND, by_tool if api == "anthropic" else by_words]])
    result = Agent(model.provider(api), tools=[WebSearch()], output_type=Departure).run_sync("When?")
    assert result.output == Departure("R41", 20)
    assert "output_config" not in model.requests[0].body
    model.assert_exhausted()


def test_words_before_and_after_a_search_are_paragraphs(wire: Wire) -> None:
    """As they arrive too: what is streamed is what stands in the result."""
    skip_chat(wire)
    model = wire.model([say("I look that up."), FOUND, say("It leaves "), say("at 23:20.")])
    result = wire.run(Agent(wire.provider(model), tools=[WebSearch(hosted=True)]), "When?")
    assert result.output == "I look that up.\n\nIt leaves at 23:20."
    if "stream" in wire.driver:
        assert "".join(e.text for e in wire.events if isinstance(e, TextDelta)) == result.output


# ---- who searches


def hosts(provider: Provider, wanted: WebSearch) -> bool:
    assert wanted.hosted_tool is not None
    return provider.hosts(wanted.hosted_tool)


@pytest.mark.parametrize("model", ["anthropic:claude-opus-5-5", "openai:gpt-6-astra"])
def test_it_is_left_to_the_service_only_where_that_is_known(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At another address nobody knows what is there, unless the developer says so."""
    own = resolve(ModelSettings(model=model, api_key="k"))
    other = resolve(ModelSettings(model=model, api_key="k", base_url="https://llm.example/v1"))
    assert hosts(own, WebSearch())
    assert not hosts(other, WebSearch())
    assert hosts(other, WebSearch(hosted=True))
    assert not hosts(resolve(ModelSettings(model="openai-chat:gpt", api_key="k")), WebSearch(hosted=True))
    variable = "ANTHROPIC_BASE_URL" if model.startswith("anthropic") else "OPENAI_BASE_URL"
    monkeypatch.setenv(variable, "http://localhost:8000")
    assert not hosts(resolve(ModelSettings(model=model, api_key="k")), WebSearch())


def test_the_clouds_search_only_if_the_developer_says_so() -> None:
    from anthropic.lib.bedrock import AnthropicBedrock
    from openai import AzureOpenAI

    from toolsmith.providers.anthropic import AnthropicMessages
    from toolsmith.providers.openai_responses import OpenAIResponses

    bedrock = AnthropicBedrock(aws_region="us-east-1", aws_access_key="a", aws_secret_key="b")
    azure = AzureOpenAI(api_key="k", api_version="v", azure_endpoint="https://x.openai.azure.com")
    for provider in (AnthropicMessages("claude-opus-5-5", client=bedrock), OpenAIResponses("gpt", client=azure)):
        assert not hosts(provider, WebSearch())
        assert hosts(provider, WebSearch(hosted=True))


@pytest.mark.parametrize("api", ["anthropic", "openai", "openai-chat"])
def test_an_engine_that_was_named_is_asked(engine: Site, api: Any) -> None:
    """`WebSearch(backend)` means that one; `hosted=True` beside it prefers the service."""
    for wanted in (WebSearch(engine.url), WebSearch(engine.url, hosted=False)):
        model = ScriptedModel([call("web_search", query="night train"), say(ANSWER)])
        result = Agent(model.provider(api), tools=[wanted]).run_sync("When?")
        assert result.tool_calls[0].result.success
        assert offered(model.requests[0]) == ["web_search"]
        model.assert_exhausted()
    preferred = ScriptedModel([say("Hi")])
    Agent(preferred.provider(api), tools=[WebSearch(engine.url, hosted=True)]).run_sync("Hi")
    (sent,) = preferred.requests[0].body["tools"]
    types = {"anthropic": "web_search_20260318", "openai": "web_search", "openai-chat": "function"}
    assert sent["type"] == types[api]


def test_the_environments_engine_stands_in(engine: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARXNG_URL", engine.url)
    model = ScriptedModel([call("web_search", query="night train"), say(ANSWER)])
    result = Agent(model.provider("openai-chat"), tools=[WebSearch()]).run_sync("When?")
    assert "[1] Night trains" in str(result.tool_calls[0].result.data)


def test_what_openai_cannot_leave_out_is_searched_here(engine: Site) -> None:
    """Nothing is lost silently: a wish that the service has no words for is kept by the stand-in."""
    wanted = WebSearch(engine.url, hosted=True, blocked_domains=["spam.example"])
    claude, openai = ScriptedModel([say("Hi")]), ScriptedModel([say("Hi")])
    Agent(claude.provider("anthropic"), tools=[wanted]).run_sync("Hi")
    Agent(openai.provider("openai"), tools=[wanted]).run_sync("Hi")
    assert claude.requests[0].body["tools"][0]["blocked_domains"] == ["spam.example"]
    assert openai.requests[0].body["tools"][0]["type"] == "function"


def test_another_model_takes_over_with_the_stand_in(wire: Wire, engine: Site) -> None:
    """In the middle of a run: what the first service found by itself is left out, its words stay, and so on."""
    skip_chat(wire)
    first = wire.model([FOUND, say("It is at night."), call("book", train="night train")], fail("auth"))
    second = wire.model(call("web_search", query="night train"), say(ANSWER))
    providers = [wire.provider(first), wire.provider(second, "openai-chat")]
    agent = Agent(providers, tools=[WebSearch(engine.url, hosted=True), book])
    result = wire.run(agent, "Book it, and say when.")
    assert result.output == ANSWER
    assert [record.call.name for record in result.tool_calls] == ["book", "web_search"]
    assert set(second.requests[0].tools) == {"book", "web_search"}
    assert "It is at night." in json.dumps(second.requests[0].body)


REFUSED = fail(400, message="Tool 'web_search' is not supported with this model.")


def test_a_model_that_refuses_the_tool_is_asked_without_it(wire: Wire, engine: Site) -> None:
    """No list says which models, and which organisations, have it: the first request tells, once for the agent."""
    skip_chat(wire)
    model = wire.model(REFUSED, call("web_search", query="night train"), say(ANSWER), say("Bye."))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEARXNG_URL", engine.url)
        unsure = WebSearch().as_tool()
    assert unsure.hosted is not None
    if wire.door == "socket":
        pytest.skip("at another address the service is not asked to search")
    agent = Agent(wire.provider(model), tools=[unsure])
    assert wire.run(agent, "When?").output == ANSWER
    assert wire.run(agent, "Bye").output == "Bye."
    assert [len(offered(request)) for request in model.requests] == [1, 1, 1, 1]
    assert [list(request.tools) for request in model.requests] == [[], ["web_search"], ["web_search"], ["web_search"]]


def test_a_tool_that_was_insisted_on_is_not_taken_back() -> None:
    model = ScriptedModel([REFUSED])
    with pytest.raises(ProviderError, match="is not supported with this model"):
        Agent(model.provider("openai"), tools=[WebSearch(hosted=True)]).run_sync("When?")
    assert len(model.requests) == 1


def test_a_bad_request_for_another_reason_is_told() -> None:
    """After one more try; the next run asks with the tool again."""
    model = ScriptedModel([fail(400, message="No."), fail(400, message="Still no."), say("Hi")])
    agent = Agent(model.provider("openai"), tools=[WebSearch()])
    with pytest.raises(ProviderError, match=r"Still no\."):
        agent.run_sync("When?")
    agent.run_sync("When?")
    assert [offered(request) for request in model.requests] == [["web_search"], [], ["web_search"]]


def test_two_models_of_one_service_get_each_its_own_version() -> None:
    old, new = ScriptedModel([fail("overloaded")] * 9), ScriptedModel([say("Hi")])
    models = [old.provider("anthropic", "claude-haiku-4-5-20251001"), new.provider("anthropic", "claude-opus-5-5")]
    Agent([models[0], models[1]], tools=[WebSearch()]).run_sync("Hi")
    assert offered(old.requests[0]) == ["web_search_20250305"]
    assert offered(new.requests[0]) == ["web_search_20260318"]


def test_a_model_that_can_have_none_goes_without(wire: Wire, caplog: pytest.LogCaptureFixture) -> None:
    """The event and the log say so; the run goes on."""
    if wire.api != "openai-chat":
        pytest.skip("the others have it")
    model = wire.model(say("I do not know."))
    seen: list[Event] = []
    with caplog.at_level(logging.WARNING, "toolsmith"):
        agent = Agent(wire.provider(model), tools=[WebSearch(), book], observers=[seen.append])
        assert wire.run(agent, "When?").output == "I do not know."
    assert set(model.requests[0].tools) == {"book"}
    (told,) = [event for event in seen if isinstance(event, ToolLeftOut)]
    assert told.tool == "web_search"
    assert "web_search" in caplog.text


def test_a_model_without_any_tool_left(wire: Wire) -> None:
    if wire.api != "openai-chat":
        pytest.skip("the others have it")
    model = wire.model(say("I do not know."))
    assert wire.run(Agent(wire.provider(model), tools=[WebSearch()]), "When?").output == "I do not know."
    assert "tools" not in model.requests[0].body


def test_nothing_to_search_with_is_said_where_no_service_can_help() -> None:
    with pytest.raises(ConfigError, match="SEARXNG_URL"):
        Agent("openai:gpt-6-astra", tools=[WebSearch(hosted=False)])
    assert WebSearch(hosted=True).as_tool().only_hosted


def test_a_call_of_the_hosted_tool_as_if_it_were_ours() -> None:
    """A model that does so is told in words."""
    model = ScriptedModel([call("web_search", query="x"), say("Sorry.")], ignore={"result-missing"})
    result = Agent(model.provider("anthropic"), tools=[WebSearch()]).run_sync("When?")
    assert "no search engine of its own" in (result.tool_calls[0].result.error or "")


def test_another_tool_of_that_name_is_not_met(engine: Site) -> None:
    """Claude's tool has to be called web_search; where another one is, the program searches."""

    @tool
    def web_search(query: str) -> str:
        """Search the intranet."""
        return query

    model = ScriptedModel([say("Hi")])
    renamed = WebSearch(engine.url, hosted=True).as_tool(name="public_search")
    Agent(model.provider("anthropic"), tools=[web_search, renamed]).run_sync("Hi")
    assert [t["name"] for t in model.requests[0].body["tools"]] == ["web_search", "public_search"]
    assert not model.refusals
    alone = ScriptedModel([say("Hi")])
    Agent(alone.provider("anthropic"), tools=[renamed]).run_sync("Hi")
    assert offered(alone.requests[0]) == ["web_search_20260318"]


def test_a_turn_may_be_held_from_searching() -> None:
    """OpenAI is told which tools a turn may use, the hosted one among them."""
    model = ScriptedModel([say("Hi"), say("Hi"), say("Hi")])
    agent = Agent(model.provider("openai"), tools=[WebSearch(), book])
    agent.run_sync("Hi", allowed_tools=["book"])
    agent.run_sync("Hi", allowed_tools=["web_search"])
    agent.run_sync("Hi", allowed_tools=["web_search", "book"])
    shown = [request.body.get("tool_choice") for request in model.requests]
    book_only = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "book"}]}
    assert shown == [book_only, {**book_only, "tools": [{"type": "web_search"}]}, None]
    assert not model.refusals


def test_nobody_can_force_a_service_to_search() -> None:
    model = ScriptedModel([say("Hi")])
    Agent(model.provider("openai"), tools=[WebSearch()]).run_sync("Hi", tool_choice="web_search")
    assert "tool_choice" not in model.requests[0].body


def test_the_command_line_shows_the_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each once, for people and for machines; a `WebSearch` of a module is a tool like others."""
    (tmp_path / "finder.py").write_text("from toolsmith import WebSearch\n\nsearch = WebSearch(hosted=True)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FINDER_KEY", "k")
    with forgotten(tmp_path), ScriptedModel([[FOUND, CITED, CITED], [FOUND, CITED]]).serve() as server:
        profile = (
            f'model = "anthropic:claude-opus-5-5"\nbase_url = "{server.url("anthropic")}"\napi_key_env = "FINDER_KEY"'
        )
        (tmp_path / "toolsmith.toml").write_text(f"[models.fast]\n{profile}\n")
        assert main(["run", "finder:search", "--profile", "fast", "When?"]) == 0
        shown = capsys.readouterr()
        assert shown.out == f"{ANSWER}{ANSWER}\n"
        assert shown.err.count("  Night trains: https://trains.example/night\n") == 1
        assert main(["run", "--json", "finder:search", "--profile", "fast", "When?"]) == 0
    end = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert end["citations"] == [asdict(expected("anthropic"))]


# ---- citations are kept


def test_citations_are_stored_with_the_history() -> None:
    model = ScriptedModel([[FOUND, CITED]])
    result = Agent(model.provider("openai"), tools=[WebSearch()]).run_sync("When?")
    assert load_messages(dump_messages(result.messages)) == result.messages
    stored = json.loads(dump_messages(result.messages))
    stored["messages"][-1]["parts"][-1]["citations"][0]["start"] = "0"
    with pytest.raises(HistoryError, match=r"citations\[0\].start"):
        load_messages(json.dumps(stored))


def test_positions_of_citations_lie_within_the_text() -> None:
    """Whatever the service counts in."""
    words: dict[str, Any] = {"type": "output_text", "text": "short", "logprobs": []}
    for start, end in ((3, 900), (-4, 2), (4, 1), ("x", None)):
        words["annotations"] = [
            {"type": "url_citation", "url": "https://a.example", "title": "A", "start_index": start, "end_index": end},
            {"type": "file_citation", "file_id": "f", "filename": "a", "index": 1},
        ]
        body = {"id": "resp_1", "status": "completed", "output": [{"type": "message", "content": [words]}]}
        reply = ScriptedModel([]).provider("openai").decode(json.dumps(body).encode())
        (one,) = reply.message.citations
        assert 0 <= one.start <= one.end <= 5


# ---- the scripted model refuses what the services refuse


@pytest.mark.parametrize(
    ("api", "wrong", "rule"),
    [
        ("anthropic", {"type": "web_search_20991231", "name": "web_search"}, "hosted-tool"),
        ("anthropic", {"type": "web_search_20260318", "name": "search"}, "hosted-tool"),
        (
            "anthropic",
            {"type": "web_search_20250305", "name": "web_search", "response_inclusion": "full"},
            "hosted-tool",
        ),
        (
            "anthropic",
            {"type": "web_search_20260318", "name": "web_search", "allowed_domains": ["a"], "blocked_domains": ["b"]},
            "hosted-tool",
        ),
        ("openai", {"type": "web_search_2099"}, "hosted-tool"),
        ("openai", {"type": "web_search", "max_uses": 3}, "hosted-tool"),
        ("openai", {"type": "web_search", "filters": {"blocked_domains": ["a"]}}, "hosted-tool"),
        ("openai-chat", {"type": "web_search"}, "hosted-tool"),
    ],
)
def test_a_hosted_tool_that_the_service_does_not_have_is_refused(api: Any, wrong: dict[str, Any], rule: str) -> None:
    model = ScriptedModel([say("Hi")])
    with pytest.raises(Exception, match=r"web_search|allowed_domains|Unknown parameter"):
        Agent(model.provider(api), settings={"tools": [wrong]}).run_sync("Hi")
    assert [refusal.rule.name for refusal in model.refusals] == [rule]


def test_results_without_their_search_are_refused() -> None:
    model = ScriptedModel([turn(FOUND, say("Yes."))])
    Agent(model.provider("anthropic"), tools=[WebSearch()]).run_sync("When?")
    body = {**model.requests[0].body}
    found: dict[str, Any] = {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": [{"type": "web_search_result", "url": "https://a.example", "title": "A", "encrypted_content": "x"}],
    }
    asked: dict[str, Any] = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    more = {"role": "user", "content": "And?"}
    for blocks in ([found], [asked, found]):
        body["messages"] = [*body["messages"][:1], {"role": "assistant", "content": blocks}, more]
        status, _ = model("/v1/messages", body)
        assert status == 400
    assert [refusal.rule.name for refusal in model.refusals] == ["search-result", "search-result"]


def test_a_script_that_searches_where_nobody_offers_it() -> None:
    model = ScriptedModel([FOUND])
    with pytest.raises(Exception, match="offers no web search of the service"):
        Agent(model.provider("openai"), tools=[book]).run_sync("When?")


@pytest.mark.parametrize("tool_usage", [{"web_search": {"num_requests": 2}}, None])
def test_searches_are_counted_as_the_service_bills_them(tool_usage: Any) -> None:
    """OpenAI leaves the opening of pages out of its count; where it gives none, the answer's searches are counted."""
    kinds = ["search", "open_page", "search", "find_in_page"]
    items = [
        {"id": f"ws_{n}", "type": "web_search_call", "status": "completed", "action": {"type": kind}}
        for n, kind in enumerate(kinds)
    ]
    body: dict[str, Any] = {"id": "r", "status": "completed", "output": items, "usage": {}, "tool_usage": tool_usage}
    reply = resolve(ModelSettings(model="openai:m", api_key="k")).decode(json.dumps(body).encode())
    assert reply.usage.searches == 2
