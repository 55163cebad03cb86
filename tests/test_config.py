"""Settings: layers, origins, errors, the template, and the page that documents them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel, ValidationError

from nrem import config, sections
from nrem.config import Resolved, check_agent, load, template
from nrem.errors import ConfigError
from nrem.sections import Config

DOCS = Path(__file__).parents[1] / "docs" / "configuration.md"
SECRET = "hunter2-hunter2"


def resolve(
    home: Path,
    toml: str = "",
    *,
    agent: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
) -> Resolved:
    (home / "nrem.toml").write_text(toml, encoding="utf-8")
    return load(home, agent=agent, environ=environ or {}, flags=flags)


def origins(resolved: Resolved) -> dict[str, str]:
    return {setting.key: setting.origin for setting in resolved.settings if setting.origin != "default"}


def error_of(home: Path, toml: str = "", **layers: Any) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        resolve(home, toml, **layers)
    return caught.value


@pytest.mark.rows(73)
def test_everything_has_a_default(tmp_path: Path) -> None:
    resolved = load(tmp_path, environ={})
    assert resolved.config == Config()
    assert resolved.warnings == ()
    assert {setting.origin for setting in resolved.settings} == {"default"}
    memory = resolved.config.memory
    assert (memory.max_sessions, memory.max_resume_messages, memory.store_backend) == (None, 20, "sqlite-vec")
    assert memory.consolidation.interval == "after_session"
    assert resolved.config.limits.content_bytes == 65536


@pytest.mark.rows(73)
def test_every_field_has_a_default_and_a_description() -> None:
    models: list[type[BaseModel]] = [Config, *config.SECTIONS.values()]
    for model in models:
        for field in model.model_fields.values():
            assert field.description
            assert not field.is_required()


def test_config_is_frozen() -> None:
    with pytest.raises(ValidationError):
        Config().limits.content_bytes = 1  # type: ignore[misc]


def test_settings_list_every_leaf_once(tmp_path: Path) -> None:
    keys = [setting.key for setting in load(tmp_path, environ={}).settings]
    assert len(keys) == len(set(keys)) == 60
    assert "memory.semantic.max_memories" in keys
    assert "memory.semantic" not in keys


def test_each_layer_overrides_the_ones_below(tmp_path: Path) -> None:
    key = "memory.max_sessions"
    toml = '[retention]\nprofile = "initrunner"\n'
    file = str(tmp_path / "nrem.toml")

    def now(resolved: Resolved) -> tuple[object, str]:
        return resolved.config.memory.max_sessions, origins(resolved).get(key, "default")

    agent = {"memory": {"max_sessions": 3}}
    environ = {"NREM_MEMORY__MAX_SESSIONS": "4"}
    assert now(resolve(tmp_path)) == (None, "default")
    assert now(resolve(tmp_path, toml)) == (10, "profile initrunner")
    toml += "[memory]\nmax_sessions = 2\n"
    assert now(resolve(tmp_path, toml)) == (2, file)
    assert now(resolve(tmp_path, toml, agent=agent)) == (3, "agent")
    assert now(resolve(tmp_path, toml, agent=agent, environ=environ)) == (4, "NREM_MEMORY__MAX_SESSIONS")
    resolved = resolve(tmp_path, toml, agent=agent, environ=environ, flags={key: 5})
    assert now(resolved) == (5, "flag")


def test_layers_merge_setting_by_setting(tmp_path: Path) -> None:
    toml = "[memory.semantic]\nmax_memories = 7\n"
    semantic = resolve(
        tmp_path, toml, agent={"memory": {"semantic": {"enabled": False}}}
    ).config.memory.semantic
    assert (semantic.enabled, semantic.max_memories) == (False, 7)


def test_profile_initrunner_has_its_limits(tmp_path: Path) -> None:
    memory = resolve(tmp_path, '[retention]\nprofile = "initrunner"').config.memory
    assert memory.max_sessions == 10
    assert memory.semantic.max_memories == 1000
    assert memory.episodic.max_episodes == 500
    assert memory.procedural.max_procedures == 100


def test_profile_itself_follows_the_precedence(tmp_path: Path) -> None:
    toml = '[retention]\nprofile = "initrunner"'
    environ = {"NREM_RETENTION__PROFILE": "keep"}
    resolved = resolve(tmp_path, toml, environ=environ)
    assert origins(resolved) == {"retention.profile": "NREM_RETENTION__PROFILE"}
    resolved = resolve(tmp_path, agent={"retention": {"profile": "initrunner"}})
    assert resolved.config.memory.max_sessions == 10


def test_profiles_set_known_keys_to_valid_values(tmp_path: Path) -> None:
    assert set(config.PROFILES) == set(get_args(sections.Retention.model_fields["profile"].annotation))
    for values in config.PROFILES.values():
        load(tmp_path, environ={}, flags=values)


def test_none_lifts_the_limit_of_a_profile(tmp_path: Path) -> None:
    toml = '[retention]\nprofile = "initrunner"\n[memory]\nmax_sessions = "none"\n'
    environ = {"NREM_MEMORY__SEMANTIC__MAX_MEMORIES": "None"}
    agent = {"memory": {"episodic": {"max_episodes": None}}}
    memory = resolve(tmp_path, toml, agent=agent, environ=environ).config.memory
    assert (memory.max_sessions, memory.semantic.max_memories, memory.episodic.max_episodes) == (None,) * 3
    assert memory.procedural.max_procedures == 100


def test_variables_are_converted_and_case_does_not_matter(tmp_path: Path) -> None:
    environ = {
        "NREM_memory__Semantic__MAX_MEMORIES": "5",
        "NREM_MEMORY__EPISODIC__ENABLED": "false",
        "NREM_SECRETS__EXCLUDE_RULES": '["a", "b"]',
    }
    resolved = resolve(tmp_path, environ=environ)
    assert resolved.config.memory.semantic.max_memories == 5
    assert resolved.config.memory.episodic.enabled is False
    assert resolved.config.secrets.exclude_rules == ("a", "b")
    assert set(origins(resolved).values()) == set(environ)


def test_variables_that_are_not_settings_are_ignored(tmp_path: Path) -> None:
    environ = {"NREM_HOME": "/x", "NREM_AGENT": "a", "NREM_MEMORY": "1", "OTHER__KEY": "1", "XNREM_A__B": "1"}
    assert origins(resolve(tmp_path, environ=environ)) == {}


def test_variables_that_differ_only_in_case_are_an_error(tmp_path: Path) -> None:
    environ = {"NREM_MEMORY__MAX_SESSIONS": "1", "NREM_MEMORY__max_sessions": "2"}
    error = error_of(tmp_path, environ=environ)
    assert all(name in error.message for name in environ)


def test_the_environment_is_read_when_none_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NREM_LIMITS__CONTENT_BYTES", "1")
    assert load(tmp_path).config.limits.content_bytes == 1


@pytest.mark.rows(73)
def test_unknown_key_is_an_error_in_every_layer(tmp_path: Path) -> None:
    meant = "did you mean memory.semantic.max_memories?"
    key = "memory.semantic.max_memory"
    layers: list[tuple[ConfigError, str]] = [
        (error_of(tmp_path, "[memory.semantic]\nmax_memory = 5"), str(tmp_path / "nrem.toml")),
        (error_of(tmp_path, agent={"memory": {"semantic": {"max_memory": 5}}}), "agent config"),
        (
            error_of(tmp_path, environ={"NREM_MEMORY__SEMANTIC__MAX_MEMORY": "5"}),
            "NREM_MEMORY__SEMANTIC__MAX_MEMORY",
        ),
        (error_of(tmp_path, flags={key: 5}), "a flag"),
    ]
    for error, origin in layers:
        assert error.message == f"{key} (from {origin}) is an unknown key"
        assert (error.hint, error.field) == (meant, key)


@pytest.mark.rows(73)
@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("memory.max_episodes", "did you mean memory.episodic.max_episodes?"),
        ("max_procedures", "did you mean memory.procedural.max_procedures?"),
        ("memory.semantc.enabled", "did you mean memory.semantic.enabled?"),
        ("memory.semantc", "did you mean memory.semantic?"),
        ("memry", "did you mean memory?"),
        ("memory.semantic.zzz", "valid keys of memory.semantic: enabled, max_memories"),
        (
            "memory.consolidation.zzz",
            "valid keys of memory.consolidation: enabled, interval, max_episodes_per_run, model_override",
        ),
        ("limits.q.r", "valid keys of limits: content_bytes"),
        (
            "qqq.xyz",
            "valid sections: memory, recall, vector, chat, time, server, mcp, retention, secrets, limits,"
            " workspace, dream",
        ),
    ],
)
def test_unknown_key_is_told_what_is_known(tmp_path: Path, key: str, hint: str) -> None:
    error = error_of(tmp_path, flags={key: "1"})
    assert (error.field, error.hint) == (key, hint)


def test_quoted_dots_are_not_a_path(tmp_path: Path) -> None:
    assert "unknown key" in error_of(tmp_path, '"memory.max_sessions" = 5').message
    assert "unknown key" in error_of(tmp_path, '[memory]\n"semantic.enabled" = true').message


@pytest.mark.parametrize(
    ("toml", "key", "allowed"),
    [
        ('[memory]\nmax_sessions = "many"', "memory.max_sessions", "integer"),
        ("[memory]\nmax_sessions = true", "memory.max_sessions", "integer"),
        ("[memory]\nmax_sessions = 0", "memory.max_sessions", "greater than or equal to 1"),
        ("[memory]\nmax_resume_messages = 0", "memory.max_resume_messages", "greater than or equal to 1"),
        ("[memory]\nmax_sessions = 1979-05-27", "memory.max_sessions", "integer"),
        ("[memory.semantic]\nmax_memories = {a = 1}", "memory.semantic.max_memories", "integer"),
        ("[memory.embeddings]\nmodel = 5", "memory.embeddings.model", "string"),
        ('[memory.consolidation]\ninterval = "daily"', "memory.consolidation.interval", "'after_autonomous'"),
        ('[retention]\nprofile = "all"', "retention.profile", "'keep' or 'initrunner'"),
        ('[secrets]\non_secret = "keep"', "secrets.on_secret", "'redact' or 'refuse'"),
        ('[secrets]\nexclude_rules = "aws"', "secrets.exclude_rules", "list of strings"),
        ("[limits]\ncontent_bytes = 0", "limits.content_bytes", "greater than or equal to 1"),
        ("[limits]\ncontent_bytes = 16777217", "limits.content_bytes", "less than or equal to 16777216"),
    ],
)
def test_wrong_value_names_key_file_and_what_is_allowed(
    tmp_path: Path, toml: str, key: str, allowed: str
) -> None:
    error = error_of(tmp_path, toml)
    assert error.message.startswith(f"{key} (from {tmp_path / 'nrem.toml'}) must be ")
    assert allowed in error.message
    assert (error.field, error.hint) == (key, config.FIELDS[key].description)


def test_wrong_value_in_a_variable_names_it(tmp_path: Path) -> None:
    error = error_of(tmp_path, environ={"NREM_MEMORY__EPISODIC__ENABLED": "maybe"})
    assert (
        "memory.episodic.enabled (from NREM_MEMORY__EPISODIC__ENABLED) must be a valid boolean"
        in error.message
    )


def test_wrong_value_is_found_below_a_right_one(tmp_path: Path) -> None:
    error = error_of(tmp_path, "[memory]\nmax_sessions = 0", environ={"NREM_MEMORY__MAX_SESSIONS": "1"})
    assert str(tmp_path / "nrem.toml") in error.message


@pytest.mark.parametrize("value", [5, "x", None, []])
def test_section_must_be_a_table(tmp_path: Path, value: object) -> None:
    error = error_of(tmp_path, agent={"memory": {"semantic": value}})
    assert (error.field, "must be a table" in error.message) == ("memory.semantic", True)


def test_section_is_not_a_key(tmp_path: Path) -> None:
    error = error_of(tmp_path, environ={"NREM_MEMORY__SEMANTIC": "5"})
    assert "is a section" in error.message
    assert error.hint == "valid keys of memory.semantic: enabled, max_memories"


def test_sqlite_vec_is_the_only_backend(tmp_path: Path) -> None:
    assert resolve(tmp_path, '[memory]\nstore_backend = "sqlite-vec"').warnings == ()
    error = error_of(tmp_path, '[memory]\nstore_backend = "zvec"')
    assert "must be 'sqlite-vec'" in error.message
    assert error.hint == "sqlite-vec is the only backend."


@pytest.mark.parametrize("value", ["/srv/x.db", "", None])
def test_store_path_is_refused(tmp_path: Path, value: object) -> None:
    error = error_of(tmp_path, flags={"memory.store_path": value})
    assert error.field == "memory.store_path"
    assert error.hint == "one store holds all agents; set NREM_HOME to move it"


@pytest.mark.rows(98)
def test_max_memories_is_taken_for_the_semantic_one(tmp_path: Path) -> None:
    resolved = resolve(tmp_path, "[memory]\nmax_memories = 40")
    file = str(tmp_path / "nrem.toml")
    assert resolved.config.memory.semantic.max_memories == 40
    assert origins(resolved) == {"memory.semantic.max_memories": file}
    assert resolved.warnings == (
        f"memory.max_memories (from {file}) is deprecated; write memory.semantic.max_memories",
    )


@pytest.mark.rows(98)
@pytest.mark.parametrize(
    ("toml", "kept", "by"),
    [
        ("[memory.semantic]\nmax_memories = 50", 50, "nrem.toml"),
        ('[memory.semantic]\nmax_memories = "none"', None, "nrem.toml"),
    ],
)
def test_max_memories_yields_to_the_semantic_one(
    tmp_path: Path, toml: str, kept: int | None, by: str
) -> None:
    # Even from a higher layer.
    resolved = resolve(tmp_path, toml, environ={"NREM_MEMORY__MAX_MEMORIES": "40"})
    assert resolved.config.memory.semantic.max_memories == kept
    [warning] = resolved.warnings
    assert "NREM_MEMORY__MAX_MEMORIES" in warning
    assert "It is ignored" in warning
    assert warning.endswith(by)


@pytest.mark.rows(98)
def test_max_memories_wins_over_a_profile(tmp_path: Path) -> None:
    resolved = resolve(tmp_path, '[retention]\nprofile = "initrunner"\n[memory]\nmax_memories = 40')
    assert resolved.config.memory.semantic.max_memories == 40


@pytest.mark.rows(98)
def test_max_memories_is_checked_under_its_own_name(tmp_path: Path) -> None:
    error = error_of(tmp_path, "[memory]\nmax_memories = 0")
    assert error.field == "memory.max_memories"
    assert "greater than or equal to 1" in error.message
    check_agent({"memory": {"max_memories": 1}})


def test_secrets_are_masked_wherever_shown(tmp_path: Path) -> None:
    resolved = resolve(tmp_path, f'[secrets]\nliterals = ["{SECRET}"]')
    assert resolved.config.secrets.literals[0].get_secret_value() == SECRET
    assert [s.value for s in resolved.settings if s.key == "secrets.literals"] == [("********",)]
    assert SECRET not in repr(resolved) + resolved.config.model_dump_json()


@pytest.mark.parametrize(
    "value",
    [
        SECRET,
        [SECRET, ""],
        [SECRET, 5],
        {SECRET: 1},
        [[SECRET]],
        f'["{SECRET}", 5]',
        f'["{SECRET}"',
        f'"{SECRET}"',
    ],
)
def test_errors_do_not_show_the_secret(tmp_path: Path, value: object) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, environ={}, flags={"secrets.literals": value})
    error = caught.value
    assert error.field == "secrets.literals"
    assert SECRET not in f"{error.message} {error.hint} {error.details}"
    assert error.__context__ is None


def test_wrong_item_of_a_list_is_counted(tmp_path: Path) -> None:
    error = error_of(tmp_path, '[secrets]\nliterals = ["long enough", ""]')
    assert error.message.endswith("item 2 must have at least 4 characters")


@pytest.mark.rows(103)
@pytest.mark.parametrize("literals", [["long enough", "abc"], ["abcd", "日本語"]])
def test_a_secret_text_of_less_than_four_characters_is_refused(tmp_path: Path, literals: list[str]) -> None:
    """It would be found in every other word."""
    error = error_of(tmp_path, flags={"secrets.literals": literals})
    assert error.field == "secrets.literals"
    assert error.message.startswith("secrets.literals (from a flag) item 2 ")
    assert literals[1] not in f"{error.message} {error.hint}"


@pytest.mark.rows(103)
def test_a_secret_text_of_four_characters_is_taken(tmp_path: Path) -> None:
    literals = resolve(tmp_path, flags={"secrets.literals": ["abcd", "日本語だ"]}).config.secrets.literals
    assert [literal.get_secret_value() for literal in literals] == ["abcd", "日本語だ"]


def test_broken_toml_names_file_and_line(tmp_path: Path) -> None:
    error = error_of(tmp_path, f'[secrets]\nliterals = ["{SECRET}"]\nenabled = = true\n')
    assert str(tmp_path / "nrem.toml") in error.message
    assert "line 3" in error.message
    assert SECRET not in error.message
    assert error.__context__ is None


def test_text_that_is_not_utf8_names_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "nrem.toml").write_bytes(b"[memory]\n# \xe9\n")
    with pytest.raises(ConfigError, match=r"nrem\.toml.*UTF-8.*line 2"):
        load(tmp_path, environ={})


def test_unreadable_file_is_an_error(tmp_path: Path) -> None:
    # A directory in its place: permissions would not stop root.
    (tmp_path / "nrem.toml").mkdir()
    with pytest.raises(ConfigError, match=r"cannot read .*nrem\.toml"):
        load(tmp_path, environ={})


def test_agent_config_is_checked_on_its_own() -> None:
    check_agent({})
    check_agent({"memory": {"semantic": {"max_memories": 5}}, "secrets": {"on_secret": "refuse"}})


@pytest.mark.parametrize("section", ["server", "chat", "vector", "time"])
def test_what_holds_for_the_whole_server_is_not_set_for_one_agent(section: str) -> None:
    with pytest.raises(ConfigError, match=f"{section} holds for the whole server"):
        check_agent({section: {}})


def test_an_agent_config_holds_no_secrets() -> None:
    with pytest.raises(ConfigError, match=r"secrets\.literals cannot be set") as caught:
        check_agent({"secrets": {"literals": [SECRET]}})
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"memory": {"nope": 1}},
        {"limits": {"content_bytes": "5"}},
        ["memory"],
        {"memory.semantic": {}},
    ],
)
def test_wrong_agent_config_is_an_error(wrong: Any) -> None:
    with pytest.raises(ConfigError, match="agent config"):
        check_agent(wrong)


def test_agent_config_cannot_set_what_holds_for_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config, "AGENT_SECTIONS", frozenset({"memory"}))
    check_agent({"memory": {"max_sessions": 1}})
    with pytest.raises(ConfigError, match="limits holds for the whole server") as caught:
        check_agent({"limits": {"content_bytes": 1}})
    assert (caught.value.field, caught.value.hint) == ("limits", "an agent config may set memory")
    assert resolve(tmp_path, "[limits]\ncontent_bytes = 1").config.limits.content_bytes == 1


def test_home_is_the_first_that_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NREM_HOME", raising=False)
    monkeypatch.setenv("STATE_DIRECTORY", "")
    assert config.home() == tmp_path / ".local/share/nrem"
    monkeypatch.setenv("STATE_DIRECTORY", "/var/lib/nrem:/var/lib/other")
    assert config.home() == Path("/var/lib/nrem")
    monkeypatch.setenv("NREM_HOME", "~/there")
    assert config.home() == tmp_path / "there"
    monkeypatch.setenv("NREM_HOME", "here")
    assert config.home() == tmp_path / "here"
    monkeypatch.setenv("NREM_HOME", "~nobody-has-this-name/x")
    with pytest.raises(ConfigError, match="~nobody-has-this-name"):
        config.home()


def test_default_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NREM_AGENT", "ada")
    assert config.default_agent() == "ada"
    monkeypatch.setenv("NREM_AGENT", "")
    assert config.default_agent() is None


def test_template_changes_nothing_as_it_is_and_uncommented(tmp_path: Path) -> None:
    text = template()
    assert origins(resolve(tmp_path, text)) == {}
    assert tomllib.loads(text)["memory"]["semantic"] == {}
    resolved = resolve(tmp_path, re.sub(r"(?m)^# (\w+ = .*)$", r"\1", text))
    assert resolved.config == Config()
    assert resolved.warnings == ()
    assert set(origins(resolved)) == set(config.FIELDS)
    for field in config.FIELDS.values():
        assert f"# {field.description}\n# " in text


@pytest.mark.rows(73)
def test_the_page_has_every_setting_with_its_default(tmp_path: Path) -> None:
    rows = dict(re.findall(r"(?m)^\| `([a-z_.]+)` \| `([^`]+)` \| .+ \|$", DOCS.read_text(encoding="utf-8")))
    assert list(rows) == list(config.FIELDS)
    for key, default in rows.items():
        value = tomllib.loads(f"x = {default}")["x"]
        resolved = load(tmp_path, environ={}, flags={key: value})
        assert resolved.config == Config(), key


def test_the_page_has_every_profile_and_special_key() -> None:
    text = DOCS.read_text(encoding="utf-8")
    for key in (*config.RENAMED, *config.REFUSED, *config.AGENT_SECTIONS):
        assert f"`{key}`" in text
    for name, values in config.PROFILES.items():
        [row] = re.findall(rf"(?m)^\| `{name}` \| (.+) \|$", text)
        assert dict(re.findall(r"`([a-z_.]+)` (\d+)", row)) == {k: str(v) for k, v in values.items()}
