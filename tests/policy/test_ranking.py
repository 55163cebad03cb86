"""Ranking: small cases by hand, then what must hold for every scope and question."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from nrem.policy import ranking
from nrem.policy.ranking import Mode, Profile, Question, Rows, Scores, Term
from nrem.sections import Weights

NONE = np.empty(0, dtype=np.int32)
MODES = list(Mode)
WEEK = 7 * 86_400_000


def rows(count: int, **given: object) -> Rows:
    """Build rows that have nothing but a place: no session, user or question mark, all of one age."""
    blank = Rows(
        lengths=np.full(count, 10, dtype=np.int32),
        neighbours=np.full((count, 4), -1, dtype=np.int32),
        users=np.full(count, -1, dtype=np.int32),
        created=np.zeros(count, dtype=np.int64),
        importance=np.full(count, 0.5, dtype=np.float32),
        confidence=np.full(count, 0.5, dtype=np.float32),
    )
    return replace(blank, **given)  # type: ignore[arg-type]


def one_session(count: int) -> NDArray[np.int32]:
    beside = np.arange(count)[:, None] + np.array([-2, -1, 1, 2])
    return np.where((beside >= 0) & (beside < count), beside, -1).astype(np.int32)


def term(*places: int, context: tuple[int, ...] = ()) -> Term:
    return Term(places=np.array(places, dtype=np.int32), context=np.array(context, dtype=np.int32))


def question(*terms: Term, cosines: list[float] | None = None, **given: object) -> Question:
    values = None if cosines is None else np.array(cosines, dtype=np.float32)
    blank = Question(terms=terms, cosines=values, named=frozenset(), windows=(), now=0)
    return replace(blank, **given)  # type: ignore[arg-type]


def score(
    scope: Rows, asked: Question, mode: Mode = Mode.HYBRID, profile: Profile = Profile.DEFAULT
) -> Scores:
    return ranking.score(scope, asked, None, mode=mode, profile=profile)


def best(scope: Rows, asked: Question, mode: Mode = Mode.HYBRID) -> list[int]:
    return [int(place) for place in ranking.order(scope, score(scope, asked, mode), len(scope.lengths))]


# Which words


def test_a_term_in_more_than_15_percent_of_a_scope_is_dropped() -> None:
    assert ranking.keep_terms([30, 31, 0], 200) == [True, False, True]


def test_in_a_small_scope_every_term_is_kept() -> None:
    assert ranking.keep_terms([199, 1], 199) == [True, True]


@pytest.mark.parametrize("frequencies", [[100, 200], [100, 0]])
def test_frequent_terms_are_kept_when_nothing_else_is_found(frequencies: list[int]) -> None:
    assert ranking.keep_terms(frequencies, 200) == [True, True]


def test_the_dense_question_lacks_frequent_words_and_punctuation() -> None:
    words = [("What", 0), ("did", 0), ("Melanie", 90), ("(recently)", 3), ("buy?", 4)]
    assert ranking.dense_words(words, 200) == "What did recently buy"
    assert ranking.dense_words(words, 199) == "What did Melanie recently buy"


def test_a_dense_question_of_frequent_words_only_keeps_them() -> None:
    assert ranking.dense_words([("Melanie?", 90)], 200) == "Melanie"


def test_a_named_users_rows_count_as_rows_with_the_name() -> None:
    scope = rows(4, users=np.array([0, 0, 1, -1], dtype=np.int32))
    users = {"Melanie": 0, "Tim": 1}
    counted = ranking.count_users({"melani": 1, "tim": 1, "cat": 2}, frozenset({0}), users, scope)
    assert counted == {"melani": 3, "tim": 1, "cat": 2}


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("What does MELANIE like?", {1}),
        ("Melanie's cat", {1}),
        ("melanies cat", set()),
        ("Did José call Zoe?", {2, 3}),
        ("did jose call", {2}),
        ("What will happen?", set()),
        ("What did Will say?", {4}),
        ("田中さんは何が好き?", {5}),
        ("민준은 뭐 했어?", {6}),
        ("Ann Lee's house", {7}),
        ("Ann's house", set()),
        ("What did Melanie Ann Lee buy?", {9}),
        ("Did Melanie meet Melanie Ann Lee?", {1, 9}),
        ("Will ﬁne Will Zoë pay?", {4, 10}),
        ("when will Will Zoë pay?", {10}),
        ("田中一郎は何が好き?", {11}),
        ("", set()),
    ],
)
def test_users_whom_a_question_names(query: str, found: set[int]) -> None:
    users = {"Melanie": 1, "José": 2, "Zoë": 3, "Will": 4, "田中": 5, "민준": 6, "Ann Lee": 7, " ": 8}
    users |= {"Melanie Ann Lee": 9, "Will Zoe": 10, "田中一郎": 11}
    assert ranking.named(query, users) == found


@pytest.mark.parametrize(
    ("content", "asks"),
    [
        ("How are you? Fine here.", True),
        ("元気？はい", True),
        ("كيف حالك؟", True),
        ("See https://example.org/a?b=1", False),
        ("No.", False),
    ],
)
def test_texts_that_ask(content: str, asks: bool) -> None:
    assert ranking.asks(content) is asks


# By hand


def rarity(count: int, frequency: int) -> float:
    return math.log(1 + (count - frequency + 0.5) / (frequency + 0.5))


def test_bm25_by_hand() -> None:
    scope = rows(4, lengths=np.array([10, 10, 20, 40], dtype=np.int32))  # 20 on average
    scores = score(scope, question(term(0), term(0, 2)), Mode.KEYWORD)
    rare, common = rarity(4, 1), rarity(4, 2)
    first = (rare + common) / (1 + 1.2 * (0.75 + 0.25 * 10 / 20))
    third = common / (1 + 1.2)
    assert scores.total == pytest.approx([1.0, 0, third / first, 0])
    assert scores.hits.tolist() == [True, False, True, False]


def test_neighbours_lend_their_terms() -> None:
    """A row lends 0.5 to the two after it, 0.25 to the two before; a question lends 1 to its answer."""
    for asks, lent in ((False, [0.25, 0.25, 1, 0.5, 0.5]), (True, [0.25, 0.25, 1, 1, 0.5])):
        scope = rows(6, neighbours=one_session(6), asks=np.array([False, False, asks, False, False, False]))
        lexical = score(scope, question(term(2)), Mode.KEYWORD).parts["lexical"]
        expected = [amount / (amount + 1.2) for amount in [*lent, 0]]
        assert lexical == pytest.approx(np.array(expected) * 2.2)


def test_a_term_in_the_context_counts_half() -> None:
    lexical = score(rows(3), question(term(0, context=(1,))), Mode.KEYWORD).parts["lexical"]
    assert lexical == pytest.approx([1, (0.5 / 1.7) * 2.2, 0])


def test_hybrid_by_hand() -> None:
    """One found term: the cosine, stretched to 0..1, weighs 3 of 4."""
    scores = score(rows(3), question(term(1), term(), cosines=[0.2, 0.4, 0.6]))
    assert scores.parts["lexical"] == pytest.approx([0, 0.25, 0])
    assert scores.parts["dense"] == pytest.approx([0, 0.375, 0.75])
    assert list(scores.parts) == ["lexical", "dense"]


def test_a_row_without_a_vector_is_judged_by_its_words_alone() -> None:
    scores = score(rows(3), question(term(0, 1), cosines=[math.nan, 0.4, 0.6]))
    assert scores.parts["lexical"] == pytest.approx([1, 0.25, 0])
    assert scores.parts["dense"] == pytest.approx([0, 0, 0.75])


def test_an_answered_question_ranks_below_its_answer() -> None:
    asks = np.array([True, False, True])
    asked = question(term(0, 1, 2))
    linked = np.array([[-1, -1, 1, -1], [-1, 0, -1, -1], [-1, -1, -1, -1]], dtype=np.int32)
    parts = score(rows(3, neighbours=linked, asks=asks), asked).parts
    assert parts["asks"].tolist() == [-0.1, 0, 0]  # nothing follows the third, so nothing answers it


def test_the_row_that_opens_a_conversation_counts_a_little_more() -> None:
    """Not if it is shorter than the rows of conversations are on average, and not if nothing follows."""
    beside = one_session(5)
    beside[3:] = -1
    lengths = np.array([10, 11, 9, 90, 90], dtype=np.int32)
    scope = rows(5, neighbours=beside, lengths=lengths)
    assert score(scope, question(term(2))).parts["opens"].tolist() == [0.07, 0, 0, 0, 0]
    greeting = replace(scope, lengths=lengths - np.array([1, 0, 0, 0, 0], dtype=np.int32))
    assert not score(greeting, question(term(2))).parts["opens"].any()
    assert "opens" not in score(rows(5), question(term(2))).parts


def test_a_sessions_share_of_the_terms() -> None:
    """A row outside of any session is one of its own; where there are no sessions there is no such part."""
    asked = question(term(0), term(1), term(3))
    scope = rows(4, sessions=np.array([0, 0, 1, -1], dtype=np.int32))
    parts = score(scope, asked, Mode.KEYWORD).parts
    assert parts["session"] == pytest.approx([0.1 * 2 / 3, 0.1 * 2 / 3, 0, 0.1 / 3])
    assert "session" not in score(rows(4, sessions=np.full(4, -1, np.int32)), asked, Mode.KEYWORD).parts


def test_being_in_a_session_with_a_term_is_no_evidence() -> None:
    scope = rows(9, neighbours=one_session(9), sessions=np.zeros(9, np.int32))
    assert np.flatnonzero(score(scope, question(term(2))).hits).tolist() == [0, 1, 2, 3, 4]


def test_the_named_user_and_the_time_asked_for() -> None:
    scope = rows(4, users=np.array([0, 1, -1, 0], np.int32), created=np.array([5, 9, 10, 20], dtype=np.int64))
    scores = score(scope, question(named=frozenset({0}), windows=((5, 10), (20, 21))), Mode.KEYWORD)
    assert scores.parts["name"].tolist() == [0.2, 0, 0, 0.2]
    assert scores.parts["date"].tolist() == [0.5, 0.5, 0, 0.5]
    assert scores.hits.tolist() == [True, True, False, True]


def test_two_named_users_say_nothing() -> None:
    scope = rows(2, users=np.array([0, 1], np.int32))
    assert not score(scope, question(named=frozenset({0, 1}))).hits.any()


@pytest.mark.rows(41, 42, 43, 44)
def test_agentos_by_hand() -> None:
    scope = rows(
        2,
        created=np.array([0, WEEK], dtype=np.int64),
        importance=np.array([1.0, 0.5], dtype=np.float32),
        confidence=np.array([0.5, 1.0], dtype=np.float32),
    )
    asked = question(term(0), term(), term(0, 1), term(1), cosines=[0.5, -0.2], now=WEEK)
    scores = score(scope, asked, profile=Profile.AGENTOS)
    assert scores.total == pytest.approx(
        [
            0.25 + 0.25 * 2 / 4 + 0.05 + 0.10 + 0.025,
            -0.10 + 0.25 * 2 / 4 + 0.10 + 0.05 + 0.05,
        ]
    )


@pytest.mark.rows(41, 42)
def test_the_weights_and_the_half_life_of_agentos_can_be_set() -> None:
    scope = rows(
        1,
        created=np.array([0], dtype=np.int64),
        importance=np.array([0.5], dtype=np.float32),
        confidence=np.array([0.25], dtype=np.float32),
    )
    asked = question(term(0), term(), cosines=[0.5], now=2 * WEEK)
    weights = Weights(cosine=1, keyword=2, recency=4, importance=8, confidence=16, half_life_days=14)
    scores = ranking.score(scope, asked, None, mode=Mode.HYBRID, profile=Profile.AGENTOS, weights=weights)
    assert scores.total == pytest.approx([0.5 + 2 / 2 + 4 / 2 + 4 + 4], abs=1e-9)


def test_agentos_needs_evidence_too() -> None:
    asked = question(term(0), cosines=[math.nan, math.nan])
    assert score(rows(2), asked, profile=Profile.AGENTOS).hits.tolist() == [True, False]


@pytest.mark.rows(43, 44)
def test_ties_are_broken_by_importance_confidence_recency_and_place() -> None:
    scope = rows(
        6,
        importance=np.array([0.5, 0.5, 0.9, 0.5, 0.5, 1.0], dtype=np.float32),
        confidence=np.array([0.5, 0.5, 0.1, 0.8, 0.5, 1.0], dtype=np.float32),
        created=np.array([1, 2, 0, 0, 2, 9], dtype=np.int64),
    )
    assert best(scope, question(term(0, 1, 2, 3, 4))) == [2, 3, 1, 4, 0]
    assert ranking.order(scope, score(scope, question(term(0, 1, 2, 3, 4))), 2).tolist() == [2, 3]


def test_ties_never_outweigh_the_score() -> None:
    scope = rows(2, importance=np.array([0, 1], dtype=np.float32))
    assert best(scope, question(cosines=[0.500001, 0.5])) == [0, 1]


def test_what_filters_leave_is_excluded_without_changing_the_scores_of_the_rest() -> None:
    asked = question(term(0, 1), cosines=[0.1, 0.2, 0.3])
    left = np.array([False, True, True])
    filtered = ranking.score(rows(3), asked, left, mode=Mode.HYBRID, profile=Profile.DEFAULT)
    assert ranking.order(rows(3), filtered, 9).tolist() == [2, 1]
    assert filtered.total.tolist() == score(rows(3), asked).total.tolist()


def test_a_row_that_is_gone_counts_nowhere() -> None:
    asked = question(term(0), term(0, 2), cosines=[0.2, -1.0, 0.4])
    lengths = np.array([5, 1000, 9], dtype=np.int32)
    gone = rows(3, lengths=lengths, live=np.array([True, False, True]))
    never = rows(2, lengths=lengths[[0, 2]])
    without = score(never, question(term(0), term(0, 1), cosines=[0.2, 0.4]))
    assert score(gone, asked).total[[0, 2]].tolist() == without.total.tolist()
    assert best(gone, asked) == [2, 0]


def test_nothing_asked_finds_nothing() -> None:
    for mode in MODES:
        assert best(rows(3), question(), mode) == []
        assert best(rows(0), question(), mode) == []
        assert best(rows(0), question(term(), cosines=[]), mode) == []


# For every scope and question

numbers = st.floats(min_value=-1, max_value=1, width=32)


@st.composite
def scopes(draw: st.DrawFn, plain: bool = False) -> tuple[Rows, Question]:
    count = draw(st.integers(min_value=1, max_value=12))

    def array(values: st.SearchStrategy[object], dtype: type) -> NDArray[np.generic]:
        return np.array(draw(st.lists(values, min_size=count, max_size=count)), dtype=dtype)

    places = st.sets(st.integers(0, count - 1))
    terms = []
    for own in draw(st.lists(places, max_size=4)):
        context = draw(places) - own
        terms.append(term(*sorted(own), context=tuple(sorted(context))))
    cosines = array(st.one_of(numbers, st.just(math.nan)), np.float32) if draw(st.booleans()) else None
    moments = draw(st.lists(st.integers(0, 10**13), min_size=count, max_size=count, unique=True))
    scope = rows(
        count,
        lengths=array(st.integers(0, 500), np.int32),
        created=np.array(moments, dtype=np.int64),
        importance=array(st.floats(0, 1, width=32), np.float32),
        confidence=array(st.floats(0, 1, width=32), np.float32),
    )
    asked = question(*terms, cosines=None, now=draw(st.integers(0, 10**13)))
    asked = replace(asked, cosines=cosines)  # type: ignore[arg-type]
    if plain:
        return scope, asked
    start = draw(st.integers(0, 10**13))
    windows = draw(st.sampled_from([(), ((start, start + 10**12),)]))
    asked = replace(asked, windows=windows, named=draw(st.frozensets(st.integers(0, 2), max_size=2)))
    sessions = np.sort(array(st.integers(-1, 2), np.int32))
    beside = one_session(count)
    same = (beside >= 0) & (sessions[beside] == sessions[:, None]) & (sessions[:, None] >= 0)
    return replace(
        scope,
        users=array(st.integers(-1, 2), np.int32),  # type: ignore[arg-type]
        sessions=sessions,
        neighbours=np.where(same, beside, -1).astype(np.int32),
        asks=array(st.booleans(), np.bool_),  # type: ignore[arg-type]
    ), asked


modes = st.sampled_from(MODES)
profiles = st.sampled_from(list(Profile))


@given(scopes(), modes, profiles)
def test_the_parts_add_up_to_the_total(given: tuple[Rows, Question], mode: Mode, profile: Profile) -> None:
    scores = score(*given, mode, profile)
    for place, total in enumerate(scores.total.tolist()):
        added = 0.0
        for part in scores.parts.values():
            added += part.tolist()[place]
        assert added == total


@given(scopes(), modes, profiles)
def test_every_number_is_finite_and_every_order_complete(
    given: tuple[Rows, Question], mode: Mode, profile: Profile
) -> None:
    scope, _ = given
    scores = score(*given, mode, profile)
    assert np.isfinite(scores.total).all()
    ordered = ranking.order(scope, scores, len(scope.lengths))
    assert sorted(ordered.tolist()) == np.flatnonzero(scores.hits).tolist()
    for limit in range(len(ordered) + 1):
        assert ranking.order(scope, scores, limit).tolist() == ordered[:limit].tolist()


@given(scopes(), modes, profiles, st.randoms(use_true_random=False))
def test_the_order_of_rows_in_memory_does_not_matter(
    given: tuple[Rows, Question], mode: Mode, profile: Profile, random: object
) -> None:
    scope, asked = given
    count = len(scope.lengths)
    new_place = np.arange(count)
    random.shuffle(new_place)  # type: ignore[attr-defined]
    old = np.argsort(new_place)
    padded = np.append(new_place, -1).astype(np.int32)
    moved = Rows(
        lengths=scope.lengths[old],
        neighbours=padded[scope.neighbours[old]],
        users=scope.users[old],
        created=scope.created[old],
        importance=scope.importance[old],
        confidence=scope.confidence[old],
        sessions=None if scope.sessions is None else scope.sessions[old],
        asks=None if scope.asks is None else scope.asks[old],
    )
    terms = tuple(Term(places=padded[t.places], context=padded[t.context]) for t in asked.terms)
    cosines = None if asked.cosines is None else asked.cosines[old]
    before = ranking.order(scope, score(scope, asked, mode, profile), count)
    after = ranking.order(
        moved, score(moved, replace(asked, terms=terms, cosines=cosines), mode, profile), count
    )
    assert after.tolist() == new_place[before].tolist()


@given(scopes(plain=True), modes)
def test_a_store_without_users_sessions_and_dates_has_only_words_and_vectors(
    given: tuple[Rows, Question], mode: Mode
) -> None:
    """Cues that a question has, and question marks that rows have, then change nothing."""
    scope, asked = given
    cued = replace(asked, named=frozenset({1}), windows=((-2, -1),))
    asking = replace(scope, asks=np.ones(len(scope.lengths), dtype=np.bool_))
    plain, other = score(scope, asked, mode), score(asking, cued, mode)
    assert set(plain.parts) <= {"lexical", "dense"}
    assert plain.total.tolist() == other.total.tolist()
    assert plain.hits.tolist() == other.hits.tolist()


@given(scopes(), st.integers(1, 5), modes)
def test_rows_with_no_evidence_are_no_hits_and_change_no_order_of_one_term_and_vectors(
    given: tuple[Rows, Question], more: int, mode: Mode
) -> None:
    """With two terms they may: what is rare depends on how much there is."""
    scope, asked = given
    asked = replace(asked, terms=asked.terms[:1])
    count = len(scope.lengths)
    mean = scope.lengths.mean()
    scope = replace(scope, lengths=np.full(count, round(float(mean)), dtype=np.int32))
    grown = Rows(
        lengths=np.append(scope.lengths, np.full(more, scope.lengths[0])).astype(np.int32),
        neighbours=np.vstack([scope.neighbours, np.full((more, 4), -1)]).astype(np.int32),
        users=np.append(scope.users, np.full(more, -1)).astype(np.int32),
        created=np.append(scope.created, np.full(more, -1)).astype(np.int64),
        importance=np.append(scope.importance, np.ones(more)).astype(np.float32),
        confidence=np.append(scope.confidence, np.ones(more)).astype(np.float32),
        sessions=np.append(scope.sessions, np.full(more, -1)).astype(np.int32),  # type: ignore[arg-type]
        asks=np.append(scope.asks, np.zeros(more)).astype(np.bool_),  # type: ignore[arg-type]
    )
    cosines = (
        None if asked.cosines is None else np.append(asked.cosines, np.full(more, np.nan)).astype(np.float32)
    )
    assert best(grown, replace(asked, cosines=cosines), mode) == best(scope, asked, mode)
