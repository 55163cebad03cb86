"""What is shipped and what it rests on: the wheel, the libraries, the settings, no trace of a machine."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from nrem import __version__, config

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "daemon" / "nrem"

LIBRARIES = {
    "click": "click",
    "croniter": "croniter",
    "dulwich": "dulwich",
    "httpx": "httpx",
    "sqlite-utils": "sqlite_utils",
    "sqlite-vec": "sqlite_vec",
    "watchdog": "watchdog",
}
"""The libraries that nrem is to rest on, by the names of their modules."""
IN_USE = ("click", "croniter", "dulwich", "sqlite-utils", "sqlite-vec")

# An absolute path that only some machine has. Written so that this line doesn't match itself.
MACHINE_PATH = re.compile(r"(?<![\w.~-])/(?:work|root|tmp/venv|home/[a-z_][\w-]*)(?![\w-])")


def modules_used() -> Iterator[str]:
    """Yield the top name of each module that the package imports, or finds while it runs."""
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield node.module.partition(".")[0]
            elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("find_spec"):
                yield from (str(word.value) for word in node.args if isinstance(word, ast.Constant))


def dependencies() -> set[str]:
    """Return the names of what is installed together with nrem."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return {re.split(r"[^\w.-]", line, maxsplit=1)[0].lower() for line in project["dependencies"]}


@pytest.mark.parametrize("name", IN_USE)
def test_a_library_in_use_is_a_dependency_and_imported(name: str) -> None:
    assert name in dependencies()
    assert LIBRARIES[name] in set(modules_used())


def test_each_chosen_library_is_a_dependency_exactly_if_it_is_imported() -> None:
    used = set(modules_used())
    assert {name for name, module in LIBRARIES.items() if module in used} == LIBRARIES.keys() & dependencies()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    """Build the wheel without a network: the build backend is one of the dev extras."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    [file] = folder.glob("*.whl")
    with zipfile.ZipFile(file) as archive:
        yield archive


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (PACKAGE, "nrem"),
        (ROOT / "workspace_template", "nrem/workspace_template"),
        (ROOT / "systemd", "nrem/systemd"),
    ],
    ids=["package", "workspace_template", "systemd"],
)
def test_the_wheel_has_every_file_as_it_is(wheel: zipfile.ZipFile, source: Path, target: str) -> None:
    files = [path for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert files
    shipped = set(wheel.namelist())
    for path in files:
        name = f"{target}/{path.relative_to(source).as_posix()}"
        assert name in shipped
        assert wheel.read(name) == path.read_bytes()


def test_the_wheel_has_types_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    assert "nrem/py.typed" in names
    assert {name.partition("/")[0] for name in names} == {"nrem", f"nrem-{__version__}.dist-info"}
    assert [name for name in names if re.search(r"(^|/)(tests?|conftest|test_[^/]*)(/|\.py$)", name)] == []


def test_the_installed_package_is_this_tree(tmp_path: Path) -> None:
    command = [sys.executable, "-I", "-c", "import nrem; print(nrem.__file__)"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.strip()
    assert Path(found).resolve() == (PACKAGE / "__init__.py").resolve()
    assert metadata.version("nrem") == __version__


def test_the_nrem_command_can_be_loaded() -> None:
    [script] = metadata.entry_points(group="console_scripts", name="nrem")
    assert callable(script.load())


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a checkout")
def test_no_file_in_git_names_a_path_of_some_machine() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    places = []
    for name in listed.stdout.split("\0"):
        path = ROOT / name
        if name and path.is_file():
            lines = path.read_text(errors="replace").splitlines()
            places += [f"{name}:{i}" for i, line in enumerate(lines, 1) if MACHINE_PATH.search(line)]
    assert places == []


@pytest.mark.parametrize("folder", ["work", "root", "tmp/venv", "home/ana"])
def test_a_path_of_some_machine_is_recognised(folder: str) -> None:
    assert MACHINE_PATH.search(f"see '/{folder}/nrem'")
    assert MACHINE_PATH.search(f"DIR=/{folder}")
    assert not MACHINE_PATH.search(f"https://example.org/{folder}")


@pytest.mark.parametrize("text", ["{a}/workspace/files", "/rooted", "/home/<name>", "~/work", "/home"])
def test_a_path_of_no_machine_is_not(text: str) -> None:
    assert not MACHINE_PATH.search(text)


def test_only_config_reads_the_environment() -> None:
    readers = set()
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            name = node.attr if isinstance(node, ast.Attribute) else None
            names = {alias.name for alias in node.names} if isinstance(node, ast.ImportFrom) else {name}
            if names & {"environ", "environb", "getenv", "getenvb"}:
                readers.add(file.relative_to(PACKAGE).as_posix())
    assert readers == {"config.py"}


def test_every_setting_is_documented_and_nothing_else_is() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text()
    settings = page.partition("\n## Settings\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `([^`]+)` \|", settings, flags=re.MULTILINE) == list(config.FIELDS)
