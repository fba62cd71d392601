"""Watch the run of a command that a timer starts: who is told of it, and where it is measured."""

from svc_analytics.cli.console import echo_warning
from svc_analytics.closing.due import Reckoning
from svc_analytics.config import read_data_dir
from svc_analytics.lake.lake import Lake
from svc_analytics.language.catalogue import Language
from svc_analytics.unattended.notifiers import read_watching
from svc_analytics.unattended.watch import Watch


def watched(
    command: str,
    data_dir: str | None,
    months: Reckoning | None = None,
    period: str = "",
    language: Language | None = None,
) -> Watch:
    """Return the watch of a run, for `with`; without settings of notices it does nothing.

    `months` is the zone and the calendar of the months that are to be sealed, if any are, and
    `period` the folder's name of the one period that is.
    """

    def place() -> Lake:
        return Lake(read_data_dir(data_dir))

    words = language or Language()
    return Watch(command, place, read_watching(), echo_warning, months, period, words)
