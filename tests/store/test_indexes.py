from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from builders import Call, rows_with
from nrem.model import Filter, Kind
from nrem.runtime.app import App
from nrem.store import events, listing, memories, scopes, vectors
from nrem.store.driver import Connection

Bindings = tuple[Any, ...] | dict[str, Any]


class Explained:
    """A connection that runs each statement, and notes the plan that SQLite has for it and its values."""

    def __init__(self, db: Connection) -> None:
        self._db = db
        self.plan: list[str] = []

    def execute(self, sql: str, values: Bindings = ()) -> Any:
        self.plan += [row["detail"] for row in self._db.execute("explain query plan " + sql, values)]
        self._found = self._db.execute(sql, values)
        return self._found

    def cursor(self) -> Explained:
        return self

    def fetchall(self) -> Any:
        return self._found.fetchall()

    def uses(self, index: str) -> bool:
        """Tell whether the table was searched by an index, and by nothing else."""
        lookups = [
            step for step in self.plan if re.match(r"(SEARCH|SCAN) (m|memories|events|scopes)\b", step)
        ]
        return bool(lookups) and all(re.match(rf"SEARCH \w+ USING .*{index} \(", step) for step in lookups)

    def sorts(self) -> bool:
        """Tell whether rows were sorted beyond the tie-break of equal times."""
        return any("TEMP B-TREE FOR ORDER BY" in step for step in self.plan)


@pytest.fixture
def db(app: App, call: Call) -> Iterator[Any]:
    for agent in ("ana", "ben"):
        for i in range(20):
            call(
                "remember",
                agent=agent,
                content=f"note {i}",
                kind=("fact", "episodic")[i % 2],
                category=("kitchen", "garden")[i % 2],
                room="room",
                user="user",
                session="session",
                legacy_id=f"legacy {i}",
            )
    with app.store.reading() as db:
        yield Explained(db)


LISTINGS = {
    "scope and time": (Filter(), "idx_memories_agent"),
    "time range": (Filter(after=1, before=1 << 50), "idx_memories_agent"),
    "kind": (Filter(kinds=(Kind.FACT,)), "idx_memories_type"),
    "kind and category": (Filter(kinds=(Kind.FACT,), category="kitchen"), "idx_memories_category"),
    "room and kind": (Filter(kinds=(Kind.FACT,), room="room"), "idx_memories_room"),
    "user": (Filter(user="user"), "idx_memories_user"),
    "session": (Filter(session="session"), "idx_memories_session"),
    "category": (Filter(category="kitchen"), "idx_memories_category"),
    "room": (Filter(room="room"), "idx_memories_room"),
}


@pytest.mark.rows(8, 52, 54)
@pytest.mark.parametrize(("filter", "index"), LISTINGS.values(), ids=LISTINGS.keys())
def test_a_list_is_read_in_the_order_of_its_index(db: Any, filter: Filter, index: str) -> None:
    page = listing.page(db, 1, filter, limit=5)
    assert len(page) == 5
    assert listing.after(db, 1, filter, limit=5, last=None) == page
    assert len(listing.after(db, 1, filter, limit=5, last=(page[-1].created_at, page[-1].id))) == 5
    assert db.uses(index), db.plan
    assert not db.sorts(), db.plan


@pytest.mark.rows(8, 47)
@pytest.mark.parametrize(
    ("filter", "index"),
    [
        (Filter(user="user", after=1), "idx_memories_user"),
        (Filter(kinds=(Kind.FACT,), before=1 << 50), "idx_memories_type"),
    ],
    ids=["user", "kind"],
)
def test_a_list_since_or_until_a_moment_is_read_in_the_order_of_its_index(
    db: Any, filter: Filter, index: str
) -> None:
    assert len(listing.page(db, 1, filter, limit=5)) == 5
    assert db.uses(index), db.plan
    assert not db.sorts(), db.plan


COUNTS = LISTINGS | {
    "several kinds": (Filter(kinds=(Kind.FACT, Kind.TASK)), "idx_memories_type"),
}


@pytest.mark.rows(8)
@pytest.mark.parametrize(("filter", "index"), COUNTS.values(), ids=COUNTS.keys())
def test_a_count_uses_the_index_of_its_filter(db: Any, filter: Filter, index: str) -> None:
    assert listing.count(db, 1, filter) in (10, 20)
    assert db.uses(index), db.plan


