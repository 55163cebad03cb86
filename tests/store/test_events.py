from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from builders import Call, ManualClock
from nrem.errors import Corrupt
from nrem.model import By
from nrem.runtime.app import App
from nrem.store import events, memories, migrations, scopes
from nrem.store.driver import Connection, connect

LENGTH = 5


@pytest.fixture
def db(tmp_path: Path, clock: ManualClock) -> Iterator[Connection]:
    """A store with the scopes 1 and 2, each with a chain of five events."""
    migrations.migrate(tmp_path / "nrem.db", clock)
    db = connect(tmp_path / "nrem.db", read_only=False)
    for number, name in ((1, "ana"), (2, "ben")):
        assert scopes.add(db, name, by()).number == number
    for i in range(2, LENGTH + 1):
        for number in (1, 2):
            events.record(db, number, "test.op", f"subject {i}", {"text": f"payload {i}"}, by())
    yield db
    db.close()


def by(now: int = 1000) -> By:
    return By(actor="owner", cause="test", now=now)


def broken_at(db: Connection) -> object:
    with pytest.raises(Corrupt) as caught:
        events.verify(db, 1)
    assert caught.value.code == "chain_broken"
    assert events.verify(db, 2) == LENGTH
    return caught.value.details["seq"]


@pytest.mark.rows(107)
def test_a_clean_chain_verifies_to_its_length(db: Connection) -> None:
    assert [events.verify(db, number) for number in (1, 2, 3)] == [LENGTH, LENGTH, 0]


def test_each_scope_counts_its_own_events_from_one_without_gaps(app: App, call: Call) -> None:
    for i in range(10):
        id = call("remember", agent="ana", content=f"ana's {i}")["id"]
        call("remember", agent="ben", content=f"ben's {i}")
        call("edit_memory", agent="ana", id=id, category="other")
        call("forget", agent="ana", id=id)
    with app.store.reading() as db:
        assert [event.seq for event in events.read(db, 1)] == list(range(1, 32))
        assert [event.seq for event in events.read(db, 2)] == list(range(1, 12))


def test_a_refused_change_leaves_no_gap(app: App, call: Call) -> None:
    def fail(db: Connection) -> None:
        events.record(db, 1, "test.op", "subject", {}, by())
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        app.store.write(fail)
    call("remember", agent="ana", content="next")
    with app.store.reading() as db:
        assert [event.op for event in events.read(db, 1)] == ["agent.add", "memory.remember"]
        assert events.verify(db, 1) == 2


def test_time_never_goes_back_in_a_chain(app: App, call: Call, clock: ManualClock) -> None:
    start = clock.now()
    for shift in (0, 10, -500, 5, 1000, -1):
        clock.time = start + shift
        call("remember", agent="ana", content=f"at {shift}")
    with app.store.reading() as db:
        times = [event.at - start for event in events.read(db, 1)]
        assert times == [0, 0, 10, 10, 10, 1000, 1000]
        assert events.verify(db, 1) == 7


TAMPERINGS = {
    "time": "at = at + 1",
    "op": "op = op || 'x'",
    "subject": "subject = 'someone else'",
    "actor": "actor = 'nobody'",
    "cause": "cause = ''",
    "payload hash": "payload_hash = zeroblob(32)",
    "chain": "chain = zeroblob(32)",
    "payload": "payload = replace(payload, 'a', 'b')",
    "white space of the payload": "payload = payload || ' '",
    "salt": "salt = zeroblob(16)",
    "payload alone erased": "payload = null",
    "salt alone erased": "salt = null",
    "number": "seq = 100",
}


@pytest.mark.rows(107)
@pytest.mark.parametrize("seq", [1, 3, LENGTH])
@pytest.mark.parametrize("change", TAMPERINGS.values(), ids=TAMPERINGS.keys())
def test_any_changed_field_of_any_event_is_found(db: Connection, change: str, seq: int) -> None:
    assert db.execute(f"update events set {change} where scope = 1 and seq = ?", (seq,)).rowcount == 1
    assert broken_at(db) == seq


@pytest.mark.rows(107)
@pytest.mark.parametrize("seq", range(1, LENGTH))
def test_a_deleted_event_is_found(db: Connection, seq: int) -> None:
    db.execute("delete from events where scope = 1 and seq = ?", (seq,))
    assert broken_at(db) == seq


