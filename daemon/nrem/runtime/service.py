"""The life of the daemon: listen, say so, work until told to stop, finish what was begun."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import uvicorn
import uvloop
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from nrem.config import LONGEST_SOCKET
from nrem.errors import ConfigError, NremError, Unavailable
from nrem.runtime import notify
from nrem.runtime.app import App
from nrem.runtime.kinds import KINDS
from nrem.runtime.publisher import Publisher
from nrem.runtime.pusher import Pusher
from nrem.runtime.scheduler import LONGEST_SLEEP, Scheduler
from nrem.runtime.tender import Tender
from nrem.runtime.worker import Worker
from nrem.sections import Server

DRAIN_SECONDS = 10
HEADER_SECONDS = 10.0
HEADER_BYTES = 64 << 10
BACKFILL_SECONDS = 30.0
PUBLISH_SECONDS = 10.0
PUSH_SECONDS = 10.0
WORKERS = 2
SWITCH_SECONDS = 0.0001
"""How long a thread that computes, such as a sweep, keeps one that waits, such as a recall, from going on."""

log = logging.getLogger("nrem.service")


def serve(app: App, asgi: Any, path: Path, *, reload: Callable[[], None]) -> None:
    """Listen on the owner's socket and on TCP until SIGTERM or SIGINT; SIGHUP calls `reload`."""
    sys.setswitchinterval(SWITCH_SECONDS)
    with contextlib.ExitStack() as stack:
        stack.enter_context(_publishing(app))  # first, so that it ends when nobody can ask for more
        stack.enter_context(_pushing(app))
        listeners = [stack.enter_context(_unix(path))]
        if app.config.server.port is not None:
            listeners.append(stack.enter_context(_tcp(app.config.server)))
        server = _Server(
            uvicorn.Config(
                asgi,
                loop="uvloop",
                http=Protocol,
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=DRAIN_SECONDS,
            )
        )
        with _backfilling(app), _working(app), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_live(app, server, listeners, reload))


async def _live(
    app: App, server: _Server, listeners: list[socket.socket], reload: Callable[[], None]
) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, server.stop)
    loop.add_signal_handler(signal.SIGHUP, _reload, reload)
    signs = asyncio.create_task(_signs_of_life(app, server))
    try:
        await server.serve(sockets=listeners)
    finally:
        signs.cancel()


def _reload(reload: Callable[[], None]) -> None:
    notify.reloading()
    try:
        reload()
    except NremError as error:
        log.error("the new configuration is refused, the old one stays: %s", error.message)
        notify.ready(f"up; the new configuration was refused: {error.message}")
    else:
        log.info("the configuration was read again")
        notify.ready("up")


async def _signs_of_life(app: App, server: _Server) -> None:
    """Tell systemd that the daemon is up, then again and again that loop and database answer."""
    while not server.started:
        await asyncio.sleep(0.01)
    log.info("nrem is up", extra={"fields": {"pid": os.getpid()}})
    notify.ready("up")
    interval = notify.watchdog_interval()
    while interval is not None:
        await asyncio.sleep(interval)
        try:
            await asyncio.to_thread(_round_trip, app)
        except NremError as error:
            log.error("the database does not answer: %s", error.message)
        else:
            notify.watchdog()


def _round_trip(app: App) -> None:
    with app.store.reading() as db:
        db.execute("select 1 from store_meta").fetchone()


