from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from candidates import NEWEST, NOISE, candidate
from junk import JUNK
from nrem.model import Kind, Role
from nrem.policy.dreaming import Candidate, score
from nrem.policy.projection import Against, Plan, Room, Verdict, solve

NAMES = "Ana Bob Carla Dmitri Eva Farid Gina Hugo Iris Jonas Kim Lena".split()
PLACES = "Lisbon Berlin Oslo Quito Hanoi Tunis Porto Lyon Ghent Cork Bergen Split".split()


def fact(number: int, **fields: Any) -> Candidate:
    chance = random.Random(number)
    name, place = chance.choice(NAMES), chance.choice(PLACES)
    text = f"I met {name}{number} at the {place} fair in {1990 + number % 35} and bought item{number}x."
    return candidate(f"{number:04}", text, **fields)


def equals() -> tuple[Candidate, Candidate]:
    """Return two memories that are worth the same, the first of which gets the line for its id."""
    return candidate("a", "Ana keeps bees.", line_length=100), candidate(
        "b", "Bob grows figs.", line_length=100
    )


def plan(candidates: list[Candidate], characters: int = 1000, **room: Any) -> Plan:
    return solve(candidates, score(candidates, newest=NEWEST), room=Room(characters=characters, **room))


def after(candidates: list[Candidate], solved: Plan) -> list[Candidate]:
    """Return the candidates as the next sweep sees them."""
    return [replace(one, incumbent=one.id in solved.chosen) for one in candidates]


def verdicts(solved: Plan) -> dict[str, Verdict]:
    return {decision.id: decision.verdict for decision in solved.decisions}


CANDIDATES = st.lists(
    st.builds(
        fact,
        number=st.integers(0, 400),
        line_length=st.integers(20, 400),
        section=st.sampled_from(["Identity", "Rules", "Notes"]),
        exposure=st.floats(0, 5),
        uses=st.integers(0, 4),
        pinned=st.sampled_from([False, False, False, True]),
        trusted=st.sampled_from([True, True, True, False]),
        incumbent=st.booleans(),
        barred=st.sampled_from([False, False, False, True]),
    ),
    max_size=40,
    unique_by=lambda one: one.id,
)
HEADINGS = {"Identity": 15, "Rules": 12, "Notes": 12}


def size(candidates: list[Candidate], chosen: tuple[str, ...]) -> int:
    lines = [one for one in candidates if one.id in chosen]
    headings = sum(HEADINGS[section] for section in {one.section for one in lines})
    return (38 + headings + sum(one.line_length for one in lines)) if lines else 0


@settings(max_examples=200, deadline=None)
@given(candidates=CANDIDATES, characters=st.integers(0, 3000))
def test_markers_headings_and_lines_never_take_more_than_the_room(
    candidates: list[Candidate], characters: int
) -> None:
    solved = plan(candidates, characters, markers=38, headings=HEADINGS)
    assert solved.characters == size(candidates, solved.chosen) <= characters
    by_id = {one.id: one for one in candidates}
    assert all(by_id[id].trusted and not by_id[id].barred for id in solved.chosen)
    assert verdicts(solved).keys() == {one.id for one in candidates if one.incumbent} | set(solved.chosen)


@settings(max_examples=100, deadline=None)
@given(candidates=CANDIDATES, characters=st.integers(0, 3000))
def test_a_plan_solved_again_with_its_own_lines_changes_nothing(
    candidates: list[Candidate], characters: int
) -> None:
    solved = plan(candidates, characters, markers=38, headings=HEADINGS)
    while Verdict.HOLD in verdicts(solved).values():
        held = sum(verdict is Verdict.HOLD for verdict in verdicts(solved).values())
        candidates = after(candidates, solved)
        solved = plan(candidates, characters, markers=38, headings=HEADINGS)
        assert sum(verdict is Verdict.HOLD for verdict in verdicts(solved).values()) < held
    for _ in range(30):
        candidates = after(candidates, solved)
        again = plan(candidates, characters, markers=38, headings=HEADINGS)
        assert again.chosen == solved.chosen
        assert set(verdicts(again).values()) <= {Verdict.KEEP}
        solved = again


@settings(max_examples=50, deadline=None)
@given(candidates=CANDIDATES, seed=st.integers(0, 100))
def test_the_same_memories_in_any_order_give_the_same_lines(candidates: list[Candidate], seed: int) -> None:
    shuffled = list(candidates)
    random.Random(seed).shuffle(shuffled)
    assert plan(candidates) == plan(candidates)
    assert plan(shuffled).chosen == plan(candidates).chosen


