"""nrem: a git-backed memory daemon for AI agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nrem.client import Client as Client

__version__ = "0.1.0.dev0"
__all__ = ["Client", "__version__"]


def __getattr__(name: str) -> Any:
    """Import the client when it is first asked for: `import nrem` and `nrem --version` stay quick."""
    if name == "Client":
        from nrem.client import Client

        return Client
    raise AttributeError(f"module nrem has no attribute {name}")
