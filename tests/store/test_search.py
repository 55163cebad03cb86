from __future__ import annotations

import math
from array import array
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from builders import Call, HashEmbedder, ManualClock, caller_of, rows_with
from nrem.errors import Conflict
from nrem.model import By, Kind, Memory, Provenance, Trust
from nrem.models.embeddings import pack
from nrem.policy import terms
from nrem.runtime.app import App
from nrem.store import memories, migrations, scopes, search
from nrem.store.driver import Connection, connect

SCRIPTS = {
    "latin": "Élan vital, naïve Straße",
    "combining marks": "E\u0301lan Vie\u0323\u0302t N\u0303",
    "greek": "Ἑλλάς ΟΔΥΣΣΕΥΣ",
    "cyrillic": "Съешь ещё этих мягких",
    "hebrew": "שָׁלוֹם עולם",
    "arabic": "مُحَمَّد السلام عليكم ١٢٣",
    "devanagari": "हिन्दी में लिखना क्षत्रिय १२३",
    "bengali": "বাংলা ভাষা",
    "tamil": "தமிழ் மொழி",
    "thai": "ภาษาไทยไม่มีช่องว่าง",
    "lao": "ພາສາລາວ",
    "burmese": "မြန်မာဘာသာ",
    "khmer": "ភាសាខ្មែរ",
    "tibetan": "བོད་སྐད།",
    "georgian": "ქართული ენა Ⴀ",
    "armenian": "Հայերեն և",
    "amharic": "አማርኛ",
    "korean": "한국어 띄어쓰기 ᄒ\u1161\u11ab",
    "japanese": "東京タワー と カタカナ ｶﾞｷﾞ",
    "chinese": "机器学习系统",
    "cjk extension b": "𠀀𠀁 𪚥",
    "mixed": "iPhone手机 and ไทยLand v2.0",
    "emoji": "👩‍👩‍👧 🇦🇹 ❤️ ok",
    "full width": "ＡＢＣ　１２３",
    "mathematical": "𝐀𝑏𝒄 ½ ² ①",
    "turkish": "İstanbul ıI ſ",
    "punctuation": '"quoted" AND (NOT near*) -- ; \' : ^ + - NEAR(a b)',
    "control": "a\x00b\x01c\u2028d\ufeffe\u00ade\u200df",
    "prefix": "1zfoo 2zbar z",
}


@pytest.fixture
def db(tmp_path: Path, clock: ManualClock) -> Iterator[Connection]:
    """A store with the scopes 1 and 2, and the words of its keyword index as the table `words`."""
    migrations.migrate(tmp_path / "nrem.db", clock)
    db = connect(tmp_path / "nrem.db", read_only=False)
    for name in ("ana", "ben"):
        scopes.add(db, name, BY)
    db.execute("create virtual table temp.words using fts5vocab (main, memories_fts, instance)")
    yield db
    db.close()


BY = By(actor="owner", cause="test", now=1000)


def a_memory(content: str, context: str | None = None, tags: tuple[str, ...] = ()) -> Memory:
    return Memory(
        id="00000000-0000-7000-8000-000000000001",
        kind=Kind.EPISODIC,
        kind_given="episodic",
        content=content,
        context=context,
        tags=tags,
        category="general",
        importance=0.5,
        confidence=1.0,
        provenance=Provenance(source=None, ingress="test", trust=Trust.TRUSTED, actor="owner"),
        created_at=1000,
        updated_at=1000,
    )


def rowid_of(db: Connection, scope: int) -> int:
    rowid: int = db.execute("select rowid from memories where scope = ?", (scope,)).fetchone()[0]
    return rowid


def words_of(db: Connection, rowid: int) -> list[str]:
    """Return the tokens that the index really has for a row."""
    return sorted(row[0] for row in db.execute("select term from words where doc = ?", (rowid,)))


def check_indexed(db: Connection, content: str, context: str | None, tags: tuple[str, ...]) -> None:
    memory = a_memory(content, context, tags)
    db.execute("begin")
    try:
        memories.insert(db, 1, memory, None, BY)
        memories.insert(db, 2, a_memory("a foreign text"), None, BY)
        rowid, foreign = rowid_of(db, 1), rowid_of(db, 2)
        said = terms.for_index(content)
        wanted = {*said, *terms.for_index("\n".join(tags))}
        beside = set(terms.for_index(context or "")) - wanted
        assert words_of(db, rowid) == sorted(["1z" + t for t in wanted] + ["1y" + t for t in beside])
        assert words_of(db, foreign) == ["2zforeign", "2ztext"]
        for term in {*wanted, *beside, "foreign", "text"}:
            assert rows_with(db, 1, term) == ([rowid] if term in wanted else [])
            in_context = rows_with(db, 1, term, part=search.CONTEXT)
            assert in_context == ([rowid] if term in beside else [])
            assert rows_with(db, 2, term) == ([foreign] if term in ("foreign", "text") else [])
        length = len(said) - len(terms.names(content))
        assert db.execute("select terms from memories where rowid = ?", (rowid,)).fetchone()[0] == length
        assert scopes_terms(db) == [length, 2]
    finally:
        db.execute("rollback")