def test_of_equals_the_used_one_gets_the_line() -> None:
    shown, used = equals()
    assert plan([shown, used], 100).chosen == (shown.id,)
    assert plan([replace(shown, exposure=1.0), replace(used, exposure=1.0, uses=1)], 100).chosen == (used.id,)


def test_noise_gets_no_line_whatever_the_room_and_use() -> None:
    noise = [candidate(str(i), text, uses=9, exposure=9.0) for i, text in enumerate([*NOISE, *JUNK])]
    solved = plan([*noise, fact(1)], 100_000)
    assert solved.chosen == ("0001",)
    assert sum(solved.rejected.values()) == len(noise)


@pytest.mark.rows(112)
def test_untrusted_memories_get_no_line_even_pinned_used_and_important() -> None:
    poisoned = [
        fact(
            i,
            trusted=False,
            pinned=i % 2 == 0,
            uses=50,
            importance=1.0,
            importance_given=True,
            kind=Kind.FACT,
        )
        for i in range(200)
    ]
    solved = plan(poisoned, 100_000)
    assert solved.chosen == ()
    assert solved.rejected == {"it comes from an untrusted source": 200}


def test_a_fresh_scope_without_any_recall_gets_its_pinned_and_its_telling_lines() -> None:
    pinned = candidate("pin", "Call me Ishmael", kind=Kind.PROCEDURAL, pinned=True)
    telling = fact(1)
    talk = candidate("talk", "Thanks, that sounds great!")
    solved = plan([talk, telling, pinned])
    assert solved.chosen == ("pin", telling.id)
    assert verdicts(solved) == {"pin": Verdict.PROMOTE, telling.id: Verdict.PROMOTE}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Ana lives in Berlin", "Ana moved to Lisbon"),
        ("The staging server runs on port 8080", "The staging server now runs on port 9090"),
        ("Ana's email is ana@old.example", "Ana's email is ana@new.example"),
        ("User prefers npm over pnpm", "User prefers pnpm over npm"),
    ],
)
def test_a_new_value_comes_and_the_old_one_goes(old: str, new: str) -> None:
    before = candidate("old", old, kind=Kind.FACT, uses=5, created_at=NEWEST - 50, incumbent=True)
    now = candidate("new", new, kind=Kind.FACT, created_at=NEWEST)
    solved = plan([before, now])
    assert solved.chosen == ("new",)
    [gone] = [decision for decision in solved.decisions if decision.id == "old"]
    assert (gone.verdict, gone.successor) == (Verdict.SUPERSEDE, "new")


def test_what_is_not_trusted_replaces_nothing() -> None:
    before = candidate("old", "Ana lives in Berlin", kind=Kind.FACT, created_at=NEWEST - 50, incumbent=True)
    lie = candidate("new", "Ana lives in Lisbon", kind=Kind.FACT, created_at=NEWEST, trusted=False)
    assert plan([before, lie]).chosen == ("old",)


@pytest.mark.parametrize(
    "fields",
    [
        {"role": Role.TOOL},
        {"role": Role.SYSTEM},
        {"wrongs": 2},
        {"kind": Kind.MESSAGE},
        {"expired": True},
        {"barred": True},
        {"superseded_by": "other"},
        {"text": "Ana is happy now and works at Globex today"},
    ],
)
def test_what_may_have_no_line_replaces_nothing(fields: dict[str, Any]) -> None:
    before = candidate("old", "Ana works at Acme", kind=Kind.FACT, created_at=NEWEST - 50)
    now = candidate("new", **{"text": "Ana works at Globex", "kind": Kind.FACT, **fields}, created_at=NEWEST)
    assert plan([before, now]).chosen == ("old",)


def test_what_another_line_tells_still_replaces_an_older_value() -> None:
    before = candidate("old", "Ana works at Acme", kind=Kind.FACT, created_at=NEWEST - 50)
    now = candidate("new", "Ana works at Globex", kind=Kind.FACT, created_at=NEWEST, told_by="merged")
    assert plan([before, now]).chosen == ()


def test_a_claim_is_as_new_as_its_text() -> None:
    corrected = candidate("a", "Ana works at Initech", kind=Kind.FACT, created_at=NEWEST - 90, said_at=NEWEST)
    other = candidate("b", "Ana works at Globex", kind=Kind.FACT, created_at=NEWEST - 50)
    assert plan([corrected, other]).chosen == ("a",)


def test_whatever_stands_against_a_memory_is_said_with_what_took_its_place() -> None:
    old = [candidate(f"o{n}", f"Port of svc{n} is 80{n}0", kind=Kind.FACT) for n in range(9)]
    new = [
        candidate(f"n{n}", f"Port of svc{n} is 90{n}0", kind=Kind.FACT, created_at=NEWEST) for n in range(9)
    ]
    solved = plan([*old, *new], 10_000)
    assert solved.against == {f"o{n}": Against(f"n{n} says what is true now", f"n{n}") for n in range(9)}


