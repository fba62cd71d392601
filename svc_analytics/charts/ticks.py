"""Labels of the ticks of axes of amounts and of days. It loads matplotlib."""

from collections.abc import Sequence
from datetime import date
from decimal import Decimal

from matplotlib.ticker import Formatter

from svc_analytics.money import format_amount, group_digits


class AmountFormatter(Formatter):
    """Writes ticks as plain amounts: no exponent, thousands separators, the same places."""

    def __call__(self, value: float, pos: int | None = None) -> str:
        """Return the label of one tick, with the places that all ticks of the axis have."""
        return tick_texts([*self.locs, value])[-1]

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """Return the labels of all ticks of an axis."""
        return tick_texts(values)


class DayFormatter(Formatter):
    """Writes the day numbers of an axis as Gregorian days of a form, such as `%m-%d`."""

    def __init__(self, form: str) -> None:
        """Take the form."""
        self.form = form

    def __call__(self, value: float, pos: int | None = None) -> str:
        """Return the label of one tick."""
        return self.text(date.fromordinal(round(value)))

    def text(self, day: date) -> str:
        """Return the label of a day."""
        return day.strftime(self.form)


def tick_texts(values: Sequence[float]) -> list[str]:
    """Write places on an axis as amounts, all with as many places as the longest needs.

    >>> tick_texts([0.0, 0.005, 0.01]), tick_texts([0.0, 12_500_000.0])
    (['0.000', '0.005', '0.010'], ['0', '12,500,000'])
    """
    texts = [format_amount(Decimal(f"{value:.10g}")) for value in values]
    places = max((len(text.partition(".")[2]) for text in texts), default=0)
    return [group_digits(f"{Decimal(text):.{places}f}") for text in texts]
