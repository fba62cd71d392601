"""The lake compared with the model service: the oracle of faults.md, I1 to I4 and I6."""

from collections import Counter, defaultdict
from decimal import Decimal
from typing import Any

from svc_analytics.coverage import Spans
from svc_analytics.instants import parse_instant
from svc_analytics.schema import STREAMS, Stream
from tests.support.desks import Desk
from tests.support.fake_service import EXACT

Sums = dict[str, dict[str, Decimal]]


def assert_same(desk: Desk) -> None:
    """Every record of the service is in the lake, once, and every sum is the same."""
    for stream in STREAMS.values():
        served = desk.service.payments if stream.name == "payments" else desk.service.payouts
        rows = desk.rows(stream.name)
        assert Counter(row["id"] for row in rows) == Counter(record["id"] for record in served)
        assert sums(stream, rows) == sums(stream, served)


def assert_no_false_claim(desk: Desk) -> None:
    """Of the time that coverage claims, every record is there; none is there twice."""
    for stream in STREAMS.values():
        served = desk.service.payments if stream.name == "payments" else desk.service.payouts
        held = Counter(row["id"] for row in desk.rows(stream.name))
        claimed = desk.lake.coverage(stream).read
        missing = [record for record in served if is_within(stream, record, claimed)]
        assert {record["id"] for record in missing} <= held.keys()
        assert set(held.values()) <= {1}


def is_within(stream: Stream, record: dict[str, Any], spans: Spans) -> bool:
    instant = parse_instant(record[stream.instant])[0]
    return any(start <= instant < end for start, end in spans)


def sums(stream: Stream, records: list[dict[str, Any]]) -> Sums:
    """Add up each amount of each currency, exactly."""
    found: Sums = defaultdict(lambda: dict.fromkeys(stream.money, Decimal()))
    for record in records:
        own = found[record["currency"]]
        for name in stream.money:
            own[name] = EXACT.add(own[name], Decimal(record[name] or 0))
    return dict(found)
