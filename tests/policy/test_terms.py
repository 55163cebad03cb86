from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nrem.policy.terms import LONGEST, STOP_WORDS, fold, for_index, for_query, for_question, names

WORDS = {
    "case": ("Walnut WALNUT walnut", ["walnut", "walnut", "walnut"]),
    "endings": ("connected connections connecting", ["connect", "connect", "connect"]),
    "possessive": ("Ana's and the users' cake", ["ana", "user", "cake"]),
    "possessive with a typographic apostrophe": ("Ana\u2019s cake", ["ana", "cake"]),
    "possessive with a letter apostrophe": ("Ana\u02bcs cake", ["ana", "cake"]),
    "hyphens": ("state-of-the-art e-mail", ["state", "art", "e", "mail", "stateoftheart", "email"]),
    "snake case": ("release_script __init__", ["releas", "script", "init", "releasescript"]),
    "paths": (
        "/etc/nrem/init.toml C:\\Temp",
        ["etc", "nrem", "init", "toml", "c", "temp", "inittoml", "etcnreminittoml"],
    ),
    "addresses": ("ana@mail.example", ["ana", "mail", "exampl", "mailexampl", "anamailexampl"]),
    "numbers": ("port 8080 and 1,000", ["port", "8080", "1", "000"]),
    "tied numbers": ("see 3.14, 10:30.", ["see", "3", "14", "10", "30", "3ꞏ14", "10ꞏ30"]),
    "versions": ("see v1.2.3.", ["see", "v1", "2", "3", "1ꞏ2ꞏ3", "v1ꞏ2ꞏ3"]),
    "abbreviations": ("the U.S.A. and I.T.", ["u", "usa", "it"]),
    "ties of a sentence": ("well... yes -- no: one /or/ two", ["well", "yes", "one", "two"]),
    "numbers with letters": ("python3 v2 x86", ["python3", "v2", "x86"]),
    "accents": ("Élan café naïve Ångström", ["elan", "cafe", "naiv", "angstrom"]),
    "accents as marks of their own": ("cafe\u0301", ["cafe"]),
    "sharp s and ligatures": ("Straße ﬁne", ["strass", "fine"]),
    "full width": ("ＡＢＣ１２３", ["abc123"]),
    "hebrew points": ("שָׁלוֹם", ["שלום"]),
    "arabic vowels": ("مُحَمَّد", ["محمد"]),
    "devanagari keeps its marks": ("हिन्दी", ["हिन्द"]),
    "cyrillic": ("Ещё ёлка ёлки", ["ещ", "елк", "елк"]),
    "a breve that is part of the letter": ("Музей в музее", ["муз", "в", "муз"]),
    "korean": ("서울에서", ["서", "울", "에", "서", "서울", "울에", "에서"]),
    "emoji": ("👍 👩\u200d👩\u200d👧 🇦🇹 ok👋🏽", ["👍", "👩", "👩", "👧", "🇦", "🇹", "🇦🇹", "ok", "👋"]),
    "punctuation only": ("?! … --", []),
    "nothing": ("", []),
}


@pytest.mark.rows(38)
@pytest.mark.parametrize(("text", "terms"), WORDS.values(), ids=WORDS.keys())
def test_a_text_has_the_terms_of_its_words(text: str, terms: list[str]) -> None:
    assert for_index(text) == terms


@pytest.mark.rows(38)
@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("camelCase", ["camelcas", "camel", "case"]),
        ("parseHTTPResponse", ["parsehttprespons", "pars", "http", "respons"]),
        ("getUser2Name", ["getuser2nam", "get", "user", "2", "name"]),
        (
            "MemoryStore.findById",
            ["memorystor", "findbyid", "memori", "store", "find", "id", "memorystorefindbyid"],
        ),
    ],
)
def test_a_name_in_camel_case_has_itself_and_its_parts(text: str, terms: list[str]) -> None:
    assert for_index(text) == terms


