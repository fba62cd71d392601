"""Seams between pages: whether a list moved while it was read.

A cursor may be a count of rows. Then a record that appears in time already swept pushes the
rows behind it on: a page that follows has rows that came before. Some services repeat rows
anyway, so the page before is asked for again: if it is the same, the list stands still. What
cannot be told is doubted. A record that vanishes pulls rows forward instead and leaves no
trace; only a second reading finds what was passed over (`close`).
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from svc_analytics.api.client import Client
from svc_analytics.errors import ApiError, KeyRefused, Unavailable
from svc_analytics.extraction.scheduler import SegmentQueue
from svc_analytics.extraction.segments import Segment
from svc_analytics.records.bulk_parser import ScannedPage, scan_page
from svc_analytics.records.record_parser import RejectedRecord
from svc_analytics.schema import Instants

# Pages, at least: records that appear at once may fill some, before rows come again.
REMEMBERED = 32

Marks = npt.NDArray[np.bool_]


def record_keys(page: ScannedPage) -> list[int]:
    """Hash the id of each record of a page.

    Of a rejected one, which may have none, a hash of its bytes.
    """
    keys = [hash(record_id) for record_id in page.ids.to_pylist()]
    for item in reversed(_rejected(page)):
        keys.insert(item.place, hash(item.body))
    return keys


def named_keys(page: ScannedPage) -> list[int]:
    """Return a hash of each record that has a name of its own: its id, or at least its instant.

    Without either, new bytes are no new record: a list of such ones need never end.
    """
    names = [item.record_id or item.instant for item in _rejected(page)]
    return [*map(hash, page.ids.to_pylist()), *(hash(name) for name in names if name is not None)]


class Seam:
    """The pages before of a sweep, and how the last of them was asked for."""

    def __init__(self, client: Client, segments: SegmentQueue, segment: Segment) -> None:
        self._client = client
        self._segments = segments
        self._segment = segment
        self._query: dict[str, str] = {}
        self._asked: dict[str, str] = {}  # for the page that comes now
        self._keys: list[int] = []  # of the page before
        self._recent = _RecentKeys()

    def restart(self) -> None:
        """Forget the pages before: the sweep asks anew for what remains."""
        self._keys = []
        self._recent = _RecentKeys()

    def ask(self, query: Mapping[str, str]) -> None:
        """Note what the page that comes now is asked for with."""
        self._asked = dict(query)

    def cross(self, page: ScannedPage, keys: list[int]) -> Marks:
        """Return which rows came before too; note a list that has moved, or may have."""
        known = self._recent.find(keys)
        places = [item.place + number for number, item in enumerate(_rejected(page))]
        is_repeat = np.delete(known, places)
        if self._keys and keys and self._segment.is_bounded:
            self._judge(int(known.sum()), page.instants[~is_repeat])
        if keys:  # a page without records is no seam
            self._recent.add(keys)
            self._keys, self._query = keys, self._asked
        return is_repeat

    def _judge(self, repeats: int, fresh: Instants) -> None:
        """Doubt what was swept if more records come again than do so on every page."""
        usual = self._segments.usual_repeats(self._segment)
        is_suspicious = repeats > usual or self._steps_back(fresh)
        has_moved = self._has_moved() if is_suspicious else False
        if has_moved or (has_moved is None and repeats):
            self._segments.doubt(self._segment)
        if not has_moved and len(self._keys) > 1:  # one record alone is never its own successor
            is_certain = is_suspicious and has_moved is False
            self._segments.note_repeats(self._segment, repeats, is_certain=is_certain)

    def _steps_back(self, fresh: Instants) -> bool:
        """Tell whether new rows are newer than those that the pages before ended with."""
        oldest = self._segment.oldest
        if oldest is None or not len(fresh) or not self._segment.is_ordered:
            return False
        return int(fresh[0]) > oldest

    def _has_moved(self) -> bool | None:
        """Ask for the page before again: tell whether it is another now, None if that is unclear.

        A cursor may be good for one request only, and a page may come shorter than it was.
        """
        stream = self._segment.stream
        try:
            page = self._client.page(stream.route, self._query)
        except (Unavailable, KeyRefused):
            raise
        except ApiError:
            return None
        keys = record_keys(scan_page(stream, page, 0))
        if any(now != before for now, before in zip(keys, self._keys, strict=False)):
            return True
        return None if len(keys) < len(self._keys) else False


class _RecentKeys:
    """The keys of the last pages: of `REMEMBERED` at least, of twice as many at most."""

    def __init__(self) -> None:
        self._newer: set[int] = set()
        self._older: set[int] = set()
        self._pages = 0

    def add(self, keys: list[int]) -> None:
        if self._pages % REMEMBERED == 0:
            self._older, self._newer = self._newer, set()
        self._pages += 1
        self._newer.update(keys)

    def find(self, keys: list[int]) -> Marks:
        """Tell of each key whether it is remembered."""
        return np.array([key in self._newer or key in self._older for key in keys], np.bool_)


def _rejected(page: ScannedPage) -> tuple[RejectedRecord, ...]:
    return page.records.rejected if page.records else ()
