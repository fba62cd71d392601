"""What must be true of a month before its file takes its name: asked every time, and cheap.

Nothing of it can fail while this package is right. Should it be wrong once, or memory
or disk, then nothing is published, and the message names what was seen.
"""

import numpy as np
import pyarrow as pa

from svc_analytics.coverage import Span
from svc_analytics.errors import LakeError
from svc_analytics.periods import format_instant
from svc_analytics.tally import Tally


def check_tally(name: str, of: str, found: Tally, expected: Tally) -> None:
    """Refuse a month whose rows are not those it should hold: count, ids and sums."""
    if found.is_same(expected):
        return
    amounts = [
        f"{column} of {currency} off by {value:f}"
        for currency, sums in (found - expected).totals.items()
        for column, value in sums.items()
        if value
    ]
    seen = "; ".join([f"{found}, by {of} {expected}", *amounts])
    raise LakeError(f"{name}: the rows written are not those to be kept ({seen}); not published")


class InOrder:
    """Watches the instants of a month's rows, group by group: its own, and never falling."""

    def __init__(self, name: str, owns: Span) -> None:
        self._name = name
        self._owns = owns
        self._last: int | None = None

    def see(self, column: pa.ChunkedArray) -> None:
        """Refuse a row of another month, or one before the row it follows."""
        instants = np.asarray(column.cast(pa.int64()))
        if not len(instants):
            return
        last = instants[0] if self._last is None else self._last
        falls = np.flatnonzero(np.diff(instants, prepend=last) < 0)
        foreign = np.flatnonzero((instants < self._owns[0]) | (instants >= self._owns[1]))
        for places, what in ((foreign, "of another month"), (falls, "out of order")):
            if len(places):
                at = format_instant(int(instants[places[0]]))
                raise LakeError(f"{self._name}: a row of {at} is {what}; not published")
        self._last = int(instants[-1])
