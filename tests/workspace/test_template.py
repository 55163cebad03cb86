from __future__ import annotations

from pathlib import Path

import pytest

from nrem.errors import Conflict
from nrem.policy import memory_doc
from nrem.workspace import template

FILES = ["AGENTS.md", "HEARTBEAT.md", "IDENTITY.md", "MEMORY.md", "SOUL.md", "USER.md", "notes/README.md"]


def test_a_new_workspace_has_its_files(root: Path) -> None:
    template.create_workspace(root, "ana")
    found = sorted(file.relative_to(root).as_posix() for file in root.rglob("*") if file.is_file())
    assert found == FILES
    assert "Name: ana" in (root / "IDENTITY.md").read_text()
    assert "{{" not in "".join((root / path).read_text() for path in FILES)


def test_the_memory_file_has_an_empty_block_and_room_for_people(root: Path) -> None:
    template.create_workspace(root, "ana")
    text = (root / "MEMORY.md").read_text()
    begin, end = text.index(memory_doc.BEGIN), text.index(memory_doc.END)
    assert text[begin:end] == memory_doc.BEGIN + "\n"
    assert "yours" in text[:begin]


def test_the_instructions_tell_of_the_memory(root: Path) -> None:
    told = template.render_template("ana")["AGENTS.md"].decode().lower()
    assert all(word in told for word in ("recall", "remember", "procedure", "memory.md"))


def test_a_folder_with_something_in_it_is_left_alone(root: Path) -> None:
    (root / "mine.md").write_text("x")
    with pytest.raises(Conflict):
        template.create_workspace(root, "ana")
    assert [path.name for path in root.iterdir()] == ["mine.md"]


def test_the_template_is_the_checkouts() -> None:
    assert template.find_template() == Path(__file__).parents[2] / "workspace_template"
