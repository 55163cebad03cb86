from __future__ import annotations

import contextlib
import resource
import signal
import threading
from pathlib import Path

import pytest

from builders import Call
from nrem.errors import Unavailable
from nrem.runtime.app import App
from nrem.store import database
from nrem.store.driver import Connection


def test_the_first_reader_does_not_wait_for_a_write(app: App) -> None:
    held, release = threading.Event(), threading.Event()

    def hold(db: Connection) -> None:
        held.set()
        assert release.wait(60)

    writer = threading.Thread(target=app.store.write, args=(hold,))
    writer.start()
    try:
        assert held.wait(60)
        while not app.store._idle_readers.empty():
            app.store._idle_readers.get_nowait().close()
        with app.store.reading() as db:
            assert db.execute("select count(*) from scopes").fetchone()[0] == 2
    finally:
        release.set()
        writer.join()


def test_a_checkpoint_that_fails_does_not_stop_the_writer(
    app: App, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    monkeypatch.setattr(database, "CHECKPOINT_EVERY", 0)
    app.store._next_checkpoint = 0
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    size = app.store.path.stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (max(size, 1 << 16), hard))
    try:
        for i in range(200):
            with contextlib.suppress(Unavailable):
                call("remember", agent="ana", content=f"note {i} " + "x" * 2000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, previous)
    assert call("remember", agent="ana", content="after")["stored"]


def test_what_nobody_waits_for_is_written_soon_and_before_later_writes(app: App) -> None:
    seen: list[str] = []
    app.store.write_soon(lambda db: seen.append("soon"))
    app.store.write(lambda db: seen.append("later"))
    assert seen == ["soon", "later"]
    done = threading.Event()
    app.store.write_soon(lambda db: done.set())
    assert done.wait(60)


def test_what_nobody_waits_for_is_written_in_the_order_it_came(app: App) -> None:
    seen: list[int] = []
    for i in range(5):
        app.store.write_soon(lambda db, i=i: seen.append(i))  # type: ignore[misc]
    app.store.write(lambda db: seen.append(5))
    assert seen == [0, 1, 2, 3, 4, 5]


def test_what_nobody_waits_for_is_written_when_the_store_closes(home: Path, app: App) -> None:
    app.store.write_soon(lambda db: db.execute("insert into store_meta values ('k', 'v')"))
    app.close()
    with App.open(home) as again, again.store.reading() as db:
        assert db.execute("select value from store_meta where key = 'k'").fetchone()[0] == "v"


def test_a_record_that_cannot_be_written_is_told_in_the_log(
    app: App, caplog: pytest.LogCaptureFixture
) -> None:
    app.store.write_soon(lambda db: db.execute("insert into nowhere values (1)"))
    app.store.write(lambda db: None)
    assert "a record was lost" in caplog.text
