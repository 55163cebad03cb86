"""Begins a job and says so, then never ends it."""

import os
import sys
import threading
from pathlib import Path

from builders import HashEmbedder
from nrem.runtime.app import App
from nrem.runtime.kinds import JobKind, Work
from nrem.runtime.worker import Worker


def hang(app: App, work: Work) -> None:
    os.write(1, f"{work.claim.id} {work.claim.fence}\n".encode())
    threading.Event().wait()


def main() -> None:
    app = App.open(Path(sys.argv[1]), embedder=HashEmbedder())
    Worker(app, {"k": JobKind(run=hang)}).run_one()


if __name__ == "__main__":
    main()
