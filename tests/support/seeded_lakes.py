"""Small lakes with all that may befall one, the same for a seed each time, made without a service.

Late records, restatements, moves to other months, gaps, provisional time, rejected records, months
without a record, verdicts, accepted findings and asserted balances, over records that a seed draws.
"""

import csv
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_UP, Context, Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa

from svc_analytics import Statement, statement
from svc_analytics.coverage import Spans, difference
from svc_analytics.instants import BEGINNING, DAY, HOUR, MINUTE, format_instant
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.layout import VERDICTS, VERDICTS_FOLDER
from svc_analytics.lake.month_file import read_groups
from svc_analytics.lake.side_files import QuarantinedRecord, list_files, replace_file
from svc_analytics.lake.writing.writer import open_writer
from svc_analytics.periods import Period, month, month_of
from svc_analytics.records.record_parser import RejectedRecord
from svc_analytics.schema import PAYMENTS, PAYOUT_RECORDS, STREAMS, Stream
from tests.support.prepared import copied

Record = dict[str, Any]
MERCHANT = {"id": "11111111-1111-4111-8111-111111111111", "name": "Seeded"}
LAST = month("2026-10")
VERDICTS_SEEN = ("valid", "valid_previous_secret", "proven_by_record", "facts_mismatch")


@dataclass(frozen=True)
class Seeded:
    """A lake made from a seed, and what to ask of it."""

    lake: Lake
    now: int
    months: tuple[Period, ...]  # those with a record may be fewer
    asked: tuple[Period, ...]  # of each sort of month one
    as_of: int | None  # an instant before the newest read, sometimes


def make_seeded_lake(folder: Path, seed: int) -> Seeded:
    """Write the lake of a seed, in one to three runs; or copy it where a test has done so."""

    def make() -> Seeded:
        return _Maker(Lake(folder), random.Random(seed)).make()

    return replace(copied(("seeded", seed, *MERCHANT.values()), folder, make), lake=Lake(folder))


def state(seeded: Seeded, period: Period) -> Statement:
    """Make the statement of a period that was asked for."""
    at = {"zone": period.zone, "calendar": period.calendar, "as_of": seeded.as_of}
    return statement(seeded.lake, period.label, now=seeded.now, **at)


