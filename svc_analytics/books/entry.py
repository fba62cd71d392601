"""An entry of the merchant's books, and the journal of a month that a file is made of."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date

from svc_analytics.books.cents import cents_text


@dataclass(frozen=True)
class Line:
    """One line of an entry: plus is a debit, in the smallest units of the currency."""

    figure: str
    coin: str  # of the wallet's lines; empty otherwise
    account: str
    cents: int
    description: str
    tax: str = ""


@dataclass(frozen=True)
class Entry:
    """Lines of one day that sum to zero, under an id that stays the same."""

    entry_id: str
    day: date
    narration: str
    lines: tuple[Line, ...]


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
    def lines(self) -> Iterator[tuple[Entry, Line]]:
        """Every line, with its entry."""
        return ((entry, line) for entry in self.entries for line in entry.lines)

    def text(self, cents: int, shown: int = 2) -> str:
        """Write an amount with at least so many places."""
        return cents_text(cents, self.places, shown)

    def debit(self, line: Line) -> str:
        """Write a line's amount if it is a debit; empty otherwise."""
        return self.text(line.cents) if line.cents > 0 else ""

    def credit(self, line: Line) -> str:
        """Write a line's amount if it is a credit; empty otherwise."""
        return self.text(-line.cents) if line.cents < 0 else ""
