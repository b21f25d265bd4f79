"""Tests that cannot reach their database: the first answer names the tool that repairs it, and no call is made thrice.

    python examples/10_start_the_service.py
    python examples/10_start_the_service.py --model anthropic:claude-opus-5-5

A bare "connection refused" tells a model nothing that it could do, so it tries once more, and once more. Here
`on_error` says what the exception means and which tool helps. And whoever insists is stopped: the same call that has
failed in the same way twice is not run a third time, until something has changed.

The refused connection is a real one, to a port of this computer where nothing listens (5432, or a free one if that is
taken); the service that is started then really listens there. The model is scripted (`toolsmith.testing`), so that it
surely insists. With `--model` a real model does the work.
"""

from __future__ import annotations

import argparse
import socket
import socketserver
import threading
from typing import Literal

from toolsmith import Agent, Remedy, RepeatStopped, ToolError, ToolRegistry, ToolResultReady, tool
from toolsmith.events import Event
from toolsmith.testing import ScriptedModel, call, say

TASK = "Run the tests of the folder tests/orders and tell me whether they pass."


def port_for(wanted: int) -> int:
    """The wanted port of this computer, or another one where that is taken."""
    for port in (wanted, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise OSError("no port is free")


PORT = port_for(5432)
tried: list[str] = []
"""The runs of the tests that really took place."""


class Postgres(socketserver.BaseRequestHandler):
    """As much of a database as these tests need."""

    def handle(self) -> None:
        self.request.sendall(b"ready\n")


running: dict[str, socketserver.ThreadingTCPServer] = {}


@tool(
    on_error={
        ConnectionRefusedError: Remedy(
            f"The tests need the database, and nothing listens on port {PORT}.",
            use="start_service",
            args={"name": "postgres"},
        )
    }
)
def run_tests(folder: str) -> str:
    """Run the tests of a folder. The tests of orders need the service postgres.

    Gives the number of tests that passed and failed.

    Args:
        folder: such as "tests/orders"
    """
    tried.append(folder)
    with socket.create_connection(("127.0.0.1", PORT), timeout=5) as connection:
        greeting = connection.recv(64)
    return f"{folder}: 3 passed, 0 failed (the database said {greeting.decode().strip()!r})"


@tool
def start_service(name: Literal["postgres", "redis", "mailhog"]) -> str:
    """Start a service on this computer, and wait until it takes connections.

    Args:
        name: which one
    """
    if name != "postgres":
        raise ToolError(f"{name} is not installed here.")
    if name not in running:
        socketserver.ThreadingTCPServer.allow_reuse_address = True
        server = running[name] = socketserver.ThreadingTCPServer(("127.0.0.1", PORT), Postgres)
        threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"{name} takes connections on port {PORT}."


tools = ToolRegistry([run_tests, start_service])

SCRIPT = [
    call("run_tests", folder="tests/orders"),
    call("run_tests", folder="tests/orders"),
    call("run_tests", folder="tests/orders"),
    call("start_service", name="postgres"),
    call("run_tests", folder="tests/orders"),
    say("All 3 tests of tests/orders pass. The database had to be started first."),
]


def show(event: Event) -> None:
    """Print each call with what the model reads of it."""
    match event:
        case ToolResultReady(call, result):
            print(f"{call.name}({call.arguments})    [{len(tried)} test runs so far]")
            print(f"    {result.error or result.data}\n")
        case RepeatStopped():
            print("(The loop breaker: this call is not run.)")
        case _:
            pass


def main() -> None:
    parser = argparse.ArgumentParser(description="Run tests that need a service.")
    parser.add_argument("--model", help="PROVIDER:MODEL of a real model, instead of the script")
    model = parser.parse_args().model or ScriptedModel(SCRIPT).provider("anthropic")
    try:
        result = Agent(model, tools=tools, observers=[show]).run_sync(TASK)
    finally:
        for server in running.values():
            server.shutdown()
            server.server_close()
    asked = sum(record.call.name == "run_tests" for record in result.tool_calls)
    print(f"{result.output}\n\nThe model asked for the tests {asked} times; they were run {len(tried)} times.")


if __name__ == "__main__":
    main()
