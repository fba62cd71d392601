"""The footer of a month file: what it holds and covers, as JSON with the file's checksums.

Behind it stands how covered time is shared out among month files, by arithmetic alone: each file
covers its own month, the origin's (`0000-00`) the time before the first.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from svc_analytics.coverage import Coverage, Span, Spans, difference, intersection, union
from svc_analytics.errors import LakeError
from svc_analytics.files import damaged_file
from svc_analytics.instants import BEGINNING, MINUTE
from svc_analytics.lake.checksums import BLANK, DAMAGE, find_signature, read_signed_footer
from svc_analytics.lake.control_totals import GROUP, ControlTotals, Group, GroupEnds, PricedRow
from svc_analytics.lake.layout import FOOTER_KEY, LAYOUT, ORIGIN, require_layout, tool_version
from svc_analytics.messages import Message
from svc_analytics.money import format_amount
from svc_analytics.periods import month, month_of, utc_months
from svc_analytics.schema import STREAMS, Column, Stream, schema_digest

GONE, KNOWN, NOT_ASKED = "gone", "known", "not asked"


@dataclass(frozen=True)
class Unlisted:
    """A record that the list lacked when its time was last read whole."""

    id: str
    booked_at: int  # UTC microseconds
    currency: str
    # What the service says of its id: gone, known, or not asked. Behind a colon stands what it
    # answered, where that says nothing of the record, as in `not asked: 403 FORBIDDEN`.
    state: str
    noticed_at: int  # by the first reading that found it so, UTC microseconds
    content: str  # a digest of what the lake holds of it

    @property
    def reply(self) -> str:
        """What the service says of its id: gone, known, or nothing, which is not asked."""
        return self.state.partition(":")[0]

    @classmethod
    def each(
        cls, stream: Stream, rows: pa.Table, states: Mapping[str, str], noticed_at: int
    ) -> list[Self]:
        """Return held records as ones that the list lacks, in these states by their ids."""
        columns = [column for column in stream.columns if column.is_fact]
        names = [column.name for column in columns]
        rows_of = zip(*(_plain(rows, column) for column in columns), strict=True)
        records = [dict(zip(names, row, strict=True)) for row in rows_of]
        return [
            cls(
                facts["id"],
                int(facts[stream.booked]),
                facts["currency"],
                states[facts["id"]],
                noticed_at,
                sha256(json.dumps(facts).encode()).hexdigest(),
            )
            for facts in records
        ]

    def is_same(self, other: Self) -> bool:
        """Whether another reading found the same of the same record."""
        return (self.state, self.content) == (other.state, other.content)


def _plain(rows: pa.Table, column: Column) -> list[Any]:
    """Return a column's values as JSON holds them: amounts as text, instants as microseconds."""
    values = rows[column.name]
    plain = (values.cast(pa.int64()) if column.kind == "instant" else values).to_pylist()
    return [format_amount(each) if isinstance(each, Decimal) else each for each in plain]


# Of each column, the values that other months hold too; None where there are too many.
Shared = Mapping[str, tuple[str, ...] | None]

_MOST_KNOWN = 256  # footers kept in memory, where a statement asks for each of them six times
_JSON_START = b'{"layout": '  # not found within its texts: there, quotes have a backslash