@dataclass
class _Maker:
    lake: Lake
    rng: random.Random
    versions: dict[str, list[list[Record]]] = field(default_factory=dict)  # by stream and run

    def __post_init__(self) -> None:
        rng = self.rng
        self.months = [LAST.shift(-place) for place in range(rng.randint(1, 6), -1, -1)]
        self.now = LAST.end + rng.randint(1, 20) * DAY + rng.randrange(DAY)
        self.runs = rng.randint(1, 3)
        self.made = SeededRecords(rng, [*self.months, LAST.shift(1)], self.now)
        self.has_records = rng.random() < 0.9
        self.versions = {name: [[] for _ in range(self.runs)] for name in STREAMS}

    def make(self) -> Seeded:
        """Write the lake, and the files that people and other commands add to it."""
        payments = self.made.payments()
        self._spread(PAYMENTS, payments)
        if self.has_records:
            self._spread(PAYOUT_RECORDS, self.made.refunds(payments) + self.made.payouts())
        for run in range(self.runs):
            self._run(run)
        if self.rng.random() < 0.4:
            self._verify()
        self._accept()
        self._assert_balances()
        as_of = self.now - self.rng.randrange(40) * DAY if self.rng.random() < 0.2 else None
        return Seeded(self.lake, self.now, tuple(self.months), self._asked(), as_of)

    def _asked(self) -> tuple[Period, ...]:
        """Choose a UTC month, one of Tehran, one of the Jalali calendar, and two at the ends."""
        chosen = self.rng.choice(self.months)
        middle = (chosen.start + chosen.end) // 2
        return (
            chosen,
            month(self.rng.choice(self.months).label, TEHRAN),
            month_of(middle, TEHRAN, JALALI),
            self.months[0].shift(-2),
            LAST.shift(1),
        )

    # ---------- runs

    def _spread(self, stream: Stream, records: list[Record]) -> None:
        """Share records out among the runs: late ones, changed ones, and ones that move."""
        for record in records:
            run = self.made.one_of(0.2, range(self.runs), 0)
            self.versions[stream.name][run].append(record)
            if run + 1 < self.runs and self.rng.random() < 0.12:
                self.versions[stream.name][run + 1].append(record | self._change(stream, record))

    def _change(self, stream: Stream, record: Record) -> Record:
        if self.rng.random() < 0.4:
            return {stream.instant: self.made.instant(self.rng.choice(self.months))}
        changed = {"amount": record["amount"] + 1}
        return self.rng.choice(({"usd_value": None}, {"currency": self.made.coins[0]}, changed))

    def _run(self, run: int) -> None:
        """Publish one run's records, and the time that it read, with gaps."""
        now = self.now - (self.runs - 1 - run) * 3 * DAY
        with open_writer(self.lake, MERCHANT, now) as writer:
            writer.begin_run(
                watermark=now - self.rng.choice((MINUTE, 5 * DAY)),
                is_open_ended=self.rng.random() < 0.5,
                lookback=self.rng.choice((0, 2 * DAY)),
                judged_at=now,
            )
            for stream in STREAMS.values() if self.has_records else [PAYMENTS]:
                buffer = writer.buffer(stream)
                buffer.add(self._table(stream, run, now), self._rejected(stream, now))
                for span in self._covered(run, now):
                    buffer.cover(span)
            writer.publish()
            if self.rng.random() < 0.3:
                writer.confirm(STREAMS.values(), (BEGINNING, self.rng.choice(self.months).end))

    def _table(self, stream: Stream, run: int, now: int) -> pa.Table:
        rows = [record | {"extracted_at": now} for record in self.versions[stream.name][run]]
        return pa.Table.from_pylist(rows, schema=stream.record_schema)

    def _covered(self, run: int, now: int) -> Spans:
        first = self.rng.choice((BEGINNING, BEGINNING, BEGINNING, self.months[0].start))
        if run:
            return ((self.rng.choice(self.months).start, now),)
        gaps = [
            (at, at + self.rng.choice((HOUR, 3 * DAY)))
            for at in (self.rng.randrange(self.months[0].start, now) for _ in range(2))
            if self.rng.random() < 0.3
        ]
        return difference([(first, now)], gaps)

    def _rejected(self, stream: Stream, now: int) -> list[QuarantinedRecord]:
        """Make records that could not be read: with and without an instant, an id, a coin."""
        found = []
        for number in range(self.rng.choice((0, 0, 0, 1, 2))):
            at = self.rng.randrange(self.months[0].start, now)
            instant = self.made.one_of(0.5, (None,), at)
            record_id = self.made.one_of(0.3, (None,), self.made.uuid())
            body = self._body(stream, at).encode() + b" " * number
            record = RejectedRecord(body, "amount is no amount", record_id, instant)
            window = (at - 3 * DAY, min(at + 3 * DAY, now))
            found.append(QuarantinedRecord(record, at if instant else window[1], window, now))
        return found

    def _body(self, stream: Stream, at: int) -> str:
        parents = [each["id"] for runs in self.versions["payments"] for each in runs] or ["none"]
        members = {"currency": self.made.one_of(0.3, ("",), self.rng.choice(self.made.coins))}
        if stream is PAYOUT_RECORDS:
            members["kind"] = self.rng.choice(("payout", "refund"))
            members["payment_id"] = self.rng.choice(parents)
            members["settled_at"] = self.made.one_of(0.5, ("soon",), format_instant(at + HOUR))
        inside = ", ".join(f'"{name}": "{text}"' for name, text in members.items())
        return f'{{{inside}, "amount": 1}}' if self.rng.random() < 0.9 else "not JSON"

    # ---------- what else lies in a lake

    def _verify(self) -> None:
        """Write verdicts: of some payments, and of older versions of some."""
        folder = self.lake.path / VERDICTS_FOLDER
        for label in self.lake.months(PAYMENTS):
            columns = ["id", "receipt", "extracted_at"]
            groups = read_groups(self.lake.month_path(PAYMENTS, label), columns)
            held = [row for group in groups for row in group.to_pylist() if row["receipt"]]
            rows = [self._verdict(row) for row in held if self.rng.random() < 0.7]
            if rows:
                table = pa.Table.from_pylist(rows, schema=VERDICTS)
                writing = self.lake.storage.write(folder / f"{label}.parquet")
                replace_file(writing, VERDICTS, [table])
        list_files(self.lake.storage, folder, VERDICTS)

    def _verdict(self, row: Record) -> Record:
        verdict = self.rng.choice(VERDICTS_SEEN)
        seen = self.made.one_of(0.1, (self.now + 1,), row["extracted_at"])
        return {
            "payment_id": row["id"],
            "receipt_sha256": "00",
            "verdict": verdict,
            "reason": f"it is {verdict}",
            "checked_at": self.now,
            "ring": "ring",
            "record_extracted_at": seen,
        }

    def _accept(self) -> None:
        """Accept some records that are not understood, or could not be read."""
        records = [each for runs in self.versions.values() for run in runs for each in run]
        odd = [each["id"] for each in records if each["status"] != "completed"]
        rows = [("status_is_known", key) for key in odd if self.rng.random() < 0.4]
        rows += [("record_was_not_restated", key) for key in odd[:1]]
        self._write("acknowledgements.csv", "check,record_id,reason,by,at", [
            (*row, "seen", "a person", format_instant(self.now)) for row in rows
        ])  # fmt: skip

    def _assert_balances(self) -> None:
        rows = [
            (format_instant(self.made.instant(period)), coin, "12.5", "")
            for period in self.months
            for coin in self.rng.sample((*self.made.coins, "doge"), 1)
            if self.rng.random() < 0.5
        ]
        self._write("assertions.csv", "at,currency,balance,note", rows)

    def _write(self, name: str, header: str, rows: list[tuple[str, ...]]) -> None:
        if rows:
            with (self.lake.path / name).open("w", newline="") as file:
                csv.writer(file).writerows([tuple(header.split(",")), *rows])


