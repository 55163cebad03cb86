"""What is committed to a workspace, when, and what never is."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dulwich.object_store import DiskObjectStore
from dulwich.repo import Repo

from builders import Call, HashEmbedder, ManualClock, caller_of
from nrem.errors import Conflict, Corrupt, NotFound, Unavailable
from nrem.model import Published
from nrem.policy.chain import canonical
from nrem.runtime.app import App
from nrem.runtime.publisher import Publisher
from nrem.store import commits, driver, events, memories
from nrem.store.memory_rows import payload
from nrem.workspace import journal
from nrem.workspace.repository import Repository
from workspace.workshop import check_clean, git

KEY = "sk-ant-" + "api03-Zx9Qw3Er7Ty1Ui5Op2As8Df4Gh6Jk0Lz"
TEMPLATE = ["AGENTS.md", "HEARTBEAT.md", "IDENTITY.md", "MEMORY.md", "SOUL.md", "USER.md", "notes/README.md"]


@pytest.fixture(autouse=True)
def _own_git_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """git reads no configuration but the repository's."""
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "no-gitconfig"))


@pytest.fixture
def root(app: App) -> Path:
    return app.home / "workspaces" / "ana"


@pytest.fixture
def checkpoint(call: Call, app: App) -> Callable[..., dict[str, Any]]:
    """Publish, and check that git, the files, the ledger and the database agree."""

    def run(agent: str = "ana", **body: Any) -> dict[str, Any]:
        made = call("checkpoint", agent=agent, **body)
        check(app, agent, clean=not made["left_out"])
        return made

    return run


def check(app: App, agent: str, *, clean: bool = True) -> None:
    """The state files are the database's rows, the event files its chain, the ledger the branch."""
    root = app.home / "workspaces" / agent
    scope = app.scope(agent).number
    if clean:
        check_clean(root)
    with app.store.reading() as db:
        rows = db.execute("select id, seq from memories where scope = ?", (scope,)).fetchall()
        expected = {row[0]: (row[1], canonical(payload(memories.get(db, scope, row[0])))) for row in rows}
        chain = list(events.read(db, scope))
        known = commits.list_(db, scope, limit=1000)
        mark = commits.watermark(db, scope)
    states = list(journal.parse_states(files(root, journal.STATE)))
    assert {state.subject: (state.seq, state.payload) for state in states} == expected
    assert list(journal.parse_events(files(root, journal.EVENTS))) == chain
    with Repository.open(root) as repository:
        log = repository.log()
    assert [commit.commit for commit in known] == [commit.id for commit in log]
    assert mark is not None
    assert (mark.commit, mark.seq) == (log[0].id, chain[-1].seq)
    newest = next(commit for commit in known if commit.chain is not None)
    assert newest.chain == chain[-1].chain
    assert newest.state == journal.state_root(
        {path: hashlib.sha256(content).digest() for path, content in files(root, journal.STATE).items()}
    )


def files(root: Path, folder: str) -> dict[str, bytes]:
    found = (root / folder).rglob("*.jsonl")
    return {file.relative_to(root).as_posix(): file.read_bytes() for file in found}


def ledger(app: App, agent: str = "ana") -> list[Published]:
    with app.store.reading() as db:
        return commits.list_(db, app.scope(agent).number, limit=100)


def in_git(root: Path) -> bytes:
    """Return the content of every object that the repository has, reachable or not."""
    with Repo(str(root)) as repo:
        assert isinstance(repo.object_store, DiskObjectStore)
        return b"".join(repo.object_store[id].as_raw_string() for id in repo.object_store)


# The workspace itself


@pytest.mark.rows(90)
def test_a_new_agent_has_its_workspace_in_git(app: App, root: Path) -> None:
    check(app, "ana")
    [made] = ledger(app)
    assert (made.cause, made.subject, made.events) == ("template", "template: ana", (1, 1))
    assert made.counts.files == len(TEMPLATE)
    tracked = git(root, "ls-files").split()
    assert [path for path in tracked if not path.startswith(".nrem/")] == TEMPLATE
    assert git(root, "log", "--format=%an %cn").split() == ["ana", "nrem"]
    assert root.stat().st_mode & 0o777 == 0o700


