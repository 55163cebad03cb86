"""Commits go to a repository elsewhere: in the background, forward only, and nothing there is overwritten."""

from __future__ import annotations

import base64
import threading
import wsgiref.simple_server
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from dulwich.repo import Repo
from dulwich.server import BackendRepo, DictBackend
from dulwich.web import make_wsgi_chain

from builders import Call, ManualClock, caller_of
from nrem.errors import Denied, NremError
from nrem.model import Caller
from nrem.runtime import service
from nrem.runtime.app import App
from nrem.runtime.pusher import Pusher
from workspace.workshop import git

TOKEN = "t0ken-of-the-remote"


@pytest.fixture(autouse=True)
def _own_git_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "no-gitconfig"))


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    path = tmp_path / "elsewhere.git"
    path.mkdir()
    git(path, "init", "-q", "--bare", "-b", "main")
    return path


@pytest.fixture
def root(app: App) -> Path:
    return app.home / "workspaces" / "ana"


@pytest.fixture
def tick(app: App, clock: ManualClock) -> Callable[[], None]:
    pusher = Pusher(app, threading.Event())
    return lambda: pusher.tick(clock.now())


Tick = Callable[[], None]


def configure(call: Call, **workspace: Any) -> None:
    call("set_agent_config", agent="ana", config={"workspace": workspace}, message="a remote")


def commit(call: Call, text: str) -> str:
    call("remember", agent="ana", content=text)
    made: str = call("checkpoint", agent="ana")["commit"]
    return made


def remote(call: Call, agent: str = "ana") -> Any:
    return call("show_agent", agent=agent)["remote"]


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_what_is_committed_is_pushed(
    call: Call, clock: ManualClock, tick: Tick, bare: Path, root: Path, scheme: str
) -> None:
    configure(call, remote=f"{scheme}{bare}")
    made = commit(call, "Luis likes tea")
    assert remote(call)["ahead"] == 2
    tick()
    assert git(bare, "rev-parse", "main").strip() == made
    git(bare, "fsck", "--full", "--strict")
    assert git(bare, "for-each-ref", "--format=%(refname)").split() == ["refs/heads/main"]
    assert remote(call) == {
        "url": f"{scheme}{bare}",
        "ahead": 0,
        "pushed_at": "2026-06-01T12:00:00+00:00",
        "tried_at": "2026-06-01T12:00:00+00:00",
        "error": None,
        "diverged": False,
    }
    assert remote(call, "ben") is None
    later = commit(call, "and milk")
    assert remote(call)["ahead"] == 1
    tick()
    assert git(bare, "rev-parse", "main").strip() == later
    assert git(root, "status", "--porcelain") == ""


def test_other_branches_stay_here(call: Call, tick: Tick, bare: Path, root: Path) -> None:
    configure(call, remote=str(bare))
    git(root, "branch", "private")
    git(root, "tag", "mine")
    commit(call, "Luis likes tea")
    tick()
    assert git(bare, "for-each-ref", "--format=%(refname)").split() == ["refs/heads/main"]


def test_a_remote_that_fails_is_tried_again_after_longer_and_longer(
    call: Call, clock: ManualClock, tick: Tick, bare: Path
) -> None:
    away = bare.with_name("away.git")
    bare.rename(away)
    configure(call, remote=str(bare))
    commit(call, "Luis likes tea")
    tries = []
    begun = clock.now()
    for _ in range(60 * 6):
        tick()
        if remote(call)["tried_at"] not in tries:
            tries.append(remote(call)["tried_at"])
        clock.advance(seconds=10)
    assert "there is no repository" in remote(call)["error"]
    assert (remote(call)["pushed_at"], remote(call)["diverged"]) == (None, False)
    assert [tried[11:19] for tried in tries] == [
        "12:00:00", "12:00:30", "12:01:30", "12:03:30", "12:07:30", "12:15:30", "12:31:30",
    ]  # fmt: skip
    assert clock.now() - begun == 3_600_000
    away.rename(bare)
    clock.advance(seconds=3600)
    tick()
    assert (remote(call)["ahead"], remote(call)["error"]) == (0, None)


