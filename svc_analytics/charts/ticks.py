"""Labels of the ticks of axes of amounts and of days. It loads matplotlib."""

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import Formatter, PercentFormatter

from svc_analytics.language.catalogue import ENGLISH, Language
from svc_analytics.money import format_amount, group_digits
from svc_analytics.periods import CALENDARS, JALALI


class WordedAxes(Axes):
    """Axes on which charts write in a language."""

    def __init__(self, *args: Any, language: Language = ENGLISH, **options: Any) -> None:
        """Take what other axes take, and the language."""
        self.language = language
        super().__init__(*args, **options)


class AmountFormatter(Formatter):
    """Writes ticks as plain amounts: no exponent, thousands separators, the same places."""

    def __init__(self, language: Language = ENGLISH) -> None:
        """Take the language whose digits are written."""
        self.language = language

    def __call__(self, value: float, pos: int | None = None) -> str:
        """Return the label of one tick, with the places that all ticks of the axis have."""
        return self.format_ticks([*self.locs, value])[-1]

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """Return the labels of all ticks of an axis."""
        return list(map(self.language.number, tick_texts(values)))


class ShareFormatter(PercentFormatter):
    """Writes ticks as percentages of the same places."""

    def __init__(self, language: Language = ENGLISH) -> None:
        """Take the language whose digits are written."""
        super().__init__(1)
        self.language = language

    def __call__(self, value: float, pos: int | None = None) -> str:
        """Return the label of one tick."""
        return self.language.number(super().__call__(value, pos))


class DayFormatter(Formatter):
    """Writes the day numbers of an axis as Gregorian days of a form, such as `%m-%d`.

    Where a language has the Jalali calendar, its day stands above.
    """

    def __init__(self, form: str, language: Language = ENGLISH) -> None:
        """Take the form and the language."""
        self.form, self.language = form, language

    def __call__(self, value: float, pos: int | None = None) -> str:
        """Return the label of one tick."""
        return self.text(date.fromordinal(round(value)))

    def text(self, day: date) -> str:
        """Return the label of a day."""
        if not self.language.has_jalali:
            return self.language.number(day.strftime(self.form))
        above, below = CALENDARS[JALALI].day_text(day), f"{day:%Y-%m-%d}"
        if "%Y" not in self.form:
            above, below = above[5:], below[5:]
        return f"{self.language.number(above)}\n({self.language.number(below)})"


def tick_texts(values: Sequence[float]) -> list[str]:
    """Write places on an axis as amounts, all with as many places as the longest needs.

    >>> tick_texts([0.0, 0.005, 0.01]), tick_texts([0.0, 12_500_000.0])
    (['0.000', '0.005', '0.010'], ['0', '12,500,000'])
    """
    texts = [format_amount(Decimal(f"{value:.10g}")) for value in values]
    places = max((len(text.partition(".")[2]) for text in texts), default=0)
    return [group_digits(f"{Decimal(text):.{places}f}") for text in texts]
