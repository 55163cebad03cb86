"""Speaks to a running daemon: the operations of `wire` over its socket."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import httpx

from nrem import wire
from nrem.errors import Conflict, Corrupt, Denied, InputError, NotFound, NremError, Unavailable

CONNECT_SECONDS = 5.0
FAMILIES: tuple[tuple[range, type[NremError]], ...] = (
    (range(401, 402), Denied),
    (range(403, 404), Denied),
    (range(404, 405), NotFound),
    (range(409, 410), Conflict),
    (range(429, 430), Unavailable),
    (range(400, 500), InputError),
    (range(503, 504), Unavailable),
    (range(507, 508), Unavailable),
    (range(500, 600), Corrupt),
)


class Client:
    """Calls operations by name over a unix socket."""

    def __init__(self, path: Path) -> None:
        self._http = httpx.Client(
            transport=httpx.HTTPTransport(uds=str(path)), base_url="http://nrem", timeout=CONNECT_SECONDS
        )

    def call(self, name: str, **body: Any) -> dict[str, Any]:
        """Run an operation; raise the same error as it does."""
        operation = wire.OPERATIONS[name]
        path = operation.path
        timeout = httpx.Timeout(operation.patience, connect=CONNECT_SECONDS)
        for field in list(body):
            if f"{{{field}}}" in path:
                path = path.replace(f"{{{field}}}", wire.path_part(body.pop(field)))
        try:
            if operation.method in ("GET", "DELETE"):
                params = httpx.QueryParams(wire.to_query(body))  # type: ignore[arg-type]
                response = self._http.request(operation.method, path, params=params, timeout=timeout)
            else:
                response = self._http.request(operation.method, path, json=body, timeout=timeout)
        except (httpx.TransportError, ValueError) as error:
            problem = f"the daemon did not answer ({type(error).__name__})"
            raise Unavailable(problem, hint="nrem up starts it", code="no_daemon") from error
        return _result(response)

    def health(self) -> dict[str, Any]:
        """Return what the daemon says of itself."""
        return _result(self._http.get("/healthz"))

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def is_up(path: Path) -> bool:
    """Tell whether somebody listens at a socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def _result(response: httpx.Response) -> dict[str, Any]:
    try:
        body = response.json()
    except (ValueError, RecursionError):
        body = None
    if response.status_code < 400 and isinstance(body, dict):
        return body
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        raise Unavailable(f"the daemon answered with status {response.status_code}", code="no_daemon")
    family = next(family for statuses, family in FAMILIES if response.status_code in statuses)
    raise family(
        str(error.get("message")),
        hint=error.get("hint"),
        code=error.get("code"),
        field=error.get("field"),
        details=error.get("details"),
    )
