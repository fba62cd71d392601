"""All rows of a lake, read by pyarrow alone, and what of a period is known by them."""

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from svc_analytics.periods import Period

Row = dict[str, Any]
Span = tuple[int, int]

DAY = 86_400_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BEGINNING = -62_135_596_800_000_000
STREAMS = ("payments", "payout_records")


@dataclass(frozen=True)
class Entry:
    """One movement of money; plus is into the wallet."""

    kind: str
    id: str
    at: int
    currency: str
    gross: Decimal
    fee: Decimal
    net: Decimal
    usd_value: Decimal | None
    row: Row

    @property
    def place(self) -> tuple[int, str, str]:
        """Where it stands among the lines of a statement."""
        return self.at, self.kind, self.id


class Books:
    """Everything that a lake holds."""

    def __init__(self, lake: Path) -> None:
        self.path = lake
        self.payments = _rows(lake / "payments")
        self.records = _rows(lake / "payout_records")

    @cached_property
    def first_month(self) -> int:
        """When the month of the first record begins, in UTC."""
        files = [*self.path.glob("payments/*.parquet"), *self.path.glob("payout_records/*.parquet")]
        label = min(file.stem for file in files if file.stem != "0000-00")
        return instant(f"{label}-01T00:00:00Z")

    @cached_property
    def by_id(self) -> dict[str, Row]:
        """The payments by their ids."""
        return {row["id"]: row for row in self.payments}

    @cached_property
    def money(self) -> list[Row]:
        """The payout records that are money."""
        return [
            row
            for row in self.records
            if row["status"] == "completed" and row["kind"] in ("payout", "refund")
        ]

    @cached_property
    def sales(self) -> list[Row]:
        """The payments that are money."""
        return [row for row in self.payments if row["status"] == "completed"]

    @cached_property
    def entries(self) -> list[Entry]:
        """Every movement, in the order of a statement's lines."""
        found = [
            Entry(
                "payment", row["id"], row["paid_at"], row["currency"], row["amount"],
                -row["fee_amount"], row["net_amount"], row["usd_value"], row,
            )
            for row in self.sales
        ]  # fmt: skip
        found += [
            Entry(
                row["kind"], row["id"], row["settled_at"], row["currency"], -row["amount"],
                -row["fee_amount"], -row["debited_amount"], row["usd_value"], row,
            )
            for row in self.money
        ]  # fmt: skip
        return sorted(found, key=lambda entry: entry.place)

    @cached_property
    def footers(self) -> dict[str, list[Row]]:
        """What the month files of each stream say of themselves."""
        return {
            name: [_footer(path) for path in sorted((self.path / name).glob("*.parquet"))]
            for name in STREAMS
        }

    def spans(self, stream: str) -> list[Span]:
        """The time that was read of a stream, file by file."""
        return [(a, b) for each in self.footers[stream] for a, b, _ in each["coverage"]]

    def confirmed(self, stream: str) -> list[Span]:
        """The time of a stream that was read twice, and alike."""
        return [(a, b) for each in self.footers[stream] for a, b in each.get("confirmed", ())]

    @property
    def unlisted(self) -> dict[str, list[Row]]:
        """The records that the service listed no more, by their stream and month."""
        footers = [(name, each) for name in STREAMS for each in self.footers[name]]
        return {
            f"{name} {EPOCH + timedelta(microseconds=each['owns'][0]):%Y-%m}": each["unlisted"]
            for name, each in footers
            if "unlisted" in each
        }

    @cached_property
    def read_to(self) -> int:
        """The end of the newest read."""
        return max(end for name in STREAMS for _, end in self.spans(name))

    @cached_property
    def verdicts(self) -> dict[tuple[str, int], Row]:
        """The verdicts by payment and version of its record."""
        rows = _rows(self.path / "receipt_verdicts")
        return {(row["payment_id"], row["record_extracted_at"]): row for row in rows}

    @cached_property
    def changes(self) -> list[tuple[str, Row]]:
        """Older versions of records, each with its stream."""
        return [(name, row) for name in STREAMS for row in _rows(self.path / "changes" / name)]

    @cached_property
    def rejected(self) -> list[Row]:
        """What could not be held, and what its bytes do say."""
        return [
            _told(name, row)
            for name in STREAMS
            for row in _rows(self.path / "quarantine" / name)
            if row["resolved_at"] is None
        ]

    @cached_property
    def accepted(self) -> dict[tuple[str, str], str]:
        """The findings that a person has accepted, by check and record: by whom, and why."""
        rows = _csv(self.path / "acknowledgements.csv")
        return {
            (row["check"], row["record_id"]): f"{row['by']}, {row['at'][:10]}: {row['reason']}"
            for row in rows
        }

    @cached_property
    def assertions(self) -> list[Row]:
        """The balances that people read off the console."""
        return [
            {
                "at": instant(row["at"]),
                "currency": row["currency"],
                "balance": Decimal(row["balance"]),
                "line": number,
            }
            for number, row in enumerate(_csv(self.path / "assertions.csv"), 2)
        ]


