"""The folders that come with nrem."""

from __future__ import annotations

import pytest

from nrem.errors import Corrupt
from nrem.runtime import shipped


@pytest.mark.parametrize(("name", "file"), [("systemd", "nrem.service"), ("workspace_template", "AGENTS.md")])
def test_a_shipped_folder_is_found(name: str, file: str) -> None:
    assert (shipped.folder(name) / file).is_file()


def test_a_folder_that_is_missing_is_named() -> None:
    with pytest.raises(Corrupt, match="no-such-folder"):
        shipped.folder("no-such-folder")
