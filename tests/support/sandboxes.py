"""Sandboxes with a merchant's history, at noon of 20 November 2026."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from svc_analytics.instants import to_micros
from svc_analytics.sandbox import Clock, Quirks, Running, Scenario, Service, Store, seed, serve
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