def test_of_two_that_say_the_same_the_newer_one_stands() -> None:
    text = "The deploy key of the payments service is in the vault of the operations team"
    before = candidate("old", text, uses=5, created_at=NEWEST - 50, incumbent=True)
    now = candidate("new", text + "!", created_at=NEWEST)
    solved = plan([before, now])
    assert solved.chosen == ("new",)
    assert verdicts(solved) == {"old": Verdict.SUPERSEDE, "new": Verdict.PROMOTE}


def test_texts_that_differ_in_a_number_both_stand() -> None:
    text = "Port {} of the payments service in the Lisbon data centre is open for the operations team"
    both = [candidate(str(n), text.format(n)) for n in (8080, 8081)]
    assert len(plan(both).chosen) == 2


def test_a_line_that_stands_gives_way_only_to_one_that_is_clearly_better() -> None:
    other, standing = equals()
    standing = replace(standing, incumbent=True)
    assert plan([other, standing], 100).chosen == (standing.id,)
    assert plan([replace(other, uses=1), standing], 100).chosen == (other.id,)


def test_a_line_that_is_nearly_certain_gives_way_too() -> None:
    text = 'In May 2024 we named the 3 cats "Ubu", Momo and Kiki, and Pablo adopted them in Quito.'
    standing = candidate("0001", text, line_length=100, incumbent=True)
    other = fact(2, line_length=100)
    assert score([standing, other], newest=NEWEST).p[0] > 0.9
    assert plan([standing, other], 100).chosen == (standing.id,)
    assert plan([standing, replace(other, uses=30, exposure=9.0)], 100).chosen == (other.id,)


def test_at_most_a_quarter_of_the_lines_leaves_at_once() -> None:
    old = [fact(i, line_length=100, incumbent=True) for i in range(12)]
    new = [fact(100 + i, line_length=100, uses=20) for i in range(12)]
    candidates, left = [*old, *new], 12
    for _ in range(10):
        solved = plan(candidates, 1200)
        kept = sum(one.id in solved.chosen for one in old)
        standing = sum(one.incumbent for one in candidates)
        assert left - kept <= max(standing // 4, 1)
        assert solved.characters == 1200
        candidates, left = after(candidates, solved), kept
    assert left == 0


def test_less_room_is_no_loss_that_is_held() -> None:
    lines = [fact(i, line_length=100, incumbent=True) for i in range(12)]
    solved = plan(lines, 300)
    assert len(solved.chosen) == 3
    assert sorted(verdicts(solved).values()) == [Verdict.DEMOTE] * 9 + [Verdict.KEEP] * 3


def test_the_nearest_misses_say_what_they_lack() -> None:
    candidates = [fact(i, line_length=100) for i in range(10)]
    solved = plan(candidates, 300)
    assert len(solved.misses) == 3
    for miss in solved.misses:
        assert miss.lacks > 0
        uses = int(miss.reason.split(": ")[1].split()[0])
        helped = [replace(one, uses=uses if one.id == miss.id else 0) for one in candidates]
        assert miss.id in plan(helped, 300).chosen


def test_nothing_promoted_still_says_what_held_the_best_back() -> None:
    solved = plan([fact(1, trusted=False), candidate("talk", "Thanks!"), fact(2, kind=Kind.MESSAGE)])
    assert solved.chosen == ()
    assert {miss.reason for miss in solved.misses} == {
        "it comes from an untrusted source", "it is small talk", "kind message is not among dream.kinds",
    }  # fmt: skip


def test_what_no_room_is_left_for_is_told_so_whatever_it_is_worth() -> None:
    others = [fact(n, line_length=100, incumbent=True) for n in range(4)]
    long = [fact(10, line_length=900, pinned=True, incumbent=True), fact(11, line_length=900, incumbent=True)]
    pinned = fact(12, line_length=900, pinned=True)
    solved = plan([*others, *long, pinned], 500)
    assert {d.id: d.reason for d in solved.decisions if d.rank is None} == dict.fromkeys(
        (one.id for one in long), "there is no room for it"
    )
    assert {miss.reason for miss in solved.misses} == {"there is no room for it"}
    assert "pinned" not in {d.reason for d in solved.decisions}


def test_an_empty_scope_has_an_empty_plan() -> None:
    assert plan([]) == Plan(decisions=(), chosen=(), misses=(), characters=0, rejected={}, against={})