def plain(table: pa.Table) -> list[Row]:
    """Return the rows of a table, instants as whole numbers of microseconds."""
    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(place, field.name, table[field.name].cast(pa.int64()))
    rows: list[Row] = table.to_pylist()
    return rows


def instant(stated: str) -> int:
    """Return an RFC 3339 instant in microseconds."""
    since = datetime.fromisoformat(stated.replace("Z", "+00:00")) - EPOCH
    return since // timedelta(microseconds=1)


def _rows(folder: Path) -> list[Row]:
    return [row for path in sorted(folder.glob("*.parquet")) for row in _file_rows(path)]


def _file_rows(path: Path) -> Iterator[Row]:
    yield from plain(pq.ParquetFile(path).read())


def _footer(path: Path) -> Row:
    metadata = pq.read_metadata(path).metadata
    found: Row = json.loads(metadata[b"svc_analytics"])
    return found


def _csv(path: Path) -> list[Row]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _told(stream: str, row: Row) -> Row:
    """Return when figures can book a rejected record, and what it says of itself."""
    try:
        body = json.loads(row["body"])
    except ValueError:
        body = {}
    own, late = row["occurred_at"], 0 if stream == "payments" else DAY
    texts = {name: _text(body, name) for name in ("currency", "kind", "payment_id", "settled_at")}
    booked = own if stream == "payments" else _instant_or_none(texts.pop("settled_at"))
    last = own if own is not None else row["window_to"]
    first = own if own is not None else row["window_from"]
    return {
        **texts,
        "stream": stream,
        "record_id": row["record_id"] or f"sha256 {row['sha256'][:12]}",
        "reason": row["reason"],
        "amount": _sent_amount(row["body"]),
        "booked_from": first if booked is None else booked,
        "booked_to": last + late if booked is None else booked,
    }


def _sent_amount(body: bytes) -> str | None:
    """Return the amount of a rejected record as it was sent, as a text or a number."""
    try:
        sent = json.loads(body, parse_float=str, parse_int=str).get("amount")
    except ValueError:
        return None
    return sent[:60] or None if isinstance(sent, str) else None


def _text(body: Row, name: str) -> str | None:
    found = body.get(name)
    return found or None if isinstance(found, str) else None


def _instant_or_none(stated: str | None) -> int | None:
    try:
        return instant(stated) if stated else None
    except ValueError:
        return None


MICROSECOND = 1


@dataclass(frozen=True)
class Omission:
    """Something that figures may lack: time not read, or a record that is not understood."""

    check: str
    stream: str
    record_id: str | None
    currency: str | None
    is_counted: bool
    start: int
    end: int
    payments_from: int | None = None  # the payments that it may refund were paid from then on
    payments_to: int | None = None


@dataclass(frozen=True)
class Known:
    """What is whole of one coin in a period."""

    has_payments: bool
    has_payouts: bool
    has_refunds_to_date: bool
    has_payments_before: bool
    has_opening: bool
    has_closing: bool
    lacks_records: bool
    payments_whole_from: int | None
    prices_whole_from: int | None
    refunds_whole_from: int | None


