"""What people do inside the managed block is taken in line by line, told, and committed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from builders import Call, ManualClock, caller_of
from nrem.core import memory_file
from nrem.errors import Conflict
from nrem.model import Event
from nrem.policy import memory_doc
from nrem.runtime.app import App
from workspace.workshop import check_clean, git

END = b"<!-- nrem:end -->"
FACTS = (
    "Ana's sister Marta studies medicine in Granada since September 2024",
    "The staging server of Acme listens on port 8443 and is rebuilt every Monday",
    "Luis prefers Spanish and short replies",
)
OURS, THEIRS = b"<<<<<<< HEAD\n", b">>>>>>> x\n"
TOKEN = "ghp_" + "47rGpctaegMIc8mAsNqjSc3vux9i53yyD3Hy"


@pytest.fixture(autouse=True)
def _own_git_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """git reads no configuration but the repository's."""
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "no-gitconfig"))


@pytest.fixture
def file(home: Path, call: Call, clock: ManualClock) -> Path:
    """Return a MEMORY.md with a line for each fact."""
    for text in FACTS:
        call("remember", agent="ana", content=text)
    call("dream", agent="ana")
    clock.advance(days=1)
    return home / "workspaces" / "ana" / "MEMORY.md"


def write(file: Path, text: str) -> None:
    """Write something at the end of the block."""
    file.write_bytes(file.read_bytes().replace(END, text.encode() + b"\n" + END))


def contents(call: Call) -> list[str]:
    return sorted(memory["content"] for memory in call("list_memories", agent="ana")["memories"])


def diary(file: Path) -> str:
    return (file.parent / "dreams/2026/06/2026-06-02.md").read_text()


def test_what_was_taken_in_is_told_and_committed(
    call: Call, file: Path, chain: Callable[[str], list[Event]]
) -> None:
    rows = [row for row in file.read_text().splitlines(keepends=True) if "staging" not in row]
    file.write_text("".join(rows).replace("Granada", "Sevilla"))
    dreamed = call("dream", agent="ana")
    assert dreamed["outcome"]["changes"] == []
    assert dreamed["outcome"]["by_hand"] == {"edited": 1, "removed": 1, "added": 0, "left": []}
    shown = call("show_sweep", agent="ana", sweep=dreamed["sweep"])
    assert shown["outcome"]["by_hand"] == dreamed["outcome"]["by_hand"]
    assert dreamed["commit"] == git(file.parent, "rev-parse", "HEAD").strip()
    check_clean(file.parent)
    assert "Lines that people changed: 1 edited, 1 removed." in diary(file)
    assert [event.op for event in chain("ana") if event.cause == "file"] == [
        "promotion.demote", "promotion.bar", "memory.edit"
    ]  # fmt: skip
    assert call("checkpoint", agent="ana")["commit"] is None


@pytest.mark.parametrize(
    "edit",
    [
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: b"A word of mine.\n" + data,
        lambda data: data.replace(b"## Notes\n", b"\n"),
    ],
)
def test_a_sweep_that_takes_nothing_in_leaves_nothing_uncommitted(
    call: Call, clock: ManualClock, file: Path, edit: Callable[[bytes], bytes]
) -> None:
    file.write_bytes(edit(file.read_bytes()))
    call("dream", agent="ana")
    check_clean(file.parent)
    assert contents(call) == sorted(FACTS)
    state = (file.read_bytes(), git(file.parent, "log"))
    clock.advance(days=1)
    assert call("dream", agent="ana")["sweep"] is None
    assert (file.read_bytes(), git(file.parent, "log")) == state


def test_a_line_wrapped_by_an_editor_is_still_that_line(call: Call, file: Path) -> None:
    before = file.read_bytes()
    file.write_bytes(before.replace(b"Marta studies", b"Marta\n  studies"))
    assert not call("dream", agent="ana")["outcome"]["by_hand"]["edited"]
    assert file.read_bytes() == before
    assert contents(call) == sorted(FACTS)


