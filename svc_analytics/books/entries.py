"""Balanced entries in whole cents, one a day or one a month, and an entry for the rounding.

Within an entry, cents are placed by largest remainder. So the entries of a month can miss a
figure by some cents; the last entry of the month adds these, and one line of it, `rounding`, takes
what the figures, each rounded once, do not sum to: at most half a cent for each.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction

from svc_analytics.books.accounts import Accounts
from svc_analytics.books.entry import Entry, EntryLine, share_out
from svc_analytics.books.movements import (
    FIGURES,
    NOUNS,
    ROUNDING,
    UNEXPLAINED,
    WALLET,
    Key,
    Movements,
    Sum,
)
from svc_analytics.errors import ConfigError
from svc_analytics.external_rates import ExternalRates
from svc_analytics.money import EXACT, format_amount, round_half_up

DAY, MONTH = "day", "month"
PROVISIONAL = "PROVISIONAL: "
Place = tuple[str, str]  # a line's figure, and its coin if it is of the wallet


@dataclass(frozen=True)
class Booking:
    """How a month is booked: whose accounts, in which currency, an entry for what."""

    label: str
    last_day: date
    accounts: Accounts
    by: str = DAY
    rates: ExternalRates | None = None  # None where the books are in US dollars
    is_provisional: bool = False

    @property
    def places(self) -> int:
        """The decimal places of the currency of the books."""
        return self.rates.places if self.rates else 2

    def in_cents(self, usd: Decimal, day: date) -> Fraction:
        """Return an amount of US dollars in the smallest unit of the books' currency, exactly."""
        amount = self.rates.on(day).convert(usd) if self.rates else Fraction(usd)
        return amount * Fraction(10**self.places)

    def rates_of(self, day: date | None) -> str:
        """Say that rates came from outside, and which where an entry is of one day."""
        if self.rates is None:
            return ""
        if day is None or self.by != DAY:
            return f"external rates of {self.rates.currency}"
        return f"external rate {self.rates.on(day).text}"

    def entry_id(self, name: str) -> str:
        """Return the id of an entry, which stays the same however often it is made."""
        return f"{self.accounts.prefix}-{name}"

    @property
    def month(self) -> str:
        """The label without the zone, short enough for an id."""
        return self.label.partition("@")[0]


@dataclass
class _Post:
    """The makings of a line: its exact amount, the records, and the coins that they moved."""

    exact: Fraction = Fraction(0)
    count: int = 0
    units: dict[str, Decimal] = field(default_factory=dict)

    def add(self, exact: Fraction, coin: str, sums: Sum) -> None:
        self.exact += exact
        self.count += sums.count
        self.units[coin] = EXACT.add(self.units.get(coin, Decimal(0)), sums.units)


Posts = dict[Place, _Post]


def make_entries(movements: Movements, booking: Booking) -> tuple[Entry, ...]:
    """Return the entries of a month; raise `ConfigError` where a figure has no account."""
    wanted = places_of(movements)
    if missing := booking.accounts.missing([*wanted, (ROUNDING, "")]):
        raise ConfigError(f"no account for {'; '.join(missing)}")
    groups = _groups(movements.sums, booking)
    entries = [_entry(name, day, posts, booking) for (name, day), posts in groups.items()]
    rounding = _rounding(groups.values(), entries, booking)
    return tuple(entry for entry in (*entries, rounding) if entry.lines)


def places_of(movements: Movements) -> set[Place]:
    """Return the figures, and the coins of the wallet, that entries of a month will have."""
    return {_place(figure, coin) for _, figure, coin in movements.sums}


def _place(figure: str, coin: str) -> Place:
    return (figure, coin if figure == WALLET else "")


def _groups(sums: Mapping[Key, Sum], booking: Booking) -> dict[tuple[str, date], Posts]:
    """Return the posts of each entry, by the end of its id and its day, in order."""
    groups: dict[tuple[str, date], Posts] = {}
    for (day, figure, coin), each in sorted(sums.items()):
        is_daily = booking.by == DAY
        name = (day.isoformat(), day) if is_daily else (booking.month, booking.last_day)
        posts = groups.setdefault(name, defaultdict(_Post))
        posts[_place(figure, coin)].add(booking.in_cents(each.usd, day), coin, each)
    return groups


def _ordered(places: Iterable[Place]) -> list[Place]:
    return sorted(places, key=lambda place: (FIGURES.index(place[0]), place[1]))


def _entry(name: str, day: date, posts: Posts, booking: Booking) -> Entry:
    places = _ordered(posts)
    cents = share_out([posts[place].exact for place in places])
    lines = [
        replace(
            _line(place, amount, _about(place[0], posts[place].count), booking),
            units=_units(place[0], posts[place]),
        )
        for place, amount in zip(places, cents, strict=True)
        if amount
    ]
    rates = booking.rates_of(day)
    about = f"Payments, refunds and payouts of {name}"
    return _entry_of(booking, (name, day), about, lines, rates)


def _entry_of(
    booking: Booking, key: tuple[str, date], about: str, lines: Iterable[EntryLine], rates: str
) -> Entry:
    name, day = key
    narration = f"{_mark(booking)}{', '.join(filter(None, [about, rates]))}"
    return Entry(booking.entry_id(name), day, narration, tuple(lines), rates)


def _line(place: Place, cents: int, about: str, booking: Booking) -> EntryLine:
    figure, coin = place
    account = booking.accounts.account(figure, coin) or ""
    text, tax = f"{_mark(booking)}{about}", booking.accounts.tax_code(figure)
    return EntryLine(figure, coin, account, cents, text, tax)


def _mark(booking: Booking) -> str:
    return PROVISIONAL if booking.is_provisional else ""


def _about(figure: str, count: int) -> str:
    """Say which figure a line is of, and how many records."""
    noun = NOUNS[figure] if count == 1 else f"{NOUNS[figure]}s"
    return f"{figure.replace('_', ' ').capitalize()}: {count} {noun}"


def _units(figure: str, post: _Post) -> tuple[str, ...]:
    """Say how much of each coin a line is of."""
    is_signed = figure in (WALLET, UNEXPLAINED)
    return tuple(
        f"{format_amount(units if is_signed else units.copy_abs())} {coin}"
        for coin, units in sorted(post.units.items())
    )


def _rounding(groups: Iterable[Posts], entries: Iterable[Entry], booking: Booking) -> Entry:
    """Return the entry after which each figure of the month is its exact sum, rounded once."""
    left = {place: int(round_half_up(exact, 0)) for place, exact in _totals(groups).items()}
    for entry in entries:
        for line in entry.lines:
            left[line.figure, line.coin] -= line.cents
    text = f"Cents of {booking.label}"
    lines = [_line(place, left[place], text, booking) for place in _ordered(left) if left[place]]
    if total := sum(left.values()):
        lines.append(_line((ROUNDING, ""), -total, f"Rounding of {booking.label}", booking))
    key = (f"{booking.month}-R", booking.last_day)
    return _entry_of(booking, key, f"Rounding of {booking.label}", lines, booking.rates_of(None))


def _totals(groups: Iterable[Posts]) -> dict[Place, Fraction]:
    totals: dict[Place, Fraction] = defaultdict(Fraction)
    for posts in groups:
        for place, post in posts.items():
            totals[place] += post.exact
    return totals
