"""Two files of a folder swap their names in one step, so that what was replaced can still be looked at."""

from __future__ import annotations

import ctypes
import errno
import os

_EXCHANGE = 2
_MISSING = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM}

_libc = ctypes.CDLL(None, use_errno=True)
_renameat2 = getattr(_libc, "renameat2", None)


def exchange(folder: int, one: str, other: str) -> bool:
    """Swap two names; False, and nothing done, where the system or the file system cannot."""
    if _renameat2 is None:
        return False
    if _renameat2(folder, os.fsencode(one), folder, os.fsencode(other), _EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in _MISSING:
        return False
    raise OSError(code, os.strerror(code))