@pytest.mark.rows(107)
def test_closing_the_gap_of_a_deleted_event_is_found(db: Connection) -> None:
    db.execute("delete from events where scope = 1 and seq = 3")
    for seq in (4, 5):
        db.execute("update events set seq = ? where scope = 1 and seq = ?", (seq - 1, seq))
    assert broken_at(db) == 3


def swap(db: Connection, columns: str, first: int, second: int) -> None:
    names = columns.split(", ")
    select = f"select {columns} from events where scope = 1 and seq = ?"
    rows = [db.execute(select, (seq,)).fetchone() for seq in (first, second)]
    assert tuple(rows[0]) != tuple(rows[1])
    for seq, row in zip((second, first), rows, strict=True):
        assignments = ", ".join(f"{name} = ?" for name in names)
        db.execute(f"update events set {assignments} where scope = 1 and seq = ?", (*row, seq))


@pytest.mark.rows(107)
@pytest.mark.parametrize(
    "columns",
    [
        "payload",
        "payload, salt",
        "payload, salt, payload_hash",
        "payload, salt, payload_hash, chain",
        "subject",
    ],
)
def test_two_events_that_swapped_something_are_found(db: Connection, columns: str) -> None:
    swap(db, columns, 2, 4)
    assert broken_at(db) == 2


@pytest.mark.rows(107)
def test_two_events_that_swapped_places_are_found(db: Connection) -> None:
    for old, new in ((2, 100), (3, 2), (100, 3)):
        db.execute("update events set seq = ? where scope = 1 and seq = ?", (new, old))
    assert broken_at(db) == 2


@pytest.mark.rows(107)
def test_an_event_of_another_scope_does_not_fit(db: Connection) -> None:
    db.execute("delete from events where scope = 1 and seq = 3")
    db.execute(
        "insert into events select 1, seq, at, op, subject, actor, cause, payload_hash, chain, payload, salt"
        " from events where scope = 2 and seq = 3"
    )
    assert broken_at(db) == 3


@pytest.mark.rows(114)
def test_a_chain_verifies_without_the_payloads_that_were_erased(db: Connection) -> None:
    db.execute("update events set payload = null, salt = null where scope = 1 and seq in (1, 3, 5)")
    assert events.verify(db, 1) == LENGTH
    db.execute("update events set subject = 'someone else' where scope = 1 and seq = 3")
    assert broken_at(db) == 3


@pytest.mark.rows(114)
def test_equal_payloads_have_different_hashes(db: Connection) -> None:
    made = [events.record(db, 1, "test.op", "subject", {"secret": "walnut"}, by()) for _ in range(20)]
    assert len({event.payload for event in made}) == 1
    assert len({event.payload_hash for event in made}) == len({event.salt for event in made}) == 20


def test_events_can_be_read_by_their_subject(db: Connection) -> None:
    events.record(db, 1, "test.op", "subject 2", {"more": True}, by())
    assert [event.seq for event in events.read(db, 1, subject="subject 2")] == [2, LENGTH + 1]
    assert list(events.read(db, 1, subject="")) == []


def test_what_was_recorded_is_what_is_read(db: Connection) -> None:
    payload = {"b": [1, 2.5, None, True], "a": {"ü": "漢字 \u2028 \x00"}}
    made = events.record(db, 1, "test.op", "a subject", payload, By(actor="me", cause="why", now=5000))
    assert made.payload == '{"a":{"ü":"漢字 \u2028 \\u0000"},"b":[1,2.5,null,true]}'
    assert list(events.read(db, 1))[-1] == made
    assert events.verify(db, 1) == LENGTH + 1


@pytest.mark.rows(107)
def test_a_row_whose_event_is_gone_is_found(app: App, call: Call) -> None:
    call("remember", agent="ana", content="the last one")

    def cut(db: Connection) -> None:
        db.execute("delete from events where scope = 1 and op = 'memory.remember'")
        db.execute("update memories set content = 'another'")

    app.store.write(cut)
    with app.store.reading() as db, pytest.raises(Corrupt, match="differs from the event"):
        memories.verify_rows(db, 1)
