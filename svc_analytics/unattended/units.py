"""The text of systemd's units that close a lake each day, and the line of a crontab.

`templates/close.service` and `templates/close.timer` are the units.
"""

import re
import shlex
from collections.abc import Sequence

from svc_analytics.formatting.text_templates import load_text
from svc_analytics.unattended.scheduled_job import ScheduledJob, credential

_PLAIN = re.compile(r"[A-Za-z0-9_./:@=,+-]+")


def service(job: ScheduledJob) -> str:
    """Return the unit of the close; that of a person's own manager has no mounts of its own."""
    return _unit("close.service", job)


def timer(job: ScheduledJob) -> str:
    """Return the unit of the timer."""
    return _unit("close.timer", job)


def _unit(name: str, job: ScheduledJob) -> str:
    text = load_text(__package__, name, value=_raw, words=_words, credential=credential)
    mounts = [str(job.folder), *job.writable]
    return text.render(job=job, settings=job.settings, mounts=mounts)


def cron_line(job: ScheduledJob) -> str:
    """Return the line of a crontab, in which a percent sign would end the command."""
    hour, minute = job.at.split(":")
    start = f"cd {shlex.quote(str(job.folder))} && {shlex.join(job.words)}"
    return f"{int(minute)} {int(hour)} * * *  {start}".replace("%", r"\%")


def _words(words: Sequence[str]) -> str:
    return " ".join(map(_word, words))


def _word(text: str) -> str:
    """Return a word as systemd reads it back.

    >>> print(_word("/srv/100% net"))
    "/srv/100%% net"
    """
    escaped = _raw(text).replace("\\", "\\\\").replace('"', '\\"')
    return escaped if _PLAIN.fullmatch(text) else f'"{escaped}"'


def _raw(text: object) -> str:
    """Return a text for a line that is one value, in which only `%` means something."""
    return str(text).replace("%", "%%")
