from __future__ import annotations

from collections.abc import Iterator

import pytest

from models.provider import Provider, running


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    """A provider on a local port."""
    with running(monkeypatch) as provider:
        yield provider