def test_an_agent_without_a_workspace_gets_one_at_the_next_start(
    home: Path, clock: ManualClock, embedder: HashEmbedder
) -> None:
    with App.open(home, create=True, clock=clock, embedder=embedder) as app:
        call = caller_of(app)
        call("add_agent", agent="ana")
        for i in range(5):
            call("remember", agent="ana", content=f"note {i}")
    # As the version before workspaces left it, or a crash right after the event.
    (home / "workspaces" / "ana").rename(home / "elsewhere")
    (home / "workspaces" / ".new-1" / "notes").mkdir(parents=True)
    db = driver.connect(home / "nrem.db", read_only=False)
    db.execute("delete from commits")
    db.execute("delete from watermarks")
    db.close()
    with App.open(home, clock=clock, embedder=embedder) as app:
        assert sorted(path.name for path in (home / "workspaces").iterdir()) == ["ana"]
        Publisher(app).tick(clock.now())
        check(app, "ana")
        [made] = ledger(app)
        assert (made.cause, made.events, made.counts.added) == ("template", (1, 6), 5)


def test_a_folder_that_is_in_the_way_stops_the_agent_before_anything_is_written(app: App, call: Call) -> None:
    folder = app.home / "workspaces" / "cleo"
    folder.mkdir()
    (folder / "mine.md").write_text("x")
    with pytest.raises(Conflict) as caught:
        call("add_agent", agent="cleo")
    assert caught.value.code == "workspace_exists"
    assert [agent["agent"] for agent in call("list_agents")["agents"]] == ["ana", "ben"]
    assert [path.name for path in folder.iterdir()] == ["mine.md"]


def test_an_agent_that_goes_takes_its_workspace_along(app: App, call: Call, root: Path) -> None:
    call("remember", agent="ana", content="walnuts")
    call("checkpoint", agent="ana")
    call("remove_agent", agent="ana", erase=True)
    assert sorted(path.name for path in (app.home / "workspaces").iterdir()) == ["ben"]
    with app.store.reading() as db:
        assert db.execute("select count(*) from commits where scope = 1").fetchone()[0] == 0
    call("add_agent", agent="ana")
    check(app, "ana")
    assert b"walnuts" not in in_git(root)


def test_a_removal_that_was_cut_short_is_finished_at_the_next_start(
    home: Path, clock: ManualClock, embedder: HashEmbedder
) -> None:
    with App.open(home, create=True, clock=clock, embedder=embedder) as app:
        for name in ("ana", "ben"):
            caller_of(app)("add_agent", agent=name)
    db = driver.connect(home / "nrem.db", read_only=False)
    db.execute("update scopes set removed_at = 1")
    db.close()
    (home / "workspaces" / "ben").rename(home / "workspaces" / ".removed-2")
    App.open(home, clock=clock, embedder=embedder).close()
    assert list((home / "workspaces").iterdir()) == []


# Commits


@pytest.mark.rows(90)
def test_a_checkpoint_has_what_happened_since_the_last(
    call: Call, app: App, root: Path, checkpoint: Callable[..., dict[str, Any]]
) -> None:
    ids = [call("remember", agent="ana", content=f"note {i}")["id"] for i in range(6)]
    made = checkpoint(note="six notes")
    assert (made["subject"], made["added"], made["files"]) == ("checkpoint: six notes", 6, 0)
    call("edit_memory", agent="ana", id=ids[0], content="another text")
    call("forget", agent="ana", id=ids[1])
    passing = call("remember", agent="ana", content="comes and goes")["id"]
    call("forget", agent="ana", id=passing)
    made = checkpoint()
    assert made["subject"] == "checkpoint: +0 -1 ~1"
    assert (made["added"], made["changed"], made["forgotten"]) == (0, 1, 1)
    assert git(root, "log", "--format=%s").splitlines() == [
        "checkpoint: +0 -1 ~1",
        "checkpoint: six notes",
        "template: ana",
    ]
    assert [c.events for c in ledger(app)] == [(8, 11), (2, 7), (1, 1)]
    assert "Nrem-Events: 8-11\n" in git(root, "log", "-1", "--format=%B")


@pytest.mark.rows(90)
def test_nothing_changed_is_no_commit(call: Call, checkpoint: Callable[..., dict[str, Any]]) -> None:
    call("remember", agent="ana", content="note")
    assert checkpoint()["commit"] is not None
    call("recall", agent="ana", query="note")
    for _ in range(2):
        made = checkpoint()
        assert (made["commit"], made["note"]) == (None, "nothing has changed since the last commit")


