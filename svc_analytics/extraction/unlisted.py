"""Compare a reading with the lake: what the lake holds of its time, the list must list.

What it lacks is asked for again where it should stand, for a list may move while it is read,
and then by its id. A record that moved or changed is published as the service gives it by its
id. One that is gone, or known and not listed, stays: the file of its month notes it.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from svc_analytics.api.client import Client
from svc_analytics.coverage import Spans, difference, intersection, union
from svc_analytics.errors import ApiError, ConfigError, KeyRefused, NoService, NotFound, Unavailable
from svc_analytics.extraction.batches import Reading
from svc_analytics.extraction.plan import FEW, ExtractionResult, ShortList, few_spans, find_holes
from svc_analytics.extraction.segments import Segment, SegmentQueue
from svc_analytics.extraction.workers import WorkerPool
from svc_analytics.instants import now as machine_clock
from svc_analytics.lake.coverage_footer import GONE, KNOWN, NOT_ASKED, Unlisted
from svc_analytics.lake.side_files import QuarantinedRecord
from svc_analytics.lake.writing.writer import LakeWriter
from svc_analytics.messages import Message, translated
from svc_analytics.periods import month_of
from svc_analytics.records.record_parser import Records, is_record_of, parse_records
from svc_analytics.schema import Stream, is_within

LOOK_UPS = 1_000  # by id, one after another, of a stream in one run
AGAIN = 100  # of them, of ids that the service has told of before
NO_LONGER_THERE = 410  # says what 404 says
NO_RECORD = f"{NOT_ASKED}: 200"  # but another one, or none

# Of a record that is not listed: the month whose file is to note it, and its state. None
# where the service says by its id that it stands elsewhere, in time that was not read now.
ListedState = tuple[str, str] | None


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
        self._held = 0  # records of that time
        self.shortage: ShortList | None = None  # where it lacks many that nobody has accepted

    def note(self) -> list[str]:
        """Note in the lake what is not listed, and what is again; return the ids that are new.

        A list that lacks many may lack new ones too: on its word, nothing more is complete.
        """
        missing = self._ask_again(list(self._find_missing()))
        listed_states: dict[str, ListedState] = {
            each.id: (each.month, NOT_ASKED) for each in missing
        }
        try:
            self._look_up(missing, listed_states)
        except ApiError:
            self._settle(listed_states)
            raise
        return self._settle(listed_states)

    def _find_missing(self) -> Iterator[_Missing]:
        for month, rows in self._files.held_within(self._spans):
            lacking = rows.filter(pa.array(~self._reading.lists(self._stream.name, rows["id"])))
            self._held += len(rows)
            ids, instants = lacking["id"].to_pylist(), self._stream.instants(lacking).tolist()
            yield from map(_Missing, ids, repeat(month), instants)

    def _ask_again(self, missing: list[_Missing]) -> list[_Missing]:
        """Read the list again where records are missing; return those that it lacks still."""
        if not missing:
            return []
        spans = few_spans(union((each.at, each.at + 1) for each in missing))
        name = self._stream.name
        aside = ExtractionResult(self._files.merchant_id, spans[-1][1], rows={name: 0})
        segments = SegmentQueue([Segment.of(self._stream, span) for span in spans])
        WorkerPool(self._service, self._writer, segments, aside, None, self._again).work()
        is_read = is_within(np.array([each.at for each in missing]), self._again.whole(name))
        is_listed = self._again.lists(name, pa.chunked_array([[each.id for each in missing]]))
        return [each for each, lacks in zip(missing, is_read & ~is_listed, strict=True) if lacks]

    def _look_up(self, missing: list[_Missing], listed_states: dict[str, ListedState]) -> None:
        """Ask for records by their ids, those first of which the service has not told yet."""
        footers = self._files.footers.values()
        noted = {each.id: each for footer in footers for each in footer.unlisted}

        def tells(record_id: str) -> int:
            known = noted.get(record_id)
            return 0 if known is None else (known.state != NOT_ASKED) + (known.reply != NOT_ASKED)

        untold = sum(tells(each.id) < 2 for each in missing)
        asked = sorted(missing, key=lambda each: (tells(each.id), each.at))
        for each in asked[: min(max(untold, AGAIN), LOOK_UPS)]:
            answer = self._fetch(each)
            if isinstance(answer, Unavailable):  # the others are asked for in the next run
                listed_states[each.id] = each.month, _state(answer)
                return
            listed_states[each.id] = self._take(each, answer)

    def _fetch(self, each: _Missing) -> Records | Exception:
        """Look an id up: return its record, or what the service or its address has against it."""
        try:
            page = self._service.record(self._stream, each.id)
            return parse_records(self._stream, page, machine_clock())
        except (KeyRefused, NoService):
            raise
        except (ApiError, ConfigError) as error:
            return error

    def _take(self, each: _Missing, answer: Records | Exception) -> ListedState:
        """Take over what the service gives for an id; return where the record stands now."""
        if not isinstance(answer, Records):
            return each.month, _state(answer)
        buffer = self._writer.buffer(self._stream)
        if answer.rejected:
            [item] = answer.rejected
            if not is_record_of(self._stream, item, each.id):
                return each.month, NO_RECORD
            at, window = item.instant or each.at, (each.at, each.at + 1)
            rejected = QuarantinedRecord(item, at, window, self._files.now)
            buffer.add(self._stream.no_rows, [rejected])
            return each.month, KNOWN
        row = answer.rows
        if row["id"].to_pylist() != [each.id]:
            return each.month, NO_RECORD
        if _required(self._stream, row) == _required(
            self._stream, self._files.rows(each.month, [each.id])
        ):
            return each.month, KNOWN
        buffer.add(row)
        [at] = self._stream.instants(row).tolist()
        self._cover_again(at)
        return (month_of(at).label, KNOWN) if is_within(np.array([at]), self._spans)[0] else None

    def _cover_again(self, at: int) -> None:
        """Keep an instant covered as it is: a record that moves there retracts it."""
        coverage, span = self._writer.coverage(self._stream), (at, at + 1)
        if not difference([span], coverage.read):
            buffer = self._writer.buffer(self._stream)
            buffer.cover(span)
            buffer.doubt(intersection(coverage.provisional, *span))

    def _settle(self, listed_states: Mapping[str, ListedState]) -> list[str]:
        """Note what is not listed, and doubt what else a short list says; return the new ids."""
        new = self._note(listed_states)
        few = 0 if self._contradicts_itself(listed_states) else FEW
        holes = find_holes(self._files, few) if self._reading.covered(self._stream.name) else {}
        if holes:
            self._doubt_fresh()
            self.shortage = self._word(holes)
        return new

    def _contradicts_itself(self, listed_states: Mapping[str, ListedState]) -> bool:
        """Tell whether it lists nothing at all, and knows by their ids what it listed before."""
        is_known = any(each and each[1] == KNOWN for each in listed_states.values())
        lacks_all = 1 < self._held == len(listed_states)
        return is_known and lacks_all and self._reading.is_empty(self._stream.name)

    def _doubt_fresh(self) -> None:
        """Call only provisional what was not read before: the list may lack records of it too."""
        fresh = difference(self._reading.covered(self._stream.name), self._before)
        if fresh:
            buffer = self._writer.buffer(self._stream)
            buffer.retract(fresh)
            for span in fresh:
                buffer.cover(span)
            buffer.doubt(fresh)
            self._writer.publish()

    def _word(self, holes: Mapping[str, list[Unlisted]]) -> ShortList:
        """Say how many records of which months the list lacks."""
        missing = [each for records in holes.values() for each in records]
        held = sum(self._files.footers[month].totals.rows for month in holes)
        months = " to ".join(dict.fromkeys([min(holes), max(holes)]))
        values = {"count": f"{len(missing):,}", "total": f"{held:,}", "months": months}
        text = Message("service.list_lacks", stream=translated(self._stream.words), **values)
        return ShortList(min(each.booked_at for each in missing), text)

    def _note(self, listed_states: Mapping[str, ListedState]) -> list[str]:
        """Publish what moved, note what is unlisted, forget what is listed; return the new ids."""
        if not self._writer.buffer(self._stream).is_empty:
            self._writer.publish()
        states: defaultdict[str, dict[str, str]] = defaultdict(dict)
        for record_id, listed in listed_states.items():
            if listed:
                states[listed[0]][record_id] = listed[1]
        return [
            record_id
            for month in sorted(self._files.footers)
            for record_id in self._note_month(month, states[month])
        ]

    def _note_month(self, month: str, states: Mapping[str, str]) -> list[str]:
        before = {each.id: each for each in self._files.footers[month].unlisted}
        ids, name = pa.chunked_array([[*before]], pa.string()), self._stream.name
        is_listed = self._reading.lists(name, ids) | self._again.lists(name, ids)
        now = {
            each: before[each] for each, listed in zip(before, is_listed, strict=True) if not listed
        }
        rows = self._files.rows(month, states) if states else self._stream.no_rows
        for new in Unlisted.each(self._stream, rows, states, self._files.now):
            old = before.get(new.id)
            if old and old.state != NOT_ASKED and new.reply == NOT_ASKED:
                new = replace(new, state=old.state)  # nothing new was said
            now[new.id] = old if old and old.is_same(new) else new
        self._files.note_unlisted(month, tuple(now[each] for each in sorted(now)))
        return sorted(now.keys() - before.keys())


def _state(error: Exception) -> str:
    """Return the state of a record that the service was asked for by its id, and did not give."""
    if not isinstance(error, ApiError) or (isinstance(error, Unavailable) and not error.status):
        return NOT_ASKED
    # Without a code it may be another server's word, and of another thing than this record.
    if isinstance(error, NotFound) and (error.codes or error.status == NO_LONGER_THERE):
        return GONE
    return f"{NOT_ASKED}: {error.status or 200} {', '.join(error.codes)}".strip()


def _required(stream: Stream, rows: pa.Table) -> list[dict[str, Any]]:
    """Return the required columns of each record: money, instants, kind and status."""
    names = [column.name for column in stream.columns if column.is_required]
    return list(rows.select(names).to_pylist())
