"""Small lakes with all that may befall one, the same for a seed each time, made without a service.

Late records, restatements, moves to other months, gaps, provisional time, rejected records, months
without a record, verdicts, accepted findings and asserted balances, over `seeded_records`.
"""

import csv
import random
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

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
from svc_analytics.statements.statement import Statement, statement
from tests.support.prepared import copied
from tests.support.seeded_records import JALALI, TEHRAN, Record, SeededRecords

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
    return statement(
        seeded.lake,
        period.label,
        zone=period.zone,
        calendar=period.calendar,
        now=seeded.now,
        as_of=seeded.as_of,
    )


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
