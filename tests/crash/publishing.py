"""Writes to a store and publishes it, over and over, until it is killed; says what was acknowledged.

Told what to be careless about, it does not wait for the disk: so tests can show that they would notice.
"""

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


def be_careless(app: App, about: str) -> None:
    """Acknowledge what is not on the disk yet, of the store or of all other files."""
    if about == "store":
        app.store.write(_without_sync)
    elif about == "git":
        os.fsync = lambda fd: None


def _without_sync(db: Any) -> None:
    db.execute("commit")  # within a transaction it cannot be changed
    db.execute("pragma synchronous = off")
    db.execute("begin immediate")


def main() -> None:
    home, run, *careless = sys.argv[1:]
    app = App.open(Path(home), embedder=HashEmbedder())
    for about in careless:
        be_careless(app, about)
    say(ready=True)
    for thread in range(2):
        threading.Thread(target=write, args=(app, run, thread)).start()
    publish(app)


if __name__ == "__main__":
    main()