@pytest.mark.rows(38)
@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("1.2.3", "we shipped v1.2.3"),
        ("v1.2.3", "see v1.2.3."),
        ("1.2.3", "python-1.2.3.tar.gz"),
        ("10.0.3.7", "at 10.0.3.7:8080"),
        ("2026-05-01", "on 2026/05/01"),
        ("2026-05-01", "2026-05-01T10:30:00Z"),
        ("foobar", "run foo-bar"),
        ("foo_bar", "run foo\u2010bar"),
        ("userId", "the column user_id"),
        ("parseConfig.json", "parse_config.json"),
        ("utf8", "in utf-8"),
        ("cooperate", "we co-operated"),
        ("USA", "in the U.S.A."),
        ("ana.b@mail.example", "<ana.b@mail.example>"),
        ("build.py", "in src/tools/build.py"),
        ("src/tools/build.py", "(src/tools/build.py)"),
        ("docs.example/a", "https://docs.example/a"),
        ("1.2.3", "在v1.2.3版本"),
        ("भारत-नेपाल", "की भारत-नेपाल"),
    ],
)
def test_a_name_is_found_as_one_word(asked: str, stored: str) -> None:
    joined = names(asked) or for_query(asked)[:1]
    assert not set(joined).isdisjoint(for_index(stored))


@pytest.mark.rows(38)
@pytest.mark.parametrize(
    "forms",
    [
        "ключ ключи ключами",
        "синий синем синих",
        "κλειδί κλειδιά",
        "πόλη πόλεις",
        "مفتاح المفتاح",
        "किताब किताबें",
        "दोस्त दोस्तों",
        "வீடு வீட்டில்",
        "բանալի բանալիներ",
        "llave llaves",
        "réunion réunions",
    ],
)
def test_forms_of_a_word_share_its_term(forms: str) -> None:
    assert len(for_query(forms)) == 1


@pytest.mark.rows(38)
@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("서울", "루이스는 서울에서 커피를 마신다"),
        ("집", "집에서 잔다"),
        ("비밀번호", "서버의 비밀번호를 바꿨다"),
    ],
)
def test_a_korean_word_is_found_with_its_particles(asked: str, stored: str) -> None:
    assert set(for_query(asked)) <= set(for_index(stored))


@pytest.mark.rows(38)
def test_other_numbers_of_the_same_digits_are_other_names() -> None:
    spellings = ["1.2.3", "12.3", "1.23", "123", "3.2.1", "1.2.3.4"]
    assert len({tuple(names(text) or [text]) for text in spellings}) == len(spellings)


@pytest.mark.rows(38)
def test_words_in_two_spellings_share_their_terms() -> None:
    for left, right in (
        ("Café", "cafe"),
        ("STRASSE", "straße"),
        ("ΟΔΥΣΣΕΥΣ", "οδυσσευς"),
        ("ｶﾞ", "ガ"),
        ("Việt", "viet"),
        ("ﬁle", "file"),
    ):
        assert for_query(left) == for_query(right)


@pytest.mark.rows(38)
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("she bought a bike", "buying bikes"),
        ("two men, five women and their wives", "two man five woman wife"),
        ("Mum and the kids", "mother's children"),
        ("my favourite colour", "favorite colors"),
        ("pics of the neighbours", "picture of a neighbor"),
    ],
)
def test_forms_that_no_stemmer_brings_together_share_their_term(left: str, right: str) -> None:
    assert set(for_query(right)) <= set(for_query(left))


def test_forms_that_are_other_words_too_stay_as_they_are() -> None:
    assert not {*for_query("leaves"), *for_query("lay")} & {*for_query("leaf"), *for_query("lie")}


@pytest.mark.rows(38)
def test_chinese_is_indexed_by_characters_and_pairs_and_asked_for_by_pairs() -> None:
    assert for_index("机器学") == ["机", "器", "学", "机器", "器学"]
    assert for_query("机器学") == ["机器", "器学"]
    assert for_query("学") == ["学"]


