"""What the client makes of a daemon that does not answer."""

from __future__ import annotations

import dataclasses
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from nrem import wire
from nrem.client import TRIES, Client
from nrem.errors import Unavailable


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[socket.socket]:
    """A socket that is listened on."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        listening.listen()
        yield listening


class Deaf:
    """Takes every request and answers none: it drops them, or keeps them waiting until the end."""

    def __init__(self, listener: socket.socket, *, drops: bool) -> None:
        self.requests = 0
        self._held: list[socket.socket] = []
        self._listener, self._drops = listener, drops
        self._thread = threading.Thread(target=self._accept)

    def __enter__(self) -> Deaf:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        for connection in self._held:
            connection.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            if not connection.recv(65536):  # only looked whether somebody listens
                connection.close()
                continue
            self.requests += 1
            if self._drops:
                connection.close()
            else:
                self._held.append(connection)


@pytest.mark.parametrize("name", ["recall", "remember"])
def test_what_takes_too_long_is_not_asked_again(
    listener: socket.socket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    hasty = dataclasses.replace(wire.OPERATIONS[name], patience=0.1)
    monkeypatch.setattr(wire, "OPERATIONS", {**wire.OPERATIONS, name: hasty})
    body = {"query": "tea"} if name == "recall" else {"content": "tea"}
    with Deaf(listener, drops=False) as daemon, Client(tmp_path / "s", agent="ana") as client:
        with pytest.raises(Unavailable, match="is up, but did not answer in time") as caught:
            client.call(name, **body)
        assert daemon.requests == 1
    assert caught.value.code == "no_answer"
    assert "nrem up" not in str(caught.value.hint)


def test_a_read_whose_connection_broke_is_asked_again(listener: socket.socket, tmp_path: Path) -> None:
    with Deaf(listener, drops=True) as daemon, Client(tmp_path / "s", agent="ana") as client:
        with pytest.raises(Unavailable) as caught:
            client.call("list_memories")
        assert daemon.requests == TRIES
    assert caught.value.code == "no_daemon"
