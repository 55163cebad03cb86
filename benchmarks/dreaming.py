"""How much of what is asked later already stands in MEMORY.md: what sweeps wrote, beside other policies.

The data is a file in LoCoMo's format. One conversation is one agent for each budget, each turn a memory of
kind semantic with its time and user. Half of the questions are history: each is asked through recall at a
random moment after its evidence was said, and what helped is marked as used. After every session the agent
dreams: "nrem" is what App.dream then wrote, read from MEMORY.md and told apart by the comments of its lines.
The other policies choose from the same recalls, at the same moments, with lines of the same form in the room
that the file had. "nrem, text alone" is the sweep's policy without any recall.

The other half is asked after the end: evidence recall is the mean share of a question's evidence that has a
line, precision the share of lines that are evidence of any of these questions, churn the share of lines that
a sweep replaced. The interval is a bootstrap over conversations. Lines are excerpts (policy/excerpt.py): one
counts as evidence only if it has every word of the answer that the whole turn has, and every time and number
if the question asks when. "By id" counts every line of an evidence turn.

No policy sees an answer or a later question. "Used" is simulated, because nobody answers here: a memory was
used when it was shown and holds at least 0.34 of the answer's words that are not the question's, weighed by
rarity.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from nrem.clock import Ids
from nrem.model import Kind
from nrem.policy import classic, dreaming, memory_doc, projection
from nrem.policy.concepts import derive
from nrem.policy.dreaming import Candidate
from nrem.policy.prior import split
from nrem.policy.projection import Room
from nrem.policy.terms import for_index
from nrem.policy.wordlists import TIME_WORDS
from nrem.runtime.app import App
from nrem.surface.operations import call
from recall import CALLER, HEADLINE, Conversation, Question, Turn, load

BUDGETS = (2000, 4000, 8000)
TEMPORAL = 2
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
class Later:
    """A later question: the memories that answer it, each with what a line must tell to do so."""

    evidence: Mapping[str, frozenset[str]]
    tells: Callable[[str], frozenset[str]]

    def answered_by(self, lines: Mapping[str, str]) -> int:
        """Return how much of the evidence stands in lines."""
        return sum(id in lines and needed <= self.tells(lines[id]) for id, needed in self.evidence.items())


@dataclass(frozen=True)
class Run:
    """One conversation with one half of its questions as history, and one budget."""

    conversation: int
    room: int
    """What MEMORY.md has for lines: the budget without people's text, markers and heading."""
    states: tuple[State, ...]
    written: tuple[Mapping[str, str], ...]
    """The lines that each sweep left in MEMORY.md, by memory."""
    texts: Mapping[str, str]
    """What the line of each memory says."""
    later: tuple[Later, ...]


# Replay