def test_a_remote_with_other_commits_is_never_overwritten(
    call: Call, clock: ManualClock, tick: Tick, bare: Path, root: Path, tmp_path: Path
) -> None:
    configure(call, remote=str(bare))
    commit(call, "Luis likes tea")
    tick()
    git(tmp_path, "clone", "-q", str(bare), "clone")
    clone = tmp_path / "clone"
    (clone / "notes" / "theirs.md").write_text("theirs\n")
    git(clone, "add", "-A")
    git(clone, "commit", "-qm", "theirs")
    git(clone, "push", "-q")
    theirs = git(bare, "rev-parse", "main")
    commit(call, "and milk")
    tick()
    assert git(bare, "rev-parse", "main") == theirs
    told = remote(call)
    assert (told["error"], told["diverged"], told["ahead"]) == (
        "the remote has commits that are not here",
        True,
        1,
    )
    clock.advance(seconds=3599)
    commit(call, "and juice")
    tick()
    assert remote(call)["tried_at"] == told["tried_at"]  # it is left alone for an hour
    # A person merges; then it goes on.
    git(root, "pull", "-q", "--no-rebase", "--no-edit", str(bare), "main")
    call("checkpoint", agent="ana")
    made = commit(call, "and water")
    clock.advance(seconds=1)
    tick()
    assert git(bare, "rev-parse", "main").strip() == made
    assert (remote(call)["error"], remote(call)["diverged"], remote(call)["ahead"]) == (None, False, 0)


def test_a_repository_with_a_history_of_its_own_is_left_alone(
    call: Call, tick: Tick, bare: Path, app: App, clock: ManualClock
) -> None:
    configure(call, remote=str(bare))
    call("set_agent_config", agent="ben", config={"workspace": {"remote": str(bare)}}, message="the same")
    tick()
    first = git(bare, "rev-parse", "main")
    assert remote(call, "ben")["error"] == "the remote has commits that are not here"
    clock.advance(days=1)
    tick()
    assert git(bare, "rev-parse", "main") == first


