"""Erasing one memory for good: nothing has its text any more, and everything else is as it was."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from builders import Call, ManualClock, caller_of
from haystack import holders
from nrem.errors import Conflict, Denied, NotFound, Unavailable
from nrem.model import Caller, Event, Right
from nrem.policy.erasing import ERASED, Needle
from nrem.runtime.app import App
from nrem.store import erasures, events, memories, recall_lines
from nrem.workspace import journal
from nrem.workspace.erasing import erase
from workspace.workshop import check_clean, git

Chain = Callable[[str], list[Event]]

OLD = "The vault of Zorbulon opens with quixplat"
NEW = "The vault of Zorbulon opens with “vexumbral”\nsince Tuesday"
TOLD = ["zorbulon", "quixplat", "vexumbral", "jabberwax"]
"""Words that only the memory has, in its text or its context."""


@pytest.fixture(autouse=True)
def _own_git_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "no-gitconfig"))


@pytest.fixture
def root(app: App) -> Path:
    return app.home / "workspaces" / "ana"


def mention(root: Path, id: str) -> None:
    """Write what a dream writes: a line in MEMORY.md, and one in the diary."""
    text = (root / "MEMORY.md").read_text()
    line = f"- {NEW.replace(chr(10), ' ')} <!-- m:{id} -->\n- tea at four <!-- m:other -->\n"
    (root / "MEMORY.md").write_text(text.replace("<!-- nrem:end -->", line + "<!-- nrem:end -->"))
    diary = root / "dreams" / "2026" / "06" / "2026-06-01.md"
    diary.parent.mkdir(parents=True)
    diary.write_text(f"# 2026-06-01\n\n- promoted {id}: {OLD}\n- promoted other: tea at four\n")


@pytest.fixture
def id(call: Call, root: Path, clock: ManualClock) -> str:
    """A memory with two versions that is in every place there is, among others that are to stay."""
    for agent in ("ana", "ben"):
        call("remember_many", agent=agent, memories=[{"content": f"note {i} on tea"} for i in range(150)])
    call("checkpoint", agent="ana", note="before")
    id: str = call("remember", agent="ana", content=OLD, context="seen at Jabberwax")["id"]
    call("checkpoint", agent="ana", note="with it")
    call("remember_many", agent="ana", memories=[{"content": f"later {i} on vaults"} for i in range(150)])
    call("edit_memory", agent="ana", id=id, content=NEW, context=None)
    for query in (OLD, "what of zorbulon?", "note on tea"):
        call("recall", agent="ana", query=query, limit=50)
    mention(root, id)
    call("checkpoint", agent="ana", note="edited")
    (root / "mine.md").write_text("mine\n")
    git(root, "add", "mine.md")
    git(root, "commit", "-q", "-m", "mine")
    call("remember", agent="ana", content="the last note")
    call("checkpoint", agent="ana", note="after")
    clock.advance(seconds=60)
    return id


def check_whole(app: App, root: Path) -> None:
    """Chain, rows, files, ledger and git agree."""
    check_clean(root)
    scope = app.scope("ana").number
    with app.store.reading() as db:
        assert db.execute("pragma integrity_check").fetchone()[0] == "ok"
        events.verify(db, scope)
        memories.verify_rows(db, scope)
        chain = list(events.read(db, scope))
        known = [(row[0], row[1]) for row in db.execute("select id, parent from commits order by rowid desc")]
    log = [tuple(line.split()) for line in git(root, "log", "--format=%H %P").splitlines()]
    assert [commit for commit in known if commit[0] in {line[0] for line in log}] == [
        (line[0], line[1] if line[1:] else None) for line in log
    ]
    files = {
        file.relative_to(root).as_posix(): file.read_bytes() for file in (root / ".nrem").rglob("*.jsonl")
    }
    mine = {path: data for path, data in files.items() if path.startswith(journal.EVENTS)}
    assert list(journal.parse_events(mine)) == chain


def of_ben(app: App) -> object:
    """Return everything that is ben's, byte for byte."""
    root = app.home / "workspaces" / "ben"
    files = {file.relative_to(root): file.read_bytes() for file in root.rglob("*") if file.is_file()}
    tables = ("memories", "events", "memory_versions", "vec_memories", "recalls", "commits", "watermarks")
    with app.store.reading() as db:
        rows = [
            [tuple(row) for row in db.execute(f"select * from {table} where scope = 2 order by 1, 2, 3")]
            for table in tables
        ]
        return files, rows, memories.verify_rows(db, 2)


