"""Whatever is done to two agents, in any order: nothing contradicts anything, and the past is as it was."""

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
from nrem.core import rebuild
from nrem.core.reembed import backfill
from nrem.errors import Conflict, InvalidField, NotFound
from nrem.runtime.app import App
from workspace.workshop import check_clean, git

EXAMPLES = int(os.environ.get("NREM_TEST_ALL_VERBS", "8"))
AGENTS = ["ana", "ben"]
TEXTS = [
    "Luis Ortega lives in Valencia since 2024",
    "Luis Ortega lives in Madrid since 2026",
    "Marta studies medicine in Granada",
    "The staging server listens on port 8443",
    "Luis prefers green tea",
]

agents = st.sampled_from(AGENTS)
texts = st.sampled_from(TEXTS)
places = st.integers(0, 4)
remembering = st.tuples(
    st.just("remember"),
    agents,
    texts,
    st.sampled_from(["semantic", "semantic", "episodic"]),
    st.sampled_from([None, "s1"]),
)
superseding = st.tuples(st.just("supersede"), agents, texts, places)
recalling = st.tuples(st.just("recall"), agents, st.sampled_from(["Luis", "green tea", "which port?"]))
changing = st.one_of(
    st.tuples(st.just("edit"), agents, places, texts),
    st.tuples(st.just("forget"), agents, places),
    st.tuples(st.just("pin"), agents, places),
    st.tuples(st.just("wait"), st.sampled_from([1, 3600, 3 * 86_400])),
    st.tuples(st.just("write"), agents, st.sampled_from(["plan", "other plan"])),
)
publishing = st.one_of(
    st.tuples(st.just("checkpoint"), agents),
    st.tuples(st.just("dream"), agents),
    st.tuples(st.just("undo"), agents),
    st.tuples(st.just("restore"), agents, places),
    st.tuples(st.just("bring_back"), agents, places),
    st.tuples(st.just("erase"), agents, places),
)
rarer = st.one_of(
    st.tuples(st.just("prune"), agents),
    st.tuples(st.just("person"), agents, texts),
    st.tuples(st.just("move"), agents),
    st.just(("rebuild",)),
)
steps = st.one_of(remembering, superseding, recalling, changing, publishing, publishing, rarer)


