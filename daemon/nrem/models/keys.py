"""The key of a provider: from a file or a variable that the configuration names, else from the usual one."""

from __future__ import annotations

from pathlib import Path

from nrem import config
from nrem.errors import ConfigError
from nrem.sections import Endpoint


def read_key(provider: str, wanted: Endpoint, usual: str | None, *, section: str) -> str | None:
    """Return the key, None where none is needed; raise ConfigError for a missing one, naming its variable.

    `section` is where the configuration speaks of the provider, `usual` the variable that it has by custom.
    """
    if wanted.api_key_file:
        return _read_file(provider, wanted.api_key_file, section)
    name = wanted.api_key_env or usual
    key = config.variable(name) if name else None
    if name and key is None and not (wanted.base_url and not wanted.api_key_env):
        raise ConfigError(
            f"{provider} needs an API key, and {name} is not set",
            hint=f"set {name}, or name another variable in {section}.api_key_env",
            field=f"{section}.api_key_env",
        )
    return key


def _read_file(provider: str, file: str, section: str) -> str:
    try:
        key = Path(file).expanduser().read_text().strip()
    except (OSError, UnicodeDecodeError, RuntimeError):
        key = ""
    if not key:
        raise ConfigError(
            f"the file with the API key of {provider} cannot be read, or is empty",
            hint=f"check {section}.api_key_file",
            field=f"{section}.api_key_file",
        )
    return key