def test_many_memories_fill_many_files(
    call: Call, root: Path, checkpoint: Callable[..., dict[str, Any]]
) -> None:
    stored = call("remember_many", agent="ana", memories=[{"content": f"note {i}"} for i in range(600)])
    checkpoint()
    assert len(files(root, journal.STATE)) == 5
    ids = [item["id"] for item in stored["memories"]]
    for id in ids[:130]:  # the first file and a part of the second
        call("forget", agent="ana", id=id)
    call("edit_memory", agent="ana", id=ids[-1], content="the last one")
    checkpoint()
    changed = git(root, "diff", "--name-only", "HEAD~1", "--", journal.STATE).split()
    assert changed == [f".nrem/state/000/0000{n}.jsonl" for n in (0, 1, 4)]
    assert not (root / changed[0]).exists()


def test_two_agents_are_apart(call: Call, app: App, checkpoint: Callable[..., dict[str, Any]]) -> None:
    call("remember", agent="ana", content="walnuts")
    call("remember", agent="ben", content="almonds")
    checkpoint("ana")
    checkpoint("ben")
    for agent, own, other in (("ana", b"walnuts", b"almonds"), ("ben", b"almonds", b"walnuts")):
        held = in_git(app.home / "workspaces" / agent)
        assert own in held
        assert other not in held
        assert len(call("log", agent=agent)["commits"]) == 2


