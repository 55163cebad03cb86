"""A new workspace: the files of `workspace_template/` with the agent's name in them."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from nrem.errors import Conflict, Corrupt
from nrem.workspace.commits import Person
from nrem.workspace.files import Files

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


def create_workspace(root: Path, agent: str) -> None:
    """Lay out a workspace in a folder that is new or empty; what publishes it makes the first commit."""
    root.mkdir(parents=True, exist_ok=True)
    if any(root.iterdir()):
        raise Conflict(
            f"the folder {root.name} is not empty", hint="move what is in it", code="workspace_exists"
        )
    files = Files(root, managed=True)
    for path, data in render_template(agent).items():
        files.write(path, data)
