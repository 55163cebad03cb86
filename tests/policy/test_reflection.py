"""What a sweep notices: themes, contradictions, things said twice."""

from __future__ import annotations

from nrem.policy.reflection import DAY, MOST_PAIRS, Pair, Tagged, reflect


def tagged(id: str, text: str, *tags: str, at: int = 0, speaker: str = "") -> Tagged:
    return Tagged(id=id, text=text, tags=tags, at=at, version=1, said_at=at, speaker=speaker)


def test_tags_that_keep_meeting_are_a_theme_with_its_days_and_its_most_typical_memory_first() -> None:
    texts = [
        "pottery class on Monday",
        "pottery class with Eva on Monday",
        "pottery class: a blue bowl",
    ]
    memories = [tagged(str(i), text, "pottery", "class", at=i // 2 * DAY) for i, text in enumerate(texts)]
    [theme] = reflect([*memories, tagged("3", "lunch", "lunch")]).themes
    assert (theme.tags, theme.days) == (("class", "pottery"), 2)
    assert [memory.id for memory in theme.memories] == ["0", "2", "1"]


def test_a_memory_counts_for_one_theme_only() -> None:
    memories = [tagged(str(i), "x", "a", "b", "c") for i in range(4)]
    assert [theme.tags for theme in reflect(memories).themes] == [("a", "b")]
    assert reflect([]).themes == reflect(memories[:2]).themes == ()


def test_a_conflict_and_a_repeat_name_both_sides() -> None:
    found = reflect(
        [
            tagged("d", "The deploy key is in the grey safe of Eva!", at=4),
            tagged("c", "Ana moved to Lisbon", at=3),
            tagged("b", "The deploy key is in the grey safe of Eva", at=2),
            tagged("a", "Ana lives in Berlin", at=1),
        ]
    )
    assert found.conflicts == (Pair(older="a", newer="c"),)
    assert found.repeats == (Pair(older="b", newer="d"),)


def test_what_two_users_say_of_themselves_is_no_conflict() -> None:
    luis = tagged("a", "I live in Berlin", speaker="luis", at=1)
    assert reflect([tagged("b", "I live in Madrid", speaker="marta", at=2), luis]).conflicts == ()
    moved = tagged("b", "I live in Madrid", speaker="luis", at=2)
    assert reflect([moved, luis]).conflicts == (Pair(older="a", newer="b"),)


def test_only_so_many_pairs_are_named() -> None:
    found = reflect(
        [tagged(f"{i:03}", "The grey safe is in the cellar of the bakery", at=-i) for i in range(99)]
    )
    assert len(found.repeats) == MOST_PAIRS
    older = [tagged(f"{i:03}", f"Ana lives in Berlin {i}", at=-i) for i in range(99)]
    assert len(reflect(older).conflicts) == MOST_PAIRS
