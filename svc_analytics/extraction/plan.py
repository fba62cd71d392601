"""Plan an extraction: what is requested, which time is missing, what came of it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Self

from svc_analytics.api.routes import MAX_LIMIT, ROUTES
from svc_analytics.arguments import as_names, check
from svc_analytics.config import KeyClass, Settings
from svc_analytics.coverage import (
    Coverage,
    Span,
    Spans,
    difference,
    intersection,
    span_values,
    union,
)
from svc_analytics.errors import ConfigError
from svc_analytics.extraction.segments import Segment
from svc_analytics.formatting.display import Display, count_table
from svc_analytics.formatting.displayable import Displayable
from svc_analytics.formatting.texts import counted
from svc_analytics.instants import BEGINNING, HOUR, format_instant, from_micros
from svc_analytics.lake.coverage_footer import MonthFileFooter, Unlisted
from svc_analytics.lake.lake import Lake, whole_coverage
from svc_analytics.lake.layout import ORIGIN
from svc_analytics.lake.writing.month_files import MonthFiles, PublishStats
from svc_analytics.lake.writing.writer import LakeWriter
from svc_analytics.log import log_lines
from svc_analytics.messages import Message, translated
from svc_analytics.periods import utc_months
from svc_analytics.schema import PAYMENTS, STREAMS, Stream
from svc_analytics.warehouse.acknowledgements import (
    Acknowledgement,
    content_of,
    read_acknowledgements,
)

Seen = Mapping[str, tuple[int, str]]  # by stream: how many records, and a hash of them
_GONE = (
    "{STREAM}: the service no longer lists {count} record that the lake holds: see svc-analytics "
    "check"
)
_MANY_GONE = (
    "{STREAM}: the service no longer lists {count} records that the lake holds: see svc-analytics "
    "check"
)
_RETRACTED = (
    "by a wrong clock, {STREAM} of {START} .. {end} had been marked as read before that time had "
    "come: the mark is removed, and the time is read again up to now"
)
_SET_ASIDE = "records set aside: {count}"
_CHANGED = "records changed since they were read: {count}"
OVERLAP = 24 * HOUR  # of the newest time, in which records may still become visible
# The stream of a page, its rows, and the instant down to which the stream was read by
# then; None until its newest page has come.
OnPage = Callable[[Stream, int, int | None], None]


@dataclass(frozen=True)
class Request:
    """Which streams and which interval to read: by default all that is missing.

    The interval is [start, end), both in UTC microseconds; `overlap`, in microseconds too, is
    how much of the newest time is read again, and `rereads` reads the whole interval again.
    Two readings in a row confirm each other: see `ExtractionResult.seen`.

    Raises:
        ConfigError: when the interval is empty.

    Examples:
        >>> Request(streams=("payments",), rereads=True).streams
        ('payments',)
    """

    streams: tuple[str, ...] = tuple(STREAMS)
    start: int = BEGINNING
    end: int | None = None
    overlap: int = OVERLAP
    rereads: bool = False
    # What the reading before saw: a reading that sees the same confirms it (None: none asked).
    confirms: Seen | None = None

    def __post_init__(self) -> None:
        for name in as_names("streams", self.streams, PAYMENTS.name):
            if name not in STREAMS:
                raise ConfigError(f"there is no stream {name!r:.40}: {' and '.join(STREAMS)} are")
        check("start", self.start, Integral, "UTC microseconds")
        check("end", self.end, (Integral, type(None)), "UTC microseconds")
        if self.end is not None and self.start >= self.end:
            raise ConfigError("--from must be before --to")


@dataclass(frozen=True)
class ShortList:
    """A list that lacks many records that it had before, which nobody has accepted."""

    since: int  # the instant of the first of them, in UTC microseconds
    text: Message


@dataclass
class ExtractionResult(Displayable):
    """The result of an extraction: rows, pages, streams without a key, notes for a person.

    Examples:
        >>> svc.extract(lake).needs_attention  # doctest: +SKIP
        False
    """

    merchant_id: str
    read_to: int
    rows: dict[str, int] = field(default_factory=dict)
    pages: int = 0
    published: PublishStats = field(default_factory=PublishStats)
    not_extracted: dict[str, str] = field(default_factory=dict)
    notes: list[Message] = field(default_factory=list)  # oddities that cost time, but no row
    doubtful: dict[str, Spans] = field(default_factory=dict)  # what moved at each reading
    unlisted: dict[str, list[str]] = field(default_factory=dict)  # ids, newly noticed, by stream
    short_lists: dict[str, ShortList] = field(default_factory=dict)  # by stream
    seen: Seen = field(default_factory=dict)  # if a reading was to be confirmed
    is_confirmed: bool = False  # it saw what the reading before saw, and nothing was new
    # By stream: time that was called read before it had come, and was read again.
    retracted: dict[str, Spans] = field(default_factory=dict)

    @property
    def needs_attention(self) -> bool:
        """Whether a record was quarantined, changed or is not listed any more, or else wrong.

        Else is a claim that was retracted, a list that lacks much, or a key that is missing.
        """
        published = self.published
        findings = published.quarantined or published.changed or self.retracted
        lists = any(self.unlisted.values()) or self.short_lists
        return bool(findings or lists or self.not_extracted)

    @property
    def vanished(self) -> list[Message]:
        """The records that the service does not list any more, in words."""
        new = []
        for name, ids in self.unlisted.items():
            text = _GONE if len(ids) == 1 else _MANY_GONE
            if ids:
                new.append(
                    Message(text, stream=translated(STREAMS[name].words), count=f"{len(ids):,}")
                )
        return [*new, *(each.text for each in self.short_lists.values())]

    @property
    def retractions(self) -> list[Message]:
        """The time that had been called read before it had come, in words."""
        return [
            Message(_RETRACTED, stream=translated(STREAMS[name].words), **span_values(span))
            for name, spans in self.retracted.items()
            for span in spans
        ]

    @property
    def findings(self) -> list[Message]:
        """The findings that a person should look at, in words."""
        done = self.published
        counts = {_SET_ASIDE: done.quarantined, _CHANGED: done.changed}
        return [
            *(Message(text, count=f"{count:,}") for text, count in counts.items() if count),
            *self.vanished,
            *self.retractions,
            *self.left_out.values(),
        ]

    @property
    def left_out(self) -> dict[str, Message]:
        """The streams that were not read, each with the sentence that says so."""
        text = "{STREAM} were not extracted: {WHY}"
        return {
            name: Message(text, stream=translated(STREAMS[name].words), why=translated(why))
            for name, why in self.not_extracted.items()
        }

    def logged(self) -> Self:
        """Return the result, and tell the library's logger what was done."""
        counts = ", ".join(f"{counted(rows, 'row')} of {name}" for name, rows in self.rows.items())
        done = f"read {counts} up to {format_instant(self.read_to)}"
        log_lines([done, *self.notes], needs_attention=False)
        log_lines(self.findings, needs_attention=True)
        return self

    def _display(self) -> Display:
        files = self.published.files
        counts = [*self.rows.items(), ("month files written", files), ("pages", self.pages)]
        lines = [f"read up to {format_instant(self.read_to)}", *self.findings]
        return Display("Extraction", lines, [count_table("read", counts)])