def replay(app: App, clock: Hands, conversation: Conversation, number: int, seed: int, *, budget: int) -> Run:
    """Tell the store a conversation session by session, dream after each, and ask the history between."""
    agent = f"{conversation.name.lower()}-{seed}-{budget}"
    call(app, CALLER, "add_agent", {"agent": agent})
    call(app, CALLER, "set_agent_config", {
        "agent": agent, "config": {"dream": {"budget": budget}}, "message": "for this run",
    })  # fmt: skip
    chance = random.Random(f"{conversation.name} {seed}")
    questions = [q for q in conversation.questions if q.category in HEADLINE]
    chance.shuffle(questions)
    history, later = questions[: len(questions) // 2], questions[len(questions) // 2 :]
    sessions = [list(group) for _, group in groupby(conversation.turns, key=lambda turn: turn.session)]
    asked = _moments(history, sessions, chance)
    ids: list[str] = []
    exposures: list[Exposure] = []
    memories: dict[str, Candidate] = {}
    states, written = [], []
    for i, session in enumerate(sessions):
        clock.time = round(session[-1].at.timestamp() * 1000)
        for id, turn in zip(_tell(app, agent, session), session, strict=True):
            ids.append(id)
            memories.setdefault(id, _candidate(id, turn.text, round(turn.at.timestamp() * 1000)))
        states.append(State(tuple(memories.values()), tuple(exposures), clock.time))
        written.append(_dream(app, agent, memories))
        until = sessions[i + 1][0].at if i + 1 < len(sessions) else session[-1].at
        gap = round(until.timestamp() * 1000) - clock.time or DAY
        rarity = _rarity([memory.text for memory in memories.values()])
        for moment, question in sorted(
            ((chance.randrange(gap), question) for question in asked.get(i, [])), key=lambda pair: pair[0]
        ):
            clock.time = max(clock.time, states[-1].newest + moment)
            exposures += _ask(app, agent, question, clock.time, rarity)
    states.append(State(tuple(memories.values()), tuple(exposures), clock.time))
    written.append(_dream(app, agent, memories))
    return Run(
        conversation=number,
        room=_room(app, agent, budget),
        states=tuple(states),
        written=tuple(written),
        texts={memory.id: _line(memory.text, memory.created_at) for memory in memories.values()},
        later=tuple(_later(question, ids, conversation) for question in later),
    )


def _moments(
    history: Sequence[Question], sessions: Sequence[Sequence[Turn]], chance: random.Random
) -> dict[int, list[Question]]:
    """Return after which session each question is asked: any after which its evidence is known."""
    ends = [i for i, session in enumerate(sessions) for _ in session]
    asked: dict[int, list[Question]] = {}
    for question in history:
        told = max(ends[place] for place in question.evidence)
        asked.setdefault(chance.randrange(told, len(sessions)), []).append(question)
    return asked


def _tell(app: App, agent: str, session: Sequence[Turn]) -> list[str]:
    body = [
        {"content": turn.text, "kind": "semantic", "user": turn.user, "session": turn.session,
         "created_at": turn.at.isoformat()}
        for turn in session
    ]  # fmt: skip
    stored = call(app, CALLER, "remember_many", {"agent": agent, "memories": body})["memories"]
    return [memory["id"] for memory in stored]


def _dream(app: App, agent: str, known: Collection[str]) -> dict[str, str]:
    """Sweep, and return the lines that MEMORY.md then has, by memory."""
    app.dream(app.scope(agent), caller=CALLER)
    lines = {line.label: line.text for line in memory_doc.parse(_file(app, agent).block)}
    found = {id: text for id in known for label, text in lines.items() if label and id.endswith(label)}
    assert len(found) == len(lines), "a line stands for no memory, or for several"
    return found


def _file(app: App, agent: str) -> memory_doc.Parts:
    return memory_doc.split((app.workspaces.of(app.scope(agent)).root / memory_doc.PATH).read_bytes())


def _room(app: App, agent: str, budget: int) -> int:
    heading = memory_doc.heading_lengths()[memory_doc.section_of("general")]
    return budget - _file(app, agent).human - memory_doc.MARKERS_LENGTH - heading


def _later(question: Question, ids: Sequence[str], conversation: Conversation) -> Later:
    names = {turn.user.lower() for turn in conversation.turns}
    wanted = set(for_index(question.answer)) - names

    def tells(text: str) -> frozenset[str]:
        when = set(split(text)) & TIME_WORDS | set(re.findall(r"\d+", text))
        return frozenset((set(for_index(text)) & wanted) | (when if question.category == TEMPORAL else set()))

    return Later(
        evidence={ids[place]: tells(conversation.turns[place].text) for place in question.evidence},
        tells=tells,
    )


def _candidate(id: str, text: str, at: int) -> Candidate:
    return Candidate(
        id=id, text=text, kind=Kind.SEMANTIC, category="general", trusted=True, created_at=at, updated_at=at,
        said_at=at, line_length=memory_doc.line_length(_line(text, at), memory_doc.labels([id])[id]),
    )  # fmt: skip


def _line(text: str, at: int) -> str:
    return memory_doc.line_text(text, created_at=at, zone="UTC")


def _ask(
    app: App, agent: str, question: Question, at: int, rarity: Mapping[str, float]
) -> Iterator[Exposure]:
    answer = call(app, CALLER, "recall", {
        "agent": agent, "query": question.text, "limit": SHOWN, "explain": True,
    })  # fmt: skip
    said = set(for_index(question.answer)) - set(for_index(question.text))
    mass = sum(rarity.get(term, max(rarity.values())) for term in said)
    used = []
    for rank, hit in enumerate(answer["hits"], 1):
        found = sum(rarity[term] for term in said & set(for_index(hit["memory"]["content"])))
        helped = mass > 0 and found / mass >= USED
        if helped:
            used.append(hit["memory"]["id"])
        yield Exposure(
            memory=hit["memory"]["id"], query=question.text, rank=rank, coverage=hit["explain"]["coverage"],
            at=at, used=helped,
        )  # fmt: skip
    if used:
        call(app, CALLER, "mark_used", {
            "agent": agent, "recall_id": answer["recall_id"], "memory_ids": used,
        })  # fmt: skip


def _rarity(texts: Sequence[str]) -> dict[str, float]:
    counts: dict[str, int] = {}
    for text in texts:
        for term in set(for_index(text)):
            counts[term] = counts.get(term, 0) + 1
    return {term: math.log(1 + len(texts) / count) for term, count in counts.items()}


# Policies: what is known and which lines stand, to which lines stand next

Policy = Callable[[State, Sequence[str], int], list[str]]


@dataclass(frozen=True)
class Seen:
    """What the exposures of one memory come to; one for each query and day counts."""

    exposure: float = 0.0
    uses: int = 0
    hits: int = 0
    ranks: float = 0.0
    queries: int = 0
    days: int = 0
    span: float = 0.0
    last: int | None = None


def _seen(state: State) -> dict[str, Seen]:
    by: dict[str, dict[tuple[str, int], Exposure]] = {}
    for exposure in state.exposures:
        by.setdefault(exposure.memory, {}).setdefault((exposure.query, exposure.at // DAY), exposure)
    return {
        memory: Seen(
            exposure=sum(e.coverage / e.rank for e in kept.values()),
            uses=sum(e.used for e in kept.values()),
            hits=len(kept),
            ranks=sum(1 / e.rank for e in kept.values()),
            queries=len({query for query, _ in kept}),
            days=len({day for _, day in kept}),
            span=(max(e.at for e in kept.values()) - min(e.at for e in kept.values())) / DAY,
            last=max(e.at for e in kept.values()),
        )
        for memory, kept in by.items()
    }


def _fill(state: State, budget: int, ranked: Sequence[str]) -> list[str]:
    """Take lines in the order given as long as they fit."""
    lengths = {memory.id: memory.line_length for memory in state.memories}
    chosen, left = [], budget
    for id in ranked:
        if lengths[id] <= left:
            chosen.append(id)
            left -= lengths[id]
    return chosen


def at_random(state: State, _: Sequence[str], budget: int) -> list[str]:
    ids = [memory.id for memory in state.memories]
    random.Random(len(ids)).shuffle(ids)
    return _fill(state, budget, ids)


def newest(state: State, _: Sequence[str], budget: int) -> list[str]:
    return _fill(state, budget, [memory.id for memory in reversed(state.memories)])


def most_shown(state: State, _: Sequence[str], budget: int) -> list[str]:
    seen = _seen(state)
    return _fill(state, budget, sorted(seen, key=lambda id: (-seen[id].hits, id)))


def classic_gated(state: State, standing: Sequence[str], budget: int) -> list[str]:
    """The profile as it is: gates, once ever, appended, and what does not fit is lost."""
    promoted = classic.promote(_recalled(state, standing), newest=state.newest)
    return _fill(state, budget, [*standing, *(promotion.id for promotion in promoted)])


def classic_score(state: State, _: Sequence[str], budget: int) -> list[str]:
    """Its score without the gates, the block filled anew: kinder than the profile."""
    totals = {one.id: sum(classic.terms(one, newest=state.newest).values()) for one in _recalled(state, ())}
    return _fill(state, budget, sorted(totals, key=lambda id: (-totals[id], id)))


def _recalled(state: State, standing: Sequence[str]) -> list[classic.Recalled]:
    return [
        classic.Recalled(
            id=id, category="general", recalls=seen.hits, ranks=seen.ranks, queries=seen.queries,
            days=seen.days, last_at=seen.last or 0, promoted=id in standing,
        )
        for id, seen in _seen(state).items()
    ]  # fmt: skip


def openclaw_score(state: State, _: Sequence[str], budget: int) -> list[str]:
    """OpenClaw's deep score without the gates, the block filled anew; no daily notes, no phases."""
    tags = {memory.id: len(derive(memory.text)) for memory in state.memories}
    totals = {}
    for id, seen in _seen(state).items():
        spread = 0.2 * (seen.days == 1)
        if seen.days > 1:
            spread = 0.55 * min(1, math.log1p(seen.days - 1) / math.log1p(4)) + 0.45 * min(1, seen.span / 7)
        totals[id] = (
            0.30 * seen.ranks / seen.hits
            + 0.24 * min(1, math.log1p(seen.hits) / math.log1p(10))
            + 0.15 * min(1, max(seen.queries, seen.days) / 5)
            + 0.15 * 2 ** (-(state.newest - (seen.last or 0)) / DAY / 14)
            + 0.10 * spread
            + 0.06 * min(1, tags[id] / 6)
        )
    return _fill(state, budget, sorted(totals, key=lambda id: (-totals[id], id)))


def text_alone(state: State, standing: Sequence[str], budget: int) -> list[str]:
    """The policy of the sweep, to which nobody ever asked anything."""
    kept = set(standing)
    candidates = [replace(memory, incumbent=memory.id in kept) for memory in state.memories]
    scores = dreaming.score(candidates, newest=state.newest)
    return list(projection.solve(candidates, scores, room=Room(characters=budget)).chosen)


def oracle(run: Run) -> Policy:
    """What the later questions themselves would choose."""

    def choose(state: State, _: Sequence[str], budget: int) -> list[str]:
        worth: dict[str, float] = {}
        for later in run.later:
            for id, needed in later.evidence.items():
                if needed <= later.tells(run.texts[id]):
                    worth[id] = worth.get(id, 0) + 1 / len(later.evidence)
        lengths = {memory.id: memory.line_length for memory in state.memories}
        known = [id for id in worth if id in lengths]
        return _fill(state, budget, sorted(known, key=lambda id: -worth[id] / lengths[id]))

    return choose


POLICIES: dict[str, Policy] = {
    "random": at_random,
    "recency": newest,
    "frequency": most_shown,
    "classic, as it is": classic_gated,
    "classic score": classic_score,
    "OpenClaw score": openclaw_score,
    "nrem, text alone": text_alone,
}


# Figures


@dataclass(frozen=True)
class Result:
    conversation: int
    recall: float
    by_id: float
    precision: float
    lines: int
    churn: float


def sweeps(run: Run, name: str) -> list[Mapping[str, str]]:
    """Return the lines after each sweep, by memory: those in the file, or what a policy would choose."""
    if name == "nrem":
        return list(run.written)
    policy = POLICIES.get(name) or oracle(run)
    chosen: list[str] = []
    found: list[Mapping[str, str]] = []
    for state in run.states:
        chosen = policy(state, chosen, run.room)
        found.append({id: run.texts[id] for id in chosen})
    return found


def judge(run: Run, name: str) -> Result:
    """Ask the later questions against the lines that a policy had in the end."""
    found = sweeps(run, name)
    replaced = [len(set(old) - set(new)) / len(old) for old, new in pairwise(found) if old]
    lines = found[-1]
    needed = {id for later in run.later for id in later.evidence}
    return Result(
        conversation=run.conversation,
        recall=float(np.mean([later.answered_by(lines) / len(later.evidence) for later in run.later])),
        by_id=float(
            np.mean([len(lines.keys() & later.evidence) / len(later.evidence) for later in run.later])
        ),
        precision=len(lines.keys() & needed) / max(len(lines), 1),
        lines=len(lines),
        churn=float(np.mean(replaced)) if replaced else 0.0,
    )


def interval(results: Sequence[Result], resamples: int = 2000) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the recall over conversations."""
    by: dict[int, list[float]] = {}
    for result in results:
        by.setdefault(result.conversation, []).append(result.recall)
    groups = [float(np.mean(values)) for values in by.values()]
    chance = random.Random(0)
    means = sorted(float(np.mean(chance.choices(groups, k=len(groups)))) for _ in range(resamples))
    return means[int(0.025 * resamples)], means[int(0.975 * resamples)]


def figures(name: str, results: Sequence[Result]) -> dict[str, object]:
    low, high = interval(results)
    return {
        "policy": name,
        "recall": round(float(np.mean([r.recall for r in results])), 3),
        "95 %": f"{low:.3f}-{high:.3f}",
        "precision": round(float(np.mean([r.precision for r in results])), 3),
        "lines": round(float(np.mean([r.lines for r in results])), 1),
        "churn": round(float(np.mean([r.churn for r in results])), 3),
        "by id": round(float(np.mean([r.by_id for r in results])), 3),
    }


def against(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Return the sweep's figures as multiples of the better of the two formulas."""
    by = {row["policy"]: row for row in rows}
    formulas = [by["classic score"], by["OpenClaw score"]]
    return {
        name: round(by["nrem"][name] / max(row[name] for row in formulas), 2)
        for name in ("recall", "precision")
    }


def show(rows: list[dict[str, object]], budget: int) -> None:
    table = Table(*rows[0], title=f"{budget} characters")
    for row in rows:
        table.add_row(*map(str, row.values()))
    Console(width=120).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="a file in LoCoMo's format")
    parser.add_argument("--splits", type=int, default=3, help="how often the questions are split anew")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    options = parser.parse_args()
    conversations = load(options.data)
    print(f"{options.data.name}: {len(conversations)} conversations, {options.splits} splits; simulated uses")
    results: dict[int, object] = {}
    with tempfile.TemporaryDirectory() as folder, Progress(transient=True) as progress:
        clock = Hands()
        with App.open(Path(folder) / "home", create=True, clock=clock) as app:
            step = progress.add_task("Replaying", total=len(BUDGETS) * options.splits * len(conversations))
            for budget in BUDGETS:
                runs = []
                for seed in range(options.splits):
                    for number, conversation in enumerate(conversations):
                        runs.append(replay(app, clock, conversation, number, seed, budget=budget))
                        progress.advance(step)
                rows = [
                    figures(name, [judge(run, name) for run in runs])
                    for name in (*POLICIES, "nrem", "oracle")
                ]
                show(rows, budget)
                print(f"nrem against the better of the two formulas: {against(rows)}")
                results[budget] = rows
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