@dataclass
class World:
    home: Path
    app: App
    call: Call
    clock: ManualClock
    ids: dict[str, list[str]] = field(default_factory=lambda: {agent: [] for agent in AGENTS})
    """Every memory that an agent ever had."""
    asked: list[tuple[str, str, list[str]]] = field(default_factory=list)
    """Agent, recall and the memories found."""
    erased: set[str] = field(default_factory=set)
    points: dict[str, list[str]] = field(default_factory=lambda: {agent: [] for agent in AGENTS})

    def run(self, step: tuple[Any, ...]) -> None:
        runner: Callable[..., None] = getattr(self, "do_" + step[0])
        runner(*step[1:])
        for agent in AGENTS:
            found = self.call("verify", agent=agent)["findings"]
            assert [one for one in found if one["level"] == "error"] == [], step

    def pick(self, agent: str, place: int) -> str | None:
        ids = self.ids[agent]
        return ids[-1 - place % len(ids)] if ids else None

    def root(self, agent: str) -> Path:
        return self.home / "workspaces" / agent

    def check_published(self, agent: str) -> None:
        assert git(self.root(agent), "status", "--porcelain") == ""

    def do_remember(self, agent: str, text: str, kind: str, session: str | None) -> None:
        id = self.call("remember", agent=agent, content=text, kind=kind, session=session)["id"]
        if id not in self.ids[agent]:
            self.ids[agent].append(id)

    def do_supersede(self, agent: str, text: str, place: int) -> None:
        if old := self.pick(agent, place):
            # Superseded already, gone, or the one that has this text.
            with contextlib.suppress(Conflict, NotFound, InvalidField):
                id = self.call("remember", agent=agent, content=text, supersedes=[old])["id"]
                if id not in self.ids[agent]:
                    self.ids[agent].append(id)

    def do_edit(self, agent: str, place: int, text: str) -> None:
        if id := self.pick(agent, place):
            with contextlib.suppress(Conflict, NotFound):  # another has this text, or it is gone
                self.call("edit_memory", agent=agent, id=id, content=text)

    def do_forget(self, agent: str, place: int) -> None:
        if id := self.pick(agent, place):
            with contextlib.suppress(NotFound):
                self.call("forget", agent=agent, id=id)

    def do_pin(self, agent: str, place: int) -> None:
        if id := self.pick(agent, place):
            with contextlib.suppress(NotFound):
                self.call("pin_memory", agent=agent, id=id)

    def do_wait(self, seconds: int) -> None:
        self.clock.advance(seconds=seconds)

    def do_write(self, agent: str, text: str) -> None:
        self.call("write_file", agent=agent, path="notes/plan.md", content=text)

    def do_recall(self, agent: str, query: str) -> None:
        answer = self.call("recall", agent=agent, query=query)
        self.asked.append((agent, answer["recall_id"], [hit["memory"]["id"] for hit in answer["hits"]]))

    def do_checkpoint(self, agent: str) -> None:
        made = self.call("checkpoint", agent=agent)
        self.check_published(agent)
        if made["commit"]:
            self.points[agent].append(made["commit"])

    def do_dream(self, agent: str) -> None:
        if self.call("dream", agent=agent)["commit"]:
            self.check_published(agent)

    def do_undo(self, agent: str) -> None:
        for sweep in self.call("list_sweeps", agent=agent, limit=1)["sweeps"]:
            with contextlib.suppress(Conflict):
                self.call("undo_sweep", agent=agent, sweep=sweep["sweep"])

    def do_restore(self, agent: str, place: int) -> None:
        points = self.points[agent]
        if points:
            with contextlib.suppress(InvalidField):  # a commit from before an erasure, in a store made anew
                restored = self.call("restore", agent=agent, to=points[-1 - place % len(points)])
                if restored["commit"]:
                    self.check_published(agent)

    def do_bring_back(self, agent: str, place: int) -> None:
        if id := self.pick(agent, place):
            with contextlib.suppress(InvalidField):  # it is not forgotten
                self.call("restore", agent=agent, only=id)

    def do_erase(self, agent: str, place: int) -> None:
        if id := self.pick(agent, place):
            self.call("erase_memory", agent=agent, id=id)
            if id not in self.erased:  # the second time there is only the receipt
                self.check_published(agent)
            self.erased.add(id)

    def do_prune(self, agent: str) -> None:
        self.call("prune", agent=agent, days=1)

    def do_person(self, agent: str, text: str) -> None:
        """Somebody writes a line of their own into MEMORY.md and commits it."""
        file = self.root(agent) / "MEMORY.md"
        file.write_text(f"{file.read_text()}\n{text}\n")
        git(self.root(agent), "commit", "-qam", "by hand")

    def do_move(self, agent: str) -> None:
        """The agent is removed and comes back."""
        place = self.call("remove_agent", agent=agent)["kept"]
        self.call("add_agent", agent=agent, source=place)
        backfill(self.app.store, HashEmbedder())

    def do_rebuild(self) -> None:
        for agent in AGENTS:
            self.call("checkpoint", agent=agent)
        self.app.close()
        with rebuild.prepared(self.home, clock=self.clock) as new:
            new.put_in_place()
        self.app = App.open(self.home, clock=self.clock, embedder=HashEmbedder())
        self.call = caller_of(self.app)
        backfill(self.app.store, HashEmbedder())

    def check_past(self) -> None:
        """What was answered is answered again, or what keeps it from that is named."""
        for agent, recall, found in self.asked:
            try:
                [replayed] = self.call("replay", agent=agent, of=recall)["recalls"]
            except InvalidField:  # pruned, or not in git when the store was made anew
                continue
            assert not [cause for cause in replayed["causes"] if cause.startswith("unknown")]
            assert replayed["outcome"] == "equal" or replayed["causes"]
            if replayed["outcome"] == "equal" and not replayed["causes"]:
                assert [hit["id"] for hit in replayed["now"]] == found

    def check_end(self) -> None:
        self.check_past()
        for agent in AGENTS:
            self.call("checkpoint", agent=agent)
            check_clean(self.root(agent))


@pytest.mark.rows(105, 106, 107, 113)
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.lists(steps, min_size=12, max_size=40))
def test_whatever_is_done_nothing_contradicts_anything(happening: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home, clock = Path(folder) / "home", ManualClock()
        app = App.open(home, create=True, clock=clock, embedder=HashEmbedder())
        world = World(home, app, caller_of(app), clock)
        try:
            for agent in AGENTS:
                world.call("add_agent", agent=agent)
            for step in happening:
                world.run(step)
            world.check_end()
        finally:
            world.app.close()
