"""Large lakes for the benchmark of growth, written month by month straight into month files.

Every value follows from a record's number, so a refund finds its payment's coin and amount
without reading it, and two lakes of one shape are equal. Amounts have few enough places that
all that follows from them is exact.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from svc_analytics.coverage import Coverage
from svc_analytics.instants import BEGINNING, MINUTE, to_micros
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.layout import ORIGIN
from svc_analytics.lake.writing.month_files import MonthFiles, PublishStats
from svc_analytics.lake.writing.writer import open_writer
from svc_analytics.periods import Period, month_of
from svc_analytics.schema import INSTANT, MONEY, PAYMENTS, PAYOUT_RECORDS, STREAMS, Stream

Numbers = npt.NDArray[np.int64]
Letters = npt.NDArray[np.uint8]

MERCHANT = {"id": "5d0f3c7e-6a1b-4c2d-9e8f-0a1b2c3d4e5f"}
END = to_micros(datetime(2026, 11, 1, tzinfo=UTC))
NEWEST = month_of(END - 1)
COINS = ("usdt", "btc", "eth", "ton", "trx")
RATES = np.array([100, 6_100_050, 240_025, 325, 28])  # USD cents a coin, in the first month
BATCH = 12_000  # rows made at a time
RECEIPT = 180  # letters of a token, most of what a payment takes on disk
_HEX = np.frombuffer(bytes(range(256)).hex().encode(), np.uint8).reshape(256, 2)
_BASE64 = np.frombuffer(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", np.uint8
)
# Where the letters of a UUID stand that are not dashes.
_PLACES = np.array([place for place in range(36) if place not in (8, 13, 18, 23)])


@dataclass(frozen=True)
class Shape:
    """How many payments a lake has, over how many months, and which share in the newest."""

    payments: int
    months: int = 120
    newest: float = 0.1

    @property
    def rows(self) -> list[int]:
        """The payments of each month, oldest first."""
        if self.months == 1:
            return [self.payments]
        newest = round(self.payments * self.newest)
        each = (self.payments - newest) // (self.months - 1)
        first = self.payments - newest - each * (self.months - 2)
        return [first, *[each] * (self.months - 2), newest]


@dataclass(frozen=True)
class Part:
    """One month of a lake: its place, and the numbers of its payments."""

    place: int  # among the months, from 0
    period: Period
    first: int  # the number of its first payment
    rows: int


def parts(shape: Shape) -> list[Part]:
    """Return the months of a lake, oldest first."""
    found, first = [], 0
    for place, rows in enumerate(shape.rows):
        period = NEWEST.shift(place - shape.months + 1)
        found.append(Part(place, period, first, rows))
        first += rows
    return found


def make_lake(lake: Lake, shape: Shape) -> None:
    """Write a lake of that shape; every month was read whole, and twice."""
    with open_writer(lake, MERCHANT, END):
        files = {
            stream.name: MonthFiles(lake, stream, MERCHANT["id"], END, PublishStats())
            for stream in STREAMS.values()
        }
        for part in parts(shape):
            for stream in STREAMS.values():
                span = (part.period.start, part.period.end)
                rows, label, read = batches(stream, part), part.period.label, Coverage((span,))
                files[stream.name].write(label, rows, None, read, confirmed=(span,))
        for each in files.values():
            before = Coverage(((BEGINNING, parts(shape)[0].period.start),))
            each.write(ORIGIN, (), None, before, confirmed=before.complete)


def batches(
    stream: Stream, part: Part, size: int = BATCH, *, is_reversed: bool = False
) -> Iterator[pa.Table]:
    """Yield a month's rows of a stream, some thousand at a time, the oldest or newest first."""
    make, count = {
        PAYMENTS.name: (payments, part.rows),
        PAYOUT_RECORDS.name: (payout_records, records_count(part)),
    }[stream.name]
    starts = range(0, count, size)
    for start in reversed(starts) if is_reversed else starts:
        yield make(part, np.arange(start, min(start + size, count), dtype=np.int64))


