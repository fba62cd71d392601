"""Assertions that stay on in production: each fires when it should, and names what it saw."""

from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from svc_analytics.errors import LakeError
from svc_analytics.extraction import batches, segments
from svc_analytics.extraction.batches import RowBatch
from svc_analytics.extraction.segments import Progress
from svc_analytics.instants import DAY
from svc_analytics.lake import month_file
from svc_analytics.lake.control_totals import ControlTotals, control_totals
from svc_analytics.lake.month_file import SortedCheck, check_totals
from svc_analytics.periods import month
from svc_analytics.schema import PAYMENTS
from tests.support.desks import Desk
from tests.support.fake_service import payment
from tests.support.prepared import extracted

OCTOBER = month("2026-10")
NOTHING = dict.fromkeys(PAYMENTS.record_schema.names)
Change = Callable[[pa.Table], pa.Table]


@pytest.fixture
def begun(service, desk) -> Desk:
    """A lake with three payments of October; a fourth has come."""
    service.payments = [payment(n, f"2026-10-0{n}T00:00:00Z") for n in (1, 2, 3)]
    extracted(desk)
    service.payments.append(payment(4, "2026-10-04T00:00:00Z"))
    return desk


def content(desk: Desk) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in desk.lake.path.rglob("2*.parquet")}


def dropping(rows: pa.Table) -> pa.Table:
    return rows.slice(1)


def doubling(rows: pa.Table) -> pa.Table:
    return pa.concat_tables([rows, rows.slice(len(rows) - 1)])


def forging(rows: pa.Table) -> pa.Table:
    """Add the smallest unit to every amount."""
    place, field = PAYMENTS.schema.get_field_index("amount"), PAYMENTS.schema.field("amount")
    more = [value + Decimal("1E-18") for value in rows["amount"].to_pylist()]
    return rows.set_column(place, field, pa.array(more, field.type))


def turning(rows: pa.Table) -> pa.Table:
    return rows.take(list(range(len(rows)))[::-1])


def moving(rows: pa.Table) -> pa.Table:
    """Put rows five days back, and the first ones so into the month before."""
    place, field = PAYMENTS.schema.get_field_index("paid_at"), PAYMENTS.schema.field("paid_at")
    earlier = [at - 5 * DAY for at in rows["paid_at"].cast(pa.int64()).to_pylist()]
    return rows.set_column(place, field, pa.array(earlier, field.type))


