"""How well recall finds what a question asks for, through the real store, beside baselines of the same run.

The data is a file in LoCoMo's format: conversations with dated sessions, and questions with the turns that
hold their answer. One conversation is one agent, each turn one memory of kind message. Figures are shares of
the evidence turns among the first k hits (R@k), of questions with any (H@k), nDCG@10, and the share of
evidence sessions among the first 10 sessions met (SR@10); the interval is a bootstrap over conversations.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from nrem.errors import NremError
from nrem.model import Caller
from nrem.models import embeddings
from nrem.models.embeddings import Embedder
from nrem.policy.terms import STOP_WORDS
from nrem.runtime.app import App
from nrem.sections import Embeddings
from nrem.surface.operations import call

CALLER = Caller(actor="bench", ingress="bench")
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
HEADLINE = (1, 2, 3, 4)
DEEPEST = 50


@dataclass(frozen=True)
class Turn:
    id: str
    user: str
    text: str
    session: str
    at: datetime


@dataclass(frozen=True)
class Question:
    text: str
    evidence: frozenset[int]
    category: int
    answer: str


@dataclass(frozen=True)
class Conversation:
    name: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True)
class Answer:
    conversation: int
    question: Question
    ranked: list[int]
    seconds: float


Arm = Callable[[Conversation, Question], list[int]]


def load(path: Path) -> list[Conversation]:
    """Read conversations; evidence that names no turn is dropped, and a question without any left."""
    return [_conversation(entry) for entry in json.loads(path.read_bytes())]


def _conversation(entry: dict[str, object]) -> Conversation:
    talk: dict[str, object] = entry["conversation"]  # type: ignore[assignment]
    turns = []
    sessions = sorted(
        (key for key in talk if re.fullmatch(r"session_\d+", key)), key=lambda key: int(key[8:])
    )
    for session in sessions:
        stamp = re.sub(r"\s+", " ", str(talk[f"{session}_date_time"]))
        start = datetime.strptime(stamp, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        for i, turn in enumerate(talk[session]):  # type: ignore[arg-type,var-annotated]
            caption = f" [shares {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            at = datetime.fromtimestamp(start.timestamp() + i, UTC)
            turns.append(Turn(turn["dia_id"], turn["speaker"], turn["text"] + caption, session, at))
    places = {turn.id: i for i, turn in enumerate(turns)}
    questions = []
    for asked in entry["qa"]:  # type: ignore[attr-defined]
        named = re.findall(r"D\d+:\d+", " ".join(asked.get("evidence", [])))
        evidence = frozenset(places[id] for id in named if id in places)
        if evidence:
            answer = str(asked.get("answer", ""))
            questions.append(Question(asked["question"], evidence, asked["category"], answer))
    return Conversation(str(entry["sample_id"]), tuple(turns), tuple(questions))


# Arms


def _circumstances(turn: Turn) -> dict[str, str]:
    return {"user": turn.user, "session": turn.session, "created_at": turn.at.isoformat()}


class Store:
    """All conversations in one real store, each under its own agent."""

    def __init__(
        self, home: Path, conversations: Sequence[Conversation], embedder: Embedder, *, bare: bool = False
    ) -> None:
        self._app = App.open(home, create=True, embedder=embedder)
        self._places: dict[str, int] = {}
        for conversation in track(conversations, "Storing", transient=True):
            agent = conversation.name.lower()
            call(self._app, CALLER, "add_agent", {"agent": agent})
            for start in range(0, len(conversation.turns), 500):
                batch = [
                    {"content": turn.text, "kind": "message"} | ({} if bare else _circumstances(turn))
                    for turn in conversation.turns[start : start + 500]
                ]
                stored = call(self._app, CALLER, "remember_many", {"agent": agent, "memories": batch})
                for i, memory in enumerate(stored["memories"]):
                    self._places[memory["id"]] = start + i

    def arm(self, mode: str, profile: str = "default") -> Arm:
        def run(conversation: Conversation, question: Question) -> list[int]:
            answer = call(self._app, CALLER, "recall", {
                "agent": conversation.name.lower(), "query": question.text, "mode": mode,
                "profile": profile, "limit": DEEPEST, "kinds": ["message"], "observe": False,
                "asked_at": conversation.turns[-1].at.isoformat(),
            })  # fmt: skip
            return [self._places[hit["memory"]["id"]] for hit in answer["hits"]]

        return run

    def close(self) -> None:
        self._app.close()


class Plain:
    """What one gets without thinking: FTS5's own BM25, cosine over whole turns, and RRF of the two."""

    def __init__(self, conversations: Sequence[Conversation], embedder: Embedder) -> None:
        self._embedder = embedder
        self._tables: dict[str, sqlite3.Connection] = {}
        self._vectors: dict[str, np.ndarray] = {}
        for conversation in conversations:
            db = sqlite3.connect(":memory:")
            db.execute("create virtual table turns using fts5 (text, tokenize = 'porter unicode61')")
            texts = [f"{turn.user}: {turn.text}" for turn in conversation.turns]
            db.executemany("insert into turns (rowid, text) values (?, ?)", enumerate(texts))
            self._tables[conversation.name] = db
            self._vectors[conversation.name] = self._embed(texts)

    def _embed(self, texts: list[str]) -> np.ndarray:
        packed = embeddings.embed_all(self._embedder, texts)
        dimension = max(len(vector or b"") for vector in packed)
        return np.frombuffer(b"".join(vector or bytes(dimension) for vector in packed), np.float32).reshape(
            len(texts), -1
        )

    def bm25(self, conversation: Conversation, question: Question) -> list[int]:
        words = re.findall(r"\w+", question.text.lower())
        kept = [word for word in words if word not in STOP_WORDS] or words
        query = " OR ".join(f'"{word}"' for word in kept)
        rows = self._tables[conversation.name].execute(
            "select rowid from turns where turns match ? order by rank limit ?", (query, DEEPEST)
        )
        return [row[0] for row in rows]

    def dense(self, conversation: Conversation, question: Question) -> list[int]:
        scores = self._vectors[conversation.name] @ self._embed([question.text])[0]
        return [int(place) for place in np.argsort(-scores, kind="stable")[:DEEPEST]]

    def rrf(self, conversation: Conversation, question: Question) -> list[int]:
        total: dict[int, float] = {}
        for ranked in (self.bm25(conversation, question), self.dense(conversation, question)):
            for rank, place in enumerate(ranked, 1):
                total[place] = total.get(place, 0) + 1 / (60 + rank)
        return sorted(total, key=lambda place: (-total[place], place))


