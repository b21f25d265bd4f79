"""Search the web and read what is found: an engine of one's own, then the search of the model's service, with sources.

    python examples/08_search_the_web.py

No key and no network: a server on this machine stands for a SearXNG instance and for the site that it finds, and the
models are scripted (`toolsmith.testing`). Everything between them is real: the requests, the checks of addresses, the
robots.txt, the text of the page. With a SearXNG of your own set SEARXNG_URL, and give the agent a real model.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from toolsmith import Agent, ToolResultReady, WebSearch
from toolsmith.events import Event
from toolsmith.testing import ScriptedModel, call, say, search
from toolsmith.web import FetchPage

TIMETABLE = """<html><head><title>Night trains of the north</title></head><body><nav>Home | Tickets</nav><main>
<h1>Timetable</h1><table><tr><th>From</th><th>Leaves</th><th>In Bergen</th></tr>
<tr><td>Oslo</td><td>23:20</td><td>06:51</td></tr></table></main></body></html>"""


class Web(BaseHTTPRequestHandler):
    """A search engine with SearXNG's JSON, and the only site that it knows."""

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        match asked.path:
            case "/search":
                words = parse_qs(asked.query)["q"][0].lower()
                page = {"title": "Night trains of the north", "url": f"{address()}/timetable", "content": "Oslo 23:20"}
                results = [page] if "train" in words else []
                self._send(json.dumps({"results": results, "unresponsive_engines": []}), "application/json")
            case "/timetable":
                self._send(TIMETABLE, "text/html; charset=utf-8")
            case "/robots.txt":
                self._send("User-agent: *\nDisallow: /staff/\n", "text/plain")
            case _:
                self.send_error(404)

    def _send(self, body: str, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: Any) -> None:
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Web)


def address() -> str:
    return f"http://127.0.0.1:{server.server_port}"


def show(event: Event) -> None:
    match event:
        case ToolResultReady(call, result):
            print(f"{call.name}({call.arguments})")
            print("  " + str(result.data if result.success else result.error).replace("\n", "\n  "))
            for note in result.notes:
                print(f"  ({note})")
        case _:
            pass


def own_engine() -> None:
    """The program searches. Only because it says so may its model have a page of this machine."""
    script = [
        call("web_search", query="flying carpet Oslo Bergen"),
        call("web_search", query="night train Oslo Bergen"),
        call("fetch_page", url=f"{address()}/timetable"),
        call("fetch_page", url=f"{address()}/staff/wages"),
        call("fetch_page", url="http://169.254.169.254/latest/meta-data/"),
        say(f"The night train leaves Oslo at 23:20 and is in Bergen at 06:51 ({address()}/timetable)."),
    ]
    fetch = FetchPage(allow_private=[f"127.0.0.1:{server.server_port}"])
    tools = [WebSearch(address()), fetch.as_tool()]
    agent = Agent(ScriptedModel(script).provider("openai"), tools=tools, observers=[show])
    print(agent.run_sync("How do I get from Oslo to Bergen by night?").output)


def the_services_own() -> None:
    """Claude searches by itself: no call of ours, and the sources come with the words."""
    site = "https://trains.example/night"
    answer = say("It leaves at 23:20.", cites=[(site, "Night trains", "Oslo 23:20, Bergen 06:51")])
    model = ScriptedModel([[search("night train Oslo", (site, "Night trains")), answer]])
    result = Agent(model.provider("anthropic"), tools=[WebSearch(max_uses=2)]).run_sync("And when exactly?")
    print(f"\n{result.output}")
    for source in result.citations:
        print(f"  [{source.title}] {source.url}: “{source.cited_text}”")
    print(f"Calls of this program: {len(result.tool_calls)}. In the request: {model.requests[0].body['tools']}")


if __name__ == "__main__":
    threading.Thread(target=server.serve_forever, daemon=True).start()
    own_engine()
    the_services_own()
    server.shutdown()
    server.server_close()
