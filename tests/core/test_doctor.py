"""doctor: each kind of damage is done for real, found, and named."""

from __future__ import annotations

import random
import re
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from builders import NOON, Call, HashEmbedder, ManualClock
from models.provider import refusing_url
from nrem.core import doctor
from nrem.model import Finding
from nrem.models.embeddings import Embedder
from nrem.runtime.app import App
from nrem.store import driver
from nrem.store.lock import Lock

Examine = Callable[..., list[Finding]]


@pytest.fixture
def examine(home: Path, clock: ManualClock, embedder: HashEmbedder) -> Examine:
    """Return what is wrong, as doctor finds it while nothing else has the store."""

    def run(deep: bool = False, embedder: Embedder | None = embedder) -> list[Finding]:
        found = list(doctor.examine(home, clock, deep=deep, embedder=embedder))
        assert all(finding.id in doctor.IDS for finding in found)
        assert all(finding.hint for finding in found if finding.level != "ok")
        return [finding for finding in found if finding.level != "ok"]

    return run


@pytest.fixture
def store(app: App, call: Call, home: Path) -> Path:
    """The file of a closed store with 30 memories of ana's and 30 of ben's."""
    for agent in ("ana", "ben"):
        for i in range(30):
            call("remember", agent=agent, content=f"{agent} keeps note {i} about walnuts", tags=["kitchen"])
    app.close()
    return home / "nrem.db"


def change(store: Path, *statements: str) -> None:
    db = driver.connect(store, read_only=False)
    try:
        db.execute("pragma foreign_keys = off")
        for statement in statements:
            db.execute(statement)
    finally:
        db.close()


def ids(found: list[Finding]) -> list[tuple[str, str]]:
    return [(finding.id, finding.level) for finding in found]


@pytest.mark.rows(107)
@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.usefixtures("store")
def test_a_healthy_store_is_healthy_and_stays_as_it_is(
    home: Path, examine: Examine, clock: ManualClock, embedder: HashEmbedder, deep: bool
) -> None:
    before = (home / "nrem.db").read_bytes()
    assert examine(deep) == []
    found = [finding.id for finding in doctor.examine(home, clock, deep=deep, embedder=embedder)]
    assert len(set(found)) == len(found)
    assert set(doctor.IDS) - set(found) == {"NR030", "NR031"} | (set() if deep else {"NR044", "NR045"})
    assert (home / "nrem.db").read_bytes() == before


def test_in_the_daemon_it_looks_beside_writers(call: Call) -> None:
    call("remember", agent="ana", content="a note")
    found = call("doctor", deep=True)["findings"]
    assert [finding for finding in found if finding["level"] != "ok"] == []
    assert {finding["id"] for finding in found} == set(doctor.IDS) - {"NR030", "NR031"}


@pytest.mark.rows(107)
def test_a_byte_changed_in_stored_text_is_found_and_named(store: Path, examine: Examine) -> None:
    """The structure stays whole, so only the comparison of rows and events can tell."""
    text = b"ben keeps note 7 about walnuts"
    db = driver.connect(store, read_only=True)
    id, seq = db.execute("select id, seq from memories where content = ?", (text.decode(),)).fetchone()
    db.close()
    data = store.read_bytes()
    places = [found.start() for found in re.finditer(text, data)]
    named = set()
    for place in places:
        changed = bytearray(data)
        changed[place + 2] ^= 1
        store.write_bytes(changed)
        assert examine() == []
        named |= {finding.message for finding in examine(deep=True)}
    assert len(places) == 2  # in the row, and in the event that made it
    assert named == {
        f"agent ben: memory {id} differs from the event that made it",
        f"agent ben: event {seq} does not fit its chain",
    }


@pytest.mark.rows(107)
def test_no_flipped_byte_makes_it_fail(store: Path, examine: Examine) -> None:
    whole = store.read_bytes()
    chosen = random.Random(6)
    for _ in range(150):
        place = chosen.randrange(len(whole))
        changed = bytearray(whole)
        changed[place] ^= 1 << chosen.randrange(8)
        store.write_bytes(changed)
        for beside in ("-wal", "-shm"):
            store.with_name(store.name + beside).unlink(missing_ok=True)
        examine(deep=True)


@pytest.mark.rows(107)
@pytest.mark.parametrize("byte", [b"\xff", b"\x00", b"\xc3"])
def test_text_that_is_not_utf8_any_more_is_named(store: Path, examine: Examine, byte: bytes) -> None:
    data = store.read_bytes()
    text = b"ana keeps note 7 about walnuts"
    store.write_bytes(data.replace(text, text[:4] + byte + text[5:]))
    found = examine(deep=True)
    assert ids(found) == [("NR044", "error"), ("NR045", "error")]
    assert all("agent ana" in finding.message for finding in found)


