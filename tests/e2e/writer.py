"""One of the processes that write to a daemon at the same time: 8 threads, 200 operations each."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from nrem.client import Client

PATH, NUMBER = Path(sys.argv[1]), sys.argv[2]


def work(thread: int) -> None:
    agent = ("ana", "ben")[thread % 2]
    with Client(PATH) as client:
        ids = []
        for i in range(60):
            text = f"process {NUMBER} thread {thread} note {i}"
            ids.append(client.call("remember", agent=agent, content=text)["id"])
            assert client.call("get_memory", agent=agent, id=ids[-1])["memory"]["content"] == text
        for id in ids[:40]:
            client.call("edit_memory", agent=agent, id=id, category="edited")
        for id in ids[:20]:
            client.call("forget", agent=agent, id=id)
        for _ in range(20):
            assert client.call("recall", agent=agent, query=f"thread {thread}")["hits"]


with ThreadPoolExecutor(8) as pool:
    list(pool.map(work, range(8)))
