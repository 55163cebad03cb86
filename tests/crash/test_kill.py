from __future__ import annotations

import json
import os
import random
import select
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from builders import HashEmbedder, caller_of
from nrem.models.embeddings import pack
from nrem.runtime.app import App
from nrem.store import events, memories

CHILD = Path(__file__).with_name("child.py")
KILLS = 50


@dataclass(frozen=True)
class State:
    content: str
    version: int = 1
    pinned: bool = False


@dataclass
class Book:
    """What must be in the store, and for each thread the operation that nobody has acknowledged yet."""

    live: dict[str, State] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    open: dict[int, dict[str, Any]] = field(default_factory=dict)
    acknowledged: int = 0

    def note(self, line: dict[str, Any]) -> None:
        thread = line["at"]
        if "op" in line:
            assert thread not in self.open
            self.open[thread] = line
            return
        intent = self.open.pop(thread)
        self.acknowledged += 1
        if intent["op"] == "remember":
            self.live |= {id: State(text) for id, text in zip(line["ids"], intent["texts"], strict=True)}
        elif intent["op"] == "forget":
            del self.live[intent["id"]]
            self.gone.add(intent["id"])
        else:
            self.live[intent["id"]] = self.after(intent)
            assert self.live[intent["id"]].version == line["version"]

    def after(self, intent: dict[str, Any]) -> State:
        old = self.live[intent["id"]]
        if intent["op"] == "edit":
            return replace(old, content=intent["text"], version=old.version + 1)
        pinned = intent["op"] == "pin_memory"
        return old if old.pinned == pinned else replace(old, pinned=pinned, version=old.version + 1)

    def settle(self, found: dict[str, State]) -> None:
        """Take over what became of the operations cut off: each is there as a whole or not at all."""
        for intent in self.open.values():
            if intent["op"] == "remember":
                made = {id: state for id, state in found.items() if state.content in intent["texts"]}
                assert [state.content for _, state in sorted(made.items())] in ([], intent["texts"])
                self.live |= {id: State(state.content) for id, state in made.items()}
            elif intent["op"] == "forget":
                if intent["id"] not in found:
                    del self.live[intent["id"]]
                    self.gone.add(intent["id"])
            elif found.get(intent["id"]) == self.after(intent):
                self.live[intent["id"]] = self.after(intent)
        self.open.clear()


def run_until_killed(home: Path, run: int, seconds: float) -> list[dict[str, Any]]:
    """Start a child, kill it that long after it is ready, and return every line that it wrote whole."""
    environment = os.environ | {"PYTHONPATH": str(CHILD.parents[1])}
    child = subprocess.Popen(
        [sys.executable, str(CHILD), str(home), str(run)],
        stdout=subprocess.PIPE,
        bufsize=0,
        env=environment,
    )
    with child:
        assert child.stdout is not None
        pipe = child.stdout.fileno()
        out = b""
        while b"\n" not in out:
            block = os.read(pipe, 1 << 16)
            assert block, "the child ended before it was ready"
            out += block
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([pipe], [], [], left)[0]:
                block = os.read(pipe, 1 << 16)
                assert block, "the child ended by itself"
                out += block
        child.kill()
        while block := os.read(pipe, 1 << 16):
            out += block
    assert child.returncode == -9
    lines = [json.loads(line) for line in out.decode().splitlines(keepends=True) if line.endswith("\n")]
    assert lines[0] == {"ready": True}
    return lines[1:]


def check(home: Path, book: Book) -> None:
    embedder = HashEmbedder()
    with App.open(home) as app, app.store.reading() as db:
        assert db.execute("pragma integrity_check").fetchall()[0][0] == "ok"
        assert db.execute("pragma foreign_key_check").fetchall() == []
        scopes = [row[0] for row in db.execute("select scope from scopes")]
        assert len(scopes) == 2
        rows = db.execute(
            "select m.id, m.content, m.version, m.pinned, v.embedding from memories m"
            " left join vec_memories v on v.memory = m.rowid"
        ).fetchall()
        found = {row[0]: State(row[1], row[2], bool(row[3])) for row in rows}
        book.settle(found)
        assert found == book.live
        assert not book.gone & found.keys()
        for row in rows:
            assert row[4] == pack(embedder.embed([row[1]])[0])
        assert sum(events.verify(db, scope) for scope in scopes) > 0
        assert sum(memories.verify_rows(db, scope) for scope in scopes) == len(rows)
        assert db.execute("select count(*) from memories_fts_docsize").fetchone()[0] == len(rows)
        assert db.execute("select sum(memory_count) from scopes").fetchone()[0] == len(rows)
        words = {
            row[0] for row in db.execute("select rowid from memories_fts where memories_fts match '1zrun'")
        }
        assert words == {row[0] for row in db.execute("select rowid from memories")}
        ended = db.execute("select count(*), count(embedding) from memory_versions").fetchone()
        assert ended[0] == ended[1]


@pytest.mark.rows(1)
def test_what_was_acknowledged_outlives_fifty_kills(home: Path) -> None:
    with App.open(home, create=True) as app:
        caller_of(app)("add_agent", agent="ana")
        caller_of(app)("add_agent", agent="ben")
    moment = random.Random(20260601)
    book = Book()
    for run in range(KILLS):
        for line in run_until_killed(home, run, moment.uniform(0.001, 0.120)):
            book.note(line)
        check(home, book)
    assert book.acknowledged > KILLS
    assert book.live
    assert book.gone
