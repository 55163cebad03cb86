"""verify names what differs, in each of the three records."""

from __future__ import annotations

import random
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from builders import Call, ManualClock
from nrem.errors import Corrupt, Unavailable
from nrem.runtime.app import App
from nrem.store import driver
from workspace.workshop import git

Wrong = Callable[[], list[tuple[str, str]]]


@pytest.fixture
def root(app: App, call: Call, clock: ManualClock) -> Path:
    """The workspace of ana, who has changed and forgotten memories, and two checkpoints."""
    ids = [call("remember", agent="ana", content=f"note {i} about walnuts")["id"] for i in range(200)]
    call("set_agent_config", agent="ana", config={"memory": {}}, message="nothing yet")
    call("checkpoint", agent="ana")
    clock.advance(seconds=5)
    call("edit_memory", agent="ana", id=ids[3], content="note 3 about almonds")
    call("forget", agent="ana", id=ids[4])
    call("checkpoint", agent="ana", note="second")
    return app.home / "workspaces" / "ana"


@pytest.fixture
def wrong(call: Call) -> Wrong:
    """Return the errors that verify finds, each by its id and what it says."""

    def run() -> list[tuple[str, str]]:
        found = call("verify", agent="ana")["findings"]
        assert all(finding["hint"] for finding in found if finding["level"] == "error")
        return [(finding["id"], finding["message"]) for finding in found if finding["level"] == "error"]

    return run


def change(app: App, statement: str) -> None:
    """Change the database as a tool would that knows nothing of nrem."""
    db = driver.connect(app.store.path, read_only=False)
    db.execute("pragma foreign_keys = off")
    db.execute(statement)
    db.close()


def flip(file: Path, place: int) -> None:
    data = bytearray(file.read_bytes())
    data[place] ^= 1
    file.chmod(0o600)
    file.write_bytes(data)


@pytest.mark.rows(107)
def test_what_is_as_it_should_be_is_said_to_be(call: Call, root: Path, wrong: Wrong) -> None:
    assert wrong() == []
    found = call("verify", agent="ana")["findings"]
    assert {finding["level"] for finding in found} == {"ok"}
    assert [finding["id"] for finding in found] == [
        "NR044", "NR045", "NR046", "NR060", "NR061", "NR062", "NR063", "NR064", "NR065", "NR066",
    ]  # fmt: skip


@pytest.mark.rows(107)
@pytest.mark.parametrize(
    ("statement", "id", "says"),
    [
        ("update memories set content = 'note 9 about walnutt' where rowid = 10", "NR045", "differs from"),
        ("update memories set seq = 2 where rowid = 10", "NR045", "differs from"),
        ("delete from memories where rowid = 10", "NR045", "is missing, and no event"),
        ("update memories set id = 'x' where rowid = 10", "NR045", "by the events it should not be"),
        ("delete from memory_versions where ended_seq = 203", "NR045", "the version of memory"),
        ("update agent_configs set message = 'else'", "NR045", "configuration"),
        (
            "insert into memory_promotions (scope, memory_id, promoted_at, reason) values (1, 'x', 0, '')",
            "NR045",
            "with a line in MEMORY.md",
        ),
        ("update scopes set memory_count = 7 where scope = 1", "NR045", "said to have 7 memories"),
        ("delete from memories_fts where rowid = 10", "NR046", "is not in it"),
        ("update events set actor = 'mallory' where scope = 1 and seq = 9", "NR044", "event 9 does not fit"),
        ("update events set payload = '{}' where scope = 1 and seq = 9", "NR062", "event 9 is another"),
        ("update commits set subject = 'x' where scope = 1 and cause = 'template'", "NR066", "subject of"),
        ("update commits set added = added + 1 where last_seq = 202", "NR066", "counts of commit"),
        ("update commits set chain = x'00' where last_seq = 202", "NR066", "chain of commit"),
        ("delete from commits where last_seq = 202", "NR066", "and not in the ledger"),
        ("update commits set id = 'f00' where last_seq = 202", "NR066", "and not on the branch"),
        ("update watermarks set seq = 3 where scope = 1", "NR066", "watermark is at event 3"),
        ("update watermarks set commit_id = 'f00' where scope = 1", "NR066", "not on the branch"),
        ("delete from watermarks where scope = 1", "NR066", "no watermark"),
    ],
)
def test_a_change_in_the_database_is_named(
    app: App, root: Path, wrong: Wrong, statement: str, id: str, says: str
) -> None:
    change(app, statement)
    assert [message for found, message in wrong() if found == id and says in message]


@pytest.mark.rows(107)
@pytest.mark.parametrize("path", [".nrem/state/000/00000.jsonl", ".nrem/events/000/00000.jsonl"])
def test_a_byte_of_a_file_in_the_folder_is_named_and_put_back(
    call: Call, root: Path, wrong: Wrong, path: str
) -> None:
    flip(root / path, 100)
    assert wrong() == [("NR065", f"{path} is not as it was committed")]
    call("checkpoint", agent="ana")
    assert wrong() == []


@pytest.mark.rows(107)
def test_files_too_many_and_too_few_are_named(root: Path, wrong: Wrong) -> None:
    (root / ".nrem/format.json").unlink()
    (root / ".nrem/state/more.jsonl").write_text("{}\n")
    assert wrong() == [
        ("NR065", ".nrem/format.json is missing from the folder"),
        ("NR065", ".nrem/state/more.jsonl is not in git"),
    ]