@contextlib.contextmanager
def _backfilling(app: App) -> Iterator[None]:
    """Look after the embedder and the vectors that are missing, now and then, in a thread of its own."""
    stop = threading.Event()
    tender = Tender(app, stop)

    def work() -> None:
        waited = False
        while not waited:
            try:
                tender.tick()
            except NremError as error:
                log.warning("the vectors could not be looked after: %s", error.message)
            waited = stop.wait(BACKFILL_SECONDS)

    thread = threading.Thread(target=work, name="nrem-backfill", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()


@contextlib.contextmanager
def _publishing(app: App) -> Iterator[None]:
    """Commit what happened, now and then in a thread of its own, and once more at the end."""
    stop = threading.Event()
    publisher = Publisher(app)

    def work() -> None:
        waited = False
        while not waited:
            try:
                publisher.tick(app.clock.now())
            except Exception:  # whatever one turn meets, the next one is due
                log.exception("the workspaces could not be looked after")
            waited = stop.wait(PUBLISH_SECONDS)

    thread = threading.Thread(target=work, name="nrem-publisher", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(PUBLISH_SECONDS)
        publisher.finish()


@contextlib.contextmanager
def _pushing(app: App) -> Iterator[None]:
    """Push what was committed, in a thread of its own; a push that is under way is not waited for long."""
    stop = threading.Event()
    pusher = Pusher(app, stop)

    def work() -> None:
        while not stop.wait(PUSH_SECONDS):
            try:
                pusher.tick(app.clock.now())
            except Exception:  # whatever one turn meets, the next one is due
                log.exception("the remotes could not be looked after")

    thread = threading.Thread(target=work, name="nrem-pusher", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(PUSH_SECONDS)


@contextlib.contextmanager
def _working(app: App) -> Iterator[None]:
    """Queue and do jobs, in threads of their own; at the end, wait for what was begun."""
    stop = threading.Event()
    worker, scheduler = Worker(app, KINDS), Scheduler(app, KINDS)
    app.on_job = worker.wake

    def schedule() -> None:
        wait = 0
        while not stop.wait(wait / 1000):
            try:
                wait = scheduler.tick(app.clock.now())
                worker.wake()
            except NremError as error:
                log.warning("nothing can be scheduled: %s", error.message)
                wait = LONGEST_SLEEP

    threads = [
        threading.Thread(target=schedule, name="nrem-scheduler", daemon=True),
        *(threading.Thread(target=worker.live, name=f"nrem-worker-{i}", daemon=True) for i in range(WORKERS)),
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        worker.stop()
        deadline = time.monotonic() + DRAIN_SECONDS
        for thread in threads:
            thread.join(max(deadline - time.monotonic(), 0))


class _Server(uvicorn.Server):
    """uvicorn's server, with our signals."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def stop(self) -> None:
        """Stop accepting and finish what was begun; the second time, don't wait for it."""
        if self.should_exit:
            for task in self.server_state.tasks:
                task.cancel()
        else:
            notify.stopping()
        self.should_exit = True


class Protocol(HttpToolsProtocol):
    """uvicorn's, with limits for the headers of a request, and for owners only on the socket."""

    _headers_due: asyncio.TimerHandle | None = None
    _header_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if not _is_from_owner(transport):
            transport.abort()
            return
        self._expect_headers()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._headers_due is not None:
            self._header_bytes += len(data)
            if self._header_bytes > HEADER_BYTES:
                self.transport.abort()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._expect_headers()

    def on_headers_complete(self) -> None:
        self._expect_nothing()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect_nothing()
        super().connection_lost(exc)

    def _expect_headers(self) -> None:
        if self._headers_due is None:
            self._headers_due = self.loop.call_later(HEADER_SECONDS, self.transport.abort)

    def _expect_nothing(self) -> None:
        if self._headers_due is not None:
            self._headers_due.cancel()
            self._headers_due = None
            self._header_bytes = 0


def _is_from_owner(transport: asyncio.Transport) -> bool:
    """Whether a connection is none of a unix socket, or the other end is the same user or root."""
    connection = transport.get_extra_info("socket")
    if connection.family != socket.AF_UNIX or not hasattr(socket, "SO_PEERCRED"):
        return True
    with socket.socket(fileno=os.dup(connection.fileno())) as copy:
        raw = copy.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, user, _ = struct.unpack("3i", raw)
    return user in (os.geteuid(), 0)


@contextlib.contextmanager
def _unix(path: Path) -> Iterator[socket.socket]:
    """Bind the owner's socket. Whoever has the store's lock may replace one that was left behind."""
    if len(os.fsencode(path)) > LONGEST_SOCKET:
        raise ConfigError(
            f"the path of the socket is too long: {path}",
            hint="set server.socket to a shorter path",
            field="server.socket",
        )
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    usual = os.umask(0o177)
    try:
        if path.is_socket():
            path.unlink()
        listener.bind(str(path))
        bound = path.stat().st_ino
    except OSError as error:
        listener.close()
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
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_ino == bound:
                path.unlink()


@contextlib.contextmanager
def _tcp(settings: Server) -> Iterator[socket.socket]:
    assert settings.port is not None
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # connections have it from here
        try:
            listener.bind((settings.host, settings.port))
        except OSError as error:
            raise Unavailable(
                f"{settings.host}:{settings.port} cannot be listened on: {error.strerror}",
                hint="nrem up --port N, or server.port in nrem.toml",
                code="port_taken",
            ) from error
        yield listener
