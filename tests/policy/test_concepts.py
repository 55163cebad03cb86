from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import Call
from nrem.policy.concepts import MOST, derive
from nrem.policy.terms import for_index, for_query

EXAMPLES = {
    "words by how often they occur": (
        "walnut cake, almond tart, almond cake, almond milk",
        ("almond", "cake", "walnut", "tart", "milk"),
    ),
    "words by how early they occur": ("walnut almond hazelnut", ("walnut", "almond", "hazelnut")),
    "compounds before words": (
        "deploy with config.toml and release-script",
        ("config.toml", "release-script", "deploy", "config", "toml", "release", "script"),
    ),
    "a path": ("look into src/main.py", ("src/main.py", "src", "main")),
    "underscores as hyphens": ("run release_script", ("release-script", "run", "release", "script")),
    "possessives": ("Ana's kitchen", ("ana", "kitchen")),
    "accents and case": ("Café CAFÉ café", ("cafe",)),
    "no dates or numbers": ("on 2026-06-01 at 12.30 port 8080", ("port",)),
    "no short words": ("go up to io db x", ()),
    "short words of other scripts": ("东京 ok", ("东京",)),
    "no noise": ("we always want to use the things that people said yesterday", ()),
    "nothing": ("", ()),
    "punctuation": ("?! -- …", ()),
}


@pytest.mark.rows(17)
@pytest.mark.parametrize(("text", "tags"), EXAMPLES.values(), ids=EXAMPLES.keys())
def test_a_text_has_the_concepts_that_it_is_about(text: str, tags: tuple[str, ...]) -> None:
    assert derive(text) == tags


@pytest.mark.rows(17)
def test_there_are_eight_concepts_at_most() -> None:
    text = "alpha bravo charlie delta echoes foxtrot golfer hotel india juliet"
    assert derive(text) == tuple(text.split()[:8])


@pytest.mark.rows(17)
def test_very_long_words_are_no_concepts() -> None:
    assert derive("a" * 32 + " " + "b" * 33) == ("a" * 32,)


@pytest.mark.rows(17)
@given(st.text(max_size=200))
def test_concepts_are_derived_the_same_way_each_time(text: str) -> None:
    tags = derive(text)
    assert tags == derive(text)
    assert len(tags) == len(set(tags)) <= MOST
    assert all(tag and len(tag) <= 32 and any(c.isalpha() for c in tag) for tag in tags)


@pytest.mark.rows(17)
def test_concepts_stand_apart_from_the_users_tags_and_follow_the_text(call: Call) -> None:
    id = call("remember", agent="ana", content="walnut cake", tags=["dessert"])["id"]
    memory = call("get_memory", agent="ana", id=id)["memory"]
    assert memory["tags"] == ["dessert"]
    assert memory["concept_tags"] == ["walnut", "cake"]
    call("edit_memory", agent="ana", id=id, content="almond tart")
    memory = call("get_memory", agent="ana", id=id)["memory"]
    assert memory["tags"] == ["dessert"]
    assert memory["concept_tags"] == ["almond", "tart"]


@pytest.mark.rows(17)
@pytest.mark.parametrize("text", [text for text, tags in EXAMPLES.values() if tags])
def test_a_question_that_shares_only_a_concept_has_a_term_of_the_row(text: str) -> None:
    terms = set(for_index("\n".join([text, *derive(text)])))
    assert all(set(for_query(tag)) <= terms for tag in derive(text))