@pytest.mark.rows(114)
def test_nothing_has_the_text_any_more(app: App, call: Call, root: Path, id: str, chain: Chain) -> None:
    assert len(holders(app.home, TOLD)) > 10  # the search finds it where it is
    ben, before = of_ben(app), chain("ana")
    receipt = call("erase_memory", agent="ana", id=id)
    assert holders(app.home, [*TOLD, OLD]) == set()
    assert of_ben(app) == ben
    check_whole(app, root)
    after = chain("ana")
    assert [event.chain for event in after[: len(before)]] == [event.chain for event in before]
    assert [(event.op, event.cause) for event in after[len(before) :]] == [("memory.forget", "erase")]
    assert {event.subject for event in after if event.payload is None} == {id}
    assert receipt == {
        "id": id,
        "at": "2026-06-01T12:01:00+00:00",
        "actor": "owner",
        "events": 3,
        "versions": 2,
        "recalls": 2,
        "commits": 4,
        "objects": receipt["objects"],
        "backups": [],
        "files": [],
        "past_files": [],
        "messages": [],
        "memories": [],
    }
    assert receipt["objects"] > 10
    with pytest.raises(NotFound):
        call("get_memory", agent="ana", id=id)
    assert all(v["memory"] is None for v in call("list_versions", agent="ana", id=id)["versions"])


@pytest.mark.rows(114)
def test_the_history_is_the_same_but_for_it(app: App, call: Call, root: Path, id: str) -> None:
    form = "%an %ae %ad %cn %ce %cd %s"
    before, trailers = git(root, "log", f"--format={form}"), "%(trailers:key=Nrem-Chain,key=Nrem-Events)"
    said = git(root, "log", f"--format={trailers}")
    untouched = git(root, "rev-parse", "HEAD~4").strip()
    call("erase_memory", agent="ana", id=id)
    newest, _, rest = git(root, "log", f"--format={form}").partition("\n")
    assert newest.endswith("erase: +0 -1 ~0")
    assert rest == before
    assert git(root, "log", "--skip=1", f"--format={trailers}") == said
    assert untouched in git(root, "log", "--format=%H").split()
    assert git(root, "show", "HEAD:mine.md") == "mine\n"
    block = (root / "MEMORY.md").read_text()
    assert "- tea at four <!-- m:other -->" in block
    assert "- promoted other: tea at four" in git(root, "show", "HEAD:dreams/2026/06/2026-06-01.md")
    for commit in git(root, "log", "--format=%H", "--grep=^Nrem-Cause").split():
        check_state(root, commit)


def check_state(root: Path, commit: str) -> None:
    """The state files of a commit are those that its trailer was made of."""
    paths = git(root, "ls-tree", "-r", "--name-only", commit, journal.STATE).split()
    show = [
        subprocess.run(["git", "show", f"{commit}:{path}"], cwd=root, capture_output=True, check=True).stdout
        for path in paths
    ]
    digests = {path: hashlib.sha256(data).digest() for path, data in zip(paths, show, strict=True)}
    trailer = git(root, "log", "-1", "--format=%(trailers:key=Nrem-State,valueonly)", commit).strip()
    assert trailer == f"sha256:{journal.state_root(digests).hex()}"


