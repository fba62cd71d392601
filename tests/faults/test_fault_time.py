"""Time in trouble: late records, wrong clocks, a hundred thousand records at once (C)."""

from datetime import UTC, datetime

import httpx
import pytest

from svc_analytics.instants import parse_instant
from svc_analytics.schema import PAYMENTS
from tests.support.closings import Closer, table
from tests.support.desks import Desk
from tests.support.fake_service import payment
from tests.support.model_ledger import assert_same


def test_a_record_older_than_any_overlap_is_found_by_the_close(desk: Desk) -> None:
    """C2: daily runs passed it by; closing reads the month anew before it seals."""
    closer = Closer(desk)
    closer.serve()
    for day in range(8, 12):
        desk.service.now = datetime(2026, 11, day, tzinfo=UTC)
        desk.extract()
    desk.service.payments.append(payment(900, "2026-10-20T00:00:00Z", "7", "0"))
    desk.service.now = datetime(2026, 11, 12, tzinfo=UTC)
    desk.extract()
    assert len(desk.ids()) == len(desk.service.payments) - 1
    folder = closer.close("2026-10").folder
    assert_same(desk)
    sold = {row["currency"]: row["gross_sales"] for row in table(folder, "summary")}
    assert sold["usdt"] == "107"


@pytest.mark.thorough
def test_a_hundred_thousand_records_in_one_microsecond_are_paged_through(desk: Desk) -> None:
    """C4: no instant splits them, so no worker tries to; each is kept once."""
    text = httpx.Response(200, json=payment(0, "2026-10-01T00:00:00Z")).text

    def page(request: httpx.Request) -> httpx.Response | None:
        if not request.url.path.endswith("/payments"):
            return None
        place = int(request.url.params.get("cursor", "0"))
        ids = (f'{{"id":"{n}"' + text[text.index(",") :] for n in range(place, place + 2_500))
        cursor = "null" if place + 2_500 == 100_000 else f'"{place + 2_500}"'
        body = f'{{"data":[{",".join(ids)}],"next_cursor":{cursor}}}'
        return httpx.Response(200, text=body, headers={"content-type": "application/json"})

    desk.service.intercept = page
    at = parse_instant("2026-10-01T00:00:00Z")[0]
    desk.extract(start=at, end=at + 1, streams=("payments",))
    assert len(desk.service.requests) == 2 + 40
    assert desk.ids() == sorted(map(str, range(100_000)))
    assert desk.lake.coverage(PAYMENTS).complete == ((at, at + 1),)