@pytest.mark.rows(107)
@pytest.mark.parametrize(
    ("statement", "id"),
    [
        ("update events set actor = 'mallory' where scope = 1 and seq = 5", "NR044"),
        ("update events set payload = '{}' where scope = 1 and seq = 5", "NR044"),
        ("update memories set importance = 0.9 where scope = 1", "NR045"),
        ("update memories set tags = 'no json' where scope = 1", "NR045"),
        ("update memories set content_hash = x'00' where rowid = 1", "NR045"),
    ],
)
def test_a_row_that_was_changed_behind_its_back_is_found(
    store: Path, examine: Examine, statement: str, id: str
) -> None:
    change(store, statement)
    found = examine(deep=True)
    assert (id, "error") in ids(found)
    assert all("agent ana" in finding.message for finding in found)


def test_a_memory_that_vanished_is_missed(store: Path, examine: Examine) -> None:
    change(
        store,
        "delete from memories_fts where rowid = 3",
        "delete from vec_memories where memory = 3",
        "delete from memories where rowid = 3",
    )
    missing, counted = examine(deep=True)
    assert {(found.id, found.level) for found in (missing, counted)} == {("NR045", "error")}
    assert missing.message.startswith("agent ana: memory ")
    assert missing.message.endswith(" is missing, and no event says that it was forgotten")
    assert counted.message == "agent ana: it is said to have 30 memories, and has 29"


def test_a_damaged_page_is_found(store: Path, examine: Examine) -> None:
    db = driver.connect(store, read_only=True)
    page = db.execute("select rootpage from sqlite_master where name = 'idx_memories_category'").fetchone()[0]
    db.close()
    data = bytearray(store.read_bytes())
    data[(page - 1) * 4096 : (page - 1) * 4096 + 64] = b"\xee" * 64
    store.write_bytes(data)
    found = examine()
    assert ("NR042", "error") in ids(found)


@pytest.mark.parametrize("content", [b"", b"no database" * 1000])
def test_a_file_that_is_no_store_is_a_finding(store: Path, examine: Examine, content: bytes) -> None:
    store.write_bytes(content)
    [found] = examine()
    assert found.id in ("NR040", "NR041")


def test_a_missing_parent_is_found(store: Path, examine: Examine) -> None:
    change(store, "insert into memory_use values (9999, 1, 1)")
    [found] = examine()
    assert (found.id, found.level) == ("NR043", "error")
    assert "memory_use" in found.message


def test_a_hole_in_the_keyword_index_is_found_and_the_next_start_fills_it(
    store: Path, examine: Examine, home: Path, clock: ManualClock, embedder: HashEmbedder
) -> None:
    change(store, "delete from memories_fts where rowid = 3")
    [found] = examine()
    assert (found.id, found.level) == ("NR046", "error")
    assert found.message == "it lacks 1 memories, and has 0 entries without one"
    App.open(home, clock=clock, embedder=embedder).close()
    assert examine(deep=True) == []


def test_vectors_of_another_embedder_are_found(store: Path, examine: Examine) -> None:
    other = HashEmbedder()
    other.identity = "test:other"
    [found] = examine(embedder=other)
    assert (found.id, found.level) == ("NR047", "error")
    assert "test:hash-16" in found.message
    assert "test:other" in found.message


class Shorter(HashEmbedder):
    def _vector(self, text: str) -> list[float]:
        return super()._vector(text)[:8]


def test_an_embedder_that_has_another_length_now_is_found(store: Path, examine: Examine) -> None:
    [found] = examine(embedder=Shorter())
    assert (found.id, found.level) == ("NR047", "error")
    assert found.message == "they have 16 dimensions, and test:hash-16 now gives 8"
    assert str(found.hint).startswith("nrem reembed")


def test_vectors_of_another_length_are_found(store: Path, examine: Examine) -> None:
    change(store, "update vec_memories set embedding = x'00000000' where memory = 3")
    [found] = examine()
    assert (found.id, found.message) == ("NR047", "1 have not 16 dimensions")


def test_memories_that_wait_for_their_vector_are_counted(store: Path, examine: Examine) -> None:
    change(store, "insert into pending_vectors values (2, 3), (3, 0)")
    waiting, given_up = examine()
    assert {(found.id, found.level) for found in (waiting, given_up)} == {("NR047", "warning")}
    assert waiting.message.startswith("1 memories wait")
    assert "by itself" in str(waiting.hint)
    assert given_up.message.startswith("1 memories have none")


