"""Bodies of any shape: too deep, of wrong types, with unknown fields. All are answered in our own words."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders import OWNER, Call
from nrem.errors import InvalidField, NremError
from nrem.runtime.app import App
from nrem.surface.operations import call as run
from nrem.wire import DEPTH, OPERATIONS


def nested(levels: int, leaf: Any = 1, *, lists: bool = False) -> dict[str, Any]:
    """Return an object of that many levels, the outermost included."""
    value = leaf
    for _ in range(levels - 1):
        value = [value] if lists else {"a": value}
    return {"a": value}


@pytest.mark.rows(14, 18, 102)
@pytest.mark.parametrize("lists", [True, False])
@pytest.mark.parametrize("field", ["data", "metadata"])
def test_json_may_be_sixty_four_levels_deep_and_no_deeper(call: Call, field: str, lists: bool) -> None:
    assert DEPTH == 64
    deepest = nested(DEPTH, lists=lists)
    id = call("remember", agent="ana", content="x", **{field: deepest})["id"]
    assert call("get_memory", agent="ana", id=id)["memory"][field] == deepest
    for levels in (DEPTH + 1, 1000, 100_000):
        with pytest.raises(InvalidField, match="is nested deeper than 64 levels") as caught:
            call("remember", agent="ana", content="x", **{field: nested(levels, lists=lists)})
        assert caught.value.field == field


@pytest.mark.rows(102)
def test_the_depth_of_a_filter_a_config_and_a_batch_is_checked_too(call: Call) -> None:
    deep = nested(65)
    cases: list[tuple[str, str, dict[str, Any]]] = [
        ("list_memories", "metadata", {"metadata": deep}),
        ("clear_memories", "metadata", {"metadata": deep}),
        ("edit_memory", "data", {"id": "1", "data": deep}),
        ("set_agent_config", "config", {"config": deep, "message": "deep"}),
        ("remember_many", "memories[0].data", {"memories": [{"content": "x", "data": deep}]}),
    ]
    for operation, field, body in cases:
        with pytest.raises(InvalidField, match="nested deeper") as caught:
            call(operation, agent="ana", **body)
        assert caught.value.field == field


_characters = st.characters(codec=None)
_text = st.text(alphabet=_characters, max_size=12)
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_text, inner, max_size=4),
    max_leaves=8,
)


def _bodies(name: str) -> st.SearchStrategy[dict[str, Any]]:
    """Return objects with known fields of any value, likely ones among them, and unknown fields."""
    fields = sorted(OPERATIONS[name].takes.model_fields)
    known = st.sampled_from(fields) if fields else st.nothing()
    likely = st.sampled_from(
        ["ana", "ben", "a text", "fact", ["a"], {"a": 1}, 1, 0.5, True, "2026-06-01", [{"content": "x"}]]
    )
    body = st.dictionaries(known | _text, likely | _json, max_size=6)
    return body.map(lambda given: {"agent": "ana"} | given) if "agent" in fields else body


@pytest.mark.rows(102)
@pytest.mark.parametrize("name", OPERATIONS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_object_makes_an_operation_fail_in_other_than_our_own_words(
    app: App, name: str, data: st.DataObject
) -> None:
    body = data.draw(_bodies(name))
    with contextlib.suppress(NremError):
        json.dumps(run(app, OWNER, name, body), allow_nan=False)
