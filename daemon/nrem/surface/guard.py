"""What stands before every route: who is asking, by which name, and how often.

The owner's socket needs no token; a token that comes over it is honoured. On TCP every request needs one, and
its Host and Origin must be names of this daemon, so that no web page can speak to it through a browser.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse

from nrem.core.tokens import Doorkeeper
from nrem.errors import Conflict, Corrupt, Denied, InputError, NotFound, NremError, Unavailable
from nrem.model import Caller
from nrem.runtime.logs import request_id
from nrem.sections import Server
from nrem.surface.metrics import Metrics

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]

CALLER = "nrem.caller"
OPERATION = "nrem.operation"
OPEN = frozenset({"/healthz", "/readyz"})
"""What needs no token."""

OWN_PROGRAMS = frozenset({"cli", "mcp"})
"""What the owner's own programs may call themselves."""

EVERY_ADDRESS = ("0.0.0.0", "::")
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
IN_FLIGHT = 512
BAD_TRIES = 20
BAD_SECONDS = 60.0
PEERS = 1024

STATUSES: tuple[tuple[type[NremError], int], ...] = (
    (InputError, 400),
    (Denied, 403),
    (NotFound, 404),
    (Conflict, 409),
    (Unavailable, 503),
    (Corrupt, 500),
)
FINER = {
    "no_token": 401,
    "bad_token": 401,
    "token_expired": 401,
    "wrong_method": 405,
    "too_slow": 408,
    "too_large": 413,
    "not_json": 415,
    "wrong_host": 421,
    "too_many": 429,
    "storage_full": 507,
}


def refused(error: NremError) -> JSONResponse:
    """Return the answer that tells of an error."""
    status = FINER.get(error.code) or next(code for family, code in STATUSES if isinstance(error, family))
    response = JSONResponse({"error": error.as_json()}, status)
    if status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    if "retry_after" in error.details:
        response.headers["Retry-After"] = str(error.details["retry_after"])
    return response


class Guard:
    """Lets a request pass to the routes with its caller in the scope, or answers it."""

    def __init__(self, routes: Asgi, doorkeeper: Doorkeeper, settings: Server, metrics: Metrics) -> None:
        self._routes = routes
        self._doorkeeper = doorkeeper
        self._metrics = metrics
        self._in_flight = 0
        self._buckets: dict[str, _Bucket] = {}
        self._bad: OrderedDict[str, deque[float]] = OrderedDict()
        self.configure(settings)

    def configure(self, settings: Server) -> None:
        """Take over the limits and names of a configuration."""
        self._settings = settings
        self._allowed = frozenset(name.lower() for name in settings.allowed_hosts)
        self._buckets = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._routes(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        id = given if re.fullmatch(r"[A-Za-z0-9._-]{1,64}", given) else secrets.token_hex(8)
        request_id.set(id)
        begun = time.perf_counter()
        status = 500

        async def send_named(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)["X-Request-Id"] = id
            await send(message)

        self._in_flight += 1
        try:
            scope[CALLER] = self._admit(scope, headers)
        except NremError as error:
            await refused(error)(scope, receive, send_named)
        else:
            try:
                await self._routes(scope, receive, send_named)
            except asyncio.CancelledError:  # the daemon stops, and has waited long enough
                stopping = Unavailable("the daemon is stopping", hint="ask it again later", code="stopping")
                await refused(stopping)(scope, receive, send_named)
        finally:
            self._in_flight -= 1
            self._metrics.answered(scope.get(OPERATION, "other"), status, time.perf_counter() - begun)

    def _admit(self, scope: Scope, headers: Headers) -> Caller | None:
        """Return who is asking; None where nobody needs to say so."""
        is_owner = scope["server"][1] is None  # a unix socket has no port
        if self._in_flight > IN_FLIGHT:
            raise Unavailable("too many requests at once", code="busy", details={"retry_after": 1})
        if not is_owner:
            self._check_names(headers, port=scope["server"][1])
        if scope["path"] in OPEN:
            return None
        ingress = "mcp" if scope["path"].startswith("/mcp/") else "http"
        if is_owner and "authorization" not in headers:
            told = headers.get("nrem-ingress")
            return Caller(actor="owner", ingress=told if told in OWN_PROGRAMS else ingress)
        caller = self._check_token(headers, ingress, peer="owner" if is_owner else scope["client"][0])
        self._check_rate(caller)
        return caller

    def _check_names(self, headers: Headers, *, port: int) -> None:
        host = self._settings.host
        named = () if host in EVERY_ADDRESS else (f"[{host}]" if ":" in host else host,)
        own = {f"{name}:{port}" for name in (*LOOPBACK, *named)}
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in own | self._allowed:
            raise Denied(
                "this daemon does not answer to that Host",
                hint="use 127.0.0.1, or add the name to server.allowed_hosts",
                code="wrong_host",
            )
        for origin in headers.getlist("origin"):
            scheme, _, name = origin.partition("://")
            if scheme not in ("http", "https") or name.lower() not in own | self._allowed:
                raise Denied(
                    "a page of that Origin may not ask",
                    hint="add its host to server.allowed_hosts",
                    code="wrong_origin",
                )

    def _check_token(self, headers: Headers, ingress: str, *, peer: str) -> Caller:
        given = headers.get("authorization")
        if given is None:
            raise Denied(
                "this needs a token", hint="Authorization: Bearer TOKEN; nrem token create", code="no_token"
            )
        scheme, _, token = given.partition(" ")
        try:
            return self._doorkeeper.admit(token.strip() if scheme.lower() == "bearer" else "", ingress)
        except Denied:
            self._note_bad(peer)
            raise

    def _note_bad(self, peer: str) -> None:
        """Slow down who tries tokens; a good one is served all the same, whoever else tries from there."""
        now = time.monotonic()
        tries = self._bad.setdefault(peer, deque())
        self._bad.move_to_end(peer)
        while len(self._bad) > PEERS:
            self._bad.popitem(last=False)
        while tries and tries[0] <= now - BAD_SECONDS:
            tries.popleft()
        if len(tries) >= BAD_TRIES:
            raise Unavailable(
                "too many bad tokens from there",
                code="too_many",
                details={"retry_after": int(tries[0] + BAD_SECONDS - now) + 1},
            )
        tries.append(now)

    def _check_rate(self, caller: Caller) -> None:
        if self._settings.rate is None:
            return
        bucket = self._buckets.get(caller.actor)
        if bucket is None:
            bucket = self._buckets[caller.actor] = _Bucket(self._settings.rate, self._settings.burst)
        wait = bucket.take(time.monotonic())
        if wait > 0:
            raise Unavailable(
                "too many requests with these tokens",
                hint="wait a moment; server.rate and server.burst are the limits",
                code="too_many",
                details={"retry_after": int(wait) + 1},
            )


class _Bucket:
    """Fills with time and empties with requests."""

    def __init__(self, rate: int, burst: int) -> None:
        self._rate = rate
        self._burst = burst
        self._level = float(burst)
        self._at = time.monotonic()

    def take(self, now: float) -> float:
        """Take one; return 0, or how long to wait until there is one."""
        self._level = min(self._burst, self._level + (now - self._at) * self._rate)
        self._at = now
        if self._level < 1:
            return (1 - self._level) / self._rate
        self._level -= 1
        return 0.0
