"""What all models on a server share: an identity, and a transport made at first use."""

from __future__ import annotations

from functools import cached_property

from nrem.models.keys import read_key
from nrem.models.transport import Transport
from nrem.sections import Endpoint


class Remote:
    """A model that is asked over HTTP."""

    section = ""
    """Where the configuration speaks of it."""
    key_variable: str | None = None
    usual_url = ""

    def __init__(self, provider: str, model: str, wanted: Endpoint) -> None:
        self.identity = f"{provider}:{model}"
        self._provider = provider
        self._model = model
        self._wanted = wanted

    @cached_property
    def _transport(self) -> Transport:
        url = self._wanted.base_url or self.usual_url
        key = read_key(self._provider, self._wanted, self.key_variable, section=self.section)
        headers = self._headers(key)
        return Transport(self._provider, url.rstrip("/") + "/", headers, section=self.section)

    def _headers(self, key: str | None) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"} if key else {}

    def close(self) -> None:
        if "_transport" in self.__dict__:
            self._transport.close()
