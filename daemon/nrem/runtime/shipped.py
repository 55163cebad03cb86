"""The folders that come with nrem beside its code: units of systemd, the template of workspaces."""

from __future__ import annotations

from pathlib import Path

from nrem.errors import Corrupt

PACKAGE = Path(__file__).parents[1]


def folder(name: str) -> Path:
    """Return a shipped folder: inside the package that was installed, or at the root of a checkout."""
    for place in (PACKAGE, PACKAGE.parents[1]):
        if (place / name).is_dir():
            return place / name
    raise Corrupt(f"nrem came without its folder {name}", hint="install nrem again", code="not_shipped")
