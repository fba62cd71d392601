"""The days and months on an axis of a Persian picture, in both calendars."""

import re
from collections.abc import Callable
from datetime import date, timedelta

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator

from svc_analytics.charts.axes import picture_width
from svc_analytics.charts.ticks import DayFormatter
from svc_analytics.language.catalogue import Language
from svc_analytics.language.isolation import isolate
from svc_analytics.periods import CALENDARS, GREGORIAN, JALALI
from svc_analytics.render.layout import widest

CALENDARS_NAMED = "Jalali (Gregorian)"  # below an axis of days
_MONTH = re.compile(r"([0-9]{4})-([0-9]{2})(?: (.+))?")
_FIRST_GREGORIAN = 1900  # an earlier year is of the Jalali calendar
_ROOM, _GAP = 0.82, 1.12  # of the picture's width for the ticks; of a label, with what parts it


class DaysOfBoth(DayFormatter):
    """Writes the days of an axis in the Jalali calendar, the Gregorian day below."""

    def __init__(self, form: str, language: Language) -> None:
        """Take the form of the Gregorian day."""
        super().__init__(form)
        self.language = language

    def text(self, day: date) -> str:
        """Return both days, those of a year or more with their years."""
        jalali, gregorian = CALENDARS[JALALI].day_text(day), f"{day:%Y-%m-%d}"
        texts = [jalali, gregorian] if "%Y" in self.form else [jalali[5:], gregorian[5:]]
        above, below = map(self.language.number, texts)
        return f"{above}\n({below})"


def write_dates(axes: Axes, language: Language, worded: Callable[[str], str]) -> None:
    """Write the days and months of the axes in both calendars; `worded` changes other texts."""
    for axis, between in ((axes.xaxis, "\n"), (axes.yaxis, " ")):
        formatter = axis.get_major_formatter()
        if isinstance(formatter, DayFormatter):
            axis.set_major_formatter(DaysOfBoth(formatter.form, language))
        elif isinstance(axis.get_major_locator(), FixedLocator):
            places = list(axis.get_major_locator()())
            texts = formatter.format_ticks(places)
            shown = [_tick(text, language, between, worded) for text in texts]
            axis.set_ticks(places, labels=shown)
    _thin(axes)


def _tick(text: str, language: Language, between: str, worded: Callable[[str], str]) -> str:
    """Return the label of a tick, a month in it with those of the other calendar."""
    lines = text.split("\n")
    found = _MONTH.fullmatch(lines[0])
    beside = months_beside(int(found[1]), int(found[2])) if found else ""
    if not found or not beside:
        return worded(text)
    month = isolate(language.number(f"{found[1]}-{found[2]}"))
    first = f"{month}{between}({isolate(language.number(beside))})"
    marks = [worded(mark) for mark in [found[3], *lines[1:]] if mark]
    return (between if between == " " else "\n").join([first, *marks])


def months_beside(year: int, month: int) -> str:
    """Return the months of the other calendar that a month lies in.

    >>> months_beside(2026, 10), months_beside(1405, 8)
    ('1405-07/08', '2026-10/11')
    """
    own, other = GREGORIAN, JALALI
    if year < _FIRST_GREGORIAN:
        own, other = other, own
    try:
        first = CALENDARS[own].first_day(year, month)
        after = CALENDARS[own].first_day(year + month // 12, month % 12 + 1)
        starts, ends = map(CALENDARS[other].split, (first, after - timedelta(days=1)))
    except (ValueError, OverflowError):  # no month of these calendars
        return ""
    text = f"{starts[0]:04}-{starts[1]:02}"
    return text if starts[:2] == ends[:2] else f"{text}/{ends[1]:02}"


def _thin(axes: Axes) -> None:
    """Keep as many labels below the axes as fit beside one another, the first of them."""
    if not isinstance(axes.xaxis.get_major_locator(), FixedLocator):
        return
    places = list(axes.xaxis.get_major_locator()())
    texts = axes.xaxis.get_major_formatter().format_ticks(places)
    needed = widest(axes.xaxis, texts) * _GAP * len(texts)
    step = -(-needed // (picture_width(axes) * 72 * _ROOM))
    if step > 1:
        axes.set_xticks(places[:: int(step)], texts[:: int(step)])
