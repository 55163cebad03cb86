from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nrem.policy.excerpt import SHORT, excerpt
from nrem.policy.wordlists import sentences


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "Hey Tim! Good to see you again. Last week I scored 40 points against Chicago, my highest ever.",
            "Last week I scored 40 points against Chicago, my highest ever.",
        ),
        (
            "Wow, that sounds great! I signed up for a pottery class in Lisbon yesterday. How are you?",
            "I signed up for a pottery class in Lisbon yesterday.",
        ),
        (
            "Good morning! My new dentist is Dr. Brown, who works with J. Smith in St. Gallen on Mondays.",
            "My new dentist is Dr. Brown, who works with J. Smith in St. Gallen on Mondays.",
        ),
    ],
)
def test_greetings_and_questions_around_a_fact_are_left_out(text: str, shown: str) -> None:
    assert excerpt(text) == shown


@pytest.mark.parametrize("sentence", ["It is not so.", "Never there.", "At 5.", "We don't."])
def test_a_sentence_with_a_number_or_a_negation_is_never_left_out(sentence: str) -> None:
    text = f"The payments team deploys the Lisbon cluster on Friday evenings with Ana and Bob. {sentence}"
    assert excerpt(text) == text


def test_a_short_text_and_a_text_without_any_telling_sentence_are_shown_whole() -> None:
    short = "Hello! Ana lives in Lisbon."
    assert len(short) <= SHORT
    assert excerpt(short) == short
    question = "Would anybody of you know where the old harbour of the town might have been? " * 2
    assert excerpt(question) == question


@given(st.text(max_size=400))
def test_it_is_made_of_whole_sentences_in_order_and_stays_the_same(text: str) -> None:
    shown = excerpt(text)
    if shown != text:
        rest = iter(sentences(text))
        assert all(any(part == other for other in rest) for part in sentences(shown))
        assert excerpt(shown) == shown or len(excerpt(shown)) < len(shown)
    assert bool(shown.strip()) == bool(text.strip())
