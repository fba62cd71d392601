"""Damaged files, told apart from whole ones that the system would not open."""

import errno
import os
from pathlib import Path

from svc_analytics.errors import LakeError

_REFUSALS = (errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE)


def is_refused(error: BaseException | None) -> bool:
    """Tell whether the system refused to open a file, which may so be whole."""
    return isinstance(error, OSError) and error.errno in _REFUSALS


def damaged_file(path: Path, error: BaseException | None = None) -> LakeError:
    """Return the error for a damaged file: what to move away, what to run then.

    If the `error` was a refusal of the system, only that is said: the file may be whole.
    """
    if isinstance(error, OSError) and is_refused(error):
        return LakeError(f"{path} cannot be read: {os.strerror(error.errno or 0)}")
    message = f"{path} is torn or altered: move it away and run extract, its month is read anew"
    return LakeError(message)
