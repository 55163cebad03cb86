"""Commits in a loop until it is killed; says each commit's id once it is acknowledged."""

from __future__ import annotations

import sys
from pathlib import Path

from nrem.clock import SystemClock
from nrem.workspace.files import Files
from nrem.workspace.repository import Repository
from workspace.workshop import publish


def main() -> None:
    root = Path(sys.argv[1])
    Repository.clear_locks(root, now=SystemClock().now())
    Files(root, managed=True).clear_temporary()
    with Repository.open(root) as repository:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        number = 0
        while True:
            number += 1
            lines = b"".join(b"%d %d\n" % (number, line) for line in range(200))
            made = publish(
                repository, {".nrem/state/000/00000.jsonl": lines, f"notes/{number % 7}.md": lines}
            )
            sys.stdout.write(f"{made}\n")
            sys.stdout.flush()
            if number % 15 == 0:
                repository.pack()


main()
