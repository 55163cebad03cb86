"""What people and agents changed in their own files, as far as it may go into git."""

from __future__ import annotations

from dataclasses import dataclass, field

from nrem.core.scrub import Scrubber
from nrem.errors import NotFound, NremError
from nrem.sections import Config
from nrem.wire import LeftOut
from nrem.workspace.files import LIMIT, Files
from nrem.workspace.repository import Repository

MOST_BYTES = 64 << 20
"""Of files that one commit takes in; the next one takes the rest."""
MOST_NAMED = 100
"""Files that an answer names."""


@dataclass(slots=True)
class OwnFiles:
    changes: dict[str, bytes] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


def gather(repository: Repository, settings: Config) -> OwnFiles:
    """Return what was changed since the last commit; what is too large or holds a secret is only named."""
    status = repository.status()
    files = Files(repository.root)
    changes: dict[str, bytes] = {}
    left_out = [(path, "is not a plain file that git takes everywhere") for path in status.irregular]
    size = 0
    for path in (*status.untracked, *status.modified):
        try:
            content = files.read(path)
        except NotFound:
            continue  # gone meanwhile
        except NremError as error:
            left_out.append((path, _problem(error)))
            continue
        size += len(content)
        if rule := _secret(settings, path, content):
            left_out.append((path, f"holds a secret ({rule})"))
        elif size > MOST_BYTES and changes:
            left_out.append((path, "is for the next commit: this one is large enough"))
        else:
            changes[path] = content
    named = tuple(LeftOut(path=_shown(settings, path), reason=reason) for path, reason in sorted(left_out))
    return OwnFiles(changes=changes, removed=status.deleted, left_out=named[:MOST_NAMED])


def _problem(error: NremError) -> str:
    if error.code == "file_too_large":
        return f"is larger than {LIMIT >> 20} MiB"
    return error.message.removeprefix("path: ")


def _secret(settings: Config, path: str, content: bytes) -> str | None:
    """Return the rule that finds a secret in a file or in its name."""
    scrub = Scrubber(settings, refuse=False)
    scrub.text("path", path)
    scrub.text("file", content.decode(errors="replace"))
    return scrub.fired[0] if scrub.fired else None


def _shown(settings: Config, path: str) -> str:
    text = path.encode(errors="surrogateescape").decode(errors="replace")
    return Scrubber(settings, refuse=False).text("path", text)
