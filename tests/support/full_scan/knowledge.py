"""What of a period is known: what may be missing, and which figures that leaves unknown."""

from dataclasses import dataclass
from functools import cached_property

from svc_analytics.periods import Period
from tests.support.full_scan.rows import BEGINNING, DAY, STREAMS, Books, Span

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
