"""Sweeps once, and is killed at a named point: right before or after a step that makes something durable."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from builders import HashEmbedder, ManualClock, caller_of
from nrem.runtime.app import App
from nrem.store.database import Database
from nrem.workspace.files import Files
from nrem.workspace.repository import Repository


def die_around(owner: type, name: str, number: int, *, before: bool) -> None:
    """Kill this process before or after the n-th call of a method."""
    whole: Callable[..., Any] = getattr(owner, name)
    calls = 0

    def run(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        if before and calls == number:
            os.kill(os.getpid(), signal.SIGKILL)
        given = whole(*args, **kwargs)
        if not before and calls == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return given

    setattr(owner, name, run)


def main() -> None:
    home, what, number, when = sys.argv[1:]
    with App.open(Path(home), embedder=HashEmbedder(), clock=ManualClock()) as app:
        app.store.probe()
        owner, name = {
            "write": (Database, "write"),
            "replace": (Files, "replace"),
            "file": (Files, "write"),
            "commit": (Repository, "commit"),
        }[what]
        die_around(owner, name, int(number), before=when == "before")
        caller_of(app)("dream", agent="ana")
    os.write(1, b"survived\n")


if __name__ == "__main__":
    main()
