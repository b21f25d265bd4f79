"""Small servers on loopback that say what a test wants said, also what no server library would say."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class Seen:
    """One request as it arrived."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        return {name: values[0] for name, values in parse_qs(urlsplit(self.target).query).items()}

    def json(self) -> Any:
        return json.loads(self.body)


Handler = Callable[[Seen], bytes | Iterable[bytes]]


@dataclass
class Site:
    """A server; `answers` has a handler, or raw bytes, for each path, and "" for all others."""

    port: int
    answers: dict[str, Handler | bytes] = field(default_factory=dict[str, Handler | bytes])
    requests: list[Seen] = field(default_factory=list[Seen])

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.host}"

    def paths(self) -> list[str]:
        return [seen.path for seen in self.requests]

    def answer(self, seen: Seen) -> bytes | Iterable[bytes]:
        self.requests.append(seen)
        found = self.answers.get(seen.path, self.answers.get("", respond(404, b"not here", "text/plain")))
        return found if isinstance(found, bytes) else found(seen)


def respond(
    status: int = 200, body: bytes | str = b"", kind: str = "text/html; charset=utf-8", **headers: str
) -> bytes:
    """A whole response, closed after it."""
    raw = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status} X", f"content-length: {len(raw)}", "connection: close"]
    if kind:
        lines.append(f"content-type: {kind}")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + raw


def respond_json(data: Any, status: int = 200, **headers: str) -> bytes:
    """A whole response of JSON."""
    return respond(status, json.dumps(data), "application/json", **headers)


def redirect(to: str, status: int = 302) -> bytes:
    """A redirect."""
    return respond(status, "moved", location=to)


@contextmanager
def listening(handling: type[BaseHTTPRequestHandler]) -> Generator[str]:
    """A server on a thread, with the standard library's handler; gives its address."""
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), handling)
    httpd.daemon_threads = True
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{httpd.server_address[1]}"
    finally:
        httpd.shutdown()
        httpd.server_close()


@contextmanager
def site(tls: ssl.SSLContext | None = None) -> Generator[Site]:
    """A server on a free port of loopback, one thread a connection."""
    listener = socket.create_server(("127.0.0.1", 0))
    served = Site(listener.getsockname()[1])
    over = threading.Event()

    def accept() -> None:
        while not over.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=_serve, args=(connection, served, over, tls), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        over.set()
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)


def _serve(plain: socket.socket, served: Site, over: threading.Event, tls: ssl.SSLContext | None) -> None:
    with plain, suppress(OSError), tls.wrap_socket(plain, server_side=True) if tls else plain as connection:
        connection.settimeout(10)
        seen = _read(connection)
        if seen is None:
            return
        answer = served.answer(seen)
        if isinstance(answer, bytes):
            connection.sendall(answer)
            return
        for piece in answer:
            if over.is_set():
                return
            connection.sendall(piece)


def _read(connection: socket.socket) -> Seen | None:
    data = b""
    while b"\r\n\r\n" not in data:
        chunk = connection.recv(65_536)
        if not chunk:
            return None
        data += chunk
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    while len(body) < int(headers.get("content-length", 0)):
        body += connection.recv(65_536)
    method, target, _ = first.split(" ", 2)
    return Seen(method, target, headers, body)
