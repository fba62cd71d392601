"""Errors in notebooks: one line instead of a trace."""

from __future__ import annotations

import sys
from typing import Any

from svc_analytics.errors import SvcError
from svc_analytics.formatting.sanitize import single_line

INTERRUPTED = "Interrupted: the cell was stopped. What the lake holds is sound; run it again."


def one_line_of(error: BaseException) -> str:
    """Write an error for people: its kind and what it says."""
    return single_line(f"{type(error).__name__}: {error}")


def notebook_errors() -> None:
    """Show errors of this package, and interruptions, in one line in a notebook.

    Outside a notebook it does nothing.
    """
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)
    shell = get_ipython()
    if shell is not None:
        shell.set_custom_exc((SvcError, KeyboardInterrupt), _say_in_one_line)


def _say_in_one_line(
    shell: Any, kind: type[BaseException], value: BaseException, trace: Any, tb_offset: Any = None
) -> list[str]:
    """Print an error for people, and hand it on for whoever runs the notebook."""
    line = INTERRUPTED if issubclass(kind, KeyboardInterrupt) else one_line_of(value)
    shell._showtraceback(kind, value, [line])
    return [line]
