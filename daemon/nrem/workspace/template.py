"""A new workspace: the files of `workspace_template/` with the agent's name in them, under git at once."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from nrem.errors import Conflict, Corrupt
from nrem.workspace.commits import Person, Signature
from nrem.workspace.files import Files
from nrem.workspace.repository import Repository

MANAGED_BEGIN = "<!-- nrem:begin -->"
MANAGED_END = "<!-- nrem:end -->"
"""Between these two lines of MEMORY.md nrem writes; the rest of the file is people's."""

NREM = Person(name="nrem", email="nrem@nrem.invalid")
"""The committer of every commit that nrem makes."""
_NAME = "{{agent}}"


def agent_author(agent: str) -> Person:
    """Return how an agent signs what is published from its memory."""
    return Person(name=agent, email=f"{agent}@nrem.invalid")


def find_template() -> Path:
    """Return the template's folder: inside the installed package, or beside the sources in a checkout."""
    package = Path(str(resources.files("nrem")))
    for folder in (package / "workspace_template", package.parents[1] / "workspace_template"):
        if folder.is_dir():
            return folder
    raise Corrupt("the workspace template is missing from this installation", code="template_missing")


def render_template(agent: str) -> dict[str, bytes]:
    """Return the files of a new workspace by their paths."""
    folder = find_template()
    return {
        file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8").replace(_NAME, agent).encode()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def create_workspace(root: Path, agent: str, *, now: int) -> str:
    """Make a workspace in a folder that is new or empty, and return its first commit."""
    root.mkdir(parents=True, exist_ok=True)
    if any(root.iterdir()):
        raise Conflict(
            f"the folder {root.name} is not empty",
            hint="move what is in it, or bring it in with `nrem agent add --from`",
            code="workspace_exists",
        )
    files = Files(root, managed=True)
    content = render_template(agent)
    for path, data in content.items():
        files.write(path, data)
    with Repository.create(root) as repository:
        made = repository.commit(
            content,
            message=f"template: {agent}\n\nNrem-Cause: template\n",
            signature=Signature(author=agent_author(agent), committer=NREM, at=now),
            parent=None,
        )
    assert made is not None
    return made
