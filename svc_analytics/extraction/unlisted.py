"""Compare a reading with the lake: what the lake holds of its time, the list must list.

What it lacks is asked for again where it should stand, for a list may move while it is read,
and then by its id. A record that moved or changed is published as the service gives it by its
id. One that is gone, or known and not listed, stays: the file of its month notes it.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import repeat
from typing import Any, NamedTuple, NoReturn

import numpy as np
import pyarrow as pa

from svc_analytics.api.client import Client
from svc_analytics.coverage import Spans, difference, intersection, union
from svc_analytics.errors import (
    ApiError,
    ConfigError,
    IncompleteList,
    KeyRefused,
    NotFound,
    Unavailable,
)
from svc_analytics.extraction.plan import ExtractionResult
from svc_analytics.extraction.readings import Reading
from svc_analytics.extraction.scheduler import SegmentQueue
from svc_analytics.extraction.segments import Segment
from svc_analytics.extraction.workers import WorkerPool
from svc_analytics.lake.quarantine import QuarantinedRecord
from svc_analytics.lake.unlisted import State, Unlisted
from svc_analytics.lake.writing.writer import LakeWriter
from svc_analytics.messages import Message
from svc_analytics.periods import month_of
from svc_analytics.records.record_parser import Records, parse_records
from svc_analytics.schema import Stream, is_within

LOOK_UPS = 100  # by id, one after another, of a stream in one run
# A list is wrong that lacks more than so many of a month's records, and more than one in 20.
FEW, ONE_IN = 20, 20
MOST = 1_000  # that the file of a month notes
NO_LONGER_THERE = 410  # says what 404 says

# Of a record that is not listed: the month whose file is to note it, and its state. None
# where the service says by its id that it stands elsewhere, in time that was not read now.
Standing = tuple[str, State] | None


class _Missing(NamedTuple):
    """A record of the lake that a reading lacks."""

    id: str
    month: str  # of the file that holds it
    at: int  # by which the service lists it


class MissingRecords:
    """The records of a stream that the lake held of some time, and a reading of it lacks."""

    def __init__(
        self, service: Client, writer: LakeWriter, stream: Stream, reading: Reading, before: Spans
    ) -> None:
        self._service = service
        self._writer = writer
        self._files = writer.files(stream)
        self._stream = stream
        self._reading = reading
        self._again = Reading()  # of what was missing at first
        self._before = before  # the time that was complete before
        whole = reading.whole(stream.name)
        self._spans = union(*(intersection(before, *span) for span in whole))
        self._held: Counter[str] = Counter()  # records of that time, by month
        self._lacking: Counter[str] = Counter()  # those that the list lacks

    def note(self) -> list[str]:
        """Note in the lake what is not listed, and what is again; return the ids that are new.

        Raises `IncompleteList` where it lacks so much that the service must be wrong.
        """
        missing = self._find_missing()
        if any(map(self._lacks_much, self._lacking)):
            self._refuse_list()
        missing = self._ask_again(missing)
        standings: dict[str, Standing] = {each.id: (each.month, "not asked") for each in missing}
        try:
            self._look_up(missing, standings)
        except ApiError:
            self._note(standings)
            raise
        if self._contradicts_itself(standings):
            self._refuse_list()
        return self._note(standings)

    def _find_missing(self) -> list[_Missing]:
        missing: list[_Missing] = []
        for month, rows in self._files.held_within(self._spans):
            lacking = rows.filter(pa.array(~self._reading.lists(self._stream.name, rows["id"])))
            self._held[month] += len(rows)
            self._lacking[month] += len(lacking)
            if len(lacking) and self._lacking[month] <= MOST:
                ids, instants = lacking["id"].to_pylist(), self._stream.instants(lacking).tolist()
                missing += map(_Missing, ids, repeat(month), instants)
        return missing

    def _lacks_much(self, month: str) -> bool:
        count = self._lacking[month]
        return count > MOST or (count > FEW and count * ONE_IN > self._held[month])

    def _ask_again(self, missing: list[_Missing]) -> list[_Missing]:
        """Read the list again where records are missing; return those that it lacks still."""
        if not missing:
            return []
        spans = union((each.at, each.at + 1) for each in missing)
        if len(spans) > LOOK_UPS:
            spans = ((spans[0][0], spans[-1][1]),)
        name = self._stream.name
        aside = ExtractionResult(self._files.merchant_id, spans[-1][1], rows={name: 0})
        segments = SegmentQueue([Segment.of(self._stream, span) for span in spans])
        WorkerPool(self._service, self._writer, segments, aside, None, self._again).work()
        is_read = is_within(np.array([each.at for each in missing]), self._again.whole(name))
        is_listed = self._again.lists(name, pa.chunked_array([[each.id for each in missing]]))
        return [each for each, lacks in zip(missing, is_read & ~is_listed, strict=True) if lacks]

    def _look_up(self, missing: list[_Missing], standings: dict[str, Standing]) -> None:
        """Ask for records by their ids, those first that are not noted yet."""
        noted = {each.id for footer in self._files.footers.values() for each in footer.unlisted}
        asked = sorted(missing, key=lambda each: (each.id in noted, each.at))[:LOOK_UPS]
        for each in asked:
            standings[each.id] = self._take(each, self._fetch(each))

    def _fetch(self, each: _Missing) -> Records | State:
        """Look an id up: return its record, or how the service refuses it."""
        try:
            page = self._service.record(self._stream, each.id)
            return parse_records(self._stream, page, time.time_ns() // 1000)
        except (KeyRefused, Unavailable):
            raise
        except ApiError as error:
            is_gone = isinstance(error, NotFound) or error.status == NO_LONGER_THERE
            return "gone" if is_gone else "not asked"
        except ConfigError:  # no address can name it
            return "not asked"

    def _take(self, each: _Missing, answer: Records | State) -> Standing:
        """Take over what the service gives for an id; return where the record stands now."""
        if not isinstance(answer, Records):
            return each.month, answer
        buffer = self._writer.buffer(self._stream)
        if answer.rejected:
            [item] = answer.rejected
            at, window = item.instant or each.at, (each.at, each.at + 1)
            rejected = QuarantinedRecord(item, at, window, self._files.now)
            buffer.add(self._stream.no_rows, [rejected])
            return each.month, "known"
        row = answer.rows
        if row["id"].to_pylist() != [each.id]:
            return each.month, "not asked"
        if _required(self._stream, row) == _required(
            self._stream, self._files.rows(each.month, [each.id])
        ):
            return each.month, "known"
        buffer.add(row)
        [at] = self._stream.instants(row).tolist()
        self._cover_again(at)
        return (month_of(at).label, "known") if is_within(np.array([at]), self._spans)[0] else None

    def _cover_again(self, at: int) -> None:
        """Keep an instant covered as it is: a record that moves there retracts it."""
        coverage, span = self._writer.coverage(self._stream), (at, at + 1)
        if not difference([span], coverage.read):
            buffer = self._writer.buffer(self._stream)
            buffer.cover(span)
            buffer.doubt(intersection(coverage.provisional, *span))

    def _contradicts_itself(self, standings: Mapping[str, Standing]) -> bool:
        """Tell whether it lists nothing at all, and knows by their ids what it listed before."""
        is_known = any(each and each[1] == "known" for each in standings.values())
        lacks_all = 1 < self._held.total() == len(standings)
        return is_known and lacks_all and self._reading.is_empty(self._stream.name)

    def _refuse_list(self) -> NoReturn:
        """Call nothing read on the word of this list that was not read before, and raise."""
        fresh = difference(self._reading.covered(self._stream.name), self._before)
        self._writer.buffer(self._stream).retract(fresh)
        self._writer.publish()
        held, lacking = self._held.total(), sorted(+self._lacking)
        months = " to ".join(dict.fromkeys([lacking[0], lacking[-1]]))
        counts = {"count": f"{held - self._lacking.total():,}", "total": f"{held:,}"}
        values = {**counts, "STREAM": self._stream.words, "months": months}
        raise IncompleteList(Message("service.list_lacks", **values))

    def _note(self, standings: Mapping[str, Standing]) -> list[str]:
        """Publish what moved, note what is unlisted, forget what is listed; return the new ids."""
        if not self._writer.buffer(self._stream).is_empty:
            self._writer.publish()
        states: defaultdict[str, dict[str, State]] = defaultdict(dict)
        for record_id, standing in standings.items():
            if standing:
                states[standing[0]][record_id] = standing[1]
        return [
            record_id
            for month in sorted(self._files.footers)
            for record_id in self._note_month(month, states[month])
        ]

    def _note_month(self, month: str, states: Mapping[str, State]) -> list[str]:
        before = {each.id: each for each in self._files.footers[month].unlisted}
        now = {each.id: each for each in before.values() if not self._is_listed(each.id)}
        rows = self._files.rows(month, states) if states else self._stream.no_rows
        for row in (rows.slice(place, 1) for place in range(len(rows))):
            [record_id] = row["id"].to_pylist()
            old, state = before.get(record_id), states[record_id]
            state = old.state if old and state == "not asked" else state
            new = Unlisted.of(self._stream, row, state, self._files.now)
            now[record_id] = old if old and old.is_same(new) else new
        self._files.note_unlisted(month, tuple(now[each] for each in sorted(now)))
        return sorted(now.keys() - before.keys())

    def _is_listed(self, record_id: str) -> bool:
        ids, name = pa.chunked_array([[record_id]]), self._stream.name
        return bool(self._reading.lists(name, ids)[0] or self._again.lists(name, ids)[0])


def _required(stream: Stream, rows: pa.Table) -> list[dict[str, Any]]:
    """Return the required columns of each record: money, instants, kind and status."""
    names = [column.name for column in stream.columns if column.is_required]
    return list(rows.select(names).to_pylist())
