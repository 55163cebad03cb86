"""The power goes while a process writes and publishes: what it had acknowledged is on the disk.

The disk is an ext4 file system in a file. A cut is ext4's own shutdown without a flush of the journal: from
that moment nothing reaches the file, and what was only in memory is lost. Mounted again, it is what a machine
finds that lost its power. A writer that does not wait for the disk must fail the same test, else it shows
nothing. NREM_POWERCUTS sets how many cuts there are; scripts/powercut runs the long form.
"""

from __future__ import annotations

import fcntl
import json
import os
import random
import select
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from builders import HashEmbedder, caller_of
from crash.survey import survey
from nrem.runtime.app import App

CHILD = Path(__file__).with_name("publishing.py")
CUTS = int(os.environ.get("NREM_POWERCUTS", "3"))
MOST_CONTROLS = 20
SIZE = 96 << 20
SHUTDOWN = 0x8004587D
NO_LOG_FLUSH = 2


class Disk:
    """A file system of its own that can lose its power."""

    def __init__(self, image: Path, mount: Path) -> None:
        self.image = image
        self.mount = mount
        self._mounted = False

    def make(self) -> None:
        self.image.unlink(missing_ok=True)
        with open(self.image, "wb") as file:
            file.truncate(SIZE)
        _run("mkfs.ext4", "-q", "-F", str(self.image))

    def on(self) -> None:
        self.mount.mkdir(parents=True, exist_ok=True)
        _run("mount", "-o", "loop", str(self.image), str(self.mount))
        self._mounted = True

    def settle(self) -> None:
        """Let all that was done so far be on the disk: git commands of the test leave locks in a cut."""
        _run("sync", "-f", str(self.mount))

    def cut(self) -> None:
        fd = os.open(self.mount, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.ioctl(fd, SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
        finally:
            os.close(fd)

    def off(self) -> None:
        if self._mounted:
            _run("umount", str(self.mount))
            self._mounted = False


Disks = Callable[[int], list[Disk]]


def _run(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"{words[0]}: {done.stderr.strip()}")


@pytest.fixture(scope="module")
def _can_cut(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skip with the reason where no file system can be mounted, or none can be shut down."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("mounting an ext4 image needs Linux and root")
    for tool in ("mkfs.ext4", "mount", "umount"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    folder = tmp_path_factory.mktemp("trial")
    disk = Disk(folder / "image", folder / "disk")
    try:
        disk.make()
        disk.on()
        disk.cut()
    except OSError as error:
        pytest.skip(f"an ext4 image cannot be mounted and shut down here: {error}")
    finally:
        disk.off()


@pytest.fixture
def disks(_can_cut: None, tmp_path: Path) -> Iterator[Disks]:
    """Make new disks: one with the whole home, or a second one for the workspaces, with its own journal."""
    made: list[Disk] = []

    def make(number: int) -> list[Disk]:
        mounts = [tmp_path / "disk", tmp_path / "disk" / "home" / "workspaces"][:number]
        for disk in [Disk(tmp_path / f"image{n}", mount) for n, mount in enumerate(mounts)]:
            disk.make()
            disk.on()
            made.append(disk)
        return made[-number:]

    yield make
    for disk in reversed(made):
        disk.off()


def live_and_lose_power(disks: list[Disk], run: int, seconds: float, *careless: str) -> list[dict[str, str]]:
    """Run the child, cut the power some time after its store is open, and return what it said before the cut.

    What it says after the cut is no acknowledgement: then there is no machine that could give one, and a
    sync that the shutdown meets half way may return as if it were done.
    """
    home = disks[0].mount / "home"
    with subprocess.Popen(
        [sys.executable, str(CHILD), str(home), str(run), *careless],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    ) as child:
        assert child.stdout is not None
        assert json.loads(child.stdout.readline()) == {"ready": True}
        said, end = b"", time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([child.stdout], [], [], left)[0]:
                said += os.read(child.stdout.fileno(), 1 << 16)
        for disk in disks:
            disk.cut()
        child.kill()
    for disk in reversed(disks):
        disk.off()
    for disk in disks:
        disk.on()
    return [json.loads(line) for line in said.splitlines(keepends=True) if line.endswith(b"\n")]


def prepare(disks: list[Disk]) -> Path:
    home = disks[0].mount / "home"
    home.mkdir(mode=0o700, exist_ok=True)
    with App.open(home, create=True, embedder=HashEmbedder()) as app:
        caller_of(app)("add_agent", agent="ana")
    for disk in disks:
        disk.settle()
    return home


@pytest.mark.rows(1, 90)
@pytest.mark.timeout(60 + 20 * CUTS)
@pytest.mark.parametrize("number", [1, 2], ids=["one disk", "two disks"])
def test_what_was_acknowledged_outlives_power_cuts(disks: Disks, number: int) -> None:
    used = disks(number)
    home = prepare(used)
    chance = random.Random(20260601)
    acknowledged: set[str] = set()
    made: list[str] = []
    for run in range(CUTS):
        said = live_and_lose_power(used, run, chance.uniform(0.05, 0.5))
        acknowledged |= {line["id"] for line in said if "id" in line}
        made += [line["commit"] for line in said if line.get("commit")]
        survey(home, acknowledged, made)
        for disk in used:
            disk.settle()
    assert len(acknowledged) > CUTS
    assert len(made) > CUTS


@pytest.mark.timeout(600)
@pytest.mark.parametrize("careless", ["store", "git"])
def test_a_writer_that_does_not_wait_for_the_disk_is_found_out(disks: Disks, careless: str) -> None:
    chance = random.Random(20260601)
    for run in range(MOST_CONTROLS):
        used = disks(2)  # with one, the syncs of the store carry git's files along
        home = prepare(used)
        said = live_and_lose_power(used, run, chance.uniform(0.2, 0.5), careless)
        try:
            survey(
                home,
                {line["id"] for line in said if "id" in line},
                [line["commit"] for line in said if line.get("commit")],
            )
        except Exception:  # noqa: BLE001 - a store or a repository can be broken in any way
            return
        for disk in reversed(used):
            disk.off()
    pytest.fail(f"{MOST_CONTROLS} cuts lost nothing of a writer that is careless about its {careless}")
