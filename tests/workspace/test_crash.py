"""Kills and power cuts: what was acknowledged is there, and what was left in the way is cleared."""

from __future__ import annotations

import os
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nrem.clock import SystemClock
from nrem.workspace import locks
from nrem.workspace.files import Files
from nrem.workspace.repository import Repository
from workspace.workshop import SIGNATURE, check_clean, git, publish

CHILD = Path(__file__).with_name("child.py")
KILLS = 20
NOW = SystemClock().now()


def start(root: Path, *prefix: str) -> subprocess.Popen[bytes]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [*prefix, sys.executable, str(CHILD), str(root)]
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, bufsize=0, env=environment, start_new_session=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"ready\n"
    return child


def run_until_killed(root: Path, commits: int, seconds: float) -> list[str]:
    """Let a child commit so often, then that long; kill it, and return the commits that it acknowledged."""
    with start(root) as child:
        assert child.stdout is not None
        out = b"".join(child.stdout.readline() for _ in range(commits))
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([child.stdout], [], [], left)[0]:
                out += os.read(child.stdout.fileno(), 1 << 16)
        child.kill()
        out += child.stdout.read()
    return re.findall(r"^([0-9a-f]{40})$", out.decode(), re.MULTILINE)


def test_what_was_acknowledged_outlives_twenty_kills(root: Path, repository: Repository) -> None:
    moment = random.Random(20260601)
    acknowledged: list[str] = []
    for kill in range(KILLS):
        acknowledged += run_until_killed(root, kill % 4, moment.uniform(0.001, 0.03))
        Repository.clear_locks(root, now=NOW)
        Files(root, managed=True).clear_temporary()
        git(root, "fsck", "--full", "--strict")
        assert list((root / ".git").rglob("*.lock")) == []
        assert {commit.id for commit in repository.log()} >= set(acknowledged)
    assert len(acknowledged) > KILLS
    status = repository.status()
    changed = [*status.modified, *status.untracked]
    state = ".nrem/state/000/00000.jsonl"
    publish(repository, {path: (root / path).read_bytes() for path in [*changed, state]})
    check_clean(root)


def test_only_our_locks_and_old_ones_are_cleared(root: Path, repository: Repository) -> None:
    publish(repository, {"a.md": b"1"})
    with locks.locked(root / ".git", "index", mark="index", wait=0):
        (root / ".git" / "refs" / "heads" / "main.lock").touch()
        (root / ".git" / "HEAD.lock").touch()
        os.utime(root / ".git" / "HEAD.lock", (0, 0))
        assert Repository.clear_locks(root, now=NOW) == ("HEAD.lock", "index.lock")
    assert (root / ".git" / "refs" / "heads" / "main.lock").exists()


def test_a_lock_from_before_the_machine_was_started_is_cleared(root: Path, repository: Repository) -> None:
    publish(repository, {"a.md": b"1"})
    booted = NOW - 60_000
    for name, age in (("index.lock", 90), ("HEAD.lock", 30)):
        (root / ".git" / name).touch()
        os.utime(root / ".git" / name, (NOW / 1000 - age, NOW / 1000 - age))
    assert Repository.clear_locks(root, now=NOW) == ()
    assert Repository.clear_locks(root, now=NOW, booted=booted) == ("index.lock",)
    assert (root / ".git" / "HEAD.lock").exists()


def test_a_mark_left_beside_a_published_index_does_no_harm(root: Path, repository: Repository) -> None:
    publish(repository, {"a.md": b"1"})
    (root / ".git" / "nrem").mkdir(exist_ok=True)
    os.link(root / ".git" / "index", root / ".git" / "nrem" / "index")
    assert publish(repository, {"a.md": b"2"})
    check_clean(root)
    os.link(root / ".git" / "index", root / ".git" / "nrem" / "index")
    assert Repository.clear_locks(root, now=NOW) == ()
    check_clean(root)


def test_objects_are_synced_before_the_ref_and_the_ref_before_the_answer(
    root: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(repository, {"a.md": b"1"})
    done: list[str] = []
    fsync, rename = os.fsync, os.rename

    def short(path: str | Path) -> str:
        return re.sub(r"-\w+(-\d+)?", "", Path(path).relative_to(root).as_posix())

    def sync(fd: int) -> None:
        done.append(f"sync {short(os.readlink(f'/proc/self/fd/{fd}'))}")
        fsync(fd)

    def move(source: Path, target: Path) -> None:
        done.append(f"name {short(target)}")
        rename(source, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "rename", move)
    repository.commit({"a.md": b"2"}, message="x", signature=SIGNATURE, parent=repository.head())
    assert done == [
        "sync .git/nrem/index",
        "sync .git/nrem/ref",
        "sync .git/objects/pack/tmp_pack_nrem.pack",
        "sync .git/objects/pack/tmp_pack_nrem.idx",
        "name .git/objects/pack/pack.pack",
        "name .git/objects/pack/pack.idx",
        "sync .git/objects/pack",
        "name .git/index",
        "name .git/refs/heads/main",
        "sync .git/refs/heads",
        "sync .git",
    ]


def test_the_kernel_sees_the_same_order(root: Path, repository: Repository, tmp_path: Path) -> None:
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    trace = tmp_path / "trace"
    calls = "trace=fsync,fdatasync,rename,renameat,renameat2"
    with start(root, "strace", "-f", "-qq", "-y", "-e", calls, "-o", str(trace)) as child:
        assert child.stdout is not None
        first = child.stdout.readline().strip()
        child.stdout.readline()
        os.killpg(child.pid, signal.SIGKILL)
        child.stdout.read()
    assert first
    lines = trace.read_text().splitlines()
    moved = next(at for at, line in enumerate(lines) if "rename" in line and "heads/main.lock" in line)
    before = "\n".join(lines[:moved])
    assert re.search(r"fsync\(\d+<[^>]*tmp_pack_nrem\.pack[^>]*>\) += 0", before)
    assert re.search(r"fsync\(\d+<[^>]*tmp_pack_nrem\.idx[^>]*>\) += 0", before)
    assert re.search(r"fsync\(\d+<[^>]*objects/pack>\) += 0", before)
    assert re.search(r"fsync\(\d+<[^>]*refs/heads>\) += 0", "\n".join(lines[moved:]))