@dataclass(frozen=True)
class MonthFileFooter:
    """The footer of a month file: its coverage and totals. Instants are UTC microseconds."""

    stream: str
    merchant_id: str
    owns: Span  # the time whose rows the file holds: its month
    coverage: Coverage
    quarantined: int  # rejected records of the month, not resolved
    written_at: int
    totals: ControlTotals = field(default_factory=ControlTotals)
    tool_version: str = field(default_factory=tool_version)
    confirmed: Spans = ()  # complete time of which two readings in a row saw the same records
    unlisted: tuple[Unlisted, ...] = ()  # records of the file that the service's list lacks
    # Complete time that was read within a day after it passed, and not again since then.
    fresh: Spans = ()
    judged_at: int | None = None  # the run's clock
    shared: Shared = field(default_factory=dict)
    ends: Mapping[Group, GroupEnds] = field(default_factory=dict)  # of each group of the totals
    without_receipt: int | None = None  # rows without a token; payments alone have any
    mark: str = ""  # of a file in a bucket, where two versions of the same bytes are one
    columns: frozenset[str] = frozenset()  # of the file, where another release wrote others

    @property
    def claimed_at(self) -> int:
        """The time that it was when the coverage was claimed."""
        return self.written_at if self.judged_at is None else self.judged_at

    def to_json(self) -> str:
        """Return the footer as the JSON kept in the file, its checksums not yet filled in."""
        document = {
            "layout": LAYOUT,
            "stream": self.stream,
            "merchant_id": self.merchant_id,
            "owns": self.owns,
            "coverage": self.coverage.intervals(),
            "confirmed": self.confirmed,
            "fresh": self.fresh,
            "rows": self.totals.rows,
            "ids_digest": f"{self.totals.ids_digest:032x}",
            "groups": [self._group(group) for group in sorted(self.totals.sums)],
            "quarantined": self.quarantined,
            "written_at": self.written_at,
            "judged_at": self.judged_at,
            "shared": self.shared,
            "tool_version": self.tool_version,
            "schema": schema_digest(STREAMS[self.stream].schema),
            **({} if self.without_receipt is None else {"without_receipt": self.without_receipt}),
            **({"unlisted": [asdict(each) for each in self.unlisted]} if self.unlisted else {}),
            **({"mark": self.mark} if self.mark else {}),
            **BLANK,
        }
        return json.dumps(document)

    def _group(self, group: Group) -> dict[str, Any]:
        """Return the totals that the file states of one currency, kind and status."""
        currency, kind, status = group
        ends, sums = self.ends[group], self.totals.sums[group]
        return {
            "currency": currency,
            "kind": kind,
            "status": status,
            "rows": self.totals.counts[group],
            "first": ends.first,
            "last": ends.last,
            "sums": {name: format_amount(value) for name, value in sums.items()},
            "newest_priced": ends.newest_priced and _write_priced(ends.newest_priced),
        }

    @classmethod
    def from_json(cls, text: bytes) -> Self:
        """Read a footer; raise `LakeError` for one of another layout."""
        document = json.loads(text)
        require_layout(document["layout"], release=document.get("tool_version", ""))
        groups = {tuple(each[name] for name in GROUP): each for each in document["groups"]}
        sums = {group: _read_sums(each["sums"]) for group, each in groups.items()}
        counts = {group: each["rows"] for group, each in groups.items()}
        shared = document["shared"] or {}  # a file without rows says null
        complete, provisional = (
            tuple((start, end) for start, end, state in document["coverage"] if state == wanted)
            for wanted in ("complete", "provisional")
        )
        return cls(
            stream=document["stream"],
            merchant_id=document["merchant_id"],
            owns=tuple(document["owns"]),
            coverage=Coverage(complete, provisional),
            quarantined=document["quarantined"],
            written_at=document["written_at"],
            totals=ControlTotals(document["rows"], int(document["ids_digest"], 16), sums, counts),
            tool_version=document["tool_version"],
            confirmed=msgspec.convert(document.get("confirmed", ()), Spans),
            unlisted=tuple(Unlisted(**each) for each in document.get("unlisted", ())),
            # A file that does not say it may have been read at once.
            fresh=msgspec.convert(document.get("fresh", complete), Spans),
            judged_at=document.get("judged_at"),
            shared={name: None if each is None else tuple(each) for name, each in shared.items()},
            ends={group: msgspec.convert(each, GroupEnds) for group, each in groups.items()},
            without_receipt=document.get("without_receipt"),
        )


def _read_sums(amounts: dict[str, str]) -> dict[str, Decimal]:
    return {name: Decimal(value) for name, value in amounts.items()}


def _write_priced(row: PricedRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "at": row.at,
        "amount": format_amount(row.amount),
        "usd_value": format_amount(row.usd_value),
        "usd_rate": None if row.usd_rate is None else format_amount(row.usd_rate),
    }


def read_footer(path: Path) -> MonthFileFooter:
    """Read a file's footer, or raise `LakeError` naming the file and what to do."""
    try:
        raw = read_signed_footer(path)
        if footer := _known_footer(raw):
            return footer
        metadata = pq.read_metadata(pa.BufferReader(raw))
        footer = MonthFileFooter.from_json((metadata.metadata or {})[FOOTER_KEY.encode()])
    except LakeError as error:
        raise LakeError(f"{path}: {error}") from error
    except KeyError as error:
        raise LakeError(Message("file.not_ours", path=path)) from error
    except (*DAMAGE, TypeError, ArithmeticError, msgspec.MsgspecError) as error:
        raise damaged_file(path, error) from error
    stream, schema = STREAMS.get(footer.stream), metadata.schema.to_arrow_schema()
    if stream is None or schema.equals(stream.schema):
        return footer
    types = dict(zip(stream.schema.names, stream.schema.types, strict=True))
    is_odd = any(types.get(each.name, each.type) != each.type for each in schema)
    # A release of ours wrote what vouches for its footer; any other tool's types may cost digits.
    if is_odd or not find_signature(raw):
        raise damaged_file(path, remedy="file.other_types")
    return replace(footer, columns=frozenset(schema.names))


