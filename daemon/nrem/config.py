"""The settings in force, where each came from, and the only reading of the environment.

Layers, lowest first: defaults, profile, nrem.toml, agent config, NREM_SECTION__KEY, flags.
Every value of every layer is checked, also one that a higher layer hides.
"""

from __future__ import annotations

import difflib
import functools
import json
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, SecretStr, ValidationError

from nrem.errors import ConfigError
from nrem.sections import Config

MASK = "********"
LONGEST_SOCKET = 100
"""Bytes of a socket's path; systems allow a few more than this, and not all the same."""
AGENT_SECTIONS = frozenset({"memory", "recall", "retention", "secrets", "limits", "workspace", "dream"})
STORE_WIDE = {
    "secrets.literals": "every version of an agent's config is kept",
    "memory.embeddings": "one embedder serves the whole store",
    "workspace.remote_token_file": "which file is read is for the operator to say",
}
"""What an agent config may not set although its section is allowed, and why."""
PROFILES: dict[str, dict[str, object]] = {
    "keep": {},
    "initrunner": {
        "memory.max_sessions": 10,
        "memory.semantic.max_memories": 1000,
        "memory.episodic.max_episodes": 500,
        "memory.procedural.max_procedures": 100,
    },
}
RENAMED = {"memory.max_memories": "memory.semantic.max_memories"}
REFUSED = {"memory.store_path": "one store holds all agents; set NREM_HOME to move it"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A value and its origin: default, profile NAME, the file, agent, the variable, or flag."""

    key: str
    value: object
    origin: str


@dataclass(frozen=True, slots=True)
class Resolved:
    """The configuration in force; settings lists it flat, with secrets masked."""

    config: Config
    settings: tuple[Setting, ...]
    warnings: tuple[str, ...]


def _sections(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, type[BaseModel]]]:
    """The dotted name and model of every section."""
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield prefix + name, field.annotation
            yield from _sections(field.annotation, f"{prefix}{name}.")


SECTIONS = dict(_sections(Config))
FIELDS = {
    f"{section}.{name}": field
    for section, model in SECTIONS.items()
    for name, field in model.model_fields.items()
    if f"{section}.{name}" not in SECTIONS
}


def home() -> Path:
    """The absolute directory that holds the store and nrem.toml."""
    # systemd gives a colon list when a unit has several state directories.
    state = os.environ.get("STATE_DIRECTORY", "").split(":")[0]
    chosen = os.environ.get("NREM_HOME") or state or "~/.local/share/nrem"
    try:
        return Path(chosen).expanduser().absolute()
    except RuntimeError:
        raise ConfigError(f"{chosen}: no such home directory", hint="set NREM_HOME to a full path") from None


def default_agent() -> str | None:
    """The agent that $NREM_AGENT names, if any."""
    return os.environ.get("NREM_AGENT") or None


def given_home() -> str | None:
    """What $NREM_HOME says, if anything: whatever else is to find this home needs to be told."""
    return os.environ.get("NREM_HOME") or None


def socket(home: Path) -> Path:
    """Where the daemon of a home listens."""
    chosen = load(home).config.server.socket
    return Path(chosen).expanduser().absolute() if chosen else home / "nrem.sock"


def variable(name: str) -> str | None:
    """The value of an environment variable that a setting names, such as an API key's."""
    return os.environ.get(name) or None


def user_settings() -> Path:
    """The directory in which this user's programs keep their settings."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser().absolute()


def notify_socket() -> str | None:
    """Where systemd wants to be told how this service is doing, if it does."""
    return os.environ.get("NOTIFY_SOCKET") or None


def watchdog_micros() -> int | None:
    """How long systemd waits for a sign of life of this process, if it does."""
    allowed, process = os.environ.get("WATCHDOG_USEC", ""), os.environ.get("WATCHDOG_PID")
    if process and process != str(os.getpid()):
        return None
    return int(allowed) if allowed.isdecimal() and int(allowed) else None


def journal_stream() -> str | None:
    """The device:inode of the stream that systemd connected to the journal, if it did."""
    return os.environ.get("JOURNAL_STREAM") or None


def load(
    home: Path,
    *,
    file: Mapping[str, object] | None = None,
    agent: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
) -> Resolved:
    """The configuration of all layers together; `file` is nrem.toml as it was read before."""
    known = _read(home / "nrem.toml") if file is None else file
    chosen = _checked(_flat(known, str(home / "nrem.toml")), strict=True)
    chosen |= _agent_layer(agent or {})
    chosen |= _checked(_from_environ(os.environ if environ is None else environ), strict=False)
    flagged = (Setting(key=key, value=value, origin="flag") for key, value in (flags or {}).items())
    chosen |= _checked(flagged, strict=False)

    warnings = []
    for old, new in RENAMED.items():
        if old in chosen:
            moved = chosen.pop(old)
            warning = f"{old} (from {_where(moved.origin)}) is deprecated; write {new}"
            if new in chosen:
                warning += f". It is ignored: {new} is set by {_where(chosen[new].origin)}"
            warnings.append(warning)
            chosen.setdefault(new, moved)
    profile = str(chosen["retention.profile"].value) if "retention.profile" in chosen else "keep"
    for key, value in PROFILES[profile].items():
        chosen.setdefault(key, Setting(key=key, value=value, origin=f"profile {profile}"))

    tree: dict[str, Any] = {}
    for key, setting in chosen.items():
        *path, name = key.split(".")
        functools.reduce(lambda node, part: node.setdefault(part, {}), path, tree)[name] = setting.value
    config = Config.model_validate(tree)
    settings = []
    for key in FIELDS:
        value = functools.reduce(getattr, key.split("."), config)
        if isinstance(value, tuple):
            value = tuple(MASK if isinstance(item, SecretStr) else item for item in value)
        origin = chosen[key].origin if key in chosen else "default"
        settings.append(Setting(key=key, value=value, origin=origin))
    return Resolved(config, tuple(settings), tuple(warnings))


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where an open store's settings come from: nrem.toml as it was read, and the flags."""

    home: Path
    file: Mapping[str, object]
    flags: Mapping[str, object]

    @classmethod
    def read(cls, home: Path, flags: Mapping[str, object]) -> Source:
        return cls(home=home, file=_read(home / "nrem.toml"), flags=flags)

    def load(self, agent: Mapping[str, object] | None = None) -> Config:
        """The configuration, as it holds for an agent with this one of its own."""
        return load(self.home, file=self.file, agent=agent, flags=self.flags).config


def check_agent(config: Mapping[str, object]) -> None:
    """Raise ConfigError unless this is a valid agent config."""
    _agent_layer(config)


def template() -> str:
    """The text of a fresh nrem.toml, with every setting commented out at its default."""
    lines = ["# Settings of nrem. The values shown are the defaults; uncomment a line to change it."]
    for section in SECTIONS:
        lines += ["", f"[{section}]"]
        for key, field in FIELDS.items():
            if key.rpartition(".")[0] == section:
                # JSON of text, numbers, booleans and lists is TOML too.
                default = json.dumps("none" if field.default is None else field.default)
                lines += [f"# {field.description}", f"# {key.rpartition('.')[2]} = {default}"]
    return "\n".join(lines) + "\n"


def _read(file: Path) -> dict[str, object]:
    """The content of a TOML file; nothing if it is missing."""
    try:
        return tomllib.loads(file.read_bytes().decode())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error.strerror}", hint="check its permissions") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        problem = f"not UTF-8 (at line {line})"
    except tomllib.TOMLDecodeError as error:
        problem = str(error)
    # Raised outside of the handlers: those errors hold the text of the file, secrets included.
    raise ConfigError(f"{file} is not valid TOML: {problem}", hint="correct that line, or save as UTF-8")


