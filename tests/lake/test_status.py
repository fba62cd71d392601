"""The status of a lake: what its files say of themselves, without a record read."""

from svc_analytics.instants import parse_instant
from svc_analytics.lake.status import lake_status
from tests.support.desks import Desk
from tests.support.fake_service import FakeService


def test_the_status_tells_what_is_there(desk: Desk, history: FakeService) -> None:
    """400 payments every five hours from 25 August, in four months; nine refunds of one instant."""
    desk.extract()
    payments, payouts = lake_status(desk.lake).streams
    paid = sorted(each["paid_at"] for each in history.payments)
    assert (payments.rows, payments.months) == (400, 4)
    assert (payments.first_at, payments.last_at) == tuple(
        parse_instant(at)[0] for at in (paid[0], paid[-1])
    )
    assert payouts.rows == 9 and payouts.first_at == payouts.last_at


def test_the_status_reads_no_record(desk: Desk, history: FakeService) -> None:
    """Of ten years too: it looks at footers alone."""
    desk.extract()
    before = lake_status(desk.lake)
    for file in desk.lake.path.glob("payments/2026-*.parquet"):
        content = bytearray(file.read_bytes())
        content[200] ^= 1
        file.write_bytes(content)
    assert lake_status(desk.lake) == before


def test_a_lake_without_a_record_has_no_first_one(desk: Desk) -> None:
    """And no last one."""
    desk.extract()
    for stream in lake_status(desk.lake).streams:
        assert (stream.rows, stream.first_at, stream.last_at) == (0, None, None)
