"""What a workspace's repository is set to, so that nobody's own configuration changes what nrem relies on."""

from __future__ import annotations

import os
from pathlib import Path

from dulwich.config import ConfigFile
from dulwich.refs import HEADREF, SYMREF
from dulwich.repo import Repo

from nrem.workspace import names

BRANCH = "main"

# Hooks are off because agents write into the workspace. What a person's git writes is as durable as what nrem
# writes. dulwich's core.fsyncObjectFiles is not here: git warns about it at every call; nrem syncs itself.
_SETTINGS = (
    ("core", "autocrlf", "false"),
    ("core", "fsmonitor", "false"),
    ("core", "fsync", "all"),
    ("core", "hooksPath", "/dev/null"),
    ("core", "safecrlf", "false"),
    ("core", "splitIndex", "false"),
    ("core", "untrackedCache", "false"),
    ("gc", "auto", "0"),
    ("index", "sparse", "false"),
    ("index", "version", "2"),
    ("maintenance", "auto", "false"),
)
# Above every .gitattributes: what is in git is what is in the file, byte for byte.
_ATTRIBUTES = "* -text -filter -ident -working-tree-encoding\n"


def configure(root: Path) -> str:
    """Write the settings that a repository lacks, and return the branch that is nrem's.

    That is the branch that was checked out when nrem first saw the repository. Raises ValueError for a
    repository that cannot be a workspace.
    """
    with Repo(str(root)) as repo:
        config = repo.get_config()
        if repo.object_format.name != "sha1" or config.get_boolean((b"core",), b"bare", False):
            raise ValueError("only a repository with files and SHA-1 ids can be a workspace")
        before = _content(config)
        for section, name, value in _SETTINGS:
            config.set((section.encode(),), name.encode(), value.encode())
        try:
            branch = config.get((b"nrem",), b"branch")
        except KeyError:
            head = repo.refs.read_loose_ref(HEADREF) or b""
            branch = (
                head.removeprefix(SYMREF + b"refs/heads/") if head.startswith(SYMREF) else BRANCH.encode()
            )
            config.set((b"nrem",), b"branch", branch)
        if _content(config) != before:
            config.write_to_path()
    _write_info(root / ".git" / "info")
    return os.fsdecode(branch)


def _content(config: ConfigFile) -> list[tuple[object, object]]:
    return [(section, list(config.items(section))) for section in config.sections()]


def _write_info(info: Path) -> None:
    info.mkdir(exist_ok=True)
    if not (info / "attributes").exists():
        (info / "attributes").write_text(_ATTRIBUTES)
    exclude = info / "exclude"
    known = exclude.read_text() if exclude.exists() else ""
    if names.TEMPORARY not in known:
        exclude.write_text(f"{known}{names.TEMPORARY}*\n")
