"""The operations over HTTP, one route for each, made from `wire`."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import os
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope

from nrem import __version__, wire
from nrem.core import agents
from nrem.errors import Corrupt, Denied, InputError, NotFound, NremError, Unavailable
from nrem.model import Caller, Right
from nrem.runtime.app import App
from nrem.surface import mcp, operations
from nrem.surface.guard import CALLER, OPERATION, Guard, refused
from nrem.surface.metrics import Metrics

BODY_BYTES = 1 << 20
SMALL_BODY_BYTES = 64 << 10
"""So much is parsed on the event loop."""
LARGE_BODY_BYTES = 16 << 20
LARGE_AT_ONCE = 8
BODY_SECONDS = 30.0
LARGE = frozenset({"remember_many", "write_file"})
THREADS = 64
LEAST_FREE_BYTES = 64 << 20
MOST_WAITING = 4096
PROBE_SECONDS = 1.0

log = logging.getLogger("nrem.http")


class Web:
    """The ASGI application of an open store, and the threads that it works in."""

    def __init__(self, app: App) -> None:
        self._app = app
        self.metrics = Metrics(app)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="nrem-http")
        self._large = asyncio.Semaphore(LARGE_AT_ONCE)
        self._probing = asyncio.Lock()
        self._probed: tuple[float, list[str]] = (0.0, [])
        visitors = mcp.Endpoint(self._visit, self._in_thread, read_body, body_bytes=BODY_BYTES)
        self.routes = Starlette(
            routes=[
                *(
                    Route(operation.path, self._endpoint(operation), methods=[operation.method])
                    for operation in wire.OPERATIONS.values()
                ),
                Route("/mcp/{agent}", visitors),
                Route("/healthz", self._healthz),
                Route("/readyz", self._readyz),
                Route("/metrics", self._metrics),
                Route("/openapi.json", self._openapi),
            ],
            exception_handlers={404: _no_route, 405: _no_method, NremError: _no_visit},
            lifespan=lambda _: visitors.lifespan(),
        )
        self.guard = Guard(self.routes, app.doorkeeper, app.config.server, self.metrics)

    def reload(self) -> None:
        """Read the configuration again; a wrong one raises, and the old one stays."""
        try:
            self._app.reload()
        except NremError:
            self.metrics.reloaded(well=False)
            raise
        self.guard.configure(self._app.config.server)
        self.metrics.reloaded(well=True)

    def close(self) -> None:
        """End the threads; what has not begun is not done any more."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _endpoint(self, operation: wire.Operation) -> Any:
        async def run(request: Request) -> Response:
            request.scope[OPERATION] = operation.name
            try:
                caller: Caller = request.scope[CALLER]
                operations.check_right(caller, operation)
                body = await self._body(request, operation)
                if operations.is_quick(self._app, operation.name, body):
                    answer = self._answer(caller, operation, body)
                else:
                    answer = await self._in_thread(self._answer, caller, operation, body)
            except NremError as error:
                return refused(error)
            except ClientDisconnect:
                return Response(status_code=499)  # nobody is there to read it
            except Exception:  # the edge: whatever it is, the caller gets an answer and the log the reason
                log.exception("operation %s failed", operation.name)
                return refused(Corrupt("something went wrong inside; the log has it", code="internal"))
            return Response(answer, status_code=operation.status, media_type="application/json")

        return run

    def _answer(self, caller: Caller, operation: wire.Operation, body: dict[str, Any]) -> bytes:
        begun = time.perf_counter()
        result = operations.execute(self._app, caller, operation.name, body)
        self.metrics.operated(result, time.perf_counter() - begun)
        return wire.write_json(operation, result)

    async def _body(self, request: Request, operation: wire.Operation) -> dict[str, Any]:
        """Return the fields of a request: of its path, and of its query or its JSON body."""
        if operation.method in ("GET", "DELETE"):
            body = wire.from_query(operation.takes, request.query_params.multi_items())
        elif operation.name in LARGE:
            async with self._large:
                body = await self._json(request, LARGE_BODY_BYTES)
        else:
            body = await self._json(request, BODY_BYTES)
        return body | request.path_params

    async def _json(self, request: Request, limit: int) -> dict[str, Any]:
        text = await read_body(request.receive, limit)
        if not text:
            return {}
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise InputError("the body must be JSON", hint="Content-Type: application/json", code="not_json")
        if request.headers.get("content-encoding", "identity") != "identity":
            raise InputError("the body must not be compressed", hint="send it as it is", code="not_json")
        if len(text) <= SMALL_BODY_BYTES:
            return _parse(text)
        parsed: dict[str, Any] = await self._in_thread(_parse, text)
        return parsed

    async def _in_thread(self, run: Callable[..., Any], *given: Any) -> Any:
        context = contextvars.copy_context()  # with the id of the request, for what is logged there
        return await asyncio.get_running_loop().run_in_executor(self._threads, context.run, run, *given)

    def _visit(self, scope: Scope) -> mcp.Visit:
        """Return whom a request over MCP is for, and by whom."""
        caller: Caller = scope[CALLER]
        agent = scope["path_params"]["agent"]
        if not caller.reaches(agent):
            raise agents.not_found(agent)
        scope[OPERATION] = "mcp"
        run = partial(operations.call, self._app, caller)
        return mcp.Visit(agent=agent, settings=self._app.settings(self._app.scope(agent)), run=run)

    async def _healthz(self, request: Request) -> Response:
        return JSONResponse({"status": "ok", "version": __version__, "pid": os.getpid()})

    async def _readyz(self, request: Request) -> Response:
        async with self._probing:  # a write for each who asks would be too much for anybody to cause
            at, problems = self._probed
            if time.monotonic() - at > PROBE_SECONDS:
                try:
                    problems = await self._in_thread(self._problems)
                except NremError as error:
                    problems = [error.message]
                self._probed = (time.monotonic(), problems)
        if problems:
            return JSONResponse({"status": "not ready", "problems": problems}, 503)
        return JSONResponse({"status": "ready"})

    def _problems(self) -> list[str]:
        free = shutil.disk_usage(self._app.home).free
        if free < LEAST_FREE_BYTES:
            return [f"only {free >> 20} MiB of disk are free"]
        waiting = self._app.store.waiting()
        if waiting > MOST_WAITING:
            return [f"{waiting} writes are waiting"]
        self._app.store.probe()
        return []

    async def _metrics(self, request: Request) -> Response:
        caller: Caller = request.scope[CALLER]
        if not caller.may(Right.READ):
            return refused(Denied("this needs the right read", hint="use a token that has it"))
        text = await self._in_thread(self.metrics.text)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    async def _openapi(self, request: Request) -> Response:
        return JSONResponse(wire.openapi(__version__))