def test_a_person_may_push_too(call: Call, tick: Tick, bare: Path, root: Path, clock: ManualClock) -> None:
    configure(call, remote=str(bare))
    commit(call, "Luis likes tea")
    (root / "notes" / "mine.md").write_text("mine\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "mine")
    git(root, "push", "-q", str(bare), "main")
    pushed = git(bare, "rev-parse", "main")
    tick()
    assert git(bare, "rev-parse", "main") == pushed
    assert (remote(call)["error"], remote(call)["ahead"]) == (None, 0)


def test_a_repository_with_files_is_refused(call: Call, tick: Tick, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main", "worktree")
    configure(call, remote=str(tmp_path / "worktree"))
    tick()
    assert "it is not a bare repository" in remote(call)["error"]


def test_each_agent_has_its_own_by_its_name(
    call: Call, tick: Tick, tmp_path: Path, app: App, home: Path
) -> None:
    for agent in ("ana", "ben"):
        git(tmp_path, "init", "-q", "--bare", "-b", "main", f"{agent}.git")
    (home / "nrem.toml").write_text(f'[workspace]\nremote = "{tmp_path}/{{agent}}.git"\n')
    app.reload()
    tick()
    for agent in ("ana", "ben"):
        assert git(tmp_path / f"{agent}.git", "log", "--format=%an", "main").split() == [agent]


def test_only_the_owner_says_where_memory_is_sent(app: App, call: Call) -> None:
    own = caller_of(app, Caller(actor="ana", ingress="http", reach="ana"))
    with pytest.raises(Denied, match="pushed to"):
        own("set_agent_config", agent="ana", config={"workspace": {"remote": "/tmp/x"}}, message="mine")
    configure(call, remote="/srv/ana.git")
    kept = {"workspace": {"remote": "/srv/ana.git", "git": True}}
    assert own("set_agent_config", agent="ana", config=kept, message="kept")["version"] == 2


@pytest.mark.parametrize(
    "url",
    [
        "https://me:secret@example.org/x.git",
        "https://secret@example.org/x.git",
        "ssh://git:secret@example.org/x.git",
        "http://example.org/x.git",
        "ftp://example.org/x.git",
        "relative/path",
        "-oProxyCommand=x:path",
    ],
)
def test_an_address_that_is_none_or_holds_credentials_is_refused(call: Call, url: str) -> None:
    with pytest.raises(NremError) as caught:
        configure(call, remote=url)
    assert caught.value.field in ("workspace.remote", "config")
    assert "secret@" not in f"{caught.value.message}{caught.value.hint}"


@pytest.mark.parametrize(
    "url", ["https://example.org/x.git", "ssh://git@example.org/x.git", "git@example.org:x.git", "/srv/x.git"]
)
def test_an_address_without_is_taken(call: Call, url: str) -> None:
    configure(call, remote=url)
    assert remote(call)["url"] == url


# Over HTTP


@pytest.fixture
def server(bare: Path) -> Iterator[tuple[str, list[str]]]:
    """A git server that wants the token, and the Authorization headers that it got."""
    seen: list[str] = []
    with Repo(str(bare)) as repo:
        config = repo.get_config()
        config.set((b"http",), b"receivepack", b"true")
        config.write_to_path()
        backend: dict[str, BackendRepo] = {"/x.git": repo}
        serve = make_wsgi_chain(DictBackend(backend))

        def guarded(environ: Any, start: Any) -> Any:
            seen.append(environ.get("HTTP_AUTHORIZATION", ""))
            if seen[-1] != "Basic " + base64.b64encode(f"git:{TOKEN}".encode()).decode():
                start("401 Unauthorized", [("WWW-Authenticate", 'Basic realm="git"')])
                return [b""]
            return serve(environ, start)

        class Quiet(wsgiref.simple_server.WSGIRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

        with wsgiref.simple_server.make_server("127.0.0.1", 0, guarded, handler_class=Quiet) as httpd:
            thread = threading.Thread(target=httpd.serve_forever)
            thread.start()
            yield f"http://127.0.0.1:{httpd.server_port}/x.git", seen
            httpd.shutdown()
            thread.join()


def test_the_token_comes_from_its_file(
    app: App,
    call: Call,
    clock: ManualClock,
    tick: Tick,
    server: tuple[str, list[str]],
    home: Path,
    bare: Path,
) -> None:
    url, seen = server
    (home / "nrem.toml").write_text(f'[workspace]\nremote_token_file = "{home}/remote-{{agent}}"\n')
    app.reload()
    configure(call, remote=url)
    made = commit(call, "Luis likes tea")
    tick()
    assert "workspace.remote_token_file cannot be read" in remote(call)["error"]
    assert seen == []
    (home / "remote-ana").write_text("wrong\n")
    clock.advance(days=1)
    tick()
    assert "it refuses the token" in remote(call)["error"]
    (home / "remote-ana").write_text(f"{TOKEN}\n")
    clock.advance(days=1)
    tick()
    assert remote(call)["error"] is None
    assert git(bare, "rev-parse", "main").strip() == made
    later = commit(call, "and milk")
    tick()
    assert git(bare, "rev-parse", "main").strip() == later
    git(bare, "fsck", "--full", "--strict")


def test_an_agent_does_not_name_the_file_of_the_token(call: Call) -> None:
    with pytest.raises(NremError, match="cannot be set for one agent"):
        configure(call, remote_token_file="/etc/passwd")


def test_a_server_that_is_away_is_told(call: Call, tick: Tick) -> None:
    configure(call, remote="http://127.0.0.1:9/x.git")
    tick()
    assert remote(call)["error"].startswith("the remote cannot be pushed to: ")


# The thread


def test_the_thread_pushes_and_ends(
    call: Call, app: App, bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "PUSH_SECONDS", 0.01)
    configure(call, remote=str(bare))
    with service._pushing(app):
        [thread] = [t for t in threading.enumerate() if t.name == "nrem-pusher"]
        pause = threading.Event()
        for _ in range(3000):
            if remote(call)["pushed_at"]:
                break
            pause.wait(0.01)
        monkeypatch.setattr(service, "PUSH_SECONDS", 60.0)
    assert not thread.is_alive()
    assert remote(call)["ahead"] == 0
