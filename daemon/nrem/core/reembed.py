"""Vectors that are missing, or of another embedder: made in steps, each of them durable."""

from __future__ import annotations

from nrem.core.remember import embed_text
from nrem.errors import InputError, Unavailable
from nrem.models.embeddings import NEEDED, Embedder, dimension_of, embed_all, unpack
from nrem.store import vectors
from nrem.store.database import Database
from nrem.store.driver import Connection
from nrem.store.vectors import Missing, Progress, Serving, Vector
from nrem.wire import Embed, Embedded, Reembedded

STEP = 500


def embed(embedder: Embedder | None, request: Embed) -> Embedded:
    """Return the vectors of texts, at length 1."""
    embedder = _needed(embedder)
    packed = embed_all(embedder, request.texts, NEEDED)
    embeddings = tuple(tuple(map(float, unpack(vector))) if vector else None for vector in packed)
    dimension = max((len(vector) for vector in embeddings if vector), default=0)
    return Embedded(embedder=embedder.identity, dimension=dimension, embeddings=embeddings)


def backfill(store: Database, embedder: Embedder) -> int:
    """Try again for memories whose vector could not be made at first; return how many have one now."""
    with store.reading() as db:
        waiting = vectors.pending(db, limit=STEP)
        known = vectors.serving(db)
    if not waiting or (known is not None and known.embedder != embedder.identity):
        return 0
    wanted = known or Serving(embedder.identity, dimension_of(embedder))
    made = _made(embedder, waiting, wanted)
    if known is None:
        store.write(lambda db: vectors.serve_first(db, wanted))
    return store.write(lambda db: _fill(db, wanted, waiting, made))


def reembed(store: Database, embedder: Embedder | None) -> Reembedded:
    """Make the next vectors of the configured embedder; when all are there, let them serve.

    Two passes: the second one catches memories that were edited behind the first. The old vectors stay, and
    serve, until the switch.
    """
    embedder = _needed(embedder)
    with store.reading() as db:
        begun = vectors.progress(db, embedder.identity)
    progress = begun or Progress(Serving(embedder.identity, dimension_of(embedder)))
    wanted = progress.wanted
    with store.reading() as db:
        lacking = vectors.lacking(db, wanted, behind=progress.behind, limit=STEP)
    if not lacking and progress.second_pass:
        failed = store.write(lambda db: _switch(db, wanted))
        while store.write(lambda db: vectors.drop_others(db, wanted, limit=STEP)):
            pass
        store.reclaim()
        return Reembedded(embedder=wanted.embedder, done=0, left=0, failed=failed)
    made = _made(embedder, lacking, wanted)

    def write(db: Connection) -> tuple[int, int]:
        if begun is None:
            vectors.forget_tries(db)
        done = _fill(db, wanted, lacking, made)
        behind = lacking[-1].rowid if lacking else 0
        vectors.keep_progress(db, Progress(wanted, behind, progress.second_pass or not lacking))
        return done, vectors.count_lacking(db, wanted)

    done, left = store.write(write)
    return Reembedded(embedder=wanted.embedder, done=done, left=max(left, 1))


def _made(embedder: Embedder, missing: list[Missing], wanted: Serving) -> list[bytes | None]:
    """Return the vectors of memories, None for a text that the embedder has none for.

    Raises Unavailable when it has none for a plain word either: then this says nothing about the texts.
    """
    texts = [embed_text(item.content, item.user) for item in missing]
    try:
        made = embed_all(embedder, texts)
    except Unavailable as error:
        if error.code != "provider_refused":
            raise
        _check_sound(embedder, wanted)
        # One of them is refused; the others shall not wait for it.
        return [_fitting(_one(embedder, text), wanted) for text in texts]
    fitting = [_fitting(vector, wanted) for vector in made]
    if None in fitting:
        _check_sound(embedder, wanted)
    return fitting


def _check_sound(embedder: Embedder, wanted: Serving) -> None:
    found = dimension_of(embedder)
    if found != wanted.dimension:
        raise Unavailable(
            f"{embedder.identity} gives {found} numbers; the store's vectors have {wanted.dimension}",
            hint="nrem reembed makes them anew; or set the embedder back",
        )


def _fitting(vector: bytes | None, wanted: Serving) -> bytes | None:
    return vector if vector is not None and len(vector) == 4 * wanted.dimension else None


def _one(embedder: Embedder, text: str) -> bytes | None:
    try:
        [vector] = embed_all(embedder, [text])
    except Unavailable as error:
        if error.code != "provider_refused":
            raise
        return None
    return vector


def _fill(db: Connection, wanted: Serving, missing: list[Missing], made: list[bytes | None]) -> int:
    filled = 0
    for item, embedding in zip(missing, made, strict=True):
        if embedding is None:
            vectors.note_failed(db, item.rowid)
        else:
            filled += vectors.fill(db, item, Vector(wanted.embedder, embedding))
    return filled


def _switch(db: Connection, wanted: Serving) -> int:
    """Let the new vectors serve; what still has none is pending. Returns how many those are."""
    vectors.switch(db, wanted)
    return vectors.note_all_lacking(db, wanted)


def _needed(embedder: Embedder | None) -> Embedder:
    if embedder is None:
        raise InputError("vectors are off", hint="set vector.enabled = true")
    return embedder