def scopes_terms(db: Connection) -> list[int]:
    return [row[0] for row in db.execute("select term_count from scopes order by scope")]


@pytest.mark.rows(38)
@pytest.mark.parametrize("text", SCRIPTS.values(), ids=SCRIPTS.keys())
def test_every_term_of_a_text_is_one_token_of_the_index_in_every_script(db: Connection, text: str) -> None:
    check_indexed(db, text, None, ())
    check_indexed(db, "content", text, (text, "tag"))


@pytest.mark.rows(3, 38)
def test_every_term_of_any_text_is_one_token_of_the_index(db: Connection) -> None:
    anything = st.text(max_size=60)
    known = st.sampled_from(sorted(SCRIPTS.values()))

    @settings(max_examples=300, deadline=None)
    @given(
        content=st.one_of(anything, st.tuples(known, anything, known).map("".join)),
        context=st.none() | anything,
        tags=st.lists(anything, max_size=3).map(tuple),
    )
    @example(content="", context=None, tags=())
    def check(content: str, context: str | None, tags: tuple[str, ...]) -> None:
        check_indexed(db, content, context, tags)

    check()


def test_the_scope_in_front_of_a_term_cannot_be_mistaken(db: Connection) -> None:
    for name in range(3, 13):
        assert scopes.add(db, f"agent{name}", BY).number == name
    memories.insert(db, 1, a_memory("2zfoo 1zbar"), None, BY)
    memories.insert(db, 12, a_memory("foo"), None, BY)
    row, twelve = rowid_of(db, 1), rowid_of(db, 12)
    assert words_of(db, row) == ["1z1zbar", "1z2zfoo"]
    assert rows_with(db, 12, "foo") == [twelve]
    assert rows_with(db, 2, "foo") == rows_with(db, 1, "foo") == rows_with(db, 1, "bar") == []
    assert rows_with(db, 1, "2zfoo") == [row]


@pytest.mark.rows(33, 34)
def test_an_edit_and_a_forget_move_the_index_with_the_row(db: Connection) -> None:
    old = a_memory("walnut cake", tags=("kitchen",))
    memories.insert(db, 1, old, None, BY)
    memories.insert(db, 2, a_memory("walnut tree"), None, BY)
    rowid, foreign = rowid_of(db, 1), rowid_of(db, 2)
    new = replace(old, content="almond cake", version=2)
    memories.update(db, 1, new, None, op="memory.edit", by=BY)
    assert rows_with(db, 1, "walnut") == []
    assert all(rows_with(db, 1, term) == [rowid] for term in ("almond", "cake", "kitchen"))
    assert scopes_terms(db) == [2, 2]
    memories.forget(db, 1, old.id, BY)
    assert all(rows_with(db, 1, term) == [] for term in ("walnut", "almond", "cake", "kitchen"))
    assert rows_with(db, 2, "walnut") == [foreign]
    assert scopes_terms(db) == [0, 2]
    assert db.execute("select count(*) from memories_fts_docsize").fetchone()[0] == 1


@pytest.mark.rows(17)
def test_a_row_is_found_by_each_of_its_concepts(app: App, call: Call) -> None:
    id = call("remember", agent="ana", content="deploy with release_script")["id"]
    [memory] = call("list_memories", agent="ana")["memories"]
    assert "release-script" not in memory["tags"]
    with app.store.reading() as db:
        for concept in memory["concept_tags"]:
            for term in terms.for_query(concept):
                rows = rows_with(db, 1, term)
                assert [
                    db.execute("select id from memories where rowid = ?", (row,)).fetchone()[0]
                    for row in rows
                ] == [id]


@pytest.mark.rows(114)
def test_merging_takes_the_words_of_deleted_rows_out_of_the_index(db: Connection) -> None:
    for number in range(50):
        memory = replace(a_memory(f"zanzibar {number}"), id=f"id-{number}")
        memories.insert(db, 1, memory, None, BY)
    memories.insert(db, 2, a_memory("oslo"), None, BY)
    for number in range(50):
        memories.forget(db, 1, f"id-{number}", BY)
    blocks = "select count(*) from memories_fts_data where instr(block, cast('zanzibar' as blob))"
    assert db.execute(blocks).fetchone()[0] > 0
    while search.merge_step(db):
        pass
    assert db.execute(blocks).fetchone()[0] == 0
    assert rows_with(db, 2, "oslo") == [rowid_of(db, 2)]


def floats(packed: bytes) -> list[float]:
    return list(array("f", packed))


