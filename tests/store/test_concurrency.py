from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from builders import Call
from nrem.errors import NremError
from nrem.runtime.app import App
from nrem.store import events, memories

THREADS = 16
OPERATIONS = 200


def work(call: Call, thread: int) -> tuple[str, dict[str, tuple[str, bool]], int]:
    """Do many things to one agent's memories; return what must be there afterwards, and the changes made."""
    agent = ("ana", "ben")[thread % 2]
    choose = random.Random(thread)
    mine: dict[str, tuple[str, bool]] = {}
    changes = 0
    for number in range(OPERATIONS):
        text = f"thread {thread} note {number}"
        op = choose.choice(("remember", "remember_many", "edit", "edit", "pin", "forget", "get", "list"))
        if op == "remember" or not mine:
            mine[call("remember", agent=agent, content=text)["id"]] = (text, False)
            changes += 1
        elif op == "remember_many":
            texts = [f"{text} part {part}" for part in range(3)]
            drafts = [{"content": part, "kind": "episodic"} for part in texts]
            made = call("remember_many", agent=agent, memories=drafts)["memories"]
            mine |= {item["id"]: (part, False) for item, part in zip(made, texts, strict=True)}
            changes += 3
        elif op == "list":
            page = call("list_memories", agent=agent, limit=20)["memories"]
            assert len(page) <= 20
            assert all(memory["content"].startswith("thread ") for memory in page)
        else:
            id = choose.choice(list(mine))
            content, pinned = mine[id]
            if op == "edit":
                call("edit_memory", agent=agent, id=id, content=text)
                mine[id] = (text, pinned)
            elif op == "pin":
                call("unpin_memory" if pinned else "pin_memory", agent=agent, id=id)
                mine[id] = (content, not pinned)
            elif op == "forget":
                call("forget", agent=agent, id=id)
                del mine[id]
            else:
                shown = call("get_memory", agent=agent, id=id)["memory"]
                assert (shown["content"], shown["pinned"]) == (content, pinned)
            changes += op != "get"
    return agent, mine, changes


@pytest.mark.rows(7)
@pytest.mark.timeout(60)
def test_sixteen_threads_lose_nothing_and_mix_nothing_up(app: App, call: Call) -> None:
    expected: dict[str, dict[str, tuple[str, bool]]] = {"ana": {}, "ben": {}}
    changes = {"ana": 0, "ben": 0}
    with ThreadPoolExecutor(THREADS) as pool:
        for agent, mine, made in pool.map(lambda thread: work(call, thread), range(THREADS)):
            expected[agent] |= mine
            changes[agent] += made
    with app.store.reading() as db:
        for number, agent in ((1, "ana"), (2, "ben")):
            rows = db.execute(
                "select id, content, pinned from memories where scope = ?", (number,)
            ).fetchall()
            assert {row[0]: (row[1], bool(row[2])) for row in rows} == expected[agent]
            found = db.execute(
                "select count(*) from memories_fts where memories_fts match ?", (f"{number}zthread",)
            ).fetchone()[0]
            vectors = db.execute("select count(*) from vec_memories where scope = ?", (number,)).fetchone()[0]
            counted, terms = db.execute(
                "select memory_count, term_count from scopes where scope = ?", (number,)
            ).fetchone()
            assert found == vectors == counted == len(rows) > 100
            assert terms == sum(
                row[0] for row in db.execute("select terms from memories where scope = ?", (number,))
            )
            assert events.verify(db, number) == 1 + changes[agent]
            assert memories.verify_rows(db, number) == len(rows)
        total = sum(len(mine) for mine in expected.values())
        assert db.execute("select count(*) from memories_fts_docsize").fetchone()[0] == total
        assert db.execute("select count(*) from vec_memories").fetchone()[0] == total
        assert db.execute("pragma integrity_check").fetchone()[0] == "ok"
        assert db.execute("pragma foreign_key_check").fetchall() == []


@pytest.mark.rows(7, 28)
def test_threads_that_store_one_text_at_once_store_it_once(app: App, call: Call) -> None:
    with ThreadPoolExecutor(THREADS) as pool:
        answers = list(
            pool.map(lambda _: call("remember", agent="ana", content="the same words"), range(100))
        )
    assert len({answer["id"] for answer in answers}) == 1
    assert sum(answer["stored"] for answer in answers) == 1
    assert call("list_memories", agent="ana", page=1)["total"] == 1


@pytest.mark.rows(7)
def test_of_many_edits_of_one_version_a_single_one_wins(app: App, call: Call) -> None:
    id = call("remember", agent="ana", content="version one")["id"]

    def edit(thread: int) -> str:
        try:
            call("edit_memory", agent="ana", id=id, content=f"by {thread}", version=1)
        except NremError as error:
            return error.code
        return "edited"

    with ThreadPoolExecutor(THREADS) as pool:
        assert sorted(pool.map(edit, range(50))) == ["edited"] + ["stale_version"] * 49
    assert call("get_memory", agent="ana", id=id)["memory"]["version"] == 2
