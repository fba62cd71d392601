"""Sandboxes with a merchant's history, at noon of 20 November 2026, and lakes compared with them.

A lake is compared with the service that it was extracted from: what it claims is there, once. The
service is the sandbox or the model, and the lake is read as any other tool would.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Protocol

import duckdb

from svc_analytics.instants import parse_instant, to_micros
from svc_analytics.lake.lake import Lake
from svc_analytics.sandbox import Clock, Quirks, Running, Scenario, Service, Store, seed, serve
from svc_analytics.schema import STREAMS, Stream
from tests.support.desks import machine_clock_at

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@contextmanager
def stocked(drawn_by: int, months: int, payments: int, quirks: Quirks | None) -> Iterator[Service]:
    """Have a service with so many payments of so many months, drawn by a seed."""
    with Store() as store:
        seed(store, Scenario(drawn_by, months, payments, until=to_micros(NOW)))
        yield Service(store, Clock(to_micros(NOW)), quirks or Quirks())


@contextmanager
def sandbox(drawn_by: int, months: int, payments: int) -> Iterator[Running]:
    """Serve such a history; this machine's clock agrees with that of the service."""
    with (
        stocked(drawn_by, months, payments, None) as service,
        serve(service) as running,
        machine_clock_at(NOW),
    ):
        yield running


Facts = tuple[Any, ...]  # an id, an instant, a currency, and each amount


class Serving(Protocol):
    def records(self, name: str) -> Iterable[dict[str, Any]]:
        """All that the service has of a stream."""


def held(lake: Lake, stream: Stream) -> list[Facts]:
    """Read a stream's files."""
    files = f"{lake.folder(stream)}/*.parquet"
    facts = f"id, epoch_us({stream.instant}), currency, {', '.join(stream.money)}"
    with duckdb.connect() as connection:
        return connection.execute(f"select {facts} from read_parquet('{files}')").fetchall()


def served(service: Serving, stream: Stream) -> list[Facts]:
    """List what the service has."""
    return [
        (
            record["id"],
            parse_instant(record[stream.instant])[0],
            record["currency"],
            *(None if record[name] is None else Decimal(record[name]) for name in stream.money),
        )
        for record in service.records(stream.name)
    ]


def check_claims(lake: Lake, service: Serving) -> None:
    """What a lake says was read is there, whole and once."""
    for stream in STREAMS.values() if lake.exists else ():
        if not any(lake.folder(stream).glob("*.parquet")):
            continue
        rows = held(lake, stream)
        ids = [facts[0] for facts in rows]
        assert len(ids) == len(set(ids))
        listed = served(service, stream)
        for start, end in lake.coverage(stream).read:
            there = {facts for facts in rows if start <= facts[1] < end}
            assert there == {facts for facts in listed if start <= facts[1] < end}


def check_all(lake: Lake, service: Serving) -> None:
    """All that the service has is in the lake, once, to the last digit."""
    for stream in STREAMS.values():
        assert sorted(held(lake, stream)) == sorted(served(service, stream))
