"""nrem beside chromadb and mem0: the same turns, the same questions, the same embedder, in one run.

Each is used as its documentation shows and with its default ranking. The peers get "speaker: text", which is
all that their interfaces take; nrem gets the speaker, the session and the time as fields. mem0 runs with
infer=False, because with a language model it would store other texts.

Needs: pip install '.[head-to-head]'
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import tempfile
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

os.environ |= {"MEM0_TELEMETRY": "False", "ANONYMIZED_TELEMETRY": "False"}  # read when they are imported

from nrem.models.embeddings import Embedder, embed_all, make, unpack
from nrem.sections import Embeddings
from recall import DEEPEST, Arm, Conversation, Question, Store, figures, load, run, show


def vectors_of(embedder: Embedder, texts: Sequence[str]) -> list[list[float]]:
    return [[float(x) for x in unpack(packed)] if packed else [] for packed in embed_all(embedder, texts)]


def chroma(folder: Path, conversations: Sequence[Conversation], embedder: Embedder) -> Arm:
    import chromadb

    client = chromadb.PersistentClient(path=str(folder))
    collections = {}
    for conversation in conversations:
        texts = [f"{turn.user}: {turn.text}" for turn in conversation.turns]
        collection = client.create_collection(conversation.name, metadata={"hnsw:space": "cosine"})
        collection.add(
            ids=[str(i) for i in range(len(texts))],
            documents=texts,
            embeddings=vectors_of(embedder, texts),
        )
        collections[conversation.name] = collection

    def ask(conversation: Conversation, question: Question) -> list[int]:
        found = collections[conversation.name].query(
            query_embeddings=vectors_of(embedder, [question.text]),
            n_results=DEEPEST,
        )
        return [int(id) for id in found["ids"][0]]

    return ask


def mem0(folder: Path, conversations: Sequence[Conversation], embedder: Embedder, url: str, size: int) -> Arm:
    from mem0 import Memory

    server = {"api_key": "unused", "openai_base_url": url}
    memory = Memory.from_config(
        {
            "vector_store": {
                "provider": "qdrant",
                "config": {"path": str(folder), "embedding_model_dims": size, "on_disk": True},
            },
            "embedder": {"provider": "openai", "config": {**server, "model": "same", "embedding_dims": size}},
            "llm": {"provider": "openai", "config": server},
            "history_db_path": str(folder / "history.db"),
        }
    )
    for conversation in conversations:
        for i, turn in enumerate(conversation.turns):
            text = f"{turn.user}: {turn.text}"
            memory.add(text, user_id=conversation.name, infer=False, metadata={"place": i})

    def ask(conversation: Conversation, question: Question) -> list[int]:
        found = memory.search(question.text, filters={"user_id": conversation.name}, top_k=DEEPEST)
        return [int(hit["metadata"]["place"]) for hit in found["results"]]

    return ask


def serve(embedder: Embedder) -> ThreadingHTTPServer:
    """Offer an embedder as OpenAI's endpoint on loopback, for peers that take no other."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
            data = [
                {"object": "embedding", "index": i, "embedding": vector}
                for i, vector in enumerate(vectors_of(embedder, texts))
            ]
            usage = {"prompt_tokens": 0, "total_tokens": 0}
            answer = json.dumps({"object": "list", "data": data, "model": "same", "usage": usage}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a file in LoCoMo's format")
    parser.add_argument("--embedder", default="local:wordllama-256")
    options = parser.parse_args()
    missing = [name for name in ("chromadb", "mem0") if importlib.util.find_spec(name) is None]
    if missing:
        parser.error(f"{' and '.join(missing)} cannot be imported: pip install '.[head-to-head]'")
    conversations = load(options.data)
    embedder = make(options.embedder, Embeddings())
    size = len(vectors_of(embedder, ["size"])[0])
    server = serve(embedder)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        store = Store(home / "nrem", conversations, embedder)
        url = f"http://127.0.0.1:{server.server_port}/v1"
        arms = {
            "chromadb": chroma(home / "chroma", conversations, embedder),
            "mem0, infer=False": mem0(home / "mem0", conversations, embedder, url, size),
            "nrem hybrid": store.arm("hybrid"),
        }
        rows = [figures(name, run(conversations, arm), conversations) for name, arm in arms.items()]
        store.close()
    server.shutdown()
    show(rows, f"{options.data.name}, {options.embedder}")
    print("times are not comparable: mem0 asks its embedder over HTTP, the others in process")


if __name__ == "__main__":
    main()