@dataclass(frozen=True)
class View:
    """A period of a lake, with how far time had come and what "to date" means."""

    books: Books
    period: Period
    as_of: int
    known_to: int

    @property
    def start(self) -> int:
        return self.period.start

    @property
    def end(self) -> int:
        return self.period.end

    def holds(self, at: int) -> bool:
        """Whether an instant is of the period."""
        return self.start <= at < self.end

    @cached_property
    def omissions(self) -> list[Omission]:
        """All that figures may lack and nobody has accepted, of all time."""
        found = [*self._gaps(), *self._rejected(), *self._unclassified()]
        accepted = self.books.accepted
        return [each for each in found if (each.check, each.record_id) not in accepted]

    @cached_property
    def coins(self) -> set[str]:
        """Every coin that a movement is in, or a record that may be one."""
        moved = {entry.currency for entry in self.books.entries}
        return moved | {each.currency for each in self.omissions if each.currency is not None}

    @cached_property
    def known(self) -> dict[str, Known]:
        """What is known of each coin."""
        return {coin: self._known(coin) for coin in self.coins}

    def _gaps(self) -> list[Omission]:
        return [
            self._gap(stream, start, end + (0 if stream == "payments" else DAY))
            for stream in STREAMS
            for start, end in gaps(self.books.spans(stream), BEGINNING, self.books.read_to)
        ]

    def _gap(self, stream: str, start: int, end: int) -> Omission:
        bounds = (None, None) if stream == "payments" else (BEGINNING, end)
        return Omission("time_was_read_without_gap", stream, None, None, True, start, end, *bounds)

    def _rejected(self) -> list[Omission]:
        found = []
        for row in self.books.rejected:
            start, end = row["booked_from"], row["booked_to"] + MICROSECOND
            bounds: tuple[int | None, int | None] = (None, None)
            if row["stream"] == "payout_records" and row["kind"] != "payout":
                parent = self.books.by_id.get(row["payment_id"])
                bounds = (parent["paid_at"], parent["paid_at"] + 1) if parent else (BEGINNING, end)
            name, coin = row["record_id"], row["currency"]
            found.append(
                Omission(
                    "record_could_be_held", row["stream"], name, coin, True, start, end, *bounds
                )
            )
        return found

    def _unclassified(self) -> list[Omission]:
        odd = [
            ("status_is_known", "payments", row, row["paid_at"])
            for row in self.books.payments
            if row["status"] != "completed"
        ]
        for row in self.books.records:
            names = ["status_is_known"] * (row["status"] != "completed")
            names += ["kind_is_known"] * (row["kind"] not in ("payout", "refund"))
            odd += [(name, "payout_records", row, row["settled_at"]) for name in names]
        return [
            Omission(check, stream, row["id"], row["currency"], False, at, at + MICROSECOND)
            for check, stream, row, at in odd
        ]

    @cached_property
    def period_omissions(self) -> list[Omission]:
        """What figures of the period may lack: also the time behind the newest read."""
        found = list(self.omissions)
        if self.books.read_to < self.known_to:
            for stream in STREAMS:
                each = self._gap(stream, self.books.read_to, self.known_to)
                found.append(each)
        return [each for each in found if each.start < self.end or self._breaks_to_date(each)]

    def _breaks_to_date(self, each: Omission) -> bool:
        """Whether it may be a refund to date of a payment of the period."""
        if each.payments_from is None or each.payments_to is None:
            return False
        return (
            each.start < self.as_of
            and each.payments_from < self.end
            and each.payments_to > self.start
        )

    def _is_within(self, each: Omission) -> bool:
        return each.is_counted and each.start < self.end and each.end > self.start

    def is_unread(self, stream: str) -> bool:
        """Whether time of the period was not read of a stream."""
        return any(
            each.stream == stream and each.record_id is None and self._is_within(each)
            for each in self.period_omissions
        )

    def _known(self, coin: str) -> Known:
        lacks = [each for each in self.period_omissions if each.currency in (None, coin)]
        before = [each for each in lacks if each.start < self.end]
        within = [each for each in lacks if self._is_within(each)]
        earlier = [each for each in before if each.is_counted and each.stream == "payments"]
        prices = [each for each in before if each.is_counted]
        refunds = [each.payments_to for each in before if each.payments_from is not None]
        return Known(
            has_payments=not any(each.stream == "payments" for each in within),
            has_payouts=not any(each.stream == "payout_records" for each in within),
            has_refunds_to_date=not any(map(self._breaks_to_date, lacks)),
            has_payments_before=not earlier,
            has_opening=not any(each.start < self.start for each in lacks),
            has_closing=not before,
            lacks_records=any(each.currency is not None for each in before),
            payments_whole_from=max((each.end for each in earlier), default=None),
            prices_whole_from=max((each.end for each in prices), default=None),
            refunds_whole_from=max((to for to in refunds if to is not None), default=None),
        )


def gaps(spans: list[Span], start: int, end: int) -> list[Span]:
    """Return what of [start, end) no span covers."""
    found, reached = [], start
    for first, last in sorted([*spans, (end, end)]):
        if first > reached:
            found.append((reached, first))
        reached = max(reached, last)
    return found
