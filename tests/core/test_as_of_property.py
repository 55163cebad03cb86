"""Whatever happens to two agents, as-of recall at each past recall is what was answered then."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders import Call, HashEmbedder, ManualClock, caller_of
from nrem.core.reembed import backfill
from nrem.errors import Conflict, InvalidField, Unavailable
from nrem.runtime.app import App

EXAMPLES = int(os.environ.get("NREM_TEST_EXAMPLES", "60"))
WORDS = ["tea", "green", "luis", "tea?", "yesterday"]
AGENTS = ["ana", "ben"]

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=2).map(" ".join)
agents = st.sampled_from(AGENTS)
places = st.integers(0, 6)
remembering = st.tuples(
    st.just("remember"),
    agents,
    texts,
    st.sampled_from(["episodic", "episodic", "semantic", "message"]),
    st.sampled_from([None, "s1", "s2"]),
    st.sampled_from([None, None, "luis"]),
    st.sampled_from([None, None, 3]),
)
changing = st.one_of(
    st.tuples(st.just("edit"), agents, places, texts),
    st.tuples(st.just("tag"), agents, places, st.sampled_from(["port", "tea"])),
    st.tuples(st.just("pin"), agents, places),
    st.tuples(st.just("supersede"), agents, texts, places),
    st.tuples(st.just("forget"), agents, places),
    st.tuples(st.just("checkpoint"), agents),
    st.tuples(st.just("wait"), st.sampled_from([0, 1, 5, 86_400])),
)
vectors_coming_late = st.one_of(st.tuples(st.just("embedder"), st.booleans()), st.just(("backfill",)))
recalling = st.tuples(
    st.just("recall"),
    agents,
    texts,
    st.one_of(
        st.just({}),
        st.fixed_dictionaries(
            {},
            optional={
                "mode": st.sampled_from(["keyword", "vector", "hybrid"]),
                "limit": st.integers(1, 8),
                "budget": st.sampled_from([3, 10]),
                "kinds": st.just(["message", "semantic"]),
                "session": st.just("s1"),
                "expired": st.just(True),
                "superseded": st.just(True),
                "profile": st.just("agentos"),
                "asked_at": st.just("2026-06-01T11:00:00Z"),
                "threshold": st.sampled_from([-0.5, 0.3]),
            },
        ),
    ),
)
steps = st.one_of(remembering, changing, vectors_coming_late, recalling)


class Fickle(HashEmbedder):
    """An embedder that can be out of reach."""

    up = True

    def embed(self, texts: Any, patience: Any = None) -> Any:
        if not self.up:
            raise Unavailable("the embedder is away")
        return super().embed(texts)


@dataclass
class World:
    app: App
    call: Call
    clock: ManualClock
    embedder: Fickle
    ids: dict[str, list[str]] = field(default_factory=lambda: {agent: [] for agent in AGENTS})
    asked: list[tuple[str, dict[str, Any], dict[str, Any], bool]] = field(default_factory=list)

    def live(self, agent: str, place: int) -> str | None:
        ids = self.ids[agent]
        return ids[place % len(ids)] if ids else None

    def run(self, step: tuple[Any, ...]) -> None:
        runner: Callable[..., None] = getattr(self, "do_" + step[0])
        runner(*step[1:])

    def do_remember(
        self, agent: str, text: str, kind: str, session: str | None, user: str | None, expires: int | None
    ) -> None:
        body: dict[str, Any] = {"kind": kind, "session": session, "user": user}
        if expires is not None:
            body["expires_at"] = self.clock.now() + expires * 1000
        id = self.call("remember", agent=agent, content=text, **body)["id"]
        if id not in self.ids[agent]:
            self.ids[agent].append(id)

    def do_supersede(self, agent: str, text: str, place: int) -> None:
        if old := self.live(agent, place):
            with contextlib.suppress(Conflict, InvalidField):  # superseded already, or this text is its own
                id = self.call("remember", agent=agent, content=text, supersedes=[old])["id"]
                if id not in self.ids[agent]:
                    self.ids[agent].append(id)

    def do_edit(self, agent: str, place: int, text: str) -> None:
        if id := self.live(agent, place):
            with contextlib.suppress(Conflict):  # another one may have this text
                self.call("edit_memory", agent=agent, id=id, content=text)

    def do_tag(self, agent: str, place: int, tag: str) -> None:
        if id := self.live(agent, place):
            self.call("edit_memory", agent=agent, id=id, tags=[tag])

    def do_pin(self, agent: str, place: int) -> None:
        if id := self.live(agent, place):
            self.call("pin_memory", agent=agent, id=id)

    def do_forget(self, agent: str, place: int) -> None:
        if id := self.live(agent, place):
            self.call("forget", agent=agent, id=id)
            self.ids[agent].remove(id)

    def do_checkpoint(self, agent: str) -> None:
        self.call("checkpoint", agent=agent)

    def do_embedder(self, up: bool) -> None:
        self.embedder.up = up

    def do_backfill(self) -> None:
        if self.embedder.up:
            backfill(self.app.store, self.embedder)

    def do_wait(self, seconds: int) -> None:
        self.clock.advance(seconds=seconds)

    def do_recall(self, agent: str, query: str, given: dict[str, Any]) -> None:
        if given.get("mode") == "keyword":
            given = {name: value for name, value in given.items() if name != "threshold"}
        body = {"agent": agent, "query": query, "explain": True, **given}
        answer = self.call("recall", **body)
        self.asked.append((agent, body, answer, self.embedder.up))


def told(answer: dict[str, Any]) -> list[tuple[str, str, float, dict[str, float]]]:
    return [
        (hit["memory"]["id"], hit["memory"]["content"], hit["explain"]["score"], hit["explain"]["parts"])
        for hit in answer["hits"]
    ]


def check(world: World) -> None:
    for agent, body, then, up in world.asked:
        world.embedder.up = up
        now = world.call("recall", as_of=then["recall_id"], **body)
        assert told(now) == told(then)
        assert now["recall_id"] is None
        assert now["degraded"] == then["degraded"]
        world.embedder.up = True
        [replayed] = world.call("replay", agent=agent, of=then["recall_id"])["recalls"]
        assert (replayed["outcome"], replayed["causes"]) == ("equal", [])
        assert [(hit["id"], hit["score"]) for hit in replayed["now"]] == [
            (id, s) for id, _, s, _ in told(then)
        ]


@pytest.mark.rows(105, 113)
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.lists(steps, min_size=10, max_size=60))
def test_as_of_every_past_recall_is_what_was_answered_then(happening: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        clock, embedder = ManualClock(), Fickle()
        with App.open(Path(folder) / "home", create=True, clock=clock, embedder=embedder) as app:
            world = World(app, caller_of(app), clock, embedder)
            for agent in AGENTS:
                world.call("add_agent", agent=agent)
            for step in happening:
                world.run(step)
            check(world)