@pytest.mark.rows(114)
def test_old_commit_ids_lead_to_the_new_ones(app: App, call: Call, root: Path, id: str) -> None:
    def known(commit: str) -> str | None:
        with app.store.reading() as db:
            return erasures.current_commit(db, app.scope("ana").number, commit)

    before = git(root, "log", "--format=%H").split()
    second = call("remember", agent="ana", content="another secret")["id"]
    call("checkpoint", agent="ana")
    call("erase_memory", agent="ana", id=id)
    between = git(root, "log", "--format=%H", "--skip=2").split()
    assert [known(commit) or commit for commit in before] == between
    assert known(before[0][:10]) == between[0]
    assert known(before[-1]) is None
    call("erase_memory", agent="ana", id=second)
    after = git(root, "log", "--format=%H", "--skip=3").split()
    assert [known(commit) or commit for commit in before] == after
    check_whole(app, root)


@pytest.mark.rows(114)
def test_asked_again_it_gives_the_same_receipt(call: Call, app: App, root: Path, id: str) -> None:
    receipt = call("erase_memory", agent="ana", id=id)
    head = git(root, "rev-parse", "HEAD")
    assert call("erase_memory", agent="ana", id=id) == receipt
    assert git(root, "rev-parse", "HEAD") == head


@pytest.mark.rows(34, 114)
def test_forgotten_it_is_gone_from_the_state_and_erased_from_the_history(
    app: App, call: Call, root: Path, id: str
) -> None:
    call("forget", agent="ana", id=id)
    call("checkpoint", agent="ana")
    state = b"".join(file.read_bytes() for file in (root / journal.STATE).rglob("*.jsonl"))
    assert id.encode() not in state
    assert b"Zorbulon" not in state
    hits = call("recall", agent="ana", query="zorbulon quixplat vexumbral", observe=False)["hits"]
    assert id not in [hit["memory"]["id"] for hit in hits]
    assert holders(app.home, TOLD)  # the history has it
    receipt = call("erase_memory", agent="ana", id=id)
    assert (receipt["events"], receipt["versions"]) == (3, 2)
    assert holders(app.home, TOLD) == set()
    check_whole(app, root)


@pytest.mark.rows(114)
def test_what_is_not_nrems_is_named_and_stays(app: App, call: Call, root: Path, id: str) -> None:
    (root / "notes" / "vault.md").write_text(f"He said: {OLD.upper()}!\n")
    (root / "gone.md").write_text(NEW.replace("\n", "  "))
    text = (root / "MEMORY.md").read_text()
    (root / "MEMORY.md").write_text(f"{OLD}\n{text}")
    copy = call("remember", agent="ana", content=f"Luis told me: {NEW}")["id"]
    link = call("remember", agent="ana", content="a summary", data={"of": [id]})["id"]
    lost = call("remember", agent="ana", content=f'"{OLD}" is a quotation')["id"]
    call("forget", agent="ana", id=lost)
    call("remember", agent="ben", content=OLD)
    call("checkpoint", agent="ana", note=f"on {OLD}")
    (root / "gone.md").unlink()
    call("checkpoint", agent="ana")
    made = call("create_backup")["name"]
    receipt = call("erase_memory", agent="ana", id=id)
    assert receipt["files"] == ["MEMORY.md", "notes/vault.md"]
    assert receipt["past_files"] == ["gone.md"]
    assert receipt["memories"] == [copy, link, lost]
    assert receipt["backups"] == [made]
    named = git(root, "log", "--format=%H", "-i", "--grep=zorbulon").split()
    assert receipt["messages"] == named
    assert OLD in (root / "MEMORY.md").read_text()
    assert call("get_memory", agent="ana", id=copy)["memory"]["content"] == f"Luis told me: {NEW}"
    assert call("list_memories", agent="ben", limit=1)["memories"][0]["content"] == OLD
    assert holders(app.home, ["jabberwax"]) == {f"backups/{made}"}
    check_whole(app, root)


