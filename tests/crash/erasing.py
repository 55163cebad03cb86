"""Erases a memory and kills itself at the n-th thing that it does to the disk; says how many there were."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

from builders import HashEmbedder, caller_of
from nrem.runtime.app import App

CHANGES = {"os.rename", "os.remove", "os.link", "shutil.rmtree"}


def main() -> None:
    home, id, last = sys.argv[1:]
    done = 0

    def step(*_: object) -> None:
        nonlocal done
        done += 1
        if done == int(last):
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(event: str, _: tuple[Any, ...]) -> None:
        if event in CHANGES:
            step()

    with App.open(Path(home), embedder=HashEmbedder()) as app:
        sys.addaudithook(watch)
        app.store.on_commit = step
        caller_of(app)("erase_memory", agent="ana", id=id)
        steps = done
    sys.stdout.write(f"{steps}\n")


if __name__ == "__main__":
    main()
