"""The operations over HTTP, one route for each, made from `wire`; and the server on the owner's socket."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Scope

from nrem import __version__, wire
from nrem.errors import ConfigError, Conflict, Corrupt, Denied, InputError, NotFound, NremError, Unavailable
from nrem.model import Caller
from nrem.runtime.app import App
from nrem.surface import mcp
from nrem.surface.operations import call, execute

BODY_BYTES = 1 << 20
LARGE_BODY_BYTES = 16 << 20
LARGE = frozenset({"remember_many"})
THREADS = 64
DRAIN_SECONDS = 10
LONGEST_SOCKET = 100
"""Bytes of a socket's path; systems allow a few more than this, and not all the same."""

OWNER = Caller(actor="owner", ingress="http")
MCP_OWNER = Caller(actor="owner", ingress="mcp")
STATUSES: tuple[tuple[type[NremError], int], ...] = (
    (InputError, 400),
    (Denied, 403),
    (NotFound, 404),
    (Conflict, 409),
    (Unavailable, 503),
    (Corrupt, 500),
)
FINER = {"too_large": 413, "not_json": 415, "storage_full": 507}

log = logging.getLogger("nrem.http")


def build(app: App) -> Starlette:
    """Return the ASGI application of an open store."""

    agents = mcp.Endpoint(lambda scope: _visit(app, scope), body_bytes=BODY_BYTES)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = THREADS
        async with agents.lifespan():
            yield

    routes = [
        Route(operation.path, _endpoint(app, operation), methods=[operation.method])
        for operation in wire.OPERATIONS.values()
    ]
    return Starlette(
        routes=[
            *routes,
            Route("/mcp/{agent}", agents),
            Route("/healthz", _healthz),
            Route("/openapi.json", _openapi),
        ],
        exception_handlers={404: _no_route, 405: _no_route, NremError: _no_visit},
        lifespan=lifespan,
    )


def serve(app: App, path: Path) -> None:
    """Listen on a unix socket until SIGTERM or SIGINT; then finish what was begun."""
    config = uvicorn.Config(
        build(app),
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=DRAIN_SECONDS,
        server_header=False,
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        # uvicorn has handlers of its own, and at its end sends the signal on to these.
        signal.signal(number, lambda *_: None)
    with _listening(path) as listener:
        uvicorn.Server(config).run(sockets=[listener])


@contextlib.contextmanager
def _listening(path: Path) -> Iterator[socket.socket]:
    """Bind the owner's socket. Whoever has the store's lock may replace one that was left behind."""
    if len(os.fsencode(path)) > LONGEST_SOCKET:
        raise ConfigError(
            f"the path of the socket is too long: {path}",
            hint="set server.socket to a shorter path",
            field="server.socket",
        )
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    usual = os.umask(0o177)
    try:
        listener.bind(str(path))
    except OSError as error:
        raise ConfigError(
            f"the socket {path} cannot be made: {error.strerror}",
            hint="set server.socket",
            field="server.socket",
        ) from error
    finally:
        os.umask(usual)
    try:
        yield listener
    finally:
        listener.close()
        path.unlink(missing_ok=True)


# Requests


def _endpoint(app: App, operation: wire.Operation) -> Any:
    async def run(request: Request) -> Response:
        try:
            body = await _body(request, operation)
            answer = await run_in_threadpool(_answer, app, operation, body)
        except NremError as error:
            return _refused(error)
        except Exception:  # the edge: whatever it is, the caller gets an answer and the log the reason
            log.exception("operation %s failed", operation.name)
            return _refused(Corrupt("something went wrong inside; the log has it", code="internal"))
        return Response(answer, status_code=operation.status, media_type="application/json")

    return run


def _answer(app: App, operation: wire.Operation, body: dict[str, Any]) -> bytes:
    return wire.write_json(operation, execute(app, OWNER, operation.name, body))


async def _body(request: Request, operation: wire.Operation) -> dict[str, Any]:
    """Return the fields of a request: of its path, and of its query or its JSON body."""
    if operation.method in ("GET", "DELETE"):
        body = wire.from_query(operation.takes, request.query_params.multi_items())
    else:
        body = await _json(request, LARGE_BODY_BYTES if operation.name in LARGE else BODY_BYTES)
    return body | request.path_params


async def _json(request: Request, limit: int) -> dict[str, Any]:
    text = bytearray()
    async for chunk in request.stream():
        text += chunk
        if len(text) > limit:
            raise InputError(
                f"the body is larger than {limit} bytes", hint="send less at once", code="too_large"
            )
    if not text:
        return {}
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise InputError("the body must be JSON", hint="Content-Type: application/json", code="not_json")
    body = wire.parse_json(bytes(text), "body")
    if not isinstance(body, dict):
        raise InputError("the body must be a JSON object", field="body")
    return body


def _refused(error: NremError) -> JSONResponse:
    status = FINER.get(error.code) or next(code for family, code in STATUSES if isinstance(error, family))
    return JSONResponse({"error": error.as_json()}, status)


def _visit(app: App, scope: Scope) -> mcp.Visit:
    agent = scope["path_params"]["agent"]
    return mcp.Visit(agent=agent, settings=app.settings(app.scope(agent)), run=partial(call, app, MCP_OWNER))


async def _no_visit(request: Request, error: Exception) -> Response:
    assert isinstance(error, NremError)
    return _refused(error)


async def _no_route(request: Request, error: Exception) -> Response:
    problem = f"there is no {request.method} {request.url.path}"
    return _refused(NotFound(problem, hint="/openapi.json lists what there is", code="no_route"))


async def _healthz(request: Request) -> Response:
    return JSONResponse({"status": "ok", "version": __version__, "pid": os.getpid()})


async def _openapi(request: Request) -> Response:
    return JSONResponse(wire.openapi(__version__))
