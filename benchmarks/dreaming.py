"""How much of what is asked later already stands in MEMORY.md, by policy, through the real store and recall.

The data is a file in LoCoMo's format. One conversation is one agent, each turn a memory of kind semantic with
its time and user. Half of the questions are history: each is asked through recall at a random moment after its
evidence was said, and what it was shown is logged. After every session each policy chooses lines anew. The other
half is asked after the end: evidence recall is the mean share of a question's evidence that has a line, precision
the share of lines that are evidence of any of these questions, churn the share of lines that a sweep replaced.
No policy sees an answer or a later question. "Used" is simulated, because nobody answers here: a memory was used
when it was shown and holds at least 0.34 of the answer's words that are not the question's, weighed by rarity.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import numpy as np
from recall import CALLER, HEADLINE, Conversation, Question, load
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from nrem.clock import Ids
from nrem.model import Kind
from nrem.policy import dreaming, projection
from nrem.policy.dreaming import Candidate
from nrem.policy.terms import for_index
from nrem.runtime.app import App
from nrem.surface.operations import call

BUDGETS = (2000, 4000, 8000)
SHOWN = 5
USED = 0.34
DAY = 86_400_000


class Hands:
    """A clock that the replay sets."""

    def __init__(self) -> None:
        self.time = 0
        self._ids = Ids()

    def now(self) -> int:
        return self.time

    def new_id(self) -> str:
        return self._ids.make(self.time)


@dataclass(frozen=True)
class Exposure:
    memory: str
    query: str
    rank: int
    coverage: float
    at: int
    used: bool


@dataclass(frozen=True)
class State:
    """What a sweep can know at one moment."""

    memories: tuple[Candidate, ...]
    exposures: tuple[Exposure, ...]
    newest: int


@dataclass(frozen=True)
class Run:
    """One conversation with one half of its questions as history."""

    conversation: int
    states: tuple[State, ...]
    later: tuple[frozenset[str], ...]
    """The evidence of each later question."""


# Replay


def replay(app: App, clock: Hands, conversation: Conversation, number: int, seed: int) -> Run:
    """Tell a conversation to the store session by session, ask the history between, and note what was seen."""
    agent = f"{conversation.name.lower()}-{seed}"
    call(app, CALLER, "add_agent", {"agent": agent})
    chance = random.Random(f"{conversation.name} {seed}")
    questions = [q for q in conversation.questions if q.category in HEADLINE]
    chance.shuffle(questions)
    history, later = questions[: len(questions) // 2], questions[len(questions) // 2 :]
    sessions = [list(group) for _, group in groupby(conversation.turns, key=lambda turn: turn.session)]
    ends = [i for i, session in enumerate(sessions) for _ in session]
    asked: dict[int, list[Question]] = {}
    for question in history:
        told = max(ends[place] for place in question.evidence)
        asked.setdefault(chance.randrange(told, len(sessions)), []).append(question)
    ids: list[str] = []
    exposures: list[Exposure] = []
    memories: dict[str, Candidate] = {}
    states = []
    for i, session in enumerate(sessions):
        clock.time = round(session[-1].at.timestamp() * 1000)
        body = [
            {"content": turn.text, "kind": "semantic", "user": turn.user, "session": turn.session,
             "created_at": turn.at.isoformat()}
            for turn in session
        ]  # fmt: skip
        stored = call(app, CALLER, "remember_many", {"agent": agent, "memories": body})["memories"]
        for memory, turn in zip(stored, session, strict=True):
            ids.append(memory["id"])
            at = round(turn.at.timestamp() * 1000)
            memories.setdefault(memory["id"], _candidate(memory["id"], turn.text, at))
        states.append(State(tuple(memories.values()), tuple(exposures), clock.time))
        until = sessions[i + 1][0].at if i + 1 < len(sessions) else session[-1].at
        gap = round(until.timestamp() * 1000) - clock.time or DAY
        rarity = _rarity([memory.text for memory in memories.values()])
        for moment, question in sorted(
            ((chance.randrange(gap), question) for question in asked.get(i, [])), key=lambda pair: pair[0]
        ):
            clock.time += max(clock.time, states[-1].newest + moment) - clock.time
            exposures += _ask(app, agent, question, clock.time, rarity)
    states.append(State(tuple(memories.values()), tuple(exposures), clock.time))
    return Run(number, tuple(states), tuple(frozenset(ids[p] for p in q.evidence) for q in later))


def _candidate(id: str, text: str, at: int) -> Candidate:
    line = f"- {' '.join(text.split())} <!-- m:{id} -->\n"
    return Candidate(
        id=id, text=text, kind=Kind.SEMANTIC, category="general", trusted=True, created_at=at, updated_at=at,
        line_length=len(line),
    )  # fmt: skip


def _ask(app: App, agent: str, question: Question, at: int, rarity: Mapping[str, float]) -> Iterator[Exposure]:
    answer = call(app, CALLER, "recall", {
        "agent": agent, "query": question.text, "limit": SHOWN, "explain": True,
    })  # fmt: skip
    said = set(for_index(question.answer)) - set(for_index(question.text))
    mass = sum(rarity.get(term, max(rarity.values())) for term in said)
    for rank, hit in enumerate(answer["hits"], 1):
        found = sum(rarity[term] for term in said & set(for_index(hit["memory"]["content"])))
        yield Exposure(
            memory=hit["memory"]["id"], query=question.text, rank=rank, coverage=hit["explain"]["coverage"],
            at=at, used=mass > 0 and found / mass >= USED,
        )  # fmt: skip


def _rarity(texts: Sequence[str]) -> dict[str, float]:
    counts: dict[str, int] = {}
    for text in texts:
        for term in set(for_index(text)):
            counts[term] = counts.get(term, 0) + 1
    return {term: math.log(1 + len(texts) / count) for term, count in counts.items()}
