"""Errors in notebooks: one line instead of a traceback."""

import sys
from typing import Any

from svc_analytics.errors import SvcError
from svc_analytics.formatting.sanitize import single_line

INTERRUPTED = "Interrupted: the cell was stopped. What the lake holds is sound; run it again."


def one_line_of(error: BaseException) -> str:
    """Return an error as one line: its class and its message."""
    return single_line(f"{type(error).__name__}: {error}")


def notebook_errors() -> None:
    """Show errors of this package, and interruptions, in one line in a notebook.

    Arithmetic of frames that needs more digits than decimals have gets one line too, which
    says how to compute it in SQL. Outside a notebook it does nothing.

    Returns:
        Nothing: it sets up the notebook it is called in.

    Examples:
        >>> notebook_errors()
    """
    shell = ipython_shell()
    if shell is not None:
        shell.set_custom_exc((SvcError, KeyboardInterrupt), _print_in_one_line)


def ipython_shell() -> Any:
    """Return the running IPython shell; None outside a notebook."""
    return getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()


def _print_in_one_line(
    shell: Any, kind: type[BaseException], value: BaseException, trace: Any, tb_offset: Any = None
) -> list[str]:
    """Print an error in one line; return it for the program that runs the notebook."""
    line = INTERRUPTED if issubclass(kind, KeyboardInterrupt) else one_line_of(value)
    shell._showtraceback(kind, value, [line])
    return [line]