def test_an_older_schema_is_said_and_a_newer_one_is_an_error(store: Path, examine: Examine) -> None:
    change(store, "insert into _sqlite_migrations values (99, 'nrem', 'm999_x', '2030-01-01')")
    assert ids(examine()) == [("NR041", "error")]
    change(store, "delete from _sqlite_migrations where name in ('m999_x', 'm002_recalls')")
    assert ids(examine()) == [("NR041", "warning")]


def test_an_event_of_the_future_is_found(store: Path, examine: Examine, clock: ManualClock) -> None:
    clock.time = NOON - 3_600_000
    [found] = examine()
    assert (found.id, found.level) == ("NR048", "warning")
    assert "2026-06-01T12:00:00" in found.message


def test_an_old_backup_is_warned_of(app: App, call: Call, examine: Examine, clock: ManualClock) -> None:
    def found() -> list[tuple[str, str]]:
        answer = call("doctor")["findings"]
        return [(f["id"], f["message"]) for f in answer if f["level"] != "ok"]

    assert found() == []
    clock.advance(days=8)
    assert found() == [("NR049", "there is none yet")]
    call("create_backup")
    assert found() == []
    clock.advance(days=8)
    assert found() == [("NR049", "the newest is of 2026-06-09T12:00:00+00:00")]


def test_a_missing_home_and_a_missing_store_are_findings(home: Path, examine: Examine) -> None:
    assert ids(examine()) == [("NR010", "error")]
    assert not home.exists()
    home.mkdir(mode=0o700)
    assert ids(examine()) == [("NR040", "error")]


def test_a_store_in_use_is_a_finding(store: Path, examine: Examine, home: Path, clock: ManualClock) -> None:
    lock = Lock.take(home / "nrem.lock", clock)
    [found] = examine()
    lock.release()
    assert (found.id, found.level) == ("NR040", "error")
    assert "in use by process" in found.message
    assert examine() == []


def test_a_wrong_configuration_is_a_finding_and_the_rest_is_still_looked_at(
    store: Path, examine: Examine, home: Path
) -> None:
    (home / "nrem.toml").touch(mode=0o600)
    (home / "nrem.toml").write_text("[limits]\ncontent_byte = 7\n")
    change(store, "delete from memories_fts where rowid = 3")
    found = examine()
    assert ids(found) == [("NR020", "error"), ("NR046", "error")]
    assert "content_byte" in found[0].message


def test_a_deprecated_setting_is_warned_of(store: Path, examine: Examine, home: Path) -> None:
    (home / "nrem.toml").touch(mode=0o600)
    (home / "nrem.toml").write_text("[memory]\nmax_memories = 7\n")
    [found] = examine()
    assert (found.id, found.level) == ("NR020", "warning")


def test_a_provider_that_does_not_answer_is_warned_of_without_its_key(
    home: Path, examine: Examine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NREM_MEMORY__EMBEDDINGS__PROVIDER", "openai")
    monkeypatch.setenv("NREM_MEMORY__EMBEDDINGS__BASE_URL", refusing_url())
    monkeypatch.setenv("NREM_MEMORY__EMBEDDINGS__API_KEY_ENV", "MY_KEY")
    monkeypatch.setenv("MY_KEY", "sk-veryverysecret")
    found = examine(embedder=None)
    assert ids(found) == [("NR022", "warning"), ("NR010", "error")]
    assert "openai did not answer (ConnectError)" in found[0].message
    assert "sk-very" not in repr(found)
    monkeypatch.delenv("MY_KEY")
    assert ids(examine(embedder=None))[0] == ("NR022", "error")


def test_vectors_that_are_off_are_no_problem(
    home: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NREM_VECTOR__ENABLED", "false")
    found = {f.id: f.message for f in doctor.examine(home, clock, deep=False)}
    assert found["NR022"] == "vectors are off"


def test_a_socket_that_was_left_behind_is_warned_of(home: Path) -> None:
    home.mkdir()
    path = home / "nrem.sock"
    assert ids(list(doctor.examine_daemon(path))) == [("NR030", "ok")]
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
    assert ids(list(doctor.examine_daemon(path))) == [("NR030", "ok"), ("NR031", "warning")]


def test_a_copy_of_a_home_is_examined_as_well(store: Path, tmp_path: Path, clock: ManualClock) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(store.parent, copy)
    copy.chmod(0o700)
    found = doctor.examine(copy, clock, deep=True, embedder=HashEmbedder())
    assert [finding for finding in found if finding.level != "ok"] == []