@pytest.mark.rows(30, 39)
def test_a_vector_is_stored_as_float32_at_length_one(app: App, call: Call) -> None:
    call("remember", agent="ana", content="walnut cake")
    with app.store.reading() as db:
        embedder, scope, seq, stored = db.execute(
            "select embedder, scope, seq, embedding from vec_memories"
        ).fetchone()
    [raw] = HashEmbedder().embed(["walnut cake"])
    norm = math.sqrt(sum(value * value for value in raw))
    assert (embedder, scope, seq) == ("test:hash-16", 1, 2)
    assert floats(stored) == pytest.approx([value / norm for value in raw], abs=1e-7)
    assert math.isclose(math.sqrt(sum(value * value for value in floats(stored))), 1, abs_tol=1e-6)


@pytest.mark.rows(39)
@pytest.mark.parametrize("vector", [[0.0] * 4, [math.nan, 1.0], [math.inf, 1.0], [1e200, 1e200], []])
def test_what_has_no_direction_is_no_vector(vector: list[float]) -> None:
    assert pack(vector) is None


class Fixed(HashEmbedder):
    """Knows the vectors of four texts."""

    def _vector(self, text: str) -> list[float]:
        known = {"same": [2, 0, 0], "near": [1, 1, 0], "right angle": [0, 0, 3], "opposite": [-1, 0, 0]}
        return [float(value) for value in known[text]]


@pytest.mark.rows(39)
def test_sqlite_computes_the_cosine_distance_of_stored_vectors(home: Path, clock: ManualClock) -> None:
    with App.open(home, create=True, clock=clock, embedder=Fixed()) as app:
        call = caller_of(app)
        call("add_agent", agent="ana")
        for text in ("opposite", "near", "same", "right angle"):
            call("remember", agent="ana", content=text)
        with app.store.reading() as db:
            rows = db.execute(
                "select m.content, vec_distance_cosine(v.embedding, ?) as distance from vec_memories v"
                " join memories m on m.rowid = v.memory order by distance",
                (array("f", [1.0, 0.0, 0.0]).tobytes(),),
            ).fetchall()
    assert [row[0] for row in rows] == ["same", "near", "right angle", "opposite"]
    assert [row[1] for row in rows] == pytest.approx([0, 1 - math.sqrt(0.5), 1, 2], abs=1e-6)


@pytest.mark.rows(93)
def test_the_first_vector_fixes_the_stores_embedder_and_dimension(app: App, call: Call) -> None:
    settings = "select key, value from store_meta where key in ('embedder', 'dimension') order by key"
    with app.store.reading() as db:
        assert db.execute(settings).fetchall() == []
    call("remember", agent="ana", content="first")
    with app.store.reading() as db:
        assert [tuple(row) for row in db.execute(settings)] == [
            ("dimension", "16"),
            ("embedder", "test:hash-16"),
        ]


class Other(HashEmbedder):
    identity = "test:other"


class Longer(HashEmbedder):
    def _vector(self, text: str) -> list[float]:
        return [*super()._vector(text), 1.0]


@pytest.mark.rows(93, 94)
@pytest.mark.parametrize("other", [Other(), Longer()])
def test_a_vector_of_another_space_is_not_stored_and_no_search_compares_it(
    home: Path, app: App, call: Call, clock: ManualClock, other: HashEmbedder
) -> None:
    call("remember", agent="ana", content="first")
    app.close()
    with App.open(home, clock=clock, embedder=other) as again:
        call = caller_of(again)
        assert call("remember", agent="ana", content="second")["stored"]
        with again.store.reading() as db:
            assert [row[0] for row in db.execute("select memory from vec_memories")] == [1]
            assert [row[0] for row in db.execute("select memory from pending_vectors")] == [2]
        if isinstance(other, Longer):
            assert call("recall", agent="ana", query="second")["degraded"] == ["vector"]
        else:
            with pytest.raises(Conflict) as caught:
                call("recall", agent="ana", query="second")
            assert caught.value.code == "embedding_model_changed"
            assert "nrem reembed" in str(caught.value.hint)
        [hit] = call("recall", agent="ana", query="second", mode="keyword")["hits"]
        assert hit["memory"]["content"] == "second"


@pytest.mark.rows(33)
def test_a_new_text_without_an_embedder_loses_the_old_vector(home: Path, app: App, call: Call) -> None:
    id = call("remember", agent="ana", content="walnut")["id"]
    call("edit_memory", agent="ana", id=id, category="other")
    count = "select count(*) from vec_memories"
    with app.store.reading() as db:
        assert db.execute(count).fetchone()[0] == 1
    app.close()
    with App.open(home) as again:
        caller_of(again)("edit_memory", agent="ana", id=id, content="almond")
        with again.store.reading() as db:
            assert db.execute(count).fetchone()[0] == 0
            versions = db.execute("select version, embedding is not null from memory_versions")
            assert [tuple(row) for row in versions] == [(1, 1), (2, 1)]