COINS = ("usdt", "btc", "eth", "$.x")
HUGE = Decimal("12345678901234567890.123456789012345678")
TEHRAN, JALALI = "Asia/Tehran", "jalali"
_WIDE = Context(prec=120, rounding=ROUND_HALF_UP)


@dataclass
class SeededRecords:
    """Makes the records of the months given, the last of which is running, up to `now`."""

    rng: random.Random
    months: list[Period]
    now: int
    moments: list[int] = field(default_factory=list)  # instants that others may share

    def __post_init__(self) -> None:
        self.coins = self.rng.sample(COINS, self.rng.randint(1, len(COINS)))
        self.priced_until = self.rng.choice([self.now, self.now, self.months[0].end])
        self.moments += [at for period in self.months for at in _bounds(period)]

    def payments(self) -> list[Record]:
        """Return some payments of each month; one may be as large as can be held."""
        counts = [self.rng.choice((0, 2, 5, 9, 16)) for _ in self.months]
        found = [
            self._payment(self.instant(period))
            for period, count in zip(self.months, counts, strict=True)
            for _ in range(count)
        ]
        if self.rng.random() < 0.3:
            huge = {"amount": HUGE, "charged_amount": HUGE, "net_amount": HUGE}
            huge |= {"currency": "huge", "fee_amount": Decimal(), "usd_value": None}
            found.append(self._payment(self.instant(self.months[0])) | huge)
        return found

    def _payment(self, at: int) -> Record:
        coin, amount = self.rng.choice(self.coins), self._amount()
        fee = self._fee(amount)
        charged = amount if self.rng.random() < 0.95 else amount + 1
        net = charged - fee if self.rng.random() < 0.95 else charged
        number = self.rng.randrange(10**9)
        return {
            "id": self.uuid(),
            "receipt_no": self.one_of(0.06, ("SVC-1", "SVC-2", None), f"SVC-{number}"),
            "session_id": self.uuid(),
            "reference_id": self.one_of(0.06, ("order-1", "order-2", None), f"order-{number}"),
            "status": self.one_of(0.03, ("pending", "reversed"), "completed"),
            "currency": coin,
            "amount": amount,
            "charged_amount": charged,
            "fee_amount": fee,
            "fee_bearer": self.one_of(0.1, ("customer", None), "merchant"),
            "net_amount": net,
            "usd_value": self._price(coin, amount, at),
            "payer_id": self.one_of(0.1, (None,), f"payer-{number % 5}"),
            "metadata": None,
            "receipt": self.one_of(0.2, (None,), f"v1.{number}"),
            "paid_at": at,
            "extra": None,
        }

    def refunds(self, payments: list[Record]) -> list[Record]:
        """Return refunds of some of the payments: of some two, or more."""
        count = self.rng.randint(0, 2 + len(payments) // 2) if payments else 0
        chosen = self.rng.choices(payments, k=count)
        found = [self._refund(parent) for parent in chosen]
        return [refund for refund in found if refund["created_at"] < self.now]

    def _refund(self, parent: Record) -> Record:
        delay = self.rng.choice((HOUR, DAY, 9 * DAY, 40 * DAY, 100 * DAY, -2 * DAY))
        created = max(parent["paid_at"] + delay + self.rng.randrange(HOUR), 0)
        whole = parent["charged_amount"]
        amount = _round(whole / self.rng.choice((1, 2, 3, 7)), 18)
        if parent["currency"] == "huge":
            amount = Decimal("0.000000000000000001")
        coin = self.one_of(0.05, COINS, parent["currency"])
        debited = self.one_of(0.04, (amount + 1,), amount)
        more = {
            "kind": self.one_of(0.03, ("reversal",), "refund"),
            "payment_id": self.one_of(0.07, (self.uuid(), None), parent["id"]),
            "payer_id": parent["payer_id"],
        }
        return self._record(created, coin, amount, Decimal(), debited) | more

    def payouts(self) -> list[Record]:
        """Return some payouts of each month."""
        found = []
        for period in self.months:
            for _ in range(self.rng.choice((0, 1, 4))):
                coin, amount = self.rng.choice(self.coins), self._amount()
                fee = self._fee(amount)
                debited = self.one_of(0.04, (amount,), amount + fee)
                created = self.instant(period)
                found.append(self._record(created, coin, amount, fee, debited))
        return found

    def _record(
        self, created: int, coin: str, amount: Decimal, fee: Decimal, debited: Decimal
    ) -> Record:
        number = self.rng.randrange(10**9)
        waits = (0, MINUTE, 5 * HOUR, 23 * HOUR, 40 * DAY, -HOUR)
        wait = self.rng.choices(waits, weights=(6, 6, 3, 3, 1, 1))[0]
        return {
            "id": self.uuid(),
            "reference_id": self.one_of(0.08, ("out-1", None), f"out-{number}"),
            "kind": "payout",
            "status": self.one_of(0.03, ("failed",), "completed"),
            "currency": coin,
            "amount": amount,
            "debited_amount": debited,
            "fee_amount": fee,
            "fee_percent": Decimal(1 if fee else 0),
            "usd_value": self._price(coin, amount, created),
            "payer_id": self.one_of(0.1, (None,), f"payer-{number % 5}"),
            "payment_id": None,
            "comment": self.one_of(0.1, ("thanks",), None),
            "created_at": created,
            "settled_at": max(created + wait, 0),
            "extra": None,
        }

    def instant(self, period: Period) -> int:
        """Return an instant of a month that is over: often on a bound of one, often a tie."""
        end = min(period.end, self.now - HOUR)
        kept = [at for at in self.moments if period.start <= at < end]
        if kept and self.rng.random() < 0.3:
            return self.rng.choice(kept)
        at = self.rng.randrange(period.start, end)
        self.moments.append(at)
        return at

    def _amount(self) -> Decimal:
        """Return an amount of few or many places, rarely zero, or below it."""
        sort = self.rng.random()
        if sort < 0.03:
            return Decimal()
        if sort < 0.06:
            return Decimal(-self.rng.randint(1, 500))
        if sort < 0.3:
            return Decimal(self.rng.randrange(10**21)).scaleb(-18)
        return Decimal(self.rng.randint(1, 10**7)).scaleb(-self.rng.choice((2, 6)))

    def _fee(self, amount: Decimal) -> Decimal:
        rate = Decimal(self.one_of(0.08, ("0.0137", "0.5"), "0.01"))
        return _round(amount * rate, self.rng.choice((6, 8, 18)))

    def _price(self, coin: str, amount: Decimal, at: int) -> Decimal | None:
        if at >= self.priced_until or self.rng.random() < 0.2:
            return None
        rate = Decimal(17 * (1 + COINS.index(coin)) if coin in COINS else 1)
        near = Decimal(self.rng.choice((100, 101, 97, 130))) / 100
        return _round(abs(amount) * rate * near, self.rng.choice((2, 6, 18)))

    def one_of(self, share: float, rare: Sequence[Any], usual: Any) -> Any:
        """Return the usual, or in a share of all cases something rare."""
        return self.rng.choice(rare) if self.rng.random() < share else usual

    def uuid(self) -> str:
        """Return another id."""
        return str(UUID(int=self.rng.getrandbits(128), version=4))


def _bounds(period: Period) -> list[int]:
    """Return instants at the bounds of a month, in UTC, in Tehran and of the Jalali calendar."""
    starts = [
        period.start,
        month(period.label, TEHRAN).start,
        month_of((period.start + period.end) // 2, TEHRAN, JALALI).start,
    ]
    return [max(at + step, 0) for at in starts for step in (-1, 0, 1)]


def _round(amount: Decimal, places: int) -> Decimal:
    return amount.quantize(Decimal(1).scaleb(-places), context=_WIDE)