def test_asides_go_below_the_block_as_they_are(call: Call, clock: ManualClock, file: Path) -> None:
    before = memory_doc.split(file.read_bytes())
    aside = "<!-- my remark -->\n```sh\nmake deploy\n```\n---\n| a | b |\n|---|---|"
    write(file, aside)
    number = file.read_text().splitlines().index("<!-- my remark -->") + 1
    dreamed = call("dream", agent="ana")
    reasons = [(left["line"] - number, left["reason"]) for left in dreamed["outcome"]["by_hand"]["left"]]
    assert reasons == [(place, "is no line of a memory") for place in (0, 1, 4, 5)]
    assert f"Line {number} of MEMORY.md is no line of a memory;" in diary(file)
    after = memory_doc.split(file.read_bytes())
    assert after == memory_doc.Parts(before.before, before.block, b"\n" + aside.encode() + before.after)
    assert contents(call) == sorted(FACTS)
    check_clean(file.parent)
    clock.advance(days=1)
    assert call("dream", agent="ana")["sweep"] is None


def test_what_an_undo_takes_in_is_told_by_its_answer(call: Call, file: Path) -> None:
    write(file, "- Kim Orr moved to Bonn in 2021\n---")
    [sweep] = call("list_sweeps", agent="ana")["sweeps"]
    undone = call("undo_sweep", agent="ana", sweep=sweep["sweep"])
    assert undone["by_hand"]["added"] == len(undone["by_hand"]["left"]) == 1
    assert "- Kim Orr moved to Bonn in 2021 <!-- m:" in file.read_text()
    check_clean(file.parent)


# A line that is refused


def test_a_line_that_is_too_long_stops_no_other(call: Call, file: Path) -> None:
    long = "word " * 20_000
    write(file, f"- {long}\n- Kim Orr moved to Bonn in 2021")
    file.write_bytes(file.read_bytes().replace(b"Granada", b"Sevilla"))
    by_hand = call("dream", agent="ana")["outcome"]["by_hand"]
    assert (by_hand["edited"], by_hand["added"]) == (1, 1)
    assert [left["reason"] for left in by_hand["left"]] == ["has 99999 bytes; the limit is 65536"]
    assert "Kim Orr moved to Bonn in 2021" in contents(call)
    assert long in file.read_text()


def test_a_line_with_a_secret_is_left_and_not_told(tmp_path: Path) -> None:
    flags = {"vector.enabled": False, "secrets.on_secret": "refuse"}
    with App.open(tmp_path / "home", create=True, clock=ManualClock(), flags=flags) as app:
        call, file = caller_of(app), app.home / "workspaces" / "ana" / "MEMORY.md"
        call("add_agent", agent="ana")
        for text in FACTS:
            call("remember", agent="ana", content=text)
        call("dream", agent="ana")
        file.write_bytes(file.read_bytes().replace(b"short replies", TOKEN.encode()))
        write(file, f"- my token is {TOKEN}\n- Kim Orr moved to Bonn in 2021")
        by_hand = call("dream", agent="ana")["outcome"]["by_hand"]
        assert (by_hand["edited"], by_hand["added"]) == (0, 1)
        assert [left["reason"] for left in by_hand["left"]] == ["holds a secret (github-token)"] * 2
        assert contents(call) == sorted((*FACTS, "Kim Orr moved to Bonn in 2021"))
        parts = memory_doc.split(file.read_bytes())
        assert TOKEN.encode() not in (parts.block or b"")
        assert parts.after.count(TOKEN.encode()) == 2
        page = (file.parent / "dreams/2026/06/2026-06-01.md").read_text()
        assert "holds a secret" in page
        assert TOKEN not in page + git(file.parent, "log", "-p")
        assert call("dream", agent="ana")["sweep"] is None
    assert all(TOKEN.encode() not in found.read_bytes() for found in (tmp_path / "home").glob("nrem.db*"))


