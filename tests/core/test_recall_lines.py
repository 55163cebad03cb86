"""Which recalls are in git, and in what form."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import Call, HashEmbedder, ManualClock, caller_of
from nrem.errors import Corrupt
from nrem.model import AskedBy, RecallLine
from nrem.runtime.app import App
from nrem.runtime.publisher import Publisher
from nrem.store import commits, recall_lines, scopes
from nrem.workspace import journal
from workspace.workshop import check_clean, git


@pytest.fixture
def root(app: App) -> Path:
    return app.home / "workspaces" / "ana"


@pytest.fixture
def lines(root: Path) -> Callable[[], list[RecallLine]]:
    """Return the recalls that the last commit has, after a look that the files are the same."""

    def read() -> list[RecallLine]:
        check_clean(root)
        files = {
            path.relative_to(root).as_posix(): path for path in (root / journal.RECALLS).rglob("*.jsonl")
        }
        tracked = git(root, "ls-files", journal.RECALLS).split()
        assert sorted(files) == tracked
        return list(journal.parse_recalls({path: file.read_bytes() for path, file in files.items()}))

    return read


Lines = Callable[[], list[RecallLine]]


def ask(call: Call, app: App, *queries: str) -> list[str]:
    """Recall, and wait until it is recorded."""
    ids = [call("recall", agent="ana", query=query)["recall_id"] for query in queries]
    app.store.write(lambda db: None)
    return ids


def configure(call: Call, policy: str) -> None:
    call("set_agent_config", agent="ana", config={"workspace": {"recalls": policy}}, message=policy)


def test_recalls_are_committed_with_the_next_commit(call: Call, app: App, lines: Lines) -> None:
    id = call("remember", agent="ana", content="Luis likes tea")["id"]
    call("recall", agent="ben", query="whose numbers are his own")
    [first, second] = ask(call, app, "what does Luis like", "nothing of this")
    call("checkpoint", agent="ana")
    [one, two] = lines()
    assert [(one.number, one.id), (two.number, two.id)] == [(1, first), (2, second)]
    assert (one.query, one.query_hash, one.actor, one.ingress) == (
        "what does Luis like",
        None,
        "owner",
        "test",
    )
    assert [hit[0] for hit in one.hits] == [id]
    with app.store.reading() as db:
        assert recall_lines.lines(db, app.scope("ana").number, 1, hashed=False) == [one, two]


def test_recalls_alone_make_no_commit(call: Call, app: App, clock: ManualClock, lines: Lines) -> None:
    call("remember", agent="ana", content="Luis likes tea")
    before = call("checkpoint", agent="ana")["commit"]
    ask(call, app, "tea", "Luis")
    clock.advance(days=1)
    Publisher(app).tick(clock.now())
    assert call("checkpoint", agent="ana")["commit"] is None
    assert call("log", agent="ana")["commits"][0]["commit"] == before
    assert lines() == []
    (app.home / "workspaces" / "ana" / "notes" / "plan.md").write_text("a plan\n")
    assert call("checkpoint", agent="ana")["commit"]  # something else did, and takes them along
    assert [line.query for line in lines()] == ["tea", "Luis"]


def test_hashed_recalls_tell_no_words_but_which_are_the_same(call: Call, app: App, lines: Lines) -> None:
    configure(call, "hashed")
    call("remember", agent="ana", content="Luis likes tea")
    ask(call, app, "tea of Luis", "coffee", "tea of Luis")
    call("recall", agent="ana", query="tea", user="marianne")
    ask(call, app)
    call("checkpoint", agent="ana")
    found = lines()
    assert [line.query for line in found] == [None] * 4
    assert found[0].query_hash == found[2].query_hash != found[1].query_hash
    root = app.home / "workspaces" / "ana"
    text = b"".join(file.read_bytes() for file in (root / journal.RECALLS).rglob("*.jsonl"))
    for word in (b"coffee", b"tea", b"marianne"):
        assert word not in text
    with app.store.reading() as db:
        [salt] = db.execute("select value from store_meta where key = 'recall_salt'").fetchone()
    assert salt.encode() not in text


def test_what_is_asked_while_it_is_off_does_not_come_later(call: Call, app: App, lines: Lines) -> None:
    ask(call, app, "before")
    configure(call, "off")
    ask(call, app, "meanwhile")
    call("checkpoint", agent="ana")
    assert lines() == []
    configure(call, "full")
    ask(call, app, "after")
    call("checkpoint", agent="ana")
    assert [(line.number, line.query) for line in lines()] == [(3, "after")]
    configure(call, "off")
    call("checkpoint", agent="ana")
    assert [line.query for line in lines()] == ["after"]  # what is in git stays


def test_a_file_has_256_recalls_and_a_new_one_touches_only_its_own(
    call: Call, app: App, root: Path, lines: Lines
) -> None:
    ask(call, app, *(f"question {i}" for i in range(300)))
    call("remember", agent="ana", content="one")
    call("checkpoint", agent="ana")
    assert [line.number for line in lines()] == list(range(1, 301))
    ask(call, app, "one more")
    call("remember", agent="ana", content="two")
    call("checkpoint", agent="ana")
    assert len(lines()) == 301
    changed = git(root, "diff", "--name-only", "HEAD~1", "--", journal.RECALLS).split()
    assert changed == [".nrem/recalls/000/00001.jsonl"]


def test_lines_in_git_stay_when_the_database_has_pruned_their_recalls(
    call: Call, app: App, root: Path, lines: Lines
) -> None:
    ask(call, app, "old", "newer")
    call("remember", agent="ana", content="one")
    call("checkpoint", agent="ana")
    number = app.scope("ana").number
    for table in ("recall_events", "recalls"):
        app.store.write(
            lambda db, table=table: db.execute(f"delete from {table} where scope = ?", (number,))  # type: ignore[misc]
        )
    ask(call, app, "new")
    call("remember", agent="ana", content="two")
    call("checkpoint", agent="ana")
    assert [(line.number, line.query) for line in lines()] == [(1, "old"), (2, "newer"), (3, "new")]
    # Also when everything is written again, because somebody changed the record.
    file = root / ".nrem" / "recalls" / "000" / "00000.jsonl"
    file.write_bytes(b"nonsense\n" + file.read_bytes())
    git(root, "commit", "-qam", "mine")
    call("remember", agent="ana", content="three")
    call("checkpoint", agent="ana")
    assert [(line.number, line.query) for line in lines()] == [(1, "old"), (2, "newer"), (3, "new")]


def test_a_commit_that_the_ledger_missed_gets_no_line_twice(
    call: Call, app: App, root: Path, lines: Lines
) -> None:
    call("remember", agent="ana", content="zero")
    call("checkpoint", agent="ana")
    number = app.scope("ana").number
    with app.store.reading() as db:
        before = commits.watermark(db, number)
    assert before is not None
    ask(call, app, "first")
    call("remember", agent="ana", content="one")
    call("checkpoint", agent="ana")
    app.store.write(lambda db: commits.record(db, number, (), before))  # as a crash leaves it
    ask(call, app, "second")
    call("remember", agent="ana", content="two")
    call("checkpoint", agent="ana")
    assert [(line.number, line.query) for line in lines()] == [(1, "first"), (2, "second")]


def test_a_new_folder_gets_the_recalls_that_the_database_has(
    home: Path, clock: ManualClock, embedder: HashEmbedder
) -> None:
    with App.open(home, create=True, clock=clock, embedder=embedder) as app:
        call = caller_of(app)
        call("add_agent", agent="ana")
        ask(call, app, "first", "second")
        call("checkpoint", agent="ana")
    (home / "workspaces" / "ana").rename(home / "elsewhere")
    with App.open(home, clock=clock, embedder=embedder) as app:
        Publisher(app).tick(clock.now())
        file = home / "workspaces" / "ana" / ".nrem" / "recalls" / "000" / "00000.jsonl"
        parsed = journal.parse_recalls({".nrem/recalls/000/00000.jsonl": file.read_bytes()})
        assert [line.query for line in parsed] == ["first", "second"]


def test_recalls_from_git_come_back_with_their_hits_and_use(call: Call, app: App, lines: Lines) -> None:
    id = call("remember", agent="ana", content="Luis likes tea")["id"]
    ask(call, app, "tea", "Luis")
    configure(call, "hashed")
    call("checkpoint", agent="ana")
    found = lines()
    number = app.scope("ana").number
    used = call("get_memory", agent="ana", id=id)

    def lose(db: object) -> None:
        for statement in (
            "delete from recall_events",
            "delete from recalls",
            "delete from memory_use",
            "update scopes set last_recall = 0",
        ):
            db.execute(statement)  # type: ignore[attr-defined]

    app.store.write(lose)
    assert call("get_memory", agent="ana", id=id)["access_count"] == 0
    assert app.store.write(functools.partial(recall_lines.add_lines, scope=number, lines=found)) == 2
    assert app.store.write(functools.partial(recall_lines.add_lines, scope=number, lines=found)) == 0
    assert call("get_memory", agent="ana", id=id) == used
    with app.store.reading() as db:
        assert recall_lines.lines(db, number, 1, hashed=False) == found  # their words are not known
        assert recall_lines.last_number(db, number) == 2
        assert scopes.count(db, number) == 1
    for replayed in call("replay", agent="ana", since="1h ago")["recalls"]:
        assert replayed["outcome"] == "impossible"
        assert [cause.partition(":")[0] for cause in replayed["causes"]] == ["hashed"]


TEXTS = st.text(max_size=20)
SCORES = st.floats(allow_nan=False, allow_infinity=False)
LINES = st.builds(
    RecallLine,
    number=st.integers(1, 2000),
    id=TEXTS,
    at=st.integers(0, 2**50),
    now=st.integers(0, 2**50),
    actor=TEXTS,
    ingress=TEXTS,
    query=st.none() | TEXTS,
    query_hash=st.none() | TEXTS,
    request=TEXTS,
    seq=st.integers(1, 2**40),
    config_hash=TEXTS,
    ranker=TEXTS,
    embedder=st.none() | TEXTS,
    degraded=TEXTS,
    hits=st.lists(st.tuples(TEXTS, SCORES, SCORES), max_size=4).map(tuple),
)


@given(st.lists(LINES, max_size=20, unique_by=lambda line: line.number))
def test_recall_lines_are_read_as_they_were_written(some: list[RecallLine]) -> None:
    ordered = sorted(some, key=lambda line: line.number)
    files = journal.render_recalls(ordered)
    assert list(journal.parse_recalls(files)) == ordered
    assert journal.salvage_recalls(files) == ordered


def test_a_changed_recall_line_is_named() -> None:
    line = RecallLine(
        number=7, id="r", at=1, now=1, actor="a", ingress="i", asked_by=AskedBy.AGENT, day=0, query="q",
        query_hash=None, question=5, request="{}", seq=1,
        config_hash="c", ranker="1", embedder=None, degraded="", hits=(("m", 0.5, 1.0),),
    )  # fmt: skip
    [(path, content)] = journal.render_recalls([line]).items()
    for changed in (
        content[:-1],
        content * 2,
        content.replace(b'"m"', b"3"),
        content.replace(b"0.5", b"null"),
        content.replace(b'"number":7', b'"number":700'),
        content.replace(b'"query":"q",', b""),
        content.replace(b'"agent"', b'"nobody"'),
    ):
        with pytest.raises(Corrupt) as caught:
            list(journal.parse_recalls({path: changed}))
        assert path in str(caught.value.details["where"])