@pytest.mark.rows(114)
@pytest.mark.parametrize(
    ("words", "code", "name"),
    [
        (["update-ref", "refs/remotes/origin/main", "HEAD"], "erase_pushed", "refs/remotes/origin/main"),
        (["branch", "mine"], "erase_held", "refs/heads/mine"),
        (["tag", "-a", "v1", "-m", "one", "HEAD~1"], "erase_held", "refs/tags/v1"),
        (["worktree", "add", "-q", "--detach", "../../elsewhere"], "erase_held", "worktrees/elsewhere"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_it_is_refused_whole_while_somebody_else_has_the_history(
    call: Call, root: Path, id: str, chain: Chain, words: list[str], code: str, name: str
) -> None:
    git(root, *words)
    head, before = git(root, "rev-parse", "HEAD"), chain("ana")
    with pytest.raises(Conflict) as caught:
        call("erase_memory", agent="ana", id=id)
    assert (caught.value.code, caught.value.details) == (code, {"refs": [name]})
    assert caught.value.hint
    assert (git(root, "rev-parse", "HEAD"), chain("ana")) == (head, before)
    assert call("get_memory", agent="ana", id=id)["memory"]["content"] == NEW


@pytest.mark.rows(114)
def test_it_is_refused_where_commits_are_pushed(call: Call, root: Path, id: str, tmp_path: Path) -> None:
    remote = {"workspace": {"remote": str(tmp_path / "elsewhere.git")}}
    call("set_agent_config", agent="ana", config=remote, message="a copy")
    with pytest.raises(Conflict) as caught:
        call("erase_memory", agent="ana", id=id)
    assert caught.value.code == "erase_pushed"
    assert call("get_memory", agent="ana", id=id)["memory"]["content"] == NEW


@pytest.mark.rows(114)
def test_old_commit_ids_are_still_understood(call: Call, root: Path, id: str) -> None:
    old = git(root, "rev-parse", "HEAD").strip()
    call("erase_memory", agent="ana", id=id)
    assert git(root, "rev-parse", "HEAD").strip() != old
    shown = call("show_file", agent="ana", commit=old[:12], path="USER.md")
    assert shown["commit"] != old
    assert call("diff", agent="ana", a=old)["a"]["commit"] == shown["commit"]


@pytest.mark.rows(114)
def test_a_line_in_memory_md_and_the_diary_go_with_it(app: App, call: Call, root: Path) -> None:
    id = call("remember", agent="ana", content=OLD, pinned=True)["id"]
    other = call("remember", agent="ana", content="Marta keeps the keys", pinned=True)["id"]
    call("dream", agent="ana")
    assert OLD in (root / "MEMORY.md").read_text()
    call("erase_memory", agent="ana", id=id)
    assert holders(app.home, TOLD) == set()
    assert f"Marta keeps the keys <!-- m:{other[-8:]} -->" in (root / "MEMORY.md").read_text()
    check_whole(app, root)
    call("dream", agent="ana")
    assert {f["level"] for f in call("verify", agent="ana")["findings"]} == {"ok"}


@pytest.mark.rows(114)
def test_the_diary_keeps_no_part_of_a_long_text(app: App, call: Call, root: Path) -> None:
    long = "Hello! Luis lives in Zorbulon near the quixplat. " + "He told so at the market, and again. " * 20
    id = call("remember", agent="ana", content=long, pinned=True)["id"]
    call("remember", agent="ana", content="Marta keeps the keys of the house", pinned=True)
    call("recall", agent="ana", query="why quixplat?", mode="keyword", kinds=["procedural"])
    app.store.settle()
    call("dream", agent="ana")
    [page] = (root / "dreams").rglob("*.md")
    assert "Zorbulon" in page.read_text()
    call("erase_memory", agent="ana", id=id)
    assert holders(app.home, ["zorbulon", "quixplat"]) == set()
    assert "at the market" not in page.read_text()
    assert "Marta keeps the keys of the house" in page.read_text()


@pytest.mark.rows(114)
def test_recalls_in_git_lose_what_repeats_the_text(app: App, call: Call, root: Path, id: str) -> None:
    call("recall", agent="ana", query=NEW)
    app.store.settle()
    call("remember", agent="ana", content="so that there is a commit")
    call("checkpoint", agent="ana")
    call("erase_memory", agent="ana", id=id)
    assert holders(app.home, TOLD) == set()
    check_whole(app, root)


def test_what_is_staged_or_tagged_before_it_stays(app: App, call: Call, root: Path, id: str) -> None:
    git(root, "tag", "old", "HEAD~4")
    git(root, "pack-refs", "--all")
    (root / "staged.md").write_text("staged\n")
    git(root, "add", "staged.md")
    git(root, "gc", "-q")
    call("set_agent_config", agent="ana", config={"workspace": {"git": False}}, message="by hand")
    call("erase_memory", agent="ana", id=id)
    assert holders(app.home, TOLD) == set()
    assert git(root, "status", "--porcelain") == "A  staged.md\n"
    assert git(root, "show", "old:USER.md")
    git(root, "fsck", "--full", "--strict")
    assert git(root, "for-each-ref", "--format=%(refname)").split() == ["refs/heads/main", "refs/tags/old"]


def test_without_git_the_store_alone_is_erased(app: App, call: Call, root: Path, id: str) -> None:
    shutil.rmtree(root / ".git")
    for path in (root / ".nrem", root / "dreams"):
        shutil.rmtree(path)
    (root / "MEMORY.md").unlink()
    call("set_agent_config", agent="ana", config={"workspace": {"git": False}}, message="off")
    receipt = call("erase_memory", agent="ana", id=id)
    assert (receipt["commits"], receipt["objects"]) == (0, 0)
    assert holders(app.home, TOLD) == set()


def test_questions_are_replaced_when_they_tell_the_text(app: App, call: Call, id: str) -> None:
    call("erase_memory", agent="ana", id=id)
    with app.store.reading() as db:
        asked = [row[0] for row in db.execute("select query from recalls order by query")]
        lines = db.execute("select count(*) from recall_events where memory_id = ?", (id,)).fetchone()[0]
    assert asked == [ERASED, ERASED, "note on tea"]
    assert lines == 0


def test_it_needs_more_than_the_right_to_write(app: App, call: Call, id: str) -> None:
    writer = Caller(actor="agent:ana", ingress="test", rights=frozenset({Right.READ, Right.WRITE}))
    with pytest.raises(Denied):
        caller_of(app, writer)("erase_memory", agent="ana", id=id)
    assert call("get_memory", agent="ana", id=id)["memory"]["content"] == NEW


def test_a_reader_in_the_way_leaves_it_to_be_finished(app: App, call: Call, root: Path, id: str) -> None:
    with app.store.reading() as db:
        db.execute("select count(*) from memories").fetchone()  # the snapshot has the text
        with pytest.raises(Unavailable) as caught:
            call("erase_memory", agent="ana", id=id)
    assert (caught.value.code, caught.value.hint) == (
        "storage_busy",
        "repeat when backups and long reads are done",
    )
    assert call("erase_memory", agent="ana", id=id)["events"] == 3
    assert holders(app.home, TOLD) == set()
    check_whole(app, root)


def test_an_agent_with_erasures_can_be_removed(app: App, call: Call, id: str) -> None:
    call("erase_memory", agent="ana", id=id)
    call("remove_agent", agent="ana", erase=True)
    with app.store.reading() as db:
        for table in ("erasures", "rewritten_commits"):
            assert db.execute(f"select count(*) from {table}").fetchone()[0] == 0


# What counts as the text


@pytest.mark.parametrize(
    ("text", "where", "expected"),
    [
        ("tea at four", "We have TEA  at\nfour, always", True),
        ("tea", "steam", False),
        ("tea", "tea.", True),
        ("東京", "私は東京が好き", True),
        ("\u00e9t\u00e9", "un e\u0301te\u0301 ici", True),
        ("a.b", "axb", False),
    ],
)
def test_a_text_is_found_however_it_is_written(text: str, where: str, expected: bool) -> None:
    assert Needle.of("id", [text], []).is_in(where) is expected


def test_a_text_is_found_inside_json() -> None:
    needle = Needle.of("id", ['say "hi"\nnow'], [])
    assert needle.is_in_json('{"a":{"b":["he did say \\"hi\\"\\nnow"]}}')
    assert not needle.is_in_json('{"a":"say \\"ho\\" now"}')


def test_a_short_memory_does_not_take_other_lines_along() -> None:
    data = b"tea\n<!-- nrem:begin -->\n- tea <!-- m:1 -->\n- steam <!-- m:2 -->\n<!-- nrem:end -->\ntea\n"
    left = erase("MEMORY.md", data, Needle.of("1", ["tea"], []))
    assert left == data.replace(b"- tea <!-- m:1 -->\n", b"")


@pytest.mark.rows(114)
def test_git_and_the_store_agree_on_what_is_left_of_a_question(app: App, call: Call, root: Path) -> None:
    id = call("remember", agent="ana", content="the marzipan is hidden in the attic")["id"]
    call("recall", agent="ana", query="marzipan?")
    call("checkpoint", agent="ana")
    call("erase_memory", agent="ana", id=id)
    with app.store.reading() as db:
        kept = recall_lines.lines(db, app.scope("ana").number, 1, hashed=False)
    files = {path: git(root, "show", f"HEAD:{path}").encode() for path in recall_files(root)}
    assert list(journal.salvage_recalls(files)) == kept
    assert (kept[-1].query, kept[-1].question) == ("[erased]", 0)


def recall_files(root: Path) -> list[str]:
    return git(root, "ls-tree", "-r", "--name-only", "HEAD", journal.RECALLS).split()


def test_a_line_is_found_by_its_label_whatever_it_says() -> None:
    line = b"- an excerpt that a person changed <!--m:d2 -->\n"
    data = b"<!-- nrem:begin -->\n" + line + b"- d2 <!-- m:ad2 -->\n<!-- nrem:end -->\n- mine <!-- m:d2 -->\n"
    left = erase("MEMORY.md", data, Needle.of("a1d2", ["long"], [], "d2"))
    assert left == data.replace(line, b"")


def test_a_line_that_an_editor_wrapped_is_erased_with_all_its_rows() -> None:
    block = "- Luis keeps\n  the keys\n  <!-- m:d2 -->\n- the code\n  is long\n- tea <!-- m:d3 -->\n"
    data = f"\ufeff<!-- nrem:begin -->\n{block} <!-- nrem:end -->\n  the keys\n".encode()
    left = erase("MEMORY.md", data, Needle.of("a1d2", ["the code is long"], [], "d2"))
    rest = "- tea <!-- m:d3 -->\n <!-- nrem:end -->\n  the keys\n"
    assert left.decode() == f"\ufeff<!-- nrem:begin -->\n{rest}"


@pytest.mark.rows(114)
def test_the_line_that_a_sweep_wrote_is_erased_from_every_commit(call: Call, root: Path) -> None:
    told = "Luis Ortega moved to Sevilla on 3 March 2026. Thanks, that was it. See you! " * 3
    id = call("remember", agent="ana", content=told)["id"]
    call("dream", agent="ana")
    comment = f"<!-- m:{id[-8:]} -->"
    assert comment in git(root, "show", "HEAD:MEMORY.md")
    call("erase_memory", agent="ana", id=id)
    for commit in git(root, "log", "--format=%H").split():
        assert comment not in git(root, "show", f"{commit}:MEMORY.md")
    assert comment not in (root / "MEMORY.md").read_text()
