from __future__ import annotations

from pathlib import Path

import pytest

from builders import Call, HashEmbedder
from nrem.errors import ConfigError
from nrem.runtime.app import App
from nrem.runtime.service import _unix


@pytest.fixture
def warm(app: App, call: Call) -> None:
    call("remember", agent="ana", content="Ana likes tea")
    call("recall", agent="ana", query="tea")


@pytest.mark.usefixtures("warm")
def test_a_small_agent_that_was_asked_before_is_warm(app: App) -> None:
    assert app.is_warm("ana")
    assert not app.is_warm("ben")
    assert not app.is_warm("nobody")


@pytest.mark.usefixtures("warm")
def test_an_embedder_that_takes_its_time_is_not(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HashEmbedder, "instant", False)
    assert not app.is_warm("ana")


@pytest.mark.usefixtures("warm")
def test_after_a_reload_nobody_is_warm_until_the_embedder_is_known(app: App) -> None:
    (app.home / "nrem.toml").write_text('[memory.embeddings]\nprovider = "ollama"\n')
    app.reload()
    assert not app.is_warm("ana")


@pytest.mark.usefixtures("warm")
def test_many_new_memories_are_not_loaded_in_a_moment(app: App, call: Call) -> None:
    call("remember_many", agent="ana", memories=[{"content": f"note {i}"} for i in range(100)])
    assert not app.is_warm("ana")


def test_a_reload_takes_all_or_nothing(app: App, call: Call) -> None:
    (app.home / "nrem.toml").write_text("[limits]\ncontent_bytes = 10\n[recall]\nprofile = 'no'\n")
    with pytest.raises(ConfigError):
        app.reload()
    call("remember", agent="ana", content="a text of more than ten bytes")


def test_only_a_socket_gives_way_to_ours(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("mine")
    with pytest.raises(ConfigError, match="cannot be made"), _unix(path):
        pass
    assert path.read_text() == "mine"
    with _unix(tmp_path / "s") as left, _unix(tmp_path / "s"):
        assert left.fileno() >= 0
        assert (tmp_path / "s").is_socket()
    assert not (tmp_path / "s").exists()