def at_once(change: Change, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    yield change(pa.concat_tables([PAYMENTS.schema.empty_table(), *tables]))


BROKEN: dict[str, tuple[Change, str]] = {
    "a row is lost": (dropping, "3 rows, ids [0-9a-f]{32}, by what it held and what came 4 rows"),
    "a row is doubled": (doubling, "5 rows, .* 4 rows, .* amount of usdt off by 10"),
    "an amount is another": (forging, "amount of usdt off by 0.000000000000000004"),
    "rows are out of order": (turning, "a row of 2026-10-03T00:00:00Z is out of order"),
    "rows of another month": (moving, "a row of 2026-09-26T00:00:00Z is of another month"),
}


@pytest.mark.parametrize(("breaks", "said"), BROKEN.values(), ids=BROKEN.keys())
def test_a_month_that_is_not_what_it_should_be_is_not_published(begun, monkeypatch, breaks, said):
    """I1 to I3, I5: compared with what it held and what came; the old month stands."""
    before = content(begun)
    real = month_file.merge_rows
    with monkeypatch.context() as broken:
        broken.setattr(month_file, "merge_rows", lambda *args: at_once(breaks, real(*args)))
        with pytest.raises(LakeError, match=rf"payments 2026-10: .*{said}.*not published"):
            begun.extract(rereads=True)
    assert content(begun) == before
    begun.extract(rereads=True)
    assert len(begun.ids()) == 4


def test_a_row_leaves_a_month_alone(begun, monkeypatch):
    """I1: where a payment moves to another month, no neighbour may go with it."""
    begun.extract(rereads=True)
    begun.service.payments[0]["paid_at"] = "2026-11-02T00:00:00Z"
    real = month_file.drop_rows
    with monkeypatch.context() as broken:
        broken.setattr(month_file, "drop_rows", lambda *args: at_once(dropping, real(*args)))
        with pytest.raises(LakeError, match=r"2 rows, .*by what it held and what came 3 rows"):
            begun.extract(rereads=True)
    begun.extract(rereads=True)
    assert len(begun.ids()) == 4


def test_a_file_that_is_written_wrongly_is_not_published(begun, monkeypatch):
    """I5: what is read back is compared with the footer; memory may be wrong, or the disk."""
    before = content(begun)
    real = month_file.read_groups

    def misread(path: Path, *of: Any, **more: Any) -> Iterator[pa.Table]:
        is_new = path.name.startswith(".")
        yield from (table.slice(is_new) for table in real(path, *of, **more))

    monkeypatch.setattr(month_file, "read_groups", misread)
    with pytest.raises(LakeError, match=r"3 rows, .*by its footer 4 rows"):
        begun.extract(rereads=True)
    assert content(begun) == before


def test_as_many_rows_as_records_or_nothing(begun, monkeypatch):
    """I4: a page's records all become rows, in their order."""
    real = batches.parse_bulk
    monkeypatch.setattr(batches, "parse_bulk", lambda *args: real(*args).slice(1))
    with pytest.raises(LakeError, match="payments: 4 records were read, and 3 rows made of them"):
        begun.extract(workers=1, streams=("payments",), rereads=True)


def test_time_that_was_not_asked_for_is_not_claimed(begun, monkeypatch):
    """I6: coverage claims no more than the pages were of."""
    coverage = begun.lake.coverage(PAYMENTS)
    real = segments.advance

    def claim_more(*args: Any) -> Progress:
        progress = real(*args)
        return Progress(progress.wanted, ((progress.wanted[0], progress.wanted[1] + 1),))

    monkeypatch.setattr(segments, "advance", claim_more)
    with pytest.raises(LakeError, match=r"payments: coverage of .* came from pages asked for"):
        begun.extract(workers=1, streams=("payments",))
    assert begun.lake.coverage(PAYMENTS) == coverage


def test_rows_that_nobody_asked_for_are_not_kept():
    """I6: a row belongs to the segment that was asked for it."""
    at = OCTOBER.start
    rows = pa.Table.from_pylist(
        [NOTHING | {"id": "x", "paid_at": at}], schema=PAYMENTS.record_schema
    )
    RowBatch(PAYMENTS, rows, 1, progress=(Progress((at, at + 1)),)).check()
    for wanted in ((Progress((at + 1, at + 9)),), ()):
        with pytest.raises(LakeError, match="a row of 2026-10-01T00:00:00Z came from pages"):
            RowBatch(PAYMENTS, rows, 1, progress=wanted).check()


@pytest.mark.parametrize(
    ("groups", "ok"),
    [([[0, 0, 5], [5, 9]], True), ([[0, 5], [4]], False), ([[3, 2]], False), ([[], [1], []], True),
     ([[0, 10]], False), ([[-1]], False)],
)  # fmt: skip
def test_order_is_watched_across_row_groups(groups, ok):
    """Ties are in order; an instant belongs to [0, 10)."""
    order = SortedCheck("a month", (0, 10))
    try:
        for group in groups:
            order.check(np.array(group, np.int64))
    except LakeError:
        assert not ok
    else:
        assert ok


def test_equal_tallies_are_equal_whatever_their_way():
    """A currency that came and went leaves nothing behind."""
    rows = pa.Table.from_pylist(
        [
            NOTHING | {"id": "a", "currency": "btc", "amount": 1},
            NOTHING | {"id": "b", "currency": "eth", "amount": 2},
        ],
        schema=PAYMENTS.record_schema,
    )
    whole, first, second = (control_totals(PAYMENTS, t) for t in (rows, rows[:1], rows[1:]))
    check_totals("a month", "its parts", whole - first, second)
    check_totals("a month", "its parts", first + second, whole)
    check_totals("a month", "nothing", whole - second - first, ControlTotals())
    with pytest.raises(LakeError, match="amount of eth off by -2"):
        check_totals("a month", "its parts", first, whole)


def totals_of(*records: tuple[str, str, int]) -> ControlTotals:
    """Return the totals of payments of an id, a status and an amount."""
    of = [
        NOTHING | {"id": id_, "currency": "btc", "status": status, "amount": amount}
        for id_, status, amount in records
    ]
    return control_totals(PAYMENTS, pa.Table.from_pylist(of, schema=PAYMENTS.record_schema))


OTHERS = {
    "another id": totals_of(("a", "completed", 0), ("c", "completed", 5)),
    "another amount": totals_of(("a", "completed", 0), ("b", "completed", 6)),
    "another status of an amount of 0": totals_of(("a", "disputed", 0), ("b", "completed", 5)),
    "two rows more, whose ids cancel out": totals_of(
        ("a", "completed", 0), ("b", "completed", 5), ("c", "completed", 0), ("c", "completed", 0)
    ),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS.keys())
def test_totals_of_other_rows_are_not_the_same(other):
    """Whatever they have in common: ids, count, sums and groups each count."""
    rows = [("a", "completed", 0), ("b", "completed", 5)]
    whole = totals_of(*rows)
    assert whole.is_same(totals_of(*reversed(rows)))
    assert not whole.is_same(other) and not other.is_same(whole)
