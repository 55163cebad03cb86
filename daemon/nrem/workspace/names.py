"""Which paths a workspace may have: the same rule for the files API and for what goes into git.

A name is judged by what any file system would make of it: letter case, Unicode forms, the characters that
HFS+ leaves out, and the dots, spaces, streams and short names of NTFS.
"""

from __future__ import annotations

import re
import unicodedata

from nrem.errors import Denied, InvalidField

MAX_NAME = 255
"""Bytes of one name; the limit of every file system in use."""
MAX_PATH = 1024
MAX_DEPTH = 32

TEMPORARY = ".nrem-tmp-"
"""How the name of a file begins that is being written. Left out of git and of every list."""

MANAGED = ".nrem"
"""The folder that only nrem writes."""

_RESERVED = {
    ".git": ".git",
    ".nrem": MANAGED,
    ".gitattributes": ".gitattributes",
    ".gitmodules": ".gitmodules",
}
# The short names that NTFS gives to the four; the last three are what it falls back to.
_SHORT = re.compile(r"(git|nrem|gitatt|gitmod|gi7d29|gi7eba)~\d+")
_SHORT_FOR = {
    "git": ".git",
    "nrem": MANAGED,
    "gitatt": ".gitattributes",
    "gi7d29": ".gitattributes",
    "gitmod": ".gitmodules",
    "gi7eba": ".gitmodules",
}
# git's list of what HFS+ ignores in a name.
_IGNORABLE = dict.fromkeys([*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF])
_CONTROL = re.compile(r"[\x00-\x1f\x7f\\]")


def reserved(name: str) -> str | None:
    """Return the reserved name that this one is, or would be on some file system."""
    seen = unicodedata.normalize("NFKC", name.translate(_IGNORABLE)).casefold()
    seen = seen.partition(":")[0].rstrip(". ")
    if short := _SHORT.fullmatch(seen):
        return _SHORT_FOR[short[1]]
    return _RESERVED.get(seen)


def split(path: str) -> tuple[str, ...]:
    """Return the names of a relative path; raise what is wrong with it, naming the field `path`."""
    if not path:
        raise InvalidField("path", "is empty")
    if path.startswith("/"):
        raise _escapes("is absolute", "give it relative to the workspace")
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        raise InvalidField("path", "is not valid Unicode") from None
    if size > MAX_PATH:
        raise InvalidField("path", f"is longer than {MAX_PATH} bytes", code="path_too_long")
    if _CONTROL.search(path):
        raise InvalidField("path", "has a control character or a backslash")
    parts = tuple(path.split("/"))
    if len(parts) > MAX_DEPTH:
        raise InvalidField("path", f"is deeper than {MAX_DEPTH} folders", code="path_too_long")
    for name in parts:
        if name == "..":
            raise _escapes("leads upwards", "leave out the `..`")
        if name in ("", "."):
            raise InvalidField("path", "has an empty name")
        if len(name.encode()) > MAX_NAME:
            raise InvalidField("path", f"has a name longer than {MAX_NAME} bytes", code="path_too_long")
        if name.startswith(TEMPORARY):
            raise Denied(
                f"path: names that begin with {TEMPORARY} are nrem's own", code="path_reserved", field="path"
            )
    return parts


def check_readable(path: str) -> tuple[str, ...]:
    """Return the names of a path that callers may read: anything but `.git`."""
    parts = split(path)
    if any(reserved(name) == ".git" for name in parts):
        raise _reserved(".git")
    return parts


def check_writable(path: str) -> tuple[str, ...]:
    """Return the names of a path that callers may write."""
    parts = split(path)
    for name in parts:
        if found := reserved(name):
            raise _reserved(found)
        if unicodedata.normalize("NFC", name) != name:
            raise InvalidField(
                "path", "is not in Unicode's composed form", hint="normalise it to NFC", code="path_not_nfc"
            )
    return parts


def check_managed(path: str) -> tuple[str, ...]:
    """Return the names of a path that nrem itself writes: like a caller's, or below `.nrem`."""
    return split(path) if path.startswith(MANAGED + "/") else check_writable(path)


def fits_git(path: str) -> bool:
    """Tell whether git takes a path as it is, on every system."""
    return not any(reserved(name) == ".git" or "\\" in name for name in path.split("/"))


def _escapes(problem: str, hint: str) -> Denied:
    return Denied(f"path: {problem}", hint=hint, code="path_escapes", field="path")


def _reserved(name: str) -> Denied:
    return Denied(
        f"path: {name} is not for callers", hint="choose another name", code="path_reserved", field="path"
    )
