"""A model provider on a port of this machine: what it is asked is kept, what it answers can be scripted."""

from __future__ import annotations

import json
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from builders import HashEmbedder
from nrem.models import transport

Vectors = Callable[[str], Sequence[object]]


@dataclass(frozen=True)
class Asked:
    """A request that came in."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """What one request gets in place of the usual answer."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    drop: bool = False
    """Close the connection and say nothing."""
    hang: bool = False
    """Say nothing until the provider is stopped."""


DROP = Answer(drop=True)
HANG = Answer(hang=True)


def status(code: int) -> Answer:
    return Answer(code, b'{"error": "no"}')


class Provider:
    """Speaks OpenAI's, Google's and Ollama's protocol. Each scripted answer serves one request."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.script: deque[Answer] = deque()
        self.always: Answer | None = None
        """The answer to all requests that the script has none for; None: vectors."""
        self.vector: Vectors = HashEmbedder()._vector
        self.text = "{}"
        """What a chat model says."""
        self.url = ""
        self._lock = threading.Lock()
        self.stopped = threading.Event()

    @property
    def texts(self) -> list[list[str]]:
        """The texts of each request."""
        return [texts_of(asked.body) for asked in self.asked]

    def answer(self, asked: Asked) -> Answer:
        with self._lock:
            self.asked.append(asked)
            scripted = self.script.popleft() if self.script else self.always
        if scripted is not None:
            if scripted.hang:
                self.stopped.wait()
            return scripted
        if asked.path.endswith(CHATS):
            return Answer(body=json.dumps(said(asked.path, self.text)).encode())
        vectors = [self.vector(text) for text in texts_of(asked.body)]
        return Answer(body=json.dumps(shaped(asked.path, vectors)).encode())

    def stop(self) -> None:
        self.stopped.set()


CHATS = ("/chat/completions", "/messages", ":generateContent", "/api/chat")


def said(path: str, text: str) -> dict[str, Any]:
    """Return a text as the chat model that has this path gives it, with 11 tokens asked and 7 answered."""
    if path.endswith("/messages"):
        parts = [{"type": "text", "text": text}]
        return {"content": parts, "usage": {"input_tokens": 11, "output_tokens": 7}}
    if path.endswith(":generateContent"):
        used = {"promptTokenCount": 11, "candidatesTokenCount": 7}
        return {"candidates": [{"content": {"parts": [{"text": text}]}}], "usageMetadata": used}
    if path.endswith("/api/chat"):
        return {"message": {"content": text}, "prompt_eval_count": 11, "eval_count": 7}
    used = {"prompt_tokens": 11, "completion_tokens": 7}
    return {"choices": [{"message": {"role": "assistant", "content": text}}], "usage": used}


def texts_of(body: dict[str, Any]) -> list[str]:
    if "requests" in body:
        return [request["content"]["parts"][0]["text"] for request in body["requests"]]
    return list(body["input"])


def shaped(path: str, vectors: Sequence[object]) -> dict[str, Any]:
    """Return vectors as the provider that has this path gives them."""
    if path.endswith(":batchEmbedContents"):
        return {"embeddings": [{"values": vector} for vector in vectors]}
    if path.endswith("/api/embed"):
        return {"embeddings": list(vectors)}
    items = [{"object": "embedding", "index": i, "embedding": v} for i, v in enumerate(vectors)]
    return {"object": "list", "data": items}


def _handler(provider: Provider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):  # HTTP/1.0: each connection ends with its answer
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = provider.answer(Asked(self.path, headers, json.loads(body)))
            if answer.drop or answer.hang:
                return
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    return Handler


@contextmanager
def running(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    """Lend a provider that listens; pauses between tries take no time, and the machine's keys are unknown."""
    monkeypatch.setattr(transport, "FIRST_PAUSE", 0.0)
    for name in ("OPENAI_API_KEY", "GOOGLE_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    provider = Provider()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(provider))
    server.daemon_threads = False  # so that closing waits for them
    provider.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield provider
    finally:
        provider.stop()
        server.shutdown()
        server.server_close()
        thread.join()


def refusing_url() -> str:
    """Return an address where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"
