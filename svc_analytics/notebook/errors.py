"""Errors in notebooks: one line instead of a traceback."""

import sys
from typing import Any

import pyarrow as pa

from svc_analytics.errors import NoLake, SvcError, class_name, text_of
from svc_analytics.formatting.texts import single_line
from svc_analytics.messages import Message

INTERRUPTED = "Interrupted: the cell was stopped. What the lake holds is sound; run it again."
# Arrow's words when a result may need more digits than a decimal of 38 has.
_TOO_PRECISE = "Decimal precision out of range"
IN_SQL = (
    "the result may need more than the 38 digits that a decimal has, so pandas does not compute "
    'it. Compute it in SQL, which does: lake.sql("select month, a - b as difference, '
    'a - lag(a) over (order by month) as change from ...")'
)


def one_line_of(error: BaseException) -> str:
    """Return an error as one line: its class, its message, and what to do in a notebook."""
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    return f"{class_name(error)}: {single_line(_message(error))}"


def sentence_of(error: BaseException) -> str:
    """Return an error as a sentence for people; of one that is not ours, its class too."""
    return _message(error) if isinstance(error, SvcError) else one_line_of(error)


def _message(error: BaseException) -> str:
    """Return the message of an error, and what to do in a notebook."""
    if isinstance(error, pa.ArrowInvalid) and _TOO_PRECISE in str(error):
        return IN_SQL
    text = text_of(error)
    if isinstance(text, Message):
        return text
    if isinstance(error, NoLake):
        text += (
            f". Here: lake = svc.demo_lake({str(error.path)!r}) fills it with a made-up "
            "merchant, svc.extract(lake) with your own records"
        )
    return single_line(text)


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
        kinds = (SvcError, KeyboardInterrupt, pa.ArrowInvalid)
        shell.set_custom_exc(kinds, _print_in_one_line)


def ipython_shell() -> Any:
    """Return the running IPython shell; None outside a notebook."""
    return getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()


def _print_in_one_line(
    shell: Any, kind: type[BaseException], value: BaseException, trace: Any, tb_offset: Any = None
) -> list[str]:
    """Print an error in one line; return it for the program that runs the notebook."""
    if isinstance(value, pa.ArrowInvalid) and _TOO_PRECISE not in str(value):
        shell.showtraceback((kind, value, trace), tb_offset=tb_offset)
        return []
    line = one_line_of(value)
    shell._showtraceback(kind, value, [line])
    return [line]