@pytest.mark.rows(107)
def test_a_changed_event_in_git_is_named_by_its_line(root: Path, wrong: Wrong) -> None:
    file = root / ".nrem/events/000/00000.jsonl"
    file.write_text(file.read_text().replace("note 7 about walnuts", "note 7 about walnutz"))
    git(root, "commit", "-qam", "not nrem's")
    found = wrong()
    assert ("NR062", ".nrem/events/000/00000.jsonl:9 does not fit its chain") in found


@pytest.mark.rows(107)
def test_a_changed_state_in_git_is_named_by_its_line_and_written_again(
    call: Call, root: Path, wrong: Wrong
) -> None:
    file = root / ".nrem/state/000/00000.jsonl"
    file.write_text(file.read_text().replace("note 7 about walnuts", "note 7 about walnutz"))
    git(root, "commit", "-qam", "not nrem's")
    found = wrong()
    assert found[0] == ("NR063", ".nrem/state/000/00000.jsonl:7 is not what the events say")
    assert found[1][0] == "NR064"
    assert found[1][1].startswith("Nrem-State of commit ")
    call("checkpoint", agent="ana")
    assert wrong() == []


PLACES = {"commit": "HEAD~1", "tree": "HEAD~1:.nrem/state", "blob": "HEAD~1:.nrem/state/000/00001.jsonl"}


def unpack(root: Path) -> None:
    """Turn the packs of a repository into a file for each object."""
    packs, aside = root / ".git/objects/pack", root.parent / "packs"
    packs.rename(aside)
    packs.mkdir()
    for file in aside.glob("*.pack"):
        with file.open("rb") as stream:
            subprocess.run(["git", "unpack-objects", "-q"], cwd=root, stdin=stream, check=True)


@pytest.mark.rows(107)
@pytest.mark.parametrize("kind", ["commit", "tree", "blob"])
def test_a_changed_loose_object_of_each_kind_is_named(root: Path, wrong: Wrong, kind: str) -> None:
    unpack(root)
    assert wrong() == []
    id = git(root, "rev-parse", PLACES[kind]).strip()
    file = root / ".git/objects" / id[:2] / id[2:]
    content = bytearray(zlib.decompress(file.read_bytes()))
    content[-3] ^= 1
    file.chmod(0o600)
    file.write_bytes(zlib.compress(bytes(content)))
    assert [message for found, message in wrong() if found == "NR061" and f"{kind} {id} is not" in message]
    file.unlink()
    assert [message for found, message in wrong() if found == "NR061" and f"{kind} {id} is miss" in message]


@pytest.mark.rows(107)
def test_every_sampled_byte_of_a_pack_is_noticed(root: Path, wrong: Wrong) -> None:
    """T6, sampled: one byte of a pack or of its index, wherever it is."""
    git(root, "gc", "-q")
    assert wrong() == []
    for file in (*root.glob(".git/objects/pack/*.pack"), *root.glob(".git/objects/pack/*.idx")):
        whole = file.read_bytes()
        for place in range(0, len(whole), max(1, len(whole) // 40)):
            flip(file, place)
            assert [id for id, _ in wrong() if id in ("NR060", "NR061")], place
            file.write_bytes(whole)
    assert wrong() == []


@pytest.mark.rows(107)
def test_a_pack_that_was_not_finished_is_nothing_wrong(root: Path, wrong: Wrong) -> None:
    packs = root / ".git" / "objects" / "pack"
    whole = next(packs.glob("*.pack"))
    (packs / f"pack-{'0' * 40}.pack").write_bytes(whole.read_bytes()[:100])
    assert wrong() == []
    git(root, "fsck", "--full", "--strict")
    whole.with_suffix(".idx").unlink()
    assert any(id == "NR061" and "is missing" in message for id, message in wrong())


@pytest.mark.rows(107)
def test_no_flipped_byte_of_the_database_makes_it_fail(app: App, root: Path, call: Call) -> None:
    """T6, sampled: it ends with findings or says that the file is damaged, and nothing else."""
    change(app, "pragma wal_checkpoint(truncate)")
    whole = app.store.path.read_bytes()
    assert app.store.sizes()[1] == 0  # all of it is in the file
    chosen, found = random.Random(6), 0
    for _ in range(40):
        flip(app.store.path, chosen.randrange(len(whole)))
        try:
            levels = {finding["level"] for finding in call("verify", agent="ana")["findings"]}
            found += "error" in levels
        except (Corrupt, Unavailable):
            found += 1
        app.store.path.write_bytes(whole)
    assert found > 5


@pytest.mark.rows(107)
def test_a_commit_of_a_person_is_nothing_wrong(call: Call, root: Path, wrong: Wrong) -> None:
    (root / "notes/mine.md").write_text("mine\n")
    git(root, "add", "notes/mine.md")
    git(root, "commit", "-qm", "mine")
    assert wrong() == []
    call("remember", agent="ana", content="one more")
    call("checkpoint", agent="ana")
    assert wrong() == []


@pytest.mark.rows(107)
def test_without_git_only_the_database_is_checked(call: Call, app: App) -> None:
    call("set_agent_config", agent="ben", config={"workspace": {"git": False}}, message="no git")
    *others, last = call("verify", agent="ben")["findings"]
    assert [finding["id"] for finding in others] == ["NR044", "NR045", "NR046"]
    assert last["message"] == "workspace.git is off: only the database was checked"