def records_count(part: Part) -> int:
    """Return how many payout records a month has: 3 refunds and 1.5 payouts of 100 payments."""
    return part.rows * 45 // 1000


def payments(part: Part, places: Numbers) -> pa.Table:
    """Return the payments at these places of a month."""
    numbers = part.first + places
    units, rates = _units(numbers), _rates(numbers, part.place)
    paid_at = _instants(part.period, places, part.rows)
    columns = {
        "id": _uuids(numbers, 1),
        "receipt_no": _numbered("SVC-", numbers),
        "session_id": _uuids(numbers, 2),
        "reference_id": _numbered("order-", numbers),
        "status": _repeated("completed", len(numbers)),
        "currency": _coins(numbers),
        "amount": _money(units, 6),
        "charged_amount": _money(units, 6),
        "fee_amount": _money(units, 8),
        "fee_bearer": _repeated("merchant", len(numbers)),
        "net_amount": _money(units * 99, 8),
        "usd_value": _money(units * rates, 8),
        "payer_id": _uuids(_mixed(numbers, 3).astype(np.int64) % 50_021, 3),
        "metadata": _nulls(len(numbers)),
        "receipt": _receipts(numbers),
        "paid_at": paid_at,
        "extra": _nulls(len(numbers)),
        "extracted_at": pa.repeat(pa.scalar(part.period.end, pa.int64()), len(numbers)),
        "usd_net": _money(units * 99 * rates, 10),
        "usd_fee": _money(units * rates, 10),
        "usd_rate": _money(rates, 2),
        "fee_rate": _money(np.ones_like(units), 2),
    }
    return _table(PAYMENTS, columns)


