"""HTTP to model providers: bounded in time, tried again when that can help, else left alone for a while."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

import httpx

from nrem.errors import ConfigError, Unavailable
from nrem.models.embeddings import Patience

CONNECT_SECONDS = 5.0
MOST_BYTES = 32 << 20
"""Of an answer; what is larger was not asked for."""
FIRST_PAUSE = 0.25
LONGEST_PAUSE = 5.0
BREAK_AFTER = 3
"""Calls that failed in a row until no more are made for a while."""
BREAK_SECONDS = 30.0


CALLS: Counter[tuple[str, str]] = Counter()
"""Calls of this process, by provider and how they ended: ok, refused or failed."""

_counting = threading.Lock()


@dataclass(slots=True)
class _Breaker:
    """How often calls failed in a row, and until when none is made. Touched under the transport's lock."""

    failures: int = 0
    problem: str = ""
    closed_until: float = 0.0

    def lets_pass(self) -> bool:
        """Tell whether a call may be made; when the while is over one is, and the others wait for its end."""
        if self.failures < BREAK_AFTER:
            return True
        now = time.monotonic()
        if now < self.closed_until:
            return False
        self.closed_until = now + BREAK_SECONDS
        return True

    def answered(self) -> None:
        self.failures = 0

    def failed(self, problem: str) -> None:
        self.failures += 1
        self.problem = problem
        self.closed_until = time.monotonic() + BREAK_SECONDS


class Transport:
    """Sends JSON to one provider. Shared by threads."""

    def __init__(
        self,
        provider: str,
        base_url: str,
        headers: dict[str, str],
        *,
        section: str,
    ) -> None:
        """`section` is where the configuration speaks of this provider."""
        self._provider = provider
        self._section = section
        try:
            self._client = httpx.Client(base_url=base_url, headers=headers)
        except (httpx.InvalidURL, UnicodeError):
            raise ConfigError(
                f"{provider} cannot be asked: its address or its key is malformed",
                hint=f"check {section}.base_url and the key",
                field=f"{section}.base_url",
            ) from None
        self._lock = threading.Lock()
        # One for each patience: an answer that comes too late for one is in time for another.
        self._breakers: defaultdict[Patience, _Breaker] = defaultdict(_Breaker)

    def post(self, path: str, body: dict[str, Any], patience: Patience) -> Any:
        """Return the JSON answer; raise Unavailable when there is none, ConfigError for a refused key."""
        with self._lock:
            breaker = self._breakers[patience]
            if not breaker.lets_pass():
                raise Unavailable(
                    f"{breaker.problem}, and is left alone for a while",
                    hint="nothing is lost: what it was asked for is made when it answers again",
                    code="provider_unavailable",
                )
        try:
            answer = self._try(path, body, patience)
        except ConfigError:
            self._ended(breaker, "refused")
            raise
        except Unavailable as error:
            refused = error.code == "provider_refused"  # it answers; this one request was wrong
            self._ended(breaker, "refused" if refused else "failed", error.message)
            raise
        self._ended(breaker, "ok")
        return answer

    def _ended(self, breaker: _Breaker, result: str, problem: str = "") -> None:
        with _counting:
            CALLS[self._provider, result] += 1
        with self._lock:
            if result == "failed":
                breaker.failed(problem)
            else:
                breaker.answered()

    def close(self) -> None:
        self._client.close()

    def _try(self, path: str, body: dict[str, Any], patience: Patience) -> Any:
        problem = ""
        for attempt in range(patience.tries):
            if attempt:
                time.sleep(min(LONGEST_PAUSE, FIRST_PAUSE * 2**attempt) * random.uniform(0.5, 1.0))
            try:
                response, content = self._send(path, body, patience.seconds)
            except RuntimeError:
                raise Unavailable(f"{self._provider} is not asked any more", code="closed") from None
            except (httpx.TransportError, httpx.DecodingError) as error:
                problem = type(error).__name__
                continue
            if response.status_code in (401, 403):
                raise ConfigError(
                    f"{self._provider} refused the API key (status {response.status_code})",
                    hint=f"check {self._section}.api_key_env and the variable's value",
                    field=f"{self._section}.api_key_env",
                )
            if response.status_code == 429 or response.status_code >= 500:
                problem = f"status {response.status_code}"
                continue
            if response.status_code >= 400:
                raise Unavailable(
                    f"{self._provider} refused the request (status {response.status_code})",
                    hint=f"check {self._section}.model and base_url",
                    code="provider_refused",
                )
            return self._json(content)
        raise Unavailable(
            f"{self._provider} did not answer ({problem})",
            hint=f"check the network and {self._section}.base_url",
            code="provider_unavailable",
        )

    def _send(self, path: str, body: dict[str, Any], seconds: float) -> tuple[httpx.Response, bytes]:
        """Return an answer as far as it is of a size and comes in a time that an answer may take."""
        deadline = time.monotonic() + seconds
        timeout = httpx.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds))
        with self._client.stream("POST", path, json=body, timeout=timeout) as response:
            content = bytearray()
            for chunk in response.iter_bytes():
                content += chunk
                if len(content) > MOST_BYTES:
                    raise httpx.ReadError("the answer is too large")
                if time.monotonic() > deadline:  # a timeout of httpx begins anew with every byte
                    raise httpx.ReadTimeout("the answer does not end")
            return response, bytes(content)

    def _json(self, content: bytes) -> Any:
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            raise Unavailable(
                f"{self._provider} answered with something that is not JSON",
                hint=f"check {self._section}.base_url",
                code="provider_unavailable",
            ) from None
