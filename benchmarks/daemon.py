"""What the daemon adds to the work it does: each figure beside the same work without HTTP, in the same run.

.venv/bin/python benchmarks/daemon.py --seconds 30
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from nrem.client import Client, is_up
from nrem.model import Caller
from nrem.runtime.app import App
from nrem.surface import operations

OWNER = Caller(actor="owner", ingress="bench")
PROCESSES, THREADS = 2, 8
MEMORIES = 1000
NAMES = ("Luis", "Ana", "Marta", "Ben", "Irene", "Tom")
THINGS = ("tea", "the deploy", "Madrid", "the invoice", "chess", "the blue car", "Postgres", "piano")

Ask = Callable[[str, dict[str, Any]], None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0)
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "h"
        start_up(home)
        with App.open(home) as app:
            run = in_process(app)
            for i in range(MEMORIES):
                run("remember", memory(0, i))
            print(f"mixed remember and recall, {PROCESSES * THREADS} clients, {seconds:g} s each:")
            base = mixed_in_process(app, seconds)
        with up(home):
            show(base, mixed_by_clients(home / "nrem.sock", seconds), at_least=0.5)
            print("recall alone, one client after another:")
            daemon = one_client(home / "nrem.sock", "recall", seconds / 3)
        raw = Path(folder) / "raw.sock"
        with server([sys.executable, __file__, "--raw", str(home), str(raw)], raw):
            show(one_client(raw, "recall", seconds / 3), daemon, at_least=0.7, names=("raw ASGI", "daemon"))


def start_up(home: Path) -> None:
    """Print how long the command and the daemon take to start, and what the daemon weighs."""
    environment = os.environ | {"NREM_HOME": str(home)}
    nothing = fastest([sys.executable, "-c", "pass"], environment)
    version = fastest([sys.executable, "-m", "nrem", "--version"], environment)
    print(f"nrem --version: {version * 1000:.0f} ms; python -c pass: {nothing * 1000:.0f} ms", end="")
    print(f" ({version / nothing:.1f}x; target 4x)")
    with up(home):
        pass  # imports are compiled now
    begun = time.perf_counter()
    with up(home) as process:
        with Client(home / "nrem.sock") as client:
            client.health()
            first = time.perf_counter() - begun
            client.add_agent(agent="ana")
        status = Path(f"/proc/{process.pid}/status").read_text()
        resident = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
    print(
        f"daemon: first 200 after {first:.2f} s (target 0.5), resident {resident / 1024:.0f} MB (target 80)"
    )


def fastest(command: list[str], environment: dict[str, str]) -> float:
    times = []
    for _ in range(10):
        begun = time.perf_counter()
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - begun)
    return min(times)


@contextmanager
def server(command: list[str], path: Path, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(command, env=os.environ | environment) as process:
        while not is_up(path):
            assert process.poll() is None, "it did not start"
            time.sleep(0.005)
        try:
            yield process
        finally:
            process.terminate()


def up(home: Path) -> Any:
    variables = {"NREM_HOME": str(home), "NREM_SERVER__PORT": "none"}
    return server([sys.executable, "-m", "nrem", "up"], home / "nrem.sock", **variables)


def in_process(app: App) -> Ask:
    def run(name: str, body: dict[str, Any]) -> None:
        operations.call(app, OWNER, name, {"agent": "ana", **body})

    return run


def memory(client: int, i: int) -> dict[str, Any]:
    text = f"{NAMES[i % 6]} spoke with {NAMES[(i // 6) % 6]} about {THINGS[i % 8]} on day {i} ({client})"
    return {"content": text, "kind": "episodic"}


def question(i: int) -> dict[str, Any]:
    return {"query": f"what did {NAMES[i % 6]} say about {THINGS[(i // 3) % 8]}?"}


def work(ask: Ask, client: int, seconds: float) -> list[float]:
    """Remember once for every three recalls until the time is over; return how long each took."""
    times = []
    end = time.monotonic() + seconds
    i = 0
    while time.monotonic() < end:
        begun = time.perf_counter()
        if i % 4 == 0:
            ask("remember", memory(client + 1, i))
        else:
            ask("recall", question(i))
        times.append(time.perf_counter() - begun)
        i += 1
    return times


def in_threads(make: Callable[[], Ask], first: int, count: int, seconds: float) -> list[float]:
    times: list[float] = []
    threads = [
        threading.Thread(target=lambda n=n: times.extend(work(make(), n, seconds)))
        for n in range(first, first + count)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times


def mixed_in_process(app: App, seconds: float) -> list[float]:
    return in_threads(lambda: in_process(app), 0, PROCESSES * THREADS, seconds)


def mixed_by_clients(path: Path, seconds: float) -> list[float]:
    with get_context("spawn").Pool(PROCESSES) as pool:
        jobs = [(path, number * THREADS, seconds) for number in range(PROCESSES)]
        return [spent for times in pool.starmap(client_process, jobs) for spent in times]


def client_process(path: Path, first: int, seconds: float) -> list[float]:
    return in_threads(lambda: over_socket(path), first, THREADS, seconds)


def over_socket(path: Path) -> Ask:
    """Return the barest client there is, so that the server is what is measured."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(str(path))
    answers = connection.makefile("rb")
    places = {"remember": "/v1/agents/ana/memories", "recall": "/v1/agents/ana/recall"}

    def ask(name: str, body: dict[str, Any]) -> None:
        text = json.dumps(body).encode()
        head = f"POST {places[name]} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        connection.sendall(f"{head}Content-Length: {len(text)}\r\n\r\n".encode() + text)
        status = answers.readline()
        assert status.split()[1] in (b"200", b"201"), status
        length = 0
        while (line := answers.readline()) != b"\r\n":
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        answers.read(length)

    return ask


def one_client(path: Path, name: str, seconds: float) -> list[float]:
    ask = over_socket(path)
    for i in range(200):
        ask(name, question(i))
    times = []
    end = time.monotonic() + seconds
    i = 0
    while time.monotonic() < end:
        begun = time.perf_counter()
        ask(name, question(i))
        times.append(time.perf_counter() - begun)
        i += 1
    return times


def show(
    base: list[float],
    ours: list[float],
    *,
    at_least: float,
    names: tuple[str, str] = ("in process", "over HTTP"),
) -> None:
    for name, times in zip(names, (base, ours), strict=True):
        times.sort()
        p50, p99 = times[len(times) // 2], times[int(len(times) * 0.99)]
        print(f"  {name:<10}  {len(times):7d} done  p50 {p50 * 1000:6.2f} ms  p99 {p99 * 1000:6.2f} ms")
    print(f"  {len(ours) / len(base):.2f}x as many (target {at_least}x)")


def serve_raw(home: Path, path: Path) -> None:
    """Serve recalls with nothing between the socket and the operation."""
    import uvicorn

    with App.open(home) as app:

        async def asgi(scope: Any, receive: Any, send: Any) -> None:
            body = json.loads((await receive())["body"])
            found = operations.call(app, OWNER, "recall", {"agent": "ana", **body})
            text = json.dumps(found).encode()
            headers = [(b"content-type", b"application/json"), (b"content-length", str(len(text)).encode())]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": text})

        uvicorn.run(asgi, uds=str(path), log_config=None, access_log=False, lifespan="off")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--raw"]:
        serve_raw(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        main()
