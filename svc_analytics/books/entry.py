"""An entry of the merchant's books, and the journal of a month that a file is made of."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction

_NAMED = 8  # coins that a description names


@dataclass(frozen=True)
class EntryLine:
    """One line of an entry: plus is a debit, in the smallest units of the currency."""

    figure: str
    coin: str  # of the wallet's lines; empty otherwise
    account: str
    cents: int
    about: str  # whose figure it is, and of how many records
    tax: str = ""
    units: tuple[str, ...] = ()  # how much of each coin moved

    @property
    def description(self) -> str:
        """What it is about, and how much of each coin moved."""
        return self._naming(min(len(self.units), _NAMED))

    def fitted(self, most: int) -> str:
        """Return the description in so many letters: no amount is cut, coins are left out.

        >>> units = ("0.00990513 btc", "0.028444616005250785 eth")
        >>> EntryLine("sales", "", "4000", -1, "Sales: 2 payments", units=units).fitted(40)
        'Sales: 2 payments, and 2 coins more'
        """
        texts = map(self._naming, range(min(len(self.units), _NAMED), -1, -1))
        return next((text for text in texts if len(text) <= most), self.about)

    def _naming(self, count: int) -> str:
        """Name so many coins, and say how many more there are."""
        left = len(self.units) - count
        more = [f"and {left} coin{'s' * (left > 1)} more"] if left else []
        return ", ".join([self.about, *self.units[:count], *more])


@dataclass(frozen=True)
class Entry:
    """Lines of one day that sum to zero, under an id that stays the same."""

    entry_id: str
    day: date
    narration: str
    lines: tuple[EntryLine, ...]
    rates: str = ""  # that its amounts rest on external rates, and on which; the narration has it


@dataclass(frozen=True)
class Journal:
    """The entries of a period, with what a file says of them."""

    label: str
    first_day: date
    last_day: date
    as_of: int
    entries: tuple[Entry, ...]
    currency: str
    places: int
    settings: Mapping[str, str] = field(default_factory=dict)  # of the preset
    tracking: Mapping[str, str] = field(default_factory=dict)

    @property
    def lines(self) -> Iterator[tuple[Entry, EntryLine]]:
        """Every line, with its entry."""
        return ((entry, line) for entry in self.entries for line in entry.lines)

    @property
    def accounts(self) -> list[str]:
        """The accounts that are booked on, in order."""
        return sorted({line.account for _, line in self.lines})

    def text(self, cents: int, shown: int = 2) -> str:
        """Write an amount with at least so many places."""
        return cents_text(cents, self.places, shown)

    def debit(self, line: EntryLine) -> str:
        """Write a line's amount if it is a debit; empty otherwise."""
        return self.text(line.cents) if line.cents > 0 else ""

    def credit(self, line: EntryLine) -> str:
        """Write a line's amount if it is a credit; empty otherwise."""
        return self.text(-line.cents) if line.cents < 0 else ""


# ---------- Exact amounts into whole cents, so that what summed to zero still does


def share_out(exact: Sequence[Fraction]) -> list[int]:
    """Round amounts that sum to zero to whole numbers that sum to zero: by largest remainder.

    Each is rounded down; those with the largest rests get one more, the first of equals first.

    >>> share_out([Fraction(-10, 3), Fraction(5, 3), Fraction(5, 3)])
    [-3, 2, 1]
    """
    floors = [amount.numerator // amount.denominator for amount in exact]
    rests = [amount - floor for amount, floor in zip(exact, floors, strict=True)]
    order = sorted(range(len(exact)), key=lambda place: (-rests[place], place))
    for place in order[: -sum(floors)]:
        floors[place] += 1
    return floors


def cents_text(cents: int, places: int, shown: int | None = None) -> str:
    """Write an amount of so many smallest units, with more zeros behind them where asked.

    >>> cents_text(-1205, 2), cents_text(7, 2), cents_text(7, 0), cents_text(7, 0, 2)
    ('-12.05', '0.07', '7', '7.00')
    """
    whole, rest = divmod(abs(cents), 10**places)
    digits = (str(rest).rjust(places, "0") if places else "").ljust(shown or 0, "0")
    return f"{'-' if cents < 0 else ''}{whole}{'.' if digits else ''}{digits}"