def test_publishes_at_the_same_time_wait_for_each_other(call: Call, app: App) -> None:
    def work(number: int) -> None:
        for i in range(5):
            call("remember", agent="ana", content=f"note {number} {i}")
            call("checkpoint", agent="ana")

    threads = [threading.Thread(target=work, args=[n]) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check(app, "ana")
    assert sum(commit.counts.added for commit in ledger(app)) == 20


# People's own files


def test_what_people_change_is_taken_in(root: Path, checkpoint: Callable[..., dict[str, Any]]) -> None:
    (root / "SOUL.md").write_text("be kind\n")
    (root / "notes" / "näme ☕.md").write_text("x")
    (root / "USER.md").unlink()
    (root / ".gitignore").write_text("*.tmp\n")
    (root / "scratch.tmp").write_text("x")
    made = checkpoint()
    assert (made["subject"], made["files"], made["left_out"]) == ("checkpoint: 4 files", 4, [])
    assert git(root, "show", "HEAD:SOUL.md") == "be kind\n"


def test_a_persons_commits_are_kept_and_logged(
    call: Call, app: App, root: Path, checkpoint: Callable[..., dict[str, Any]]
) -> None:
    call("remember", agent="ana", content="walnuts")
    checkpoint()
    (root / "mine.md").write_text("mine\n")
    git(root, "add", "mine.md")
    git(root, "commit", "-q", "-m", f"mine, with {KEY}")
    call("remember", agent="ana", content="almonds")
    (root / "staged.md").write_text("staged\n")
    git(root, "add", "staged.md")
    assert checkpoint()["added"] == 1
    assert git(root, "show", "HEAD:mine.md") == "mine\n"
    assert git(root, "show", "HEAD:staged.md") == "staged\n"
    causes = [(c["cause"], c["files"]) for c in call("log", agent="ana")["commits"]]
    assert causes == [("checkpoint", 1), ("person", 1), ("checkpoint", 0), ("template", 7)]
    assert KEY not in str(call("log", agent="ana"))


@pytest.mark.rows(90)
def test_a_file_that_is_too_large_is_named_and_stays_at_its_last_version(
    root: Path, checkpoint: Callable[..., dict[str, Any]]
) -> None:
    (root / "grows.md").write_text("small\n")
    checkpoint()
    (root / "grows.md").write_bytes(b"x" * (1 << 20) + b"y")
    (root / "large.bin").write_bytes(b"x" * (1 << 20) + b"y")
    (root / "fits.bin").write_bytes(b"x" * (1 << 20))
    os.symlink("/etc/hostname", root / "link")
    made = checkpoint()
    assert [(left["path"], left["reason"]) for left in made["left_out"]] == [
        ("grows.md", "is larger than 1 MiB"),
        ("large.bin", "is larger than 1 MiB"),
        ("link", "is not a plain file that git takes everywhere"),
    ]
    assert git(root, "status", "--porcelain").splitlines() == [" M grows.md", "?? large.bin", "?? link"]
    assert git(root, "show", "HEAD:grows.md") == "small\n"
    assert "fits.bin" in git(root, "ls-files")


@pytest.mark.rows(103)
def test_a_secret_is_in_no_object_of_git(
    call: Call, root: Path, checkpoint: Callable[..., dict[str, Any]]
) -> None:
    call("remember", agent="ana", content=f"the key is {KEY}", tags=[KEY], data={"api_key": KEY})
    (root / "notes" / "keys.md").write_text(f"key: {KEY}\n")
    (root / f"{KEY}.md").write_text("x")
    (root / "notes" / "fine.md").write_text("no key\n")
    made = checkpoint(note=f"for {KEY}")
    assert KEY not in str(made)
    assert [left["reason"] for left in made["left_out"]] == ["holds a secret (anthropic)"] * 2
    assert "notes/keys.md" in [left["path"] for left in made["left_out"]]
    (root / "notes" / "fine.md").write_text(f"now one: {KEY}\n")
    checkpoint()
    held = in_git(root)
    assert b"no key" in held
    assert KEY.encode() not in held
    assert KEY not in "".join(file.read_text() for file in root.glob(".nrem/*/*/*"))
    assert KEY not in (root / ".git" / "logs" / "HEAD").read_text()


@pytest.mark.rows(103)
def test_a_configured_text_is_in_no_object_of_git(
    home: Path, clock: ManualClock, embedder: HashEmbedder
) -> None:
    root = home / "workspaces" / "ana"
    flags = {"secrets.literals": ["open sesame"]}
    with App.open(home, create=True, clock=clock, embedder=embedder, flags=flags) as app:
        call = caller_of(app)
        call("add_agent", agent="ana")
        call("remember", agent="ana", content="the word is open sesame")
        (root / "notes" / "word.md").write_text("say open sesame\n")
        made = call("checkpoint", agent="ana", note="with open sesame")
        check(app, "ana", clean=False)
    assert [left["path"] for left in made["left_out"]] == ["notes/word.md"]
    assert b"open sesame" not in in_git(root)


@pytest.mark.parametrize("state", ["branch", "merge"])
def test_while_a_person_is_at_work_elsewhere_nothing_is_touched(
    call: Call, root: Path, checkpoint: Callable[..., dict[str, Any]], state: str
) -> None:
    call("remember", agent="ana", content="walnuts")
    if state == "branch":
        git(root, "switch", "-q", "-c", "mine")
    else:
        (root / ".git" / "MERGE_HEAD").write_text(git(root, "rev-parse", "HEAD"))
    before = files(root, ".nrem")
    with pytest.raises(Conflict):
        call("checkpoint", agent="ana")
    assert files(root, ".nrem") == before
    if state == "branch":
        git(root, "switch", "-q", "main")
    else:
        (root / ".git" / "MERGE_HEAD").unlink()
    assert checkpoint()["added"] == 1


# What others do to the record


def test_what_is_done_to_the_files_of_the_record_is_undone(
    call: Call, root: Path, checkpoint: Callable[..., dict[str, Any]]
) -> None:
    call("remember_many", agent="ana", memories=[{"content": f"note {i}"} for i in range(300)])
    checkpoint()
    (root / journal.event_path(1)).unlink()
    (root / journal.state_path(1)).write_text("{}\n")
    assert checkpoint()["commit"] is None


@pytest.mark.parametrize("how", ["reset", "amend", "commit", "remove"])
def test_after_a_change_of_history_the_record_is_whole_again(
    call: Call, app: App, root: Path, how: str
) -> None:
    for i in range(3):
        call("remember", agent="ana", content=f"note {i}")
        call("checkpoint", agent="ana")
    if how == "reset":
        git(root, "reset", "-q", "--hard", "HEAD~2")
    elif how == "amend":
        git(root, "commit", "-q", "--amend", "-m", "mine now")
    elif how == "commit":
        (root / journal.state_path(2)).write_text("{}\n")
        git(root, "commit", "-q", "-a", "-m", "mine now")
    else:
        git(root, "rm", "-q", "-r", ".nrem")
        git(root, "commit", "-q", "-m", "mine now")
    call("remember", agent="ana", content="one more")
    call("checkpoint", agent="ana")
    check_clean(root)
    scope = app.scope("ana").number
    with app.store.reading() as db:
        assert list(journal.parse_events(files(root, journal.EVENTS))) == list(events.read(db, scope))
    assert len(list(journal.parse_states(files(root, journal.STATE)))) == 4
    assert call("checkpoint", agent="ana")["commit"] is None


@pytest.mark.parametrize("looked", [False, True])
def test_a_commit_that_the_ledger_missed_is_noted_once(
    home: Path, clock: ManualClock, embedder: HashEmbedder, looked: bool
) -> None:
    with App.open(home, create=True, clock=clock, embedder=embedder) as app:
        call = caller_of(app)
        call("add_agent", agent="ana")
        call("remember", agent="ana", content="walnuts")
        call("checkpoint", agent="ana")
    db = driver.connect(home / "nrem.db", read_only=False)  # as if it was killed before the ledger row
    db.execute("delete from commits where cause = 'checkpoint'")
    db.execute("update watermarks set seq = 1, commit_id = (select id from commits)")
    db.close()
    with App.open(home, clock=clock, embedder=embedder) as app:
        assert caller_of(app)("show_agent", agent="ana")["unpublished"] == 1
        if looked:
            assert caller_of(app)("log", agent="ana")["unpublished"] == 0
        assert caller_of(app)("checkpoint", agent="ana")["commit"] is None
        check(app, "ana")
        assert [(c.cause, c.counts.added, c.events) for c in ledger(app)] == [
            ("checkpoint", 1, (2, 2)),
            ("template", 0, (1, 1)),
        ]


def test_files_of_a_publish_that_was_cut_short_are_put_right(
    call: Call, root: Path, checkpoint: Callable[..., dict[str, Any]]
) -> None:
    call("remember", agent="ana", content="walnuts")
    stray = root / journal.event_path(1)
    stray.write_bytes(stray.read_bytes() + b"{}\n")
    (root / ".nrem" / "state" / "000").mkdir(parents=True)
    (root / journal.state_path(2)).write_text("half")
    checkpoint()


def test_an_export_that_would_lose_memories_is_refused(
    home: Path, clock: ManualClock, embedder: HashEmbedder
) -> None:
    with App.open(home, create=True, clock=clock, embedder=embedder) as app:
        call = caller_of(app)
        call("add_agent", agent="ana")
        ids = [call("remember", agent="ana", content=f"note {i}")["id"] for i in range(20)]
        call("checkpoint", agent="ana")
    db = driver.connect(home / "nrem.db", read_only=False)
    db.execute("delete from memories where rowid <= 3")
    db.close()
    with App.open(home, clock=clock, embedder=embedder) as app:
        call = caller_of(app)
        call("forget", agent="ana", id=ids[10])
        head = git(home / "workspaces" / "ana", "rev-parse", "HEAD")
        with pytest.raises(Corrupt) as caught:
            call("checkpoint", agent="ana")
        assert (caught.value.code, caught.value.details) == ("export_refused", {"lost": 3, "total": 20})
        assert git(home / "workspaces" / "ana", "rev-parse", "HEAD") == head
        check_clean(home / "workspaces" / "ana")


# Without git, and by itself


def test_without_git_there_are_files_and_no_repository(
    app: App, call: Call, root: Path, checkpoint: Callable[..., dict[str, Any]]
) -> None:
    call("set_agent_config", agent="ana", config={"workspace": {"git": False}}, message="no git")
    call("remember", agent="ana", content="walnuts")
    made = call("checkpoint", agent="ana")
    assert (made["commit"], made["note"][:20]) == (None, "workspace.git is off")
    assert call("log", agent="ana")["note"] == made["note"]
    assert len(git(root, "log", "--oneline").splitlines()) == 1
    call("set_agent_config", agent="ana", config={}, message="git again")
    assert checkpoint()["added"] == 1


def test_a_home_without_git_has_none(home: Path, clock: ManualClock, embedder: HashEmbedder) -> None:
    flags = {"workspace.git": "false"}
    with App.open(home, create=True, clock=clock, embedder=embedder, flags=flags) as app:
        caller_of(app)("add_agent", agent="ana")
        Publisher(app).tick(clock.now())
        Publisher(app).finish()
    assert sorted(path.name for path in (home / "workspaces" / "ana").iterdir()) == sorted(
        {path.partition("/")[0] for path in TEMPLATE}
    )
    with App.open(home, clock=clock, embedder=embedder) as app:
        assert caller_of(app)("checkpoint", agent="ana")["subject"] == "template: ana"
        check(app, "ana")


@pytest.mark.parametrize(("minutes", "due"), [(5, 300), (1, 60), (0, None)])
def test_events_are_committed_after_some_minutes_without_a_write(
    app: App, call: Call, clock: ManualClock, minutes: int, due: int | None
) -> None:
    call("set_agent_config", agent="ana", config={"workspace": {"idle_minutes": minutes}}, message="x")
    publisher = Publisher(app)
    clock.advance(seconds=(due or 86_400) - 1)
    publisher.tick(clock.now())
    assert [commit.cause for commit in ledger(app)] == ["template"]
    clock.advance(seconds=1)
    publisher.tick(clock.now())
    assert [commit.cause for commit in ledger(app)] == (["idle", "template"] if due else ["template"])
    publisher.finish()
    publisher.finish()
    assert len(ledger(app)) == 2
    check(app, "ana")


def test_a_commit_that_fails_is_tried_again_later(
    app: App, call: Call, root: Path, clock: ManualClock
) -> None:
    call("remember", agent="ana", content="walnuts")
    git(root, "switch", "-q", "-c", "mine")
    publisher = Publisher(app)
    clock.advance(seconds=300)
    publisher.tick(clock.now())
    git(root, "switch", "-q", "main")
    publisher.tick(clock.now())
    assert len(ledger(app)) == 1
    clock.advance(seconds=300)
    publisher.tick(clock.now())
    assert [commit.cause for commit in ledger(app)] == ["idle", "template"]


def test_many_commits_are_packed_now_and_then(app: App, call: Call, root: Path) -> None:
    for i in range(55):
        call("remember", agent="ana", content=f"note {i}")
        call("checkpoint", agent="ana")
    Publisher(app).tick(app.clock.now())
    assert len(list((root / ".git" / "objects" / "pack").glob("*.pack"))) < 10
    call("remember", agent="ana", content="after")
    call("checkpoint", agent="ana")
    check(app, "ana")


def test_a_lock_of_a_persons_git_is_waited_for_and_then_told(
    app: App, call: Call, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app.workspaces.of(app.scope("ana")).repository(now=0), "_wait", 0.1)
    call("remember", agent="ana", content="walnuts")
    (root / ".git" / "index.lock").write_text("")
    with pytest.raises(Unavailable) as caught:
        call("checkpoint", agent="ana")
    assert caught.value.code == "repository_locked"
    (root / ".git" / "index.lock").unlink()
    assert call("checkpoint", agent="ana")["added"] == 1
    check(app, "ana")


def test_an_agent_that_is_gone_is_not_published(app: App, call: Call) -> None:
    scope = app.scope("ana")
    call("remove_agent", agent="ana", erase=True)
    with pytest.raises(NotFound, match="removed"):
        app.publish(scope, "checkpoint")
    assert not (app.home / "workspaces" / "ana").exists()


def test_a_folder_that_is_gone_is_told_and_made_at_the_next_start(
    home: Path, clock: ManualClock, embedder: HashEmbedder
) -> None:
    with App.open(home, create=True, clock=clock, embedder=embedder) as app:
        call = caller_of(app)
        call("add_agent", agent="ana")
        call("remember", agent="ana", content="walnuts")
        shutil.rmtree(home / "workspaces" / "ana")
        with pytest.raises(NotFound) as caught:
            call("checkpoint", agent="ana")
        assert caught.value.code == "workspace_not_found"
    with App.open(home, clock=clock, embedder=embedder) as app:
        assert caller_of(app)("checkpoint", agent="ana")["subject"] == "template: ana"
        check_clean(home / "workspaces" / "ana")
        assert len(list(journal.parse_states(files(home / "workspaces" / "ana", journal.STATE)))) == 1


@pytest.mark.parametrize(("more", "refused"), [(1, False), (10, True)])
def test_after_an_older_backup_came_back_git_loses_at_most_little(
    home: Path, clock: ManualClock, embedder: HashEmbedder, more: int, refused: bool
) -> None:
    root = home / "workspaces" / "ana"
    with App.open(home, create=True, clock=clock, embedder=embedder) as app:
        call = caller_of(app)
        call("add_agent", agent="ana")
        for i in range(20):
            call("remember", agent="ana", content=f"note {i}")
        call("checkpoint", agent="ana")
    shutil.copy(home / "nrem.db", home / "older.db")
    with App.open(home, clock=clock, embedder=embedder) as app:
        for i in range(more):
            caller_of(app)("remember", agent="ana", content=f"lost {i}")
        caller_of(app)("checkpoint", agent="ana")
    shutil.copy(home / "older.db", home / "nrem.db")
    with App.open(home, clock=clock, embedder=embedder) as app:
        call = caller_of(app)
        call("remember", agent="ana", content="after the backup")
        if refused:
            with pytest.raises(Corrupt) as caught:
                call("checkpoint", agent="ana")
            assert caught.value.code == "export_refused"
            git(root, "rm", "-q", "-r", "--cached", ".nrem")
            git(root, "commit", "-q", "-m", "begin anew")
        assert call("checkpoint", agent="ana")["added"] >= 1
        check(app, "ana")
