"""Requests made from the OpenAPI description, right ones and wrong ones (T26).

    NREM_SCHEMA_EXAMPLES=2000 .venv/bin/pytest tests/surface/test_schema.py

runs longer.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance
from schemathesis.specs.openapi.schemas import OpenApiSchema

import served
from builders import HashEmbedder, ManualClock, caller_of
from nrem import wire
from nrem.runtime.app import App
from nrem.surface.http import Web

EXAMPLES = int(os.environ.get("NREM_SCHEMA_EXAMPLES", "75"))


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenApiSchema]:
    """The daemon's own description, with ana in the store."""
    home: Path = tmp_path_factory.mktemp("schema") / "home"
    with App.open(home, create=True, clock=ManualClock(), embedder=HashEmbedder()) as app:
        caller_of(app)("add_agent", agent="ana")
        web = Web(app)
        yield schemathesis.openapi.from_asgi("/openapi.json", served.on_socket(web))
        web.close()


CASES = [
    (name, mode)
    for name, operation in wire.OPERATIONS.items()
    for mode in GenerationMode
    # What takes nothing but an agent's name cannot be given anything wrong.
    if mode is GenerationMode.POSITIVE or operation.takes.model_fields.keys() - {"agent"}
]


@pytest.mark.parametrize(("name", "mode"), CASES)
def test_what_is_described_is_what_is_done(schema: OpenApiSchema, name: str, mode: GenerationMode) -> None:
    operation = schema.find_operation_by_id(name)

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(st.data())
    def ask(data: st.DataObject) -> None:
        case = data.draw(operation.as_strategy(generation_mode=mode))
        case.path_parameters.update({"agent": "ana"} if "agent" in case.path_parameters else {})
        # A schema cannot say all: a blank text, a name of nobody and a kind that is off are refused too.
        case.call_and_validate(excluded_checks=[positive_data_acceptance])

    ask()
