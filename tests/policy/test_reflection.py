from __future__ import annotations

from nrem.policy.likeness import Said
from nrem.policy.reflection import DAY, Tagged, conflicts, themes


def test_tags_that_keep_meeting_are_a_theme_with_its_days_and_its_most_typical_memory() -> None:
    texts = [
        "pottery class on Monday",
        "pottery class with Eva on Monday",
        "pottery class: a blue bowl",
        "lunch",
    ]
    memories = [
        Tagged(id=str(i), text=text, tags=("pottery", "class") if i < 3 else ("lunch",), at=i // 2 * DAY)
        for i, text in enumerate(texts)
    ]
    [theme] = themes(memories)
    assert theme.tags == ("class", "pottery")
    assert (theme.ids, theme.days) == (("0", "1", "2"), 2)
    assert theme.medoid == "0"
    assert "3 memories on 2 days" in theme.sentence


def test_a_memory_counts_for_one_theme_only() -> None:
    memories = [Tagged(id=str(i), text="x", tags=("a", "b", "c"), at=0) for i in range(4)]
    assert [theme.tags for theme in themes(memories)] == [("a", "b")]
    assert themes([]) == themes(memories[:2]) == ()


def test_a_conflict_names_both_sides() -> None:
    old = Said(id="a", text="Ana lives in Berlin", at=1)
    new = Said(id="b", text="Ana moved to Lisbon", at=2)
    [found] = conflicts([old, new])
    assert (found.older, found.newer) == ("a", "b")
    assert found.sentence == '"Ana lives in Berlin" no longer holds: "Ana moved to Lisbon"'