@pytest.mark.rows(8, 35)
@pytest.mark.parametrize(("filter", "index"), LISTINGS.values(), ids=LISTINGS.keys())
def test_what_is_to_be_cleared_is_chosen_by_the_index_of_its_filter(
    db: Any, filter: Filter, index: str
) -> None:
    assert len(listing.ids(db, 1, filter, limit=100)) in (10, 20)
    assert db.uses(index), db.plan
    assert not db.sorts(), db.plan


@pytest.mark.rows(8)
def test_the_oldest_beyond_a_cap_are_found_by_the_index_of_their_kind(db: Any) -> None:
    assert len(listing.beyond_cap(db, 1, Kind.FACT, 7, last=frozenset())) == 3
    assert db.uses("idx_memories_type"), db.plan


@pytest.mark.rows(8, 53)
def test_a_memory_is_got_by_the_index_of_its_id(db: Any) -> None:
    [id] = listing.ids(db, 1, Filter(), limit=1)
    db.plan.clear()
    assert memories.get(db, 1, id).content == "note 0"
    assert db.uses("idx_memories_id"), db.plan
    db.plan.clear()
    assert memories.use(db, 1, id).access_count == 0
    assert db.uses("idx_memories_id"), db.plan


@pytest.mark.rows(8, 28)
def test_the_same_text_is_found_by_the_index_of_its_hash(db: Any) -> None:
    assert memories.find_same(db, 1, Kind.FACT, "note 0") is not None
    assert db.uses("idx_memories_content"), db.plan


@pytest.mark.rows(8, 108)
def test_what_a_memory_superseded_is_found_by_an_index(db: Any) -> None:
    assert memories.superseded_by(db, 1, "nobody") == []
    assert db.uses("idx_memories_superseded"), db.plan


@pytest.mark.rows(8, 96)
def test_an_imported_memory_is_found_by_the_indexes_of_both_ids(db: Any) -> None:
    assert memories.find_imported(db, 1, "legacy 3") is not None
    assert db.uses("(idx_memories_legacy|idx_memories_id)"), db.plan
    assert {"idx_memories_legacy", "idx_memories_id"} <= set(re.findall(r"idx_\w+", " ".join(db.plan)))


@pytest.mark.rows(8)
def test_a_memorys_events_are_found_by_the_index_of_their_subject(db: Any) -> None:
    [id] = listing.ids(db, 1, Filter(), limit=1)
    db.plan.clear()
    assert [event.op for event in events.read(db, 1, subject=id)] == ["memory.remember"]
    assert db.uses("idx_events_subject"), db.plan
    assert not db.sorts(), db.plan


@pytest.mark.rows(8)
def test_a_chain_is_read_by_its_key(db: Any) -> None:
    assert events.verify(db, 1) == 21
    assert db.uses("PRIMARY KEY"), db.plan
    assert not db.sorts(), db.plan


@pytest.mark.rows(8)
def test_an_agent_is_found_by_the_index_of_its_name(db: Any) -> None:
    assert scopes.get(db, "ben").number == 2
    assert db.uses("idx_scopes_name"), db.plan


@pytest.mark.rows(8, 38)
def test_a_word_is_looked_up_in_the_keyword_index(db: Any) -> None:
    assert len(rows_with(db, 2, "note")) == 20
    steps = [step for step in db.plan if "memories_fts" in step]
    assert steps
    for step in steps:  # M: by the match, not all rows
        assert re.fullmatch(r"SCAN memories_fts VIRTUAL TABLE INDEX \d+:M\d+", step)


@pytest.mark.rows(8, 50)
def test_recall_events_are_found_by_memory_and_by_recall(app: App) -> None:
    with app.store.reading() as db:
        for where, index in (
            ("memory_id", "idx_recall_events_memory"),
            ("recall_id", "idx_recall_events_recall"),
        ):
            [step] = db.execute(
                f"explain query plan select rank from recall_events where scope = 1 and {where} = 'x'"
            ).fetchall()
            assert index in step["detail"]


@pytest.mark.rows(31)
def test_what_waits_for_a_vector_is_found_without_a_look_at_what_does_not(db: Any) -> None:
    assert vectors.pending(db, limit=5) == []
    assert [step for step in db.plan if step.startswith("SCAN")] == ["SCAN p"]
    assert not db.sorts(), db.plan
