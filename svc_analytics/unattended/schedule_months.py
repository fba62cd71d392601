"""By which zone and calendar the schedule closes months, as far as it is known."""

from svc_analytics.closing.due import Reckoning, is_known
from svc_analytics.environment import SettingPlaces, here, variable
from svc_analytics.lake.lake import Lake
from svc_analytics.periods import GREGORIAN
from svc_analytics.unattended.notices import read_notice_log


def scheduled_months(lake: Lake, source: SettingPlaces | None = None) -> Reckoning | None:
    """Return the zone and the calendar of `close --all-due`; None where nothing says them.

    They are those of its settings, else those of its last run, which is kept where somebody is
    told of it. Settings that name none are said by `close` itself, and by `doctor`.
    """
    source = source or here()
    zone, calendar = (source.text(variable("close", name)) for name in ("zone", "calendar"))
    if zone or calendar:
        months = (zone or "UTC", calendar or GREGORIAN)
    elif ran := read_notice_log(lake.path).command("close").months:
        months = (ran[0], ran[1])
    else:
        return None
    return months if is_known(*months) else None
