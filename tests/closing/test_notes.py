"""What closing a month tells while it works, for a person who waits."""

import svc_analytics as svc
from svc_analytics.instants import parse_bound
from tests.support.closings import Closer
from tests.support.desks import Desk


def test_a_statement_tells_each_form_that_it_writes(desk: Desk) -> None:
    """A workbook and a page take seconds each; tables take none."""
    desk.extract(end=parse_bound("2026-10-20"))
    told: list[str] = []
    made = svc.statement(desk.lake, "2026-09")
    made.save("out", formats=["csv", "json", "journal"], note=told.append)
    assert told == ["writing json", "writing journal"]


def test_closing_a_month_tells_what_it_is_doing(desk: Desk) -> None:
    """In the order of the work."""
    told: list[str] = []

    Closer(desk).close("2026-09", formats=["csv", "json"], note=told.append)
    assert told == ["reading 2026-09 again", "stating 2026-09", "writing json"]
