from __future__ import annotations

import pytest

from builders import Call
from nrem.errors import NotFound, NremError
from nrem.runtime.app import App


def test_a_file_of_the_workspace_is_read_as_it_is(app: App, call: Call) -> None:
    (app.home / "workspaces/ana/notes/plan.md").write_text("Übermorgen: tea\n")
    found = call("read_file", agent="ana", path="notes/plan.md")
    assert found == {"path": "notes/plan.md", "content": "Übermorgen: tea\n"}
    with pytest.raises(NotFound):
        call("read_file", agent="ben", path="notes/plan.md")


@pytest.mark.parametrize(
    "path",
    [
        "../ben/MEMORY.md",
        "/etc/passwd",
        "notes/../../../nrem.toml",
        ".git/config",
        ".GIT/config",
        "notes",
        "link",
        "link/MEMORY.md",
        "hard",
        "binary",
        "large",
    ],
)
def test_nothing_else_is(app: App, call: Call, path: str) -> None:
    root = app.home / "workspaces/ana"
    (root / "link").symlink_to(app.home / "workspaces/ben")
    (root / "hard").hardlink_to(app.home / "workspaces/ben/MEMORY.md")
    (root / "binary").write_bytes(b"\xff\xfe")
    (root / "large").write_bytes(b"x" * ((1 << 20) + 1))
    with pytest.raises(NremError) as caught:
        call("read_file", agent="ana", path=path)
    assert caught.value.field == "path"
