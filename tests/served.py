"""A daemon in a thread of the test: the real application on a real socket."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from nrem.model import Caller
from nrem.runtime.app import App
from nrem.runtime.service import Protocol
from nrem.surface.http import Web

OWNER = Caller(actor="owner", ingress="test")


def on_socket(web: Web) -> Any:
    """Return the application as the owner's socket reaches it, for a client that has no socket."""

    async def asgi(scope: Any, receive: Any, send: Any) -> None:
        await web.guard(scope | {"server": ("nrem.sock", None)}, receive, send)

    return asgi


@contextmanager
def serving(asgi: Any, listener: socket.socket) -> Iterator[None]:
    """Serve an application on a bound socket."""
    listener.listen()
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()
    thread = threading.Thread(target=loop.run_until_complete, args=[_live(asgi, listener, stop)])
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


async def _live(asgi: Any, listener: socket.socket, stop: asyncio.Event) -> None:
    """What uvicorn does, without the tenths of a second that it sleeps between."""
    config = uvicorn.Config(
        asgi, http=Protocol, proxy_headers=False, log_config=None, access_log=False, lifespan="off"
    )
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    await server.startup(sockets=[listener])
    await stop.wait()
    for listening in server.servers:
        listening.close()
    for _ in range(3):  # what was accepted last may not have become a connection yet
        await asyncio.sleep(0)
    while server.server_state.connections or server.server_state.tasks:
        for connection in list(server.server_state.connections):
            connection.shutdown()
        await asyncio.sleep(0.001)


@contextmanager
def unix(home: Path) -> Iterator[socket.socket]:
    """Bind a home's socket."""
    path = home / "nrem.sock"
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        path.chmod(0o600)
        yield listener
    path.unlink()


@contextmanager
def daemon(home: Path) -> Iterator[None]:
    """Open the store of a home and serve it on the home's socket."""
    with App.open(home, wait=5.0) as app, unix(home) as listener:
        web = Web(app)
        with serving(web.guard, listener):
            yield
        web.close()
