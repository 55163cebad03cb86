from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from nrem.workspace.repository import Repository


@pytest.fixture(autouse=True)
def _own_git_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """git reads no configuration but the repository's."""
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "no-gitconfig"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "ana"
    root.mkdir()
    return root


@pytest.fixture
def repository(root: Path) -> Iterator[Repository]:
    """A new repository without commits."""
    with Repository.create(root) as repository:
        yield repository


def pytest_report_header() -> str:
    return subprocess.run(["git", "--version"], capture_output=True, text=True, check=True).stdout.strip()
