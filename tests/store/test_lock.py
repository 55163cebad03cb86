from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import pytest

from nrem.clock import SystemClock
from nrem.errors import Unavailable
from nrem.runtime.app import App
from nrem.store.lock import Lock

HOLDER = Path(__file__).with_name("holder.py")


class Holder:
    """A process of its own that opens a store and holds it."""

    def __init__(self, home: Path, wait: float = 0.0) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(HOLDER), str(home), str(wait)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def let_go(self) -> None:
        self.process.communicate()
        assert self.process.returncode == 0

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def holder(home: Path) -> Iterator[Holder]:
    holder = Holder(home)
    assert holder.answer() == {"open": True}
    yield holder
    holder.kill()


@pytest.mark.rows(7)
def test_a_second_process_is_refused_and_told_who_holds_the_store(home: Path, holder: Holder) -> None:
    second = Holder(home)
    refusal = second.answer()
    second.let_go()
    assert refusal["code"] == "store_locked"
    assert f"process {holder.process.pid} (holder.py {home}," in refusal["message"]
    assert str(home) in refusal["message"]


def test_this_process_is_refused_as_well(home: Path, holder: Holder) -> None:
    for wait in (0.0, 0.05):
        with pytest.raises(Unavailable, match=f"process {holder.process.pid} ") as caught:
            App.open(home, wait=wait)
        assert caught.value.code == "store_locked"


def test_one_process_cannot_open_a_store_twice(app: App) -> None:
    with pytest.raises(Unavailable) as caught:
        App.open(app.home)
    assert caught.value.code == "store_locked"


@pytest.mark.rows(1)
def test_a_killed_holder_leaves_the_store_free(home: Path, holder: Holder) -> None:
    holder.kill()
    assert holder.process.returncode == -9
    App.open(home).close()


def test_a_holder_that_closes_leaves_the_store_free(home: Path, holder: Holder) -> None:
    holder.let_go()
    second = Holder(home)
    assert second.answer() == {"open": True}
    second.let_go()


def test_who_waits_gets_the_store_when_it_becomes_free(home: Path, holder: Holder) -> None:
    with futures.ThreadPoolExecutor(1) as pool:
        opening = pool.submit(App.open, home, wait=60)
        assert not futures.wait([opening], timeout=0.3).done  # time for one that does not wait to show it
        holder.let_go()
        opening.result().close()


def test_a_process_that_waits_gets_the_store_when_the_holder_is_killed(home: Path, holder: Holder) -> None:
    second = Holder(home, wait=60)
    holder.kill()
    assert second.answer() == {"open": True}
    second.let_go()


def test_a_holder_without_a_name_is_another_process(tmp_path: Path) -> None:
    path = tmp_path / "nrem.lock"
    lock = Lock.take(path, SystemClock())
    for note in ("", "{", "{}", "[1]"):
        path.write_text(note)
        with pytest.raises(Unavailable, match="in use by another process") as caught:
            Lock.take(path, SystemClock())
        assert caught.value.code == "store_locked"
    lock.release()
    Lock.take(path, SystemClock()).release()


def test_a_long_name_of_an_earlier_holder_does_not_shine_through(tmp_path: Path) -> None:
    path = tmp_path / "nrem.lock"
    path.write_text("x" * 2000)
    lock = Lock.take(path, SystemClock())
    assert json.loads(path.read_text()).keys() == {"pid", "command", "version", "since"}
    lock.release()