@pytest.mark.rows(38)
def test_scripts_without_spaces_are_parted_from_the_words_beside_them() -> None:
    assert for_query("Phone手机 v2") == ["phone", "手机", "v2"]
    assert for_query("用Python写") == ["用", "python", "写"]


HAN = st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FA5), min_size=1, max_size=12)
EXTENSION_B = st.text(st.characters(min_codepoint=0x20000, max_codepoint=0x2A6DF), min_size=1, max_size=12)


@pytest.mark.rows(38)
@given(before=HAN | EXTENSION_B, asked=HAN | EXTENSION_B, after=HAN | EXTENSION_B)
def test_any_part_of_a_chinese_text_finds_it(before: str, asked: str, after: str) -> None:
    assert set(for_query(asked)) <= set(for_index(before + asked + after))


def test_stop_words_are_left_out_unless_there_is_nothing_else() -> None:
    assert for_index("what is the walnut for") == ["walnut"]
    assert for_index("to be or not to be") == ["to", "be", "or", "not", "to", "be"]
    assert for_query("to be or not to be") == ["to", "be", "or", "not"]
    assert for_query("The Who") == ["the", "who"]
    assert {"the", "and", "not"} <= STOP_WORDS


@pytest.mark.rows(38)
@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("WHO", "IT department, WHO guideline"),
        ("what does IT do?", "IT department"),
        ("Who is Will?", "I met Will today"),
        ("will Will come", "and Will, too"),
        ("the WHO", "the WHO's guideline"),
    ],
)
def test_a_stop_word_that_is_written_as_a_name_is_found(asked: str, stored: str) -> None:
    assert not set(for_query(asked)).isdisjoint(for_index(stored))


def test_other_stop_words_stay_left_out() -> None:
    for text in ("Will it rain? It won't", "STOP, OR WE WILL GO", "we Don't", "I am in"):
        assert STOP_WORDS.isdisjoint(for_index(f"{text} x".upper() if text.isupper() else f"{text} x"))


def test_a_question_has_each_term_once_in_the_order_of_its_words() -> None:
    assert for_query("cake walnut Cakes WALNUTS almond cake") == ["cake", "walnut", "almond"]
    assert for_index("cake walnut Cakes") == ["cake", "walnut", "cake"]


def test_a_long_run_is_cut() -> None:
    assert for_index("a1" * 1000) == ["a1" * (LONGEST // 2)]
    assert for_query("a1" * 1000) == for_index("a1" * 1000)


TEXTS = st.text() | st.text("aAzZ09_-.:@\\'\u2019/\u2010 \u00e9\u0301漢字ไทยｶﾞßि", max_size=40)


@settings(max_examples=500)
@given(TEXTS)
@example("1\u20441 ½ ² ① İ ſ ﷺ ㎏")
@example("K\u212b \u0345 \u1e9e")
def test_any_text_gives_short_terms_that_no_tokenizer_splits(text: str) -> None:
    terms = for_index(text)
    for term in terms:
        assert 0 < len(term) <= LONGEST
        assert all(unicodedata.category(character)[0] in "LMN" or character > "\u2600" for character in term)
        assert not any("A" <= character <= "Z" for character in term)
    assert len(set(for_query(text))) == len(for_query(text))


@settings(max_examples=500)
@given(TEXTS)
def test_a_text_asked_for_as_a_whole_is_found(text: str) -> None:
    assert set(for_query(text)) <= set(for_index(text))
    assert bool(for_query(text)) == bool(for_index(text))


@settings(max_examples=500)
@given(TEXTS)
@example("the WHO's IT, and Will. getIT W.H.O. IT\u90e8 to-do")
def test_a_question_is_looked_up_by_the_terms_of_its_words(text: str) -> None:
    assert {term for word in for_question(text) for term in word.terms} == set(for_query(text))


@given(st.text())
def test_folding_twice_changes_nothing_more(text: str) -> None:
    assert fold(fold(text)) == fold(text)
