"""Opening files without ever leaving a folder, whatever others do to the path meanwhile.

openat2 lets the kernel keep the promise for the whole path. Where there is none, each name is opened
from the folder before it, and no link is followed.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from collections.abc import Callable, Sequence

Opener = Callable[[int, Sequence[str], int], int]
"""Open the names below a folder's descriptor, with flags of os.open; raises OSError, ELOOP for a link."""

_OPENAT2 = 437
_RESOLVE_NO_MAGICLINKS, _RESOLVE_NO_SYMLINKS, _RESOLVE_BENEATH = 0x02, 0x04, 0x08
_ALWAYS = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NOCTTY | os.O_NONBLOCK
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | _ALWAYS


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def by_kernel(folder: int, names: Sequence[str], flags: int) -> int:
    """Open by openat2."""
    how = _OpenHow(flags | _ALWAYS, 0, _RESOLVE_BENEATH | _RESOLVE_NO_SYMLINKS | _RESOLVE_NO_MAGICLINKS)
    path = os.fsencode("/".join(names) or ".")
    while True:
        fd: int = _libc.syscall(_OPENAT2, folder, path, ctypes.byref(how), ctypes.sizeof(how))
        if fd >= 0:
            return fd
        code = ctypes.get_errno()
        # EAGAIN: something was renamed while the kernel looked, and it could not be sure.
        if code not in (errno.EAGAIN, errno.EINTR):
            raise OSError(code, os.strerror(code))


def by_walking(folder: int, names: Sequence[str], flags: int) -> int:
    """Open name by name."""
    at = os.open(".", _FOLDER, dir_fd=folder)
    for place, name in enumerate(names, 1):
        try:
            following = os.open(name, flags | _ALWAYS if place == len(names) else _FOLDER, dir_fd=at)
        finally:
            os.close(at)
        at = following
    return at


def _choose() -> Opener:
    if sys.platform != "linux":
        return by_walking
    root = os.open("/", _FOLDER)
    try:
        os.close(by_kernel(root, (), _FOLDER))
    except OSError:
        return by_walking  # an old kernel, or a sandbox that does not know the call
    finally:
        os.close(root)
    return by_kernel


_libc = ctypes.CDLL(None, use_errno=True)
open_beneath: Opener = _choose()