def payout_records(part: Part, places: Numbers) -> pa.Table:
    """Return the refunds and payouts at these places of a month."""
    numbers, returned = part.first + places, _refunded(part, places)
    is_payout, count = places % 3 == 2, records_count(part)
    units = np.where(is_payout, _units(numbers), _units(returned) // 4)
    sources = np.where(is_payout, numbers, returned)
    created, rates = _instants(part.period, places, count), _rates(sources, part.place)
    columns = {
        "id": _uuids(numbers, 4),
        "reference_id": _numbered("out-", numbers),
        "kind": _chosen(is_payout, "payout", "refund"),
        "status": _repeated("completed", len(places)),
        "currency": _coins(sources),
        "amount": _money(units, 6),
        "debited_amount": _money(np.where(is_payout, units * 101, units * 100), 8),
        "fee_amount": _money(np.where(is_payout, units, 0), 8),
        "fee_percent": _money(np.where(is_payout, 1, 0), 0),
        "usd_value": _money(units * rates, 8),
        "payer_id": _uuids(_mixed(sources, 3).astype(np.int64) % 50_021, 3),
        "payment_id": _masked(_uuids(returned, 1), is_payout),
        "comment": _nulls(len(places)),
        "created_at": created,
        "settled_at": created + MINUTE,
        "extra": _nulls(len(places)),
        "extracted_at": pa.repeat(pa.scalar(part.period.end, pa.int64()), len(places)),
        "usd_rate": _money(rates, 2),
        "fee_rate": _money(np.where(is_payout, 1, 0), 2),
    }
    return _table(PAYOUT_RECORDS, columns)


def _refunded(part: Part, places: Numbers) -> Numbers:
    """Return the number of the payment that the record at each place returns.

    One of five returns a payment of an earlier month; the others one of their own, paid before.
    """
    own = part.first + places * part.rows // max(records_count(part), 1) * 9 // 10
    earlier = part.first - 1 - places * 7
    return np.where((places % 5 == 4) & (earlier >= 0), earlier, own)


def _units(numbers: Numbers) -> Numbers:
    """Return the amount of each payment in millionths of its coin."""
    return 4 + (_mixed(numbers, 5) % np.uint64(999_999_990)).astype(np.int64)


def _rates(numbers: Numbers, month: int) -> Numbers:
    """Return the worth of the coin of each payment in cents, a little more each month."""
    return RATES[numbers % len(COINS)] * (1000 + month) // 1000


def _instants(period: Period, places: Numbers, rows: int) -> Numbers:
    """Spread records over a month, each at an instant of its own; the last hours have none."""
    step = (period.end - period.start - 120 * MINUTE) // max(rows, 1)
    return period.start + places * step


def _mixed(numbers: Numbers, salt: int) -> npt.NDArray[np.uint64]:
    """Return 64 bits that look random, the same ones for a number each time (SplitMix64)."""
    bits = numbers.astype(np.uint64) * np.uint64(8) + np.uint64(salt)
    bits = bits * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def _uuids(numbers: Numbers, salt: int) -> pa.Array:
    halves = np.stack([_mixed(numbers, salt), ~_mixed(numbers, salt + 64)], axis=1)
    letters = np.full((len(numbers), 36), ord("-"), np.uint8)
    letters[:, _PLACES] = _HEX[halves.view(np.uint8)].reshape(len(numbers), 32)
    letters[:, 14], letters[:, 19] = ord("4"), ord("a")
    return _texts(letters)


def _numbered(prefix: str, numbers: Numbers) -> pa.Array:
    letters = np.empty((len(numbers), len(prefix) + 10), np.uint8)
    letters[:, : len(prefix)] = np.frombuffer(prefix.encode(), np.uint8)
    for place in range(10):
        letters[:, -1 - place] = numbers // 10**place % 10 + ord("0")
    return _texts(letters)


def _receipts(numbers: Numbers) -> pa.Array:
    bits = np.random.Generator(np.random.PCG64(int(numbers[0]))).bytes(len(numbers) * RECEIPT)
    letters = _BASE64[np.frombuffer(bits, np.uint8) & 63].reshape(-1, RECEIPT)
    letters[:, :3] = np.frombuffer(b"v1.", np.uint8)
    return _texts(letters)


def _texts(letters: Letters) -> pa.Array:
    """Return texts of one length."""
    count, size = letters.shape
    bounds = np.arange(0, (count + 1) * size, size, dtype=np.int32)
    content = np.ascontiguousarray(letters)
    return pa.Array.from_buffers(
        pa.string(), count, [None, pa.py_buffer(bounds), pa.py_buffer(content)]
    )


def _money(units: Numbers, places: int) -> pa.Array:
    """Return amounts from zero on, given in units of their last place."""
    words = np.zeros((len(units), 2), np.int64)
    words[:, 0] = units
    held = pa.Array.from_buffers(pa.decimal128(18, places), len(units), [None, pa.py_buffer(words)])
    return held.cast(MONEY)


def _coins(numbers: Numbers) -> pa.Array:
    return pa.array(COINS).take(pa.array(numbers % len(COINS)))


def _chosen(mask: npt.NDArray[np.bool_], yes: str, no: str) -> pa.Array:
    return pa.array([no, yes]).take(pa.array(mask.astype(np.int64)))


def _masked(texts: pa.Array, mask: npt.NDArray[np.bool_]) -> pa.Array:
    return texts.take(pa.array(np.arange(len(texts)), mask=mask))


def _repeated(text: str, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(text), count)


def _nulls(count: int) -> pa.Array:
    return pa.nulls(count, pa.string())


def _table(stream: Stream, columns: dict[str, pa.Array | Numbers]) -> pa.Table:
    """Return rows of a stream; whatever is no array of Arrow's is an instant."""
    arrays = []
    for field in stream.schema:
        values = columns[field.name]
        is_whole = field.type == INSTANT
        arrays.append((pa.array(values) if is_whole else values).cast(field.type))
    return pa.Table.from_arrays(arrays, schema=stream.schema)
