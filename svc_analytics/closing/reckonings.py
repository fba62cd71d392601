"""The zones and calendars by which months are told: the schedule's, and all sealed ones.

Those of the schedule alarm, where a month of theirs is over and not sealed. Any other that has a
seal is counted and shown too: one seal in another calendar must not hide what is due in the usual.
"""

from contextlib import suppress

from svc_analytics.closing import seals
from svc_analytics.errors import ConfigError
from svc_analytics.lake.lake import Lake
from svc_analytics.periods import GREGORIAN, find_calendar, load_zone

Reckoning = tuple[str, str]  # a zone and a calendar, by which months are told
USUAL: Reckoning = ("UTC", GREGORIAN)


def reckonings(lake: Lake, scheduled: Reckoning | None = None) -> list[Reckoning]:
    """Return the zones and calendars whose months are told, that of the schedule first.

    Where nothing says what is scheduled it is UTC, unless months are sealed in others alone:
    then it is that of the newest.
    """
    manifests = [manifest for _, manifest in seals.all_sealed(lake.path / seals.STATEMENTS)]
    manifests.sort(key=lambda each: str(each.get("end")), reverse=True)
    pairs = dict.fromkeys((each["zone"], each["calendar"]) for each in manifests)
    sealed = [pair for pair in pairs if is_known(*pair)]
    if scheduled is None:
        scheduled = USUAL if USUAL in sealed or not sealed else sealed[0]
    return [*dict.fromkeys([scheduled, *sealed])]


def is_known(zone: str, calendar: str) -> bool:
    """Whether there are such a zone and calendar: a manifest may have been altered."""
    with suppress(ConfigError):
        return bool(load_zone(zone) and find_calendar(calendar))
    return False