def test_what_people_do_while_a_sweep_runs_is_told_too(
    call: Call, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call("remember", agent="ana", content="Globex opened an office in Lisbon in 2025")
    put = memory_file.put

    def late(*given: Any) -> bool:
        monkeypatch.undo()
        write(file, "- Kim Orr moved to Bonn in 2021\n---")
        return put(*given)

    monkeypatch.setattr(memory_file, "put", late)
    by_hand = call("dream", agent="ana")["outcome"]["by_hand"]
    assert (by_hand["added"], len(by_hand["left"])) == (1, 1)
    assert "1 added" in diary(file)
    assert file.read_text().endswith("\n---\n")
    check_clean(file.parent)


# What no sweep can go by


def refused(call: Call, file: Path, chain: Callable[[str], list[Event]]) -> dict[str, Any]:
    """Check that a sweep fails, changes nothing, and that its status says why; return the failure."""
    state = (chain("ana"), call("list_sweeps", agent="ana"), git(file.parent, "log"))
    with pytest.raises(Conflict, match=r"^MEMORY\.md: ") as caught:
        call("dream", agent="ana")
    assert caught.value.hint
    assert (chain("ana"), call("list_sweeps", agent="ana"), git(file.parent, "log")) == state
    status = call("dream_status", agent="ana")
    assert status["note"] == status["failure"]["error"] == str(caught.value)
    assert status["failure"]["hint"] == caught.value.hint
    return dict(status["failure"])


@pytest.mark.parametrize(
    ("edit", "what"),
    [
        (lambda data: data.replace(b"Granada", b"Granad\xe9"), "7 is not UTF-8"),
        (lambda data: data.decode().encode("utf-16"), "1 is not UTF-8"),
        (lambda data: data.replace(b"## Notes", OURS + b"## Notes"), "6 is from a conflict of git"),
        (
            lambda data: data.replace(END, b"=======\n- other\n" + THEIRS + END),
            "12 is from a conflict of git",
        ),
        (lambda data: OURS + data + b"=======\n" + data + THEIRS, "1 is from a conflict of git"),
    ],
)
def test_what_nobody_meant_is_refused_until_it_is_in_order(
    call: Call, file: Path, chain: Callable[[str], list[Event]], edit: Callable[[bytes], bytes], what: str
) -> None:
    before = file.read_bytes()
    file.write_bytes(edit(before))
    assert refused(call, file, chain)["error"] == f"MEMORY.md: line {what}; nothing was changed"
    assert file.read_bytes() == edit(before)
    with pytest.raises(Conflict, match=what):
        call("undo_sweep", agent="ana", sweep=call("list_sweeps", agent="ana")["sweeps"][0]["sweep"])
    file.write_bytes(before)
    assert call("dream", agent="ana")["sweep"] is None
    assert call("dream_status", agent="ana")["failure"] is None
    assert contents(call) == sorted(FACTS)


def test_text_outside_of_the_block_may_be_of_any_encoding_and_tell_of_conflicts(
    call: Call, file: Path
) -> None:
    mine = b"ni\xf1o\n" + OURS + b"=======\n" + THEIRS
    file.write_bytes(mine + file.read_bytes() + OURS)
    assert call("dream", agent="ana")["outcome"]["by_hand"]["left"] == []
    assert file.read_bytes().startswith(mine)


def _link(file: Path) -> None:
    file.rename(file.with_name("real.md"))
    file.symlink_to("real.md")


def _second_name(file: Path) -> None:
    file.with_name("second.md").hardlink_to(file)


def _folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


@pytest.mark.parametrize("put", [_link, _second_name, _folder, _pipe])
def test_a_file_that_is_no_plain_file_is_named_until_it_is_gone(
    call: Call, file: Path, chain: Callable[[str], list[Event]], put: Callable[[Path], None]
) -> None:
    call("remember", agent="ana", content="Globex opened an office in Lisbon in 2025")
    put(file)
    refused(call, file, chain)
    file.rmdir() if file.is_dir() else file.unlink()
    assert call("dream", agent="ana")["commit"]
    assert call("dream_status", agent="ana")["failure"] is None
    assert "Globex opened an office" in file.read_text()
