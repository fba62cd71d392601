"""What a chart shows, in sentences that are made from its figures."""

from decimal import ROUND_HALF_UP, Decimal

from svc_analytics.charts.axes import ROUNDED, percent
from svc_analytics.charts.words import calendar_of
from svc_analytics.errors import ConfigError
from svc_analytics.messages import joined
from svc_analytics.periods import CALENDARS, read_label

_WHOLE = Decimal("0.01")  # from here on a share is written in whole percents


def period_name(label: str) -> str:
    """Return the name of a month, a quarter or a year; any other text as it is.

    >>> period_name("2026-10"), period_name("1405-08"), period_name("2026-Q3")
    ('October 2026', 'Aban 1405', 'Q3 2026')
    """
    try:
        return read_label(label, calendar=calendar_of(label)).title
    except (ConfigError, ValueError):
        return label


def month_number(label: str) -> int:
    """Return the place of a month in its year.

    >>> month_number("2026-10")
    10
    """
    return int(label[5:7])


def month_short(label: str) -> str:
    """Return the first letters of a month's name.

    >>> month_short("2026-10")
    'Oct'
    """
    return CALENDARS[calendar_of(label)].months[month_number(label) - 1][:3]


def share(part: Decimal, whole: Decimal) -> str:
    """Write a part of a whole, or a change of it, as a percentage for a sentence.

    >>> share(Decimal("53.4"), Decimal(100)), share(Decimal("0.4"), Decimal(100))
    ('53%', '0.40%')
    """
    ratio = abs(ROUNDED.divide(part, whole))
    if ratio < _WHOLE:
        return percent(ratio)
    return f"{(ratio * 100).quantize(Decimal(1), ROUND_HALF_UP)}%"


def sentences(*said: str) -> str:
    """Return sentences as one text; empty ones are left out."""
    texts = list(filter(None, said))
    return joined("list.sentences", texts) if texts else ""
