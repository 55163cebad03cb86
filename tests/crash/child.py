"""Works on a store until it is killed: each operation is announced, then acknowledged once it is durable."""

import json
import os
import random
import sys
import threading
from pathlib import Path
from typing import Any

from builders import HashEmbedder, caller_of
from nrem.runtime.app import App

THREADS = 4
BATCH = 5


def say(**fields: Any) -> None:
    """Write one line at once: shorter than a pipe's atomic size, so that no two threads' lines mix."""
    os.write(1, (json.dumps(fields) + "\n").encode())


def work(app: App, run: str, thread: int) -> None:
    call = caller_of(app)
    choose = random.Random(f"{run}:{thread}")
    mine: list[str] = []
    number = 0
    while True:
        number += 1
        text = f"run {run} thread {thread} note {number}"
        op = choose.choice(("remember", "batch", "edit", "edit", "forget", "pin_memory", "unpin_memory"))
        if op == "remember" or not mine:
            say(at=thread, op="remember", texts=[text])
            ids = [call("remember", agent="ana", content=text)["id"]]
            mine += ids
            say(at=thread, ids=ids)
        elif op == "batch":
            texts = [f"{text} part {part}" for part in range(BATCH)]
            say(at=thread, op="remember", texts=texts)
            drafts = [{"content": part, "kind": "episodic"} for part in texts]
            ids = [made["id"] for made in call("remember_many", agent="ana", memories=drafts)["memories"]]
            mine += ids
            say(at=thread, ids=ids)
        elif op == "edit":
            id = choose.choice(mine)
            say(at=thread, op="edit", id=id, text=text)
            changed = call("edit_memory", agent="ana", id=id, content=text)
            say(at=thread, version=changed["version"])
        elif op == "forget":
            id = mine.pop(choose.randrange(len(mine)))
            say(at=thread, op="forget", id=id)
            call("forget", agent="ana", id=id)
            say(at=thread)
        else:
            id = choose.choice(mine)
            say(at=thread, op=op, id=id)
            say(at=thread, version=call(op, agent="ana", id=id)["version"])


def main() -> None:
    home, run = sys.argv[1:]
    app = App.open(Path(home), embedder=HashEmbedder())
    say(ready=True)
    threads = [threading.Thread(target=work, args=(app, run, thread)) for thread in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


main()
