"""What several unit tests are made of: pages, a clock that never really waits, examples."""

import json
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, settings

from svc_analytics import Client, Secret, Settings
from svc_analytics.api.rate_limiter import RateLimiter
from svc_analytics.records.bulk_parser import parse_alone, scan_page
from svc_analytics.records.page import Page, parse_page
from svc_analytics.records.record_parser import Records
from svc_analytics.schema import PAYMENTS, Stream
from tests.support.fake_service import BASE_URL, CHECKOUT_KEY, PAYOUT_KEY, FakeService

PERSIAN = {ord("0") + n: 0x6F0 + n for n in range(10)}  # digits, for str.translate
AT = 1_790_000_000_000_000  # when the pages of these tests were read

# How many examples is the ring's to say.
examples = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None)


def body_of(*records: bytes, cursor: bytes = b"null") -> bytes:
    """Make the body of a page from the exact bytes of its records."""
    return b'{"data":[' + b",".join(records) + b'],"next_cursor":' + cursor + b"}"


def page_of(*records: bytes) -> Page:
    return parse_page(body_of(*records))


def records_of(page: Page, stream: Stream = PAYMENTS, at: int = AT) -> Records:
    """Make rows of a page, by whichever parser it needs."""
    return parse_alone(stream, scan_page(stream, page, at))


def read(*records: bytes, stream: Stream = PAYMENTS) -> Records:
    return records_of(page_of(*records), stream)


def raw(record: dict[str, Any], **members: bytes | None) -> bytes:
    """Write a record compactly, some of its members as the exact bytes given, or not at all."""
    texts = {name: json.dumps(value).encode() for name, value in record.items()} | members
    parts = [b'"%s":%s' % (name.encode(), text) for name, text in texts.items() if text is not None]
    return b"{" + b",".join(parts) + b"}"


class Hours:
    """A clock that only moves when someone waits, and what was waited."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waits: list[float] = []
        self.is_stopped = False

    def clock(self) -> float:
        return self.now

    def wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        self.now += seconds
        return self.is_stopped

    def limiter(self, patience: float = 120) -> RateLimiter:
        return RateLimiter(patience, clock=self.clock, wait=self.wait)


def both_keys(**changes: Any) -> Settings:
    given = {"checkout_key": Secret(CHECKOUT_KEY), "payout_key": Secret(PAYOUT_KEY)}
    return Settings(**({"base_url": BASE_URL} | given | changes))


def client_of(
    service: FakeService, hours: Hours | None = None, patience: float = 120, **changes: Any
) -> Client:
    """Make a client of the model service that never really waits."""
    hours = hours or Hours()
    settings = both_keys(**changes)
    return Client(settings, transport=service.transport, limiter=hours.limiter(patience))


def raised_by(act: Callable[[], object]) -> BaseException:
    """Return what an act raises, with its traceback."""
    try:
        act()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")
