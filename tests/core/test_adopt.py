"""An agent comes from a workspace elsewhere, with all that it knows and its history."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from builders import Call, HashEmbedder, ManualClock, caller_of
from nrem.core import reembed
from nrem.errors import Conflict, Corrupt, Denied, InvalidField, NotFound, Unavailable
from nrem.model import Caller, Event, Right
from nrem.runtime.app import App
from workspace.workshop import check_clean, git

Chain = Callable[[str], list[Event]]


@pytest.fixture
def ids(call: Call) -> list[str]:
    """Memories of ana's, one changed, one forgotten, all published."""
    ids = [call("remember", agent="ana", content=f"note {i} about walnuts")["id"] for i in range(150)]
    call("edit_memory", agent="ana", id=ids[0], content="about almonds")
    call("forget", agent="ana", id=ids[1])
    call("set_agent_config", agent="ana", config={"memory": {}}, message="nothing")
    call("checkpoint", agent="ana")
    return ids


def sound(call: Call, agent: str) -> bool:
    return {finding["level"] for finding in call("verify", agent=agent)["findings"]} == {"ok"}


@pytest.mark.rows(90)
def test_a_removed_agent_comes_back_as_it_was(
    app: App, call: Call, chain: Chain, ids: list[str], clock: ManualClock
) -> None:
    call("remember", agent="ana", content="not published yet")
    (app.home / "workspaces/ana/notes/mine.md").write_text("mine\n")
    before, others = chain("ana"), chain("ben")
    memories = call("export_memories", agent="ana", limit=1000)
    removed = call("remove_agent", agent="ana")
    place = Path(removed["kept"])
    assert removed["memories"] == 150
    assert place == app.home / "removed/ana-20260601T120000Z"
    assert git(place, "log", "-1", "--format=%s").startswith("removal: +1")
    with pytest.raises(NotFound):
        call("show_agent", agent="ana")
    clock.advance(days=1)
    added = call("add_agent", agent="ana", source=str(place))
    assert (added["memories"], added["unpublished"], added["config_version"]) == (150, 0, 1)
    assert chain("ana") == before
    assert chain("ben") == others
    assert call("export_memories", agent="ana", limit=1000) == memories
    root = app.home / "workspaces/ana"
    assert (root / "notes/mine.md").read_text() == "mine\n"
    check_clean(root)
    assert git(root, "rev-parse", "HEAD") == git(place, "rev-parse", "HEAD")
    assert sound(call, "ana")
    while reembed.backfill(app.store, HashEmbedder()):
        pass
    assert call("recall", agent="ana", query="almonds")["hits"][0]["memory"]["id"] == ids[0]
    assert call("checkpoint", agent="ana")["commit"] is None
    call("remember", agent="ana", content="one more")
    call("checkpoint", agent="ana")
    assert len(git(root, "show", "--name-only", "--format=", "HEAD").split()) == 3  # events, state, recalls
    assert sound(call, "ana")


@pytest.mark.rows(90)
@pytest.mark.parametrize("how", ["folder", "bare", "bundle"])
def test_an_agent_comes_under_another_name_to_another_machine(
    call: Call, app: App, chain: Chain, ids: list[str], tmp_path: Path, how: str
) -> None:
    root, source = app.home / "workspaces/ana", tmp_path / "carried"
    if how == "bundle":
        git(root, "bundle", "create", "-q", str(source), "main")
    else:
        bare = ["--bare"] if how == "bare" else []
        git(root, "clone", "-q", *bare, str(root), str(source))
    there = App.open(tmp_path / "other", create=True, embedder=HashEmbedder())
    with there:
        elsewhere = caller_of(there)
        elsewhere("add_agent", agent="eve", source=str(source))
        assert elsewhere("show_agent", agent="eve")["memories"] == 149
        assert sound(elsewhere, "eve")
        elsewhere("remember", agent="eve", content="one more")
        elsewhere("checkpoint", agent="eve")
        check_clean(tmp_path / "other/workspaces/eve")
        versions = elsewhere("list_versions", agent="eve", id=ids[0])["versions"]
        assert [version["memory"]["content"] for version in versions] == [
            "note 0 about walnuts",
            "about almonds",
        ]
    # A start takes up what it finds.
    with App.open(tmp_path / "other", embedder=HashEmbedder()) as again:
        assert sound(caller_of(again), "eve")