def _agent_layer(config: Mapping[str, object]) -> dict[str, Setting]:
    """What an agent config sets."""
    layer = list(_flat(config, "agent"))
    for section in sorted(Config.model_fields.keys() & config.keys() - AGENT_SECTIONS):
        hint = f"an agent config may set {', '.join(sorted(AGENT_SECTIONS))}"
        raise ConfigError(
            f"{section} holds for the whole server, not for one agent", hint=hint, field=section
        )
    for setting in layer:
        for key, reason in STORE_WIDE.items():
            if setting.key == key or setting.key.startswith(f"{key}."):
                raise ConfigError(
                    f"{setting.key} cannot be set for one agent: {reason}",
                    hint="put it in nrem.toml or the environment",
                    field=setting.key,
                )
    return _checked(layer, strict=True)


def _from_environ(environ: Mapping[str, str]) -> Iterator[Setting]:
    """The settings among the variables; a variable without a double underscore is something else."""
    for name, value in sorted(environ.items()):
        path = name.removeprefix("NREM_")
        if path != name and "__" in path:
            yield Setting(key=path.lower().replace("__", "."), value=value, origin=name)


def _flat(table: object, origin: str, section: str = "") -> Iterator[Setting]:
    """The leaves of a nested table."""
    if not isinstance(table, Mapping):
        raise ConfigError(
            f"{section or 'config'} (from {_where(origin)}) must be a table of settings", field=section
        )
    for name, value in table.items():
        # A quoted name with a dot in it is not a path; the quotes make it unknown.
        name = f'"{name}"' if "." in str(name) else name
        key = f"{section}.{name}" if section else str(name)
        if key in SECTIONS:
            yield from _flat(value, origin, key)
        else:
            yield Setting(key=key, value=value, origin=origin)


