"""Seams between pages: whether a list moved while it was read.

A cursor may be a count of rows. Then a record that appears in time already swept pushes the
rows behind it on: the next page begins with rows that came before. Some services repeat rows
anyway, so the page before is asked for again: only if it has changed, the list has moved. A
record that vanishes pulls rows forward instead and leaves no trace; only a second reading
finds what was passed over (`close`).
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from svc_analytics.api.client import Client
from svc_analytics.errors import ApiError, Unavailable
from svc_analytics.extraction.scheduler import SegmentQueue
from svc_analytics.extraction.segments import Segment
from svc_analytics.records.bulk_parser import scan_page
from svc_analytics.schema import Instants


class Seam:
    """The page before of a sweep, and how it was asked for."""

    def __init__(self, client: Client, segments: SegmentQueue, segment: Segment) -> None:
        self._client = client
        self._segments = segments
        self._segment = segment
        self._query: dict[str, str] = {}
        self._asked: dict[str, str] = {}  # for the page that comes now
        self._ids: list[str] = []

    def restart(self) -> None:
        """Forget the page before: the sweep asks anew for what remains."""
        self._ids = []

    def ask(self, query: Mapping[str, str]) -> None:
        """Note what the page that comes now is asked for with."""
        self._asked = dict(query)

    def cross(self, ids: list[str], instants: Instants) -> npt.NDArray[np.bool_]:
        """Return which rows were on the page before too; note a list that has moved."""
        before = frozenset(self._ids)
        is_repeat = np.zeros(len(ids), np.bool_)
        if not before.isdisjoint(ids):
            is_repeat[:] = [record_id in before for record_id in ids]
        if self._is_suspicious(instants, is_repeat):
            if self._has_moved():
                self._segments.doubt(self._segment)
            elif is_repeat.any():
                self._segments.note_repeating(self._segment)
        if ids:  # a page without rows is no seam
            self._ids, self._query = ids, self._asked
        return is_repeat

    def _is_suspicious(self, instants: Instants, is_repeat: npt.NDArray[np.bool_]) -> bool:
        """Tell whether rows come again, or newer ones than the page before ended with."""
        if not self._ids or not self._segment.is_bounded:
            return False  # rows newer than those asked for push all others on
        fresh, oldest = instants[~is_repeat], self._segment.oldest
        steps_back = oldest is not None and bool(len(fresh)) and int(fresh[0]) > oldest
        repeats = bool(is_repeat.any()) and not self._segments.is_repeating(self._segment)
        return repeats or (steps_back and self._segment.is_ordered)

    def _has_moved(self) -> bool:
        """Ask for the page before again, and tell whether it is another now."""
        stream = self._segment.stream
        try:
            page = self._client.page(stream.route, self._query)
        except Unavailable:
            raise
        except ApiError:
            return False  # it cannot be told
        return not _begin_alike(scan_page(stream, page, 0).ids.to_pylist(), self._ids)


def _begin_alike(a: Sequence[str], b: Sequence[str]) -> bool:
    """Tell whether two lists are the same as far as the shorter one goes."""
    return all(x == y for x, y in zip(a, b, strict=False)) and bool(a) == bool(b)