def missing_key_class(settings: Settings, stream: Stream) -> KeyClass | None:
    """Return the key class a stream needs and the settings lack."""
    wanted = ROUTES[stream.route].key_classes
    return None if any(settings.key(name) for name in wanted) else wanted[0]


def missing_spans(coverage: Coverage, wanted: Span, request: Request) -> Spans:
    """Return the spans to read of an interval: what is missing, and the overlap."""
    if request.rereads:
        return union([wanted])
    newest = coverage.complete[-1][1] if coverage.complete else BEGINNING
    known = intersection(coverage.complete, BEGINNING, max(newest - request.overlap, BEGINNING))
    return difference([wanted], known)


@dataclass(frozen=True)
class PlannedReading:
    """What a run would read of a stream, as the lake and this machine's clock are now."""

    stream: str
    spans: Spans = ()
    files: tuple[str, ...] = ()  # the month files that it may write
    calls: int = 0  # at least: nobody knows what time holds that was never read
    why_not: str = ""  # the key that it lacks


def plan_readings(
    lake: Lake, settings: Settings, request: Request, clock: int
) -> list[PlannedReading]:
    """Return the readings that a run would make of each stream; the service is asked nothing."""
    end = min(request.end or clock, clock)
    plans = []
    for name in request.streams:
        stream = STREAMS[name]
        if key_class := missing_key_class(settings, stream):
            plans.append(PlannedReading(name, why_not=_lacks(key_class)))
            continue
        footers = lake.footers(stream) if lake.exists else {}
        start = max(request.start - stream.settles_within, BEGINNING)
        spans = missing_spans(whole_coverage(footers), (start, end), request)
        files = sorted({label for span in spans for label in _months(span, footers)})
        paths = tuple(f"{name}/{label}.parquet" for label in files)
        calls = sum(1 + _records(span, footers) // MAX_LIMIT for span in spans)
        plans.append(PlannedReading(name, spans, paths, calls))
    return plans


def _months(span: Span, footers: Mapping[str, MonthFileFooter]) -> list[str]:
    """Return the months of a span, from the first that is known."""
    known = [footer.owns[0] for label, footer in footers.items() if label != ORIGIN]
    start = max(span[0], min(known, default=span[1] - 1))
    return [month.label for month in utc_months(start, span[1])]


def _records(span: Span, footers: Mapping[str, MonthFileFooter]) -> int:
    """Estimate the records of a span, as if those of each month were spread evenly."""
    count = 0
    for label, footer in footers.items():
        start, end = footer.owns
        shared = min(end, span[1]) - max(start, span[0])
        if label != ORIGIN and shared > 0:
            count += footer.totals.rows * shared // (end - start)
    return count


def _lacks(key_class: KeyClass) -> str:
    text = "it needs a {key_class}-class key: set {variable}"
    return Message(text, key_class=key_class, variable=f"SVC_{key_class.upper()}_KEY")


def plan_segments(
    writer: LakeWriter, settings: Settings, request: Request, run: ExtractionResult
) -> list[Segment]:
    """Return a segment for each span to read, noting the streams that lack a key.

    Holes are read again: records that the list lacked may be listed again.
    """
    end = run.read_to if request.end is None else min(request.end, run.read_to)
    segments = []
    for name in request.streams:
        stream = STREAMS[name]
        run.rows[name] = 0
        if key_class := missing_key_class(settings, stream):
            run.not_extracted[name] = _lacks(key_class)
            continue
        # Figures book by when a record settled: one made just before belongs to this time too.
        start = max(request.start - stream.settles_within, BEGINNING)
        spans = missing_spans(writer.coverage(stream), (start, end), request)
        spans = union(spans, intersection(hole_spans(writer.files(stream)), start, end))
        segments += [Segment.of(stream, span) for span in spans]
    return segments


# ---------- Holes
# Months of which the list lacks many records, and nobody has accepted that.


FEW = 20  # records of a month that a list may lack without being short
# The rules that name what is not listed: one by one, and where a month lacks more than a few.
EACH, MANY = "record_is_still_listed", "listed_records_remain"
MOST_SPANS = 100  # read apart; of more, what lies between them is read too


def find_holes(files: MonthFiles, few: int = FEW) -> dict[str, list[Unlisted]]:
    """Return by month the records that the list lacks, where they are more than a few.

    What a person accepted is none: one by one, or as the one finding that they are together.
    """
    if all(len(footer.unlisted) <= few for footer in files.footers.values()):
        return {}
    marks = read_acknowledgements(files.lake.path)
    named = {mark.record_id for mark in marks if mark.check == EACH}
    left = {
        label: [each for each in footer.unlisted if each.id not in named]
        for label, footer in sorted(files.footers.items())
    }
    return {
        label: records
        for label, records in left.items()
        if len(records) > few and not _is_accepted(f"{files.stream.name} {label}", records, marks)
    }


def hole_spans(files: MonthFiles) -> Spans:
    """Return the time in which the records of holes were listed, to be read again."""
    before = files.stream.settles_within  # they are booked so long after at most
    missing = (each for records in find_holes(files).values() for each in records)
    return few_spans(union((each.booked_at - before, each.booked_at + 1) for each in missing))


def few_spans(spans: Spans) -> Spans:
    """Return spans, as one if they are many: a reading costs more for each."""
    return spans if len(spans) <= MOST_SPANS else ((spans[0][0], spans[-1][1]),)


def _is_accepted(name: str, records: Sequence[Unlisted], marks: Iterable[Acknowledgement]) -> bool:
    """Whether a person accepted these records, as the rule states them: by one digest of all."""
    facts = (fact for each in records for fact in (each.id, each.content, each.reply))
    seen_at = from_micros(max(each.noticed_at for each in records))
    finding = {"content": content_of(*facts), "seen_at": seen_at}
    named = (mark for mark in marks if (mark.check, mark.record_id) == (MANY, name))
    return any(mark.covers(finding) for mark in named)