def run(conversations: Sequence[Conversation], arm: Arm) -> list[Answer]:
    answers = []
    for number, conversation in enumerate(conversations):
        for question in conversation.questions:
            start = perf_counter()
            ranked = arm(conversation, question)
            answers.append(Answer(number, question, ranked, perf_counter() - start))
    return answers


# Figures


def recall_at(answer: Answer, k: int) -> float:
    return len(answer.question.evidence & set(answer.ranked[:k])) / len(answer.question.evidence)


def ndcg(answer: Answer, k: int = 10) -> float:
    gain = sum(1 / math.log2(i + 2) for i, p in enumerate(answer.ranked[:k]) if p in answer.question.evidence)
    best = sum(1 / math.log2(i + 2) for i in range(min(k, len(answer.question.evidence))))
    return gain / best


def session_recall(answer: Answer, conversation: Conversation, k: int = 10) -> float:
    wanted = {conversation.turns[place].session for place in answer.question.evidence}
    met = list(dict.fromkeys(conversation.turns[place].session for place in answer.ranked))[:k]
    return len(wanted & set(met)) / len(wanted)


def interval(answers: Sequence[Answer], resamples: int = 2000) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of R@10 over conversations."""
    by: dict[int, list[float]] = {}
    for answer in answers:
        by.setdefault(answer.conversation, []).append(recall_at(answer, 10))
    chance = random.Random(0)
    means = []
    for _ in range(resamples):
        chosen = [value for group in chance.choices(list(by.values()), k=len(by)) for value in group]
        means.append(sum(chosen) / len(chosen))
    means.sort()
    return means[int(0.025 * resamples)], means[int(0.975 * resamples)]


def mean(values: Iterable[float]) -> float:
    return round(100 * float(np.mean(list(values))), 1)


def figures(name: str, answers: list[Answer], conversations: Sequence[Conversation]) -> dict[str, object]:
    chosen = [answer for answer in answers if answer.question.category in HEADLINE]
    low, high = interval(chosen)
    times = [1000 * answer.seconds for answer in answers]
    return {
        "arm": name,
        **{f"R@{k}": mean(recall_at(a, k) for a in chosen) for k in (5, 10, 20)},
        "95 %": f"{100 * low:.1f}-{100 * high:.1f}",
        "H@10": mean(recall_at(a, 10) > 0 for a in chosen),
        "nDCG": mean(ndcg(a) for a in chosen),
        "SR@10": mean(session_recall(a, conversations[a.conversation]) for a in chosen),
        **{
            label: mean(recall_at(a, 10) for a in answers if a.question.category == category)
            for category, label in CATEGORIES.items()
        },
        "p50 ms": round(float(np.percentile(times, 50)), 2),
        "p99 ms": round(float(np.percentile(times, 99)), 2),
    }


def show(rows: list[dict[str, object]], title: str) -> None:
    table = Table(*rows[0], title=title, caption="categories: R@10; the other columns: categories 1-4")
    for row in rows:
        table.add_row(*map(str, row.values()))
    Console(width=170).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a file in LoCoMo's format")
    parser.add_argument("--embedders", default="local:wordllama-256,minilm:all-MiniLM-L6-v2-int8")
    parser.add_argument("--bare", action="store_true", help="store turns without user, session and time")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    options = parser.parse_args()
    conversations = load(options.data)
    asked = sum(len(c.questions) for c in conversations)
    print(f"{options.data.name}: {len(conversations)} conversations, {asked} questions")
    results: dict[str, list[dict[str, object]]] = {}
    for identity in options.embedders.split(","):
        embedder = embeddings.make(identity, Embeddings())
        try:
            embedder.embed(["ready?"])
        except NremError as error:
            print(f"{identity}: left out, {error.message}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            store = Store(Path(folder) / "home", conversations, embedder, bare=options.bare)
            plain = Plain(conversations, embedder)
            arms: dict[str, Arm] = {
                "plain FTS5 BM25": plain.bm25,
                "plain dense": plain.dense,
                "RRF 60 of both": plain.rrf,
                "agentos": store.arm("hybrid", "agentos"),
                "nrem keyword": store.arm("keyword"),
                "nrem vector": store.arm("vector"),
                "nrem hybrid": store.arm("hybrid"),
            }
            rows = [
                figures(name, run(conversations, arm), conversations)
                for name, arm in track(arms.items(), "Asking", transient=True)
            ]
            store.close()
        show(rows, identity)
        results[identity] = rows
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
