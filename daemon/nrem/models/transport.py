"""HTTP to model providers: bounded in time, tried again when that can help, else left alone for a while."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from nrem.errors import ConfigError, Unavailable
from nrem.models.embeddings import Patience

CONNECT_SECONDS = 5.0
MOST_BYTES = 32 << 20
"""Of an answer; what is larger was not asked for."""
FIRST_PAUSE = 0.25
BREAK_AFTER = 5
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


class _TooLarge(Exception):
    """An answer is larger than MOST_BYTES."""


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

    def post(
        self,
        path: str,
        body: dict[str, Any],
        patience: Patience,
        worked: Callable[[], None] = lambda: None,
    ) -> Any:
        """Return the JSON answer; raise Unavailable when there is none, ConfigError for a refused key.

        `worked` is called for every try that the provider may have worked on, and may bill: each but those
        that did not reach it and those that it refused.
        """
        with self._lock:
            breaker = self._breakers[patience]
            if not breaker.lets_pass():
                raise Unavailable(
                    f"{breaker.problem}, and is left alone for a while",
                    hint="nothing is lost: what it was asked for is made when it answers again",
                    code="provider_unavailable",
                )
        try:
            answer = self._try(path, body, patience, worked)
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

    def _try(self, path: str, body: dict[str, Any], patience: Patience, worked: Callable[[], None]) -> Any:
        problem, pause = "", 0.0
        for attempt in range(patience.tries):
            if attempt:
                pause = max(pause, FIRST_PAUSE * 2**attempt * random.uniform(0.5, 1.0))
                if pause > patience.pause:
                    break
                time.sleep(pause)
            pause = 0.0
            try:
                response, content = self._send(path, body, patience.seconds)
            except RuntimeError:
                raise Unavailable(f"{self._provider} is not asked any more", code="closed") from None
            except _TooLarge:
                worked()
                raise self._unusable(f"answered with more than {MOST_BYTES >> 20} MiB") from None
            except (httpx.TransportError, httpx.DecodingError) as error:
                if not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
                    worked()
                problem = type(error).__name__
                continue
            self._check_accepted(response.status_code)
            if response.status_code != 429:
                worked()
            if response.status_code == 429 or response.status_code >= 500:
                problem = f"status {response.status_code}"
                pause = _retry_after(response)
                continue
            return self._json(content)
        raise Unavailable(
            f"{self._provider} did not answer ({problem})",
            hint=f"check the network and {self._section}.base_url",
            code="provider_unavailable",
        )

    def _check_accepted(self, status: int) -> None:
        """Raise for a request that will not be answered however often it is sent."""
        if status in (401, 403):
            raise ConfigError(
                f"{self._provider} refused the API key (status {status})",
                hint=f"check {self._section}.api_key_env and the variable's value",
                field=f"{self._section}.api_key_env",
            )
        if 400 <= status < 500 and status != 429:
            raise Unavailable(
                f"{self._provider} refused the request (status {status})",
                hint=f"check {self._section}.model and base_url",
                code="provider_refused",
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
                    raise _TooLarge
                if time.monotonic() > deadline:  # a timeout of httpx begins anew with every byte
                    raise httpx.ReadTimeout("the answer does not end")
            return response, bytes(content)

    def _json(self, content: bytes) -> Any:
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            raise self._unusable("answered with something that is not JSON") from None

    def _unusable(self, what: str) -> Unavailable:
        return Unavailable(
            f"{self._provider} {what}",
            hint=f"check {self._section}.base_url",
            code="provider_unavailable",
        )


def _retry_after(response: httpx.Response) -> float:
    """Return for how many seconds a provider wants to be left alone; 0 when it does not say."""
    said = response.headers.get("retry-after", "")
    try:
        return max(0.0, float(said))
    except ValueError:
        pass
    try:
        until, sent = (parsedate_to_datetime(text) for text in (said, response.headers.get("date", "")))
        return max(0.0, (until - sent).total_seconds())
    except (TypeError, ValueError):
        return 0.0
