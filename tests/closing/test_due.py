"""Which months are over is told once: what close takes is what the desk offers to close."""

import pytest

from svc_analytics.closing.due import GRACE_HOURS, months_over
from svc_analytics.closing.states.month_states import month_states
from svc_analytics.closing.verification.verify import verify_statement
from svc_analytics.instants import HOUR
from svc_analytics.periods import CALENDARS, month
from tests.support.closings import Closer, table
from tests.support.fiscal_calendar import FISCAL
from tests.support.prepared import extracted

# In New York the first payment is of August, though the lake's file of it begins in July there.
GRACE = GRACE_HOURS * HOUR
OVER = month("2026-10", "America/New_York").end + GRACE


@pytest.mark.parametrize(("clock", "newest"), [(OVER - 1, "2026-09"), (OVER, "2026-10")])
def test_the_desk_offers_the_months_that_close_takes(
    closer: Closer, clock: int, newest: str
) -> None:
    """From the first record to the last month that ended a day ago, to the microsecond."""
    extracted(closer.desk)
    lake, zone = closer.desk.lake, "America/New_York"
    tiles = month_states(lake, clock, zone, "gregorian")
    offered = [tile.label for tile in reversed(tiles) if tile.can_be_closed]
    assert offered == [each.label for each in months_over(lake, clock, GRACE, zone, None)]
    assert (offered[0], offered[-1]) == ("2026-08", newest)


@pytest.mark.thorough
def test_a_month_of_a_third_calendar_is_closed_and_verified(
    closer: Closer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folder has its own label, and holds the figures of the Gregorian month."""
    monkeypatch.setitem(CALENDARS, FISCAL.name, FISCAL)
    closed, same = closer.close("FY2026-07"), closer.close("2026-10")
    assert closed.folder.name == "FY2026-07" and closed.state == same.state == "sealed"
    assert verify_statement(closed.folder, closer.desk.lake).holds
    expected = [row | {"period": "FY2026-07"} for row in table(same.folder, "summary")]
    assert table(closed.folder, "summary") == expected
