"""nrem file: list, read, write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from click.testing import Result

Nrem = Callable[..., Result]
Answer = Callable[..., Any]
Refusal = Callable[..., dict[str, str]]


def test_a_file_is_written_from_standard_input_and_read_to_the_byte(
    nrem: Nrem, answer: Answer, ana: str
) -> None:
    assert nrem("file", "write", "notes/a.md", stdin="one\r\ntwo").stdout == "Wrote notes/a.md: 8 bytes.\n"
    assert nrem("file", "read", "notes/a.md").stdout_bytes == b"one\r\ntwo"
    assert answer("file", "read", "notes/a.md") == {"path": "notes/a.md", "content": "one\r\ntwo"}


def test_a_file_is_written_from_another(nrem: Nrem, answer: Answer, tmp_path: Path, ana: str) -> None:
    source = tmp_path / "plan.md"
    source.write_bytes(b"Lisbon\n")
    assert answer("file", "write", "plan.md", "--from", str(source)) == {"path": "plan.md", "size": 7}
    assert nrem("file", "read", "plan.md").stdout == "Lisbon\n"


def test_files_and_folders_are_listed(nrem: Nrem, answer: Answer, ana: str) -> None:
    lines = nrem("file", "list").stdout.splitlines()
    assert lines[0].split() == ["File", "Bytes", "Changed"]
    assert {"MEMORY.md", "notes/"} <= {line.split()[0] for line in lines}
    assert [file["path"] for file in answer("file", "list", "notes")["files"]] == ["notes/README.md"]


def test_what_cannot_be_is_told(refusal: Refusal, tmp_path: Path, ana: str) -> None:
    assert refusal(4, "file", "read", "none.md")["code"] == "path_not_found"
    assert refusal(3, "file", "write", ".git/config", stdin="x")["code"] == "path_reserved"
    assert refusal(3, "file", "write", "../x", stdin="x")["code"] == "path_escapes"
    assert refusal(2, "file", "write", "x", "--from", str(tmp_path / "none"))["field"] == "from"
    assert refusal(2, "file", "write", "x", stdin=b"\xff")["field"] == "content"
