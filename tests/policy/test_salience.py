from __future__ import annotations

import itertools

import pytest

from builders import Call
from nrem.errors import InvalidField
from nrem.model import Role
from nrem.policy.salience import band, importance


@pytest.mark.rows(20)
@pytest.mark.parametrize(
    ("content", "role", "expected"),
    [
        ("plain words", None, 0.5),
        ("plain words", Role.USER, 0.5),
        ("plain words", Role.SYSTEM, 0.5),
        ("plain words", Role.TOOL, 0.5),
        ("plain words", Role.ASSISTANT, 0.6),
        ("a" * 500, None, 0.5),
        ("a" * 501, None, 0.6),
        ("é" * 250, None, 0.5),  # bytes, not characters
        ("é" * 251, None, 0.6),
        ("there was an error", None, 0.65),
        ("a bug", None, 0.65),
        ("Fix it", None, 0.65),
        ("CRITICAL", None, 0.65),
        ("that is important!", None, 0.65),
        ("error, bug, fix: important and critical", None, 0.65),
        ("errors and bugs, a prefix, debugging, importantly, hypercritical", None, 0.5),
        ("error_code", None, 0.5),
        ("```\ncode\n```", None, 0.6),
        ("``no fence``", None, 0.5),
    ],
)
def test_importance_starts_at_a_half_and_each_sign_adds_to_it(
    content: str, role: Role | None, expected: float
) -> None:
    assert importance(content, role) == expected


@pytest.mark.rows(20)
@pytest.mark.parametrize("signs", list(itertools.product((0, 1), repeat=4)))
def test_all_signs_add_up_to_exact_hundredths(signs: tuple[int, int, int, int]) -> None:
    assistant, long, urgent, code = signs
    content = "word" + " word" * (200 * long) + " error" * urgent + " ```" * code
    expected = (50 + 10 * assistant + 10 * long + 15 * urgent + 10 * code) / 100
    assert importance(content, Role.ASSISTANT if assistant else Role.USER) == expected


@pytest.mark.rows(19)
@pytest.mark.parametrize(
    ("value", "name"),
    [
        (0.0, "low"),
        (0.29999999999999993, "low"),
        (0.3, "medium"),
        (0.5, "medium"),
        (0.5999999999999999, "medium"),
        (0.6, "high"),
        (0.7999999999999999, "high"),
        (0.8, "critical"),
        (1.0, "critical"),
    ],
)
def test_a_band_begins_at_its_edge(value: float, name: str) -> None:
    assert band(value) == name


@pytest.mark.rows(19, 20)
def test_a_given_importance_wins_over_all_signs(call: Call) -> None:
    for value in (0.0, 0.1, 1.0):
        content = f"critical error ``` {value}"
        id = call("remember", agent="ana", content=content, role="assistant", importance=value)["id"]
        assert call("get_memory", agent="ana", id=id)["memory"]["importance"] == value
    id = call("remember", agent="ana", content="critical error ```", role="assistant")["id"]
    assert call("get_memory", agent="ana", id=id)["memory"]["importance"] == 0.85


@pytest.mark.rows(19, 102)
@pytest.mark.parametrize("value", [-0.01, 1.01, float("nan"), float("inf"), "0.5", True])
def test_an_importance_outside_of_zero_to_one_is_refused(call: Call, value: object) -> None:
    with pytest.raises(InvalidField) as caught:
        call("remember", agent="ana", content="text", importance=value)
    assert caught.value.field == "importance"
    assert call("list_memories", agent="ana")["memories"] == []
