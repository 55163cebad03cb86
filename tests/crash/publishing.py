"""Writes to a store and publishes it, over and over, until it is killed; says what was acknowledged."""

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

from builders import HashEmbedder, caller_of
from nrem.runtime.app import App


def say(**fields: Any) -> None:
    os.write(1, (json.dumps(fields) + "\n").encode())


def write(app: App, run: str, thread: int) -> None:
    call = caller_of(app)
    number = 0
    while True:
        number += 1
        say(id=call("remember", agent="ana", content=f"run {run} thread {thread} note {number}")["id"])


def publish(app: App) -> None:
    call = caller_of(app)
    file = app.home / "workspaces" / "ana" / "notes" / "mine.md"
    while True:
        with file.open("a") as opened:
            opened.write("a line\n")
        say(commit=call("checkpoint", agent="ana")["commit"])


def main() -> None:
    home, run = sys.argv[1:]
    app = App.open(Path(home), embedder=HashEmbedder())
    say(ready=True)
    for thread in range(2):
        threading.Thread(target=write, args=(app, run, thread)).start()
    publish(app)


if __name__ == "__main__":
    main()