async def read_body(receive: Receive, limit: int) -> bytes:
    """Return the body of a request; refuse one that is too large or comes too slowly."""
    text = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            more = True
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientDisconnect
                text += message.get("body", b"")
                more = message.get("more_body", False)
                if len(text) > limit:
                    raise InputError(
                        f"the body is larger than {limit} bytes", hint="send less at once", code="too_large"
                    )
    except TimeoutError:
        raise Unavailable("the body did not come", hint="send it at once", code="too_slow") from None
    return bytes(text)


def _parse(text: bytes) -> dict[str, Any]:
    body = wire.parse_json(text, "body")
    if not isinstance(body, dict):
        raise InputError("the body must be a JSON object", field="body")
    return body


async def _no_visit(request: Request, error: Exception) -> Response:
    assert isinstance(error, NremError)
    return refused(error)


async def _no_route(request: Request, error: Exception) -> Response:
    problem = f"there is no {request.method} {request.url.path}"
    return refused(NotFound(problem, hint="/openapi.json lists what there is", code="no_route"))


async def _no_method(request: Request, error: Exception) -> Response:
    problem = f"{request.url.path} does not take {request.method}"
    response = refused(InputError(problem, hint="/openapi.json lists what there is", code="wrong_method"))
    response.headers["Allow"] = error.headers["Allow"]  # type: ignore[attr-defined]
    return response