def _checked(layer: Iterable[Setting], *, strict: bool) -> dict[str, Setting]:
    """The layer with values of their final types; text becomes a number only if not strict."""
    result: dict[str, Setting] = {}
    for setting in layer:
        key, target = setting.key, RENAMED.get(setting.key, setting.key)
        subject = f"{key} (from {_where(setting.origin)})"
        if key in REFUSED:
            raise ConfigError(f"{subject} cannot be set", hint=REFUSED[key], field=key)
        if target not in FIELDS:
            problem = "is a section, not a key" if key in SECTIONS else "is an unknown key"
            raise ConfigError(f"{subject} {problem}", hint=_did_you_mean(key), field=key)
        if key in result:
            raise ConfigError(f"{subject} is also set by {result[key].origin}", field=key)
        section, _, name = target.rpartition(".")
        try:
            model = SECTIONS[section].model_validate({name: setting.value}, strict=strict)
        except ValidationError as error:
            problem = _problem(error)
        else:
            result[key] = Setting(key=key, value=getattr(model, name), origin=setting.origin)
            continue
        # Raised outside of the handler: the validation error holds the value, which may be secret.
        raise ConfigError(f"{subject} {problem}", hint=FIELDS[target].description, field=key)
    return result


def _problem(error: ValidationError) -> str:
    """What is allowed, without the value that is wrong."""
    first = error.errors(include_url=False, include_input=False)[0]
    item = f"item {int(first['loc'][1]) + 1} " if len(first["loc"]) > 1 else ""
    if first["type"] == "too_short":
        return f"{item}must have at least {first['ctx']['min_length']} characters"
    return item + first["msg"].removeprefix("Value error, ").replace("Input should", "must")


def _did_you_mean(key: str) -> str:
    """The known key most like this one, else all keys of its section."""
    scores = {}
    for known in () if key in SECTIONS else (*FIELDS, *SECTIONS):
        leaves = difflib.SequenceMatcher(None, key.rpartition(".")[2], known.rpartition(".")[2]).ratio()
        # The last name decides: keys of one section resemble each other by their prefix alone.
        if leaves >= 0.75:
            scores[known] = leaves + difflib.SequenceMatcher(None, key, known).ratio()
    if scores:
        return f"did you mean {max(scores, key=scores.__getitem__)}?"
    while key and key not in SECTIONS:
        key = key.rpartition(".")[0]
    names = (SECTIONS[key] if key else Config).model_fields
    return f"valid {'keys of ' + key if key else 'sections'}: {', '.join(names)}"


def _where(origin: str) -> str:
    return {"agent": "agent config", "flag": "a flag"}.get(origin, origin)
