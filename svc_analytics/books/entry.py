"""An entry of the merchant's books, and the journal of a month that a file is made of."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date

from svc_analytics.books.cents import cents_text

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

    def text(self, cents: int, shown: int = 2) -> str:
        """Write an amount with at least so many places."""
        return cents_text(cents, self.places, shown)

    def debit(self, line: EntryLine) -> str:
        """Write a line's amount if it is a debit; empty otherwise."""
        return self.text(line.cents) if line.cents > 0 else ""

    def credit(self, line: EntryLine) -> str:
        """Write a line's amount if it is a credit; empty otherwise."""
        return self.text(-line.cents) if line.cents < 0 else ""
