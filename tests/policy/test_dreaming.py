from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from candidates import FACT, NEWEST, candidate
from nrem.model import Kind, Role
from nrem.policy import prior
from nrem.policy.dreaming import DAY, Candidate, obstacle, score

TEXTS = (
    FACT,
    "Thanks, that sounds great!",
    "What did you do yesterday?",
    "I adopted a dog named Rex.",
    "The build takes a while.",
)


def p(one: Candidate) -> float:
    """Return its P among the other texts, so that words differ in rarity."""
    others = [candidate(f"other{i}", text) for i, text in enumerate(TEXTS)]
    return float(score([one, *others], newest=NEWEST).p[0])


@given(
    text=st.text(max_size=200),
    exposure=st.floats(0, 100),
    uses=st.integers(0, 50),
    wrongs=st.integers(0, 5),
    importance=st.floats(0, 1),
    category=st.sampled_from(["general", "user", "rules"]),
)
def test_the_terms_add_up_to_the_score(
    text: str, exposure: float, uses: int, wrongs: int, importance: float, category: str
) -> None:
    one = candidate(
        text=text, exposure=exposure, uses=uses, wrongs=wrongs, importance=importance, importance_given=True,
        category=category,
    )  # fmt: skip
    found = score([one, candidate("b", TEXTS[3])], newest=NEWEST).of(0)
    assert math.isclose(sum(found.terms.values()), math.log(found.p / (1 - found.p)), abs_tol=1e-9)


@pytest.mark.parametrize("text", TEXTS)
def test_one_more_use_raises_the_score_and_raises_it_more_than_one_more_showing(text: str) -> None:
    shown = candidate(text=text, exposure=1.0, last_organic_at=NEWEST - DAY)
    used = replace(shown, uses=1)
    assert p(used) > p(shown) > p(candidate(text=text))
    for uses in range(20):
        assert p(replace(used, uses=uses + 1)) > p(replace(used, uses=uses))


def test_what_is_older_never_scores_higher() -> None:
    found = [p(candidate(updated_at=NEWEST - days * DAY)) for days in (0, 1, 7, 30, 365)]
    assert found == sorted(found, reverse=True)
    assert found[0] > found[-1]


def test_a_mark_that_it_is_wrong_lowers_the_score() -> None:
    assert p(candidate(uses=3, wrongs=1)) < p(candidate(uses=3))


def test_age_is_counted_from_the_newest_event_and_a_later_one_of_its_own_is_no_age() -> None:
    now = score([candidate()], newest=NEWEST).p[0]
    later = [replace(candidate(), created_at=NEWEST, updated_at=NEWEST + DAY)]
    assert score(later, newest=NEWEST).terms["recent"][0] == score(later, newest=0).terms["recent"][0] == 0.3
    assert score([candidate()], newest=NEWEST).p[0] == now


def test_facts_score_higher_than_small_talk_and_questions() -> None:
    ranked = sorted(TEXTS, key=lambda text: -p(candidate(text=text)))
    assert ranked[0] == TEXTS[0]
    assert set(ranked[-2:]) == {TEXTS[1], TEXTS[2]}


def test_what_somebody_calls_important_or_files_as_a_rule_scores_higher() -> None:
    plain = candidate(text=TEXTS[4])
    assert p(replace(plain, importance=0.9)) == p(plain)
    assert p(replace(plain, importance=0.9, importance_given=True)) > p(plain)
    assert p(replace(plain, importance=0.1, importance_given=True)) < p(plain)
    assert p(replace(plain, category="rules")) >= 0.6
    assert p(replace(plain, kind=Kind.FACT)) >= 0.3


def test_a_text_in_another_language_is_not_judged_by_english_lists() -> None:
    texts = [
        "Me mudé a Lisboa en marzo de 2024 y trabajo en el museo.",
        "私は2024年3月にリスボンへ引っ越しました。",
    ]
    scored = score([candidate(str(i), text) for i, text in enumerate(texts)], newest=NEWEST)
    for place in range(2):
        terms = scored.of(place).terms
        assert terms["other language"] == prior.ELSEWHERE
        assert not terms.keys() & {"first person", "facts", "small talk", "second person", "names"}
        assert terms["numbers"] > 0


def test_a_word_in_one_text_is_as_rare_in_a_small_scope_as_in_a_large_one() -> None:
    once = [prior.Counts(texts, {"word": 1}).rarities()["word"] for texts in (1, 600, 6000, 100_000)]
    assert once == pytest.approx([math.log(600)] * 4)
    assert prior.Counts(10, {"the": 1}).rarities()["the"] == 0
    assert prior.count([]).rarities() == {}


def test_what_was_said_before_is_new_again_only_long_after() -> None:
    others = [f"item{i}x" for i in range(2 * prior.BEFORE)]
    new = prior.count(["zither", "zither lute", *others, "zither"]).new
    assert [set(words) for words in (new[0], new[1], new[-1])] == [{"zither"}, {"lute"}, {"zither"}]
    assert not prior.count(["zither", *others[: prior.BEFORE], "zither"]).new[-1]


def test_the_first_to_say_something_scores_higher_than_who_says_it_again() -> None:
    first = candidate("b", "The harbour office keeps the archive", created_at=NEWEST - 9 * DAY)
    again = replace(first, id="a", created_at=NEWEST - 8 * DAY)
    for order in ([first, again], [again, first]):
        scores = score(order, newest=NEWEST)
        found = dict(zip(scores.ids, scores.p, strict=True))
        assert found["b"] > found["a"]


def test_a_name_counts_by_how_rare_it_is() -> None:
    texts = ["We met Ana", "We saw Ana", "We rang Ana", "We met Quentin"]
    scores = score([candidate(str(i), text) for i, text in enumerate(texts)], newest=NEWEST)
    names = scores.terms["names"]
    assert names[3] > names[0] == names[1] == names[2] > 0


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"trusted": False}, "untrusted"),
        ({"trusted": False, "pinned": True}, "untrusted"),
        ({"barred": True}, "removed, rejected or undone"),
        ({"expired": True}, "expired"),
        ({"superseded_by": "b"}, "replaced by b"),
        ({"kind": Kind.MESSAGE}, "kind message"),
        ({"role": Role.TOOL}, "said by the tool"),
        ({"role": Role.SYSTEM}, "said by the system"),
        ({"wrongs": 2, "uses": 1}, "marked wrong"),
    ],
)
def test_what_may_have_no_line_says_why(fields: dict[str, Any], why: str) -> None:
    assert why in (obstacle(candidate(**fields)) or "")


def test_a_pinned_memory_of_any_kind_may_have_a_line() -> None:
    assert obstacle(candidate(kind=Kind.PROCEDURAL, pinned=True)) is None
    assert obstacle(candidate(kind=Kind.PROCEDURAL)) is not None
    assert obstacle(candidate(kind=Kind.PROCEDURAL), kinds=frozenset({Kind.PROCEDURAL})) is None