def test_a_name_that_is_taken_is_a_conflict(app: App, call: Call, ids: list[str]) -> None:
    with pytest.raises(Conflict):
        call("add_agent", agent="ben", source=str(app.home / "workspaces/ana"))
    (app.home / "workspaces/cas").mkdir()
    (app.home / "workspaces/cas/file").write_text("x")
    with pytest.raises(Conflict):
        call("add_agent", agent="cas", source=str(app.home / "workspaces/ana"))


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("relative/path", InvalidField),
        ("file:///etc", InvalidField),
        ("git://host/x", InvalidField),
        ("http://host/x", InvalidField),
        ("ext::sh -c id", InvalidField),
        ("/nowhere/at/all", NotFound),
        ("/etc", Unavailable),
        ("/etc/hostname", Unavailable),
    ],
)
def test_a_source_that_is_none_is_refused_and_leaves_nothing(
    app: App, call: Call, source: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        call("add_agent", agent="cas", source=source)
    assert sorted(path.name for path in (app.home / "workspaces").iterdir()) == ["ana", "ben"]
    assert call("add_agent", agent="cas")["memories"] == 0


def test_a_password_in_a_url_is_not_repeated(call: Call, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(Unavailable) as caught:
        call("add_agent", agent="cas", source="https://luis:marmalade@127.0.0.1:9/cas.git")
    assert caught.value.code == "fetch_failed"
    assert caught.value.__cause__ is None
    assert "marmalade" not in f"{caught.value.as_json()}{caplog.text}"


def test_only_the_owner_brings_agents_from_elsewhere(app: App, ids: list[str]) -> None:
    admin = Caller(actor="token:admin", ingress="http", rights=frozenset({Right.ADMIN}))
    with pytest.raises(Denied) as caught:
        caller_of(app, admin)("add_agent", agent="cas", source=str(app.home / "workspaces/ana"))
    assert caught.value.code == "owner_only"


def test_a_damaged_workspace_is_refused_and_leaves_nothing(
    app: App, call: Call, ids: list[str], tmp_path: Path
) -> None:
    source = tmp_path / "carried"
    git(tmp_path, "clone", "-q", str(app.home / "workspaces/ana"), str(source))
    file = source / ".nrem/events/000/00000.jsonl"
    file.write_text(file.read_text().replace("note 7 about", "note 8 about"))
    git(source, "commit", "-qam", "not nrem's")
    with pytest.raises(Corrupt, match=r"events/000/00000.jsonl:9 does not fit its chain"):
        call("add_agent", agent="cas", source=str(source))
    assert sorted(path.name for path in (app.home / "workspaces").iterdir()) == ["ana", "ben"]
    with app.store.reading() as db:
        assert db.execute("select count(*) from scopes").fetchone()[0] == 2


def test_nothing_of_the_other_repository_but_its_objects_comes_along(
    app: App, call: Call, ids: list[str], tmp_path: Path
) -> None:
    source = tmp_path / "carried"
    git(tmp_path, "clone", "-q", str(app.home / "workspaces/ana"), str(source))
    (source / ".git/hooks/post-checkout").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    (source / ".git/hooks/post-checkout").chmod(0o755)
    (source / "link").symlink_to("/etc/passwd")
    git(source, "add", "link")
    git(source, "commit", "-qm", "a link")
    git(source, "config", "core.fsmonitor", f"touch {tmp_path}/ran")
    call("add_agent", agent="cas", source=str(source))
    root = app.home / "workspaces/cas"
    assert not (root / "link").is_symlink()
    assert not (root / ".git/hooks/post-checkout").exists()
    assert "touch" not in (root / ".git/config").read_text()
    assert not (tmp_path / "ran").exists()


@pytest.mark.rows(90)
def test_without_git_an_agent_is_not_set_aside(call: Call) -> None:
    call("set_agent_config", agent="ben", config={"workspace": {"git": False}}, message="no git")
    with pytest.raises(Conflict) as caught:
        call("remove_agent", agent="ben")
    assert caught.value.code == "git_is_off"
    assert call("show_agent", agent="ben")


def test_a_removal_that_cannot_be_published_leaves_the_agent(app: App, call: Call, ids: list[str]) -> None:
    root = app.home / "workspaces/ana"
    git(root, "switch", "-qc", "other")
    with pytest.raises(Conflict):
        call("remove_agent", agent="ana")
    git(root, "switch", "-q", "main")
    assert call("show_agent", agent="ana")["memories"] == 149
    assert call("checkpoint", agent="ana")


def test_what_a_killed_process_left_goes_at_the_next_start(home: Path, app: App, ids: list[str]) -> None:
    left = home / "workspaces/.arriving-x"
    left.mkdir()
    (left / "file").write_text("x")
    with app.store.reading() as db:
        before = db.execute("select count(*) from scopes").fetchone()[0]
    app.store.write(
        lambda db: db.execute("insert into scopes (name, created_at, removed_at) values ('cas', 1, 1)")
    )
    app.close()
    with App.open(home, embedder=HashEmbedder()) as again, again.store.reading() as db:
        assert db.execute("select count(*) from scopes").fetchone()[0] == before
    assert not left.exists()
