"""`WebSearch` on a real searx, Debian's package, with its offline engine over a file of made-up pages.

Where `searx-run` is not installed these tests are skipped, and say how to install it (`apt-get install searx`).
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolsmith import Agent, ToolError
from toolsmith.testing import ScriptedModel, call, say
from toolsmith.web import SearXNG, WebSearch

PAGES = [
    ("Night trains of the north", "https://trains.example/night", "The night train to Bergen leaves Oslo at 23:20."),
    ("Day trains", "https://trains.example/day", "The day train to Bergen leaves Oslo at 08:25."),
    ("Ferries", "https://ferries.example/", "The ferry to Kiel leaves at 14:00."),
]

SETTINGS = """
general: {{debug: false, instance_name: test}}
search: {{safe_search: 0, autocomplete: "", default_lang: en, formats: [html, json]}}
server: {{port: {port}, bind_address: 127.0.0.1, secret_key: only-for-tests, base_url: false, image_proxy: false,
  http_protocol_version: "1.0", method: GET}}
ui: {{static_path: /usr/share/python3-searx/static, templates_path: /usr/share/python3-searx/templates,
  default_theme: oscar, default_locale: "", theme_args: {{oscar_style: logicodev}}}}
outgoing: {{request_timeout: 2.0, useragent_suffix: "", pool_connections: 10, pool_maxsize: 10}}
engines:
  - name: pages
    engine: sqlite
    shortcut: p
    database: {database}
    query_str: SELECT title, url, text AS content FROM pages WHERE pages MATCH :query ORDER BY rank
    limit: 10
    categories: general
    timeout: 5.0
locales: {{en: English}}
doi_resolvers: {{oadoi.org: "https://oadoi.org/"}}
default_doi_resolver: oadoi.org
"""


@pytest.fixture(scope="module")
def searx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a searx that knows three pages."""
    command = shutil.which("searx-run")
    if command is None:
        pytest.skip("searx is not installed, so WebSearch is not tried on a real engine: apt-get install searx")
    folder = tmp_path_factory.mktemp("searx")
    _write_pages(folder / "pages.sqlite")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (folder / "settings.yml").write_text(SETTINGS.format(port=port, database=folder / "pages.sqlite"))
    environment = {"PATH": os.defpath, "HOME": str(folder), "SEARX_SETTINGS_PATH": str(folder / "settings.yml")}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([command], env=environment, stdout=log, stderr=log, cwd=folder)
    try:
        _wait_for(port, process, folder / "log")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


def _write_pages(file: Path) -> None:
    pages = sqlite3.connect(file)
    pages.execute("CREATE VIRTUAL TABLE pages USING fts5(title, url UNINDEXED, text, tokenize='porter')")
    pages.executemany("INSERT INTO pages VALUES (?, ?, ?)", PAGES)
    pages.commit()
    pages.close()


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + 40
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    pytest.fail(f"searx did not start:\n{log.read_text(errors='replace')[-3000:]}")


def test_a_real_engine_finds_pages(searx: str) -> None:
    found = WebSearch(searx).search("night trains Bergen")
    assert [(r.title, r.url, r.snippet) for r in found.results] == [PAGES[0]]
    assert found.notes == ()
    assert {r.url for r in WebSearch(searx).search("train").results} == {PAGES[0][1], PAGES[1][1]}
    assert len(WebSearch(searx).search("train", limit=1).results) == 1


def test_an_agent_searches_on_a_real_engine(searx: str) -> None:
    model = ScriptedModel([call("web_search", query="ferry Kiel"), say("At 14:00 (https://ferries.example/).")])
    agent = Agent(model.provider("openai"), tools=[WebSearch(searx).as_tool()])
    result = agent.run_sync("When does the ferry leave?")
    assert result.tool_calls[0].result.success
    told = json.dumps(model.requests[1].body, ensure_ascii=False)
    assert "[1] Ferries" in told
    assert "https://ferries.example/" in told


def test_a_real_engine_finds_nothing(searx: str) -> None:
    found = WebSearch(searx).search("zebra")
    assert found.results == ()
    assert found.notes == ()


def test_a_broken_query_is_no_empty_answer(searx: str) -> None:
    """searx answers 200 without results; only `unresponsive_engines` tells that its engine failed."""
    with pytest.raises(ToolError, match=r"did not answer: pages \("):
        WebSearch(searx).search('"night')


def test_a_format_that_is_not_there(searx: str) -> None:
    """What an instance without `formats: [json]` sends is the page itself."""
    with pytest.raises(ToolError, match="`formats`"):
        WebSearch(SearXNG(f"{searx}/about?x=")).search("night")
