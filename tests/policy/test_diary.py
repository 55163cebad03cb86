"""The diary: one page a day, one section a sweep, nothing twice."""

from __future__ import annotations

from typing import Any

from nrem.policy import diary

NOON = 1_780_315_200_000
PROMOTED = {"id": "m1", "change": "promote", "reason": "number 1", "score": 0.6, "terms": {"base": -1.0}}
DEMOTED = {"id": "m2", "change": "demote", "reason": "others", "score": 0.1, "terms": {"base": -2.0}}
MISS = {"id": "m3", "reason": "it lacks 0.20", "score": 0.05, "lacks": 0.2, "text": "x --> y\n# z" * 30}
THEME = {
    "tags": ("luis", "tea"),
    "name": None,
    "memories": 3,
    "days": 1,
    "medoid": "m4",
    "text": "Luis drinks tea",
    "sources": ("m4", "m9"),
}
PAIR = {
    "older": "m5",
    "newer": "m6",
    "older_text": "Luis lives in Madrid",
    "newer_text": "Luis lives in Lisbon",
}
REPORT: dict[str, Any] = {
    "changes": [PROMOTED | {"text": "Tea"}, DEMOTED | {"text": None}],
    "kept": 3,
    "misses": [MISS],
    "model": None,
    "rejected": {"it is code": 2},
    "themes": [THEME],
    "conflicts": [PAIR],
    "repeats": [PAIR | {"older": "m7", "newer": "m8", "newer_text": "Luis is in Lisbon"}],
    "by_hand": {
        "edited": 1,
        "removed": 0,
        "added": 2,
        "left": [{"line": 7, "reason": "holds a secret (key)"}],
    },
    "unanswered": ["where is\nthe key?"],
    "candidates": 9,
    "characters": 400,
    "room": 7000,
}


def test_a_page_has_what_a_sweep_did() -> None:
    page = diary.add("", sweep="s1", started_at=NOON, zone="UTC", report=REPORT)
    assert page.startswith(
        "# Dreams of 2026-06-01\n\n## 12:00 sweep s1\n\n3 lines stayed; the block has 400 of 7000"
    )
    assert "Promoted:\n\n- Tea\n  (number 1; score 0.600, base -1.00; m:m1)" in page
    assert "Demoted:\n\n- a memory that is gone\n  (others;" in page
    assert "- 2: it is code" in page
    assert (
        "\n\nLines that people changed: 1 edited, 2 added.\n\nLine 7 of MEMORY.md holds a secret (key);"
        in page
    )
    assert "- where is the key?" in page
    assert '- luis and tea: 3 memories on 1 day, best said by "Luis drinks tea"\n  (m:m4)' in page
    assert (
        'hold as they are:\n\n- "Luis lives in Madrid" against the newer "Luis lives in Lisbon"\n'
        "  (m:m5, m:m6)" in page
    )
    assert 'Said twice:\n\n- "Luis lives in Madrid" and "Luis is in Lisbon"\n  (m:m7, m:m8)' in page
    assert "-->" not in page
    assert max(map(len, page.splitlines())) < 200


def test_a_long_text_is_cut_between_words_and_without_its_greeting() -> None:
    text = "Hello there! The contract with Globex ends in 2027 and " + "renews for twelve months " * 9
    one = {"changes": [PROMOTED | {"text": text}]}
    page = diary.add("", sweep="s1", started_at=NOON, zone="UTC", report=REPORT | one)
    [shown] = [row for row in page.splitlines() if "Globex" in row]
    assert shown.startswith("- The contract")
    assert shown.endswith(" months\u2026")


def test_a_theme_with_a_name_names_all_memories_that_the_name_is_made_from() -> None:
    one = {"themes": [THEME | {"name": "the tea of Luis", "text": None}]}
    page = diary.add("", sweep="s1", started_at=NOON, zone="UTC", report=REPORT | one)
    assert "- the tea of Luis (luis and tea): 3 memories on 1 day\n  (m:m4, m:m9)" in page


def test_a_sweep_stands_on_its_page_once() -> None:
    one = diary.add("", sweep="s1", started_at=NOON, zone="UTC", report=REPORT)
    assert diary.add(one, sweep="s1", started_at=NOON, zone="UTC", report=REPORT) == one
    two = diary.add(one, sweep="s2", started_at=NOON + 60_000, zone="UTC", report=REPORT)
    assert two.startswith(one)
    assert two.count("# Dreams of") == 1


def test_the_day_is_that_of_the_zone() -> None:
    late = NOON + 11 * 3_600_000
    assert diary.path(late, zone="UTC") == "dreams/2026/06/2026-06-01.md"
    assert diary.path(late, zone="Asia/Tokyo") == "dreams/2026/06/2026-06-02.md"