def _known_footer(raw: bytes) -> MonthFileFooter | None:
    """Read our JSON alone, of today's columns; else return None."""
    signature = find_signature(raw)
    start = raw.rfind(_JSON_START, 0, signature.start()) if signature else -1
    if signature is None or start < 0:
        return None
    text = raw[start : signature.end() + 1]
    footer = _parsed(text)
    stream = STREAMS.get(footer.stream)
    return footer if stream and schema_digest(stream.schema).encode() in text else None


@lru_cache(maxsize=_MOST_KNOWN)
def _parsed(text: bytes) -> MonthFileFooter:
    return MonthFileFooter.from_json(text)


CLOCK_TOLERANCE = 15 * MINUTE  # by which clocks may differ that are both right


@dataclass(frozen=True)
class CoverageUpdate:
    """The change that one publication makes to the coverage of month files."""

    retracted: Spans = ()  # to be read again
    stale: Spans = ()  # complete until now, and provisional from now on
    gained: dict[str, Coverage] = field(default_factory=dict)  # by the month that gets it

    def remaining(self, held: Coverage) -> Coverage:
        """Return the coverage of a file that still holds."""
        return held.remove(self.retracted).mark_provisional(self.stale)

    def retracts(self, held: Coverage) -> bool:
        """Whether a file's own claim is retracted, whatever is covered anew."""
        return held.remove(self.retracted) != held

    def confirmed(self, held: MonthFileFooter) -> Spans:
        """Return the confirmed coverage of a file that still holds."""
        return difference(held.confirmed, self.retracted)

    def apply(self, label: str, held: Coverage) -> Coverage:
        """Return the new coverage of a month's file."""
        return self.remaining(held).add(self.gained.get(label, Coverage()))


def owned_span(label: str, labels: Iterable[str], now: int) -> Span:
    """Return the time of a month; for the origin, that before the first label."""
    if label != ORIGIN:
        return month(label).start, month(label).end
    return BEGINNING, _first_start(labels, default=now)


def lookback_window(complete: Spans, lookback: int) -> Spans:
    """Return the newest complete time, which a run reads again for late records."""
    newest = complete[-1][1] if complete else BEGINNING
    return intersection(complete, max(newest - lookback, BEGINNING), newest)


def stale_coverage(window: Spans, covered: Spans) -> Spans:
    """Return the provisional part of the lookback window once this is covered.

    Publishing newer time moves the window of the next run forward. What this run has not
    read again of the old window would stay complete without ever having been read again.
    """
    unread = difference(window, covered)
    moves_on = unread and covered and covered[-1][1] > unread[-1][1]
    return unread if moves_on else ()


def first_month_start(
    covered: Spans, labels: Iterable[str], new_labels: Iterable[str], *, fills_months: bool
) -> int:
    """Return the start of the first month that has a file, or gets one now.

    Those of `new_labels` get one; the month read last, if there is none yet; and every
    covered month, if the run `fills_months`.
    """
    starts = [month(label).start for label in new_labels]
    newest = month_of(covered[-1][1] - 1).start if covered else max(starts)
    starts.append(_first_start(labels, default=newest))
    if fills_months:
        starts += [month_of(start).start for start, _ in covered if start >= 0]
    return min(starts)


def coverage_by_month(gained: Coverage, origin: Coverage, first: int) -> dict[str, Coverage]:
    """Split newly gained coverage by the month whose file is to hold it.

    Month files hold the time from `first` on, so what the origin's file covers of it moves
    into them: also between or after months that have a file, where a power cut took some.
    """
    moved = origin.clip(first, max((end for _, end in origin.read), default=first))
    ours = gained.clip(first, max((end for _, end in gained.read), default=first)).add(moved)
    by_month = {ORIGIN: gained.clip(BEGINNING, first)}
    for start, end in ours.read:
        for period in utc_months(start, end):
            by_month[period.label] = ours.clip(period.start, period.end)
    return by_month


def early_claims(footers: Iterable[MonthFileFooter], now: int) -> Spans:
    """Return the covered time that has not come, or had not when its file was written.

    Whatever came later was never read: a clock was far ahead when the claim was made.
    """
    spans: list[Span] = []
    for footer in footers:
        for limit in (footer.claimed_at, now):
            beyond = difference(footer.coverage.read, [(BEGINNING, limit)])
            is_early = beyond and beyond[-1][1] > limit + CLOCK_TOLERANCE
            spans += beyond if is_early else ()
    return union(spans)


def _first_start(labels: Iterable[str], default: int) -> int:
    starts = (month(label).start for label in labels if label != ORIGIN)
    return min(starts, default=default)
