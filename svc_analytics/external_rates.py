"""Exchange rates that a person gives from outside: a CSV file, `rates.csv` in the lake.

A line says what one unit of its base was on a day, in US dollars or from them, and who says so. The
service knows no such rate, so each figure that rests on one is called external. A day counts by its
own line, unless the merchant wrote down that the last one published before it holds.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from svc_analytics.config import RATES_FILE, read_rates_gaps
from svc_analytics.errors import ConfigError, DataError
from svc_analytics.lake.typed_files import TypedRow, read_head, read_rows
from svc_analytics.money import SCALE, format_amount, parse_amount, round_half_up
from svc_analytics.periods.calendars import GREGORIAN, find_calendar

QUOTED = ("date", "base", "currency", "rate", "source")
COLUMNS = (*QUOTED, "places")
OPTIONAL = ("base", "places")
USD = "USD"

_USUAL_PLACES = 2
_PLACES = {"IRT": 0}  # of currencies that nobody writes with two
_NAMES = {"TOMAN": "IRT"}  # of currencies, in the place of their codes
_CODE = re.compile(r"[A-Z]{3}\Z")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
_MONTHS = find_calendar(GREGORIAN).months
_WORDED = re.compile(r"(?P<day>[0-9]{1,2}) (?P<month>[A-Z][a-z]+) (?P<year>[0-9]{4})\Z")
_YEARS = range(1900, 2200)  # a Jalali year is none of these
_NAMED = 5  # days that an error names
_OLDEST = 10  # days that a rate may be carried over: bank holidays, and no forgotten file
# How the European Central Bank publishes all its rates in one table: what 1 euro was.
_OF_BANK = ("Date", USD, "JPY")
_BANK, _BANKS_BASE = "European Central Bank", "EUR"
_NO_RATE = ("", "N/A")  # in a cell of a table
_TURNED = Fraction(11, 10)  # a rate that is nearer to the inverse of the day before by so much


@dataclass(frozen=True)
class ExternalRate:
    """What a currency was on a day, as its source quotes it, and who says so.

    One unit of `base` was `rate` of the currency, and `dollars` of US dollars.
    """

    day: date
    currency: str
    rate: Decimal
    source: str
    base: str = USD
    dollars: Decimal = Decimal(1)

    @property
    def per_usd(self) -> Fraction:
        """How many units of the currency 1 USD was, exactly."""
        return Fraction(self.rate) / Fraction(self.dollars)

    @property
    def lines(self) -> list[tuple[str, ...]]:
        """The rate as lines of a file of rates: day, base, currency, rate, source."""
        return [
            (self.day.isoformat(), self.base, of, format_amount(number), self.source)
            for number, of in ((self.rate, self.currency), (self.dollars, USD))
            if of != self.base
        ]

    @property
    def quotation(self) -> str:
        """The rate as it is quoted.

        >>> rate = ExternalRate(date(2026, 10, 30), "EUR", Decimal(1), "", "EUR", Decimal("1.16"))
        >>> rate.quotation
        '1 EUR = 1.16 USD'
        """
        return " = ".join([f"1 {self.base}", *(f"{rate} {of}" for _, _, of, rate, _ in self.lines)])

    @property
    def text(self) -> str:
        """The rate in words.

        >>> ExternalRate(date(2026, 10, 31), "EUR", Decimal("0.9200"), "ECB").text
        '1 USD = 0.92 EUR on 2026-10-31 (ECB)'
        """
        return f"{self.quotation} on {self.day} ({self.source})"

    @property
    def quoted_by(self) -> str:
        """Its source, and how that quotes it where it does not say what 1 USD was."""
        return self.source if self.base == USD else f"{self.source}: {self.quotation}"

    def convert(self, usd: Decimal) -> Fraction:
        """Return an amount of US dollars in the currency, exactly: nothing is rounded.

        >>> ExternalRate(date(2026, 10, 31), "EUR", Decimal("0.92"), "ECB").convert(Decimal("1.05"))
        Fraction(483, 500)
        """
        return Fraction(usd) * self.per_usd

    def to_json(self) -> dict[str, str]:
        """Return the rate as files keep it."""
        rate, day = format_amount(self.rate), self.day.isoformat()
        facts = {"date": day, "currency": self.currency, "rate": rate, "source": self.source}
        if self.base == USD:
            return facts
        return {**facts, "base": self.base, "dollars": format_amount(self.dollars)}


@dataclass(frozen=True)
class ExternalRates:
    """The rates of one currency, by day, and how many decimal places its amounts have."""

    currency: str
    places: int
    by_day: Mapping[date, ExternalRate]
    file: str = RATES_FILE  # as errors name it
    is_carried: bool = False  # whether a day without a rate has that of the last day before

    @property
    def name(self) -> str:
        """The currency as people read it: its code, but of the toman, whose code few know."""
        return next(
            (name.lower() for name, code in _NAMES.items() if code == self.currency), self.currency
        )

    def on(self, day: date) -> ExternalRate:
        """Return the rate of a day; raise `ConfigError` where the file has none."""
        return self.of([day])[0]

    def of(self, days: Iterable[date]) -> list[ExternalRate]:
        """Return the rates of these days, each once, in their order.

        Raises `ConfigError` naming the days that the file has no rate for.
        """
        rates = {day: self.find(day) for day in sorted({*days})}
        if missing := [day for day, rate in rates.items() if rate is None]:
            raise ConfigError(self._why_missing(missing))
        return [rate for rate in rates.values() if rate]

    def find(self, day: date) -> ExternalRate | None:
        """Return the rate of a day, by the merchant's rule that of a day before; else None."""
        for age in range(_OLDEST + 1 if self.is_carried else 1):
            if rate := self.by_day.get(before := day - timedelta(days=age)):
                source = f"{rate.source}, published {before}" if age else rate.source
                return replace(rate, day=day, source=source)
        return None

    def to_json(self) -> dict[str, Any]:
        """Return the rates as files keep them; `parse_rates` reads them again."""
        rates = [each.to_json() for _, each in sorted(self.by_day.items())]
        return {"currency": self.currency, "places": self.places, "rates": rates}

    def only(self, days: Iterable[date]) -> "ExternalRates":
        """Return the rates of these days alone; raise `ConfigError` as `of` does."""
        return replace(self, by_day={each.day: each for each in self.of(days)})

    def rounded(self, amount: Decimal | Fraction) -> Decimal:
        """Round an amount of the currency half up to its places.

        >>> ExternalRates("EUR", 2, {}).rounded(Decimal("-0.125"))
        Decimal('-0.13')
        """
        return round_half_up(Fraction(amount), self.places)

    def _why_missing(self, days: list[date]) -> str:
        named = ", ".join(map(str, days[:_NAMED]))
        more = f" and {len(days) - _NAMED:,} days more" if len(days) > _NAMED else ""
        line = f"{days[0]},{self.currency},RATE,SOURCE"
        why = (
            f"nor for {_OLDEST} days before"
            if self.is_carried
            else "no rate is carried over from another day unless SVC_RATES_GAPS says so"
        )
        return (
            f"{self.file} has no rate of {self.currency} for {named}{more}: "
            f"write a line for each day, as {line}; {why}"
        )


@dataclass(frozen=True)
class _Quote:
    """One unit of a base in a currency on a day, and where that stands."""

    base: str
    currency: str
    rate: Decimal
    source: str
    row: TypedRow

    @property
    def text(self) -> str:
        return f"1 {self.base} = {format_amount(self.rate)} {self.currency}"


_Days = dict[date, dict[tuple[str, str], _Quote]]


def read_rates(path: Path, currency: str) -> ExternalRates:
    """Read the rates of a currency, a code of three letters or a name, from a file of a person's.

    The file has a line for each day and currency, or is the table of the European Central Bank.
    Raises `ConfigError` naming the first line of the file that is wrong, of any currency, and
    how to write it; also where there is no file, or no rate of the currency in it.
    """
    code = currency_code(currency)
    if not path.is_file():
        needed = "write its lines as date,currency,rate,source, or name another file by --rates"
        raise ConfigError(f"there is no rate file {path}: {needed}")
    head = read_head(path)
    is_table = bool(head) and all(_CODE.match(name) for name in head[1:])
    places: dict[str, int] = {}
    quotes = _read_table(path, head, {code, USD}) if is_table else _read_lines(path, places)
    known = {one for day in quotes.values() for pair in day for one in pair} - {USD}
    rates = {one: _rates_of(one, quotes) for one in sorted(known)}
    if not rates.get(code):
        text = ", ".join(sorted({one for one in known if rates[one]})) or "no line"
        raise ConfigError(f"{path} has no rate of {code}: it has {text}")
    number = places.get(code, _PLACES.get(code, _USUAL_PLACES))
    return ExternalRates(code, number, rates[code], str(path), read_rates_gaps())


def _read_lines(path: Path, places: dict[str, int]) -> _Days:
    """Read a file with a line for each day and currency, and how many places each has."""
    quotes: _Days = {}
    for row in read_rows(path, COLUMNS, OPTIONAL):
        day, quote = _read_row(row)
        own = quotes.setdefault(day, {})
        pair = (quote.base, quote.currency)
        if before := own.get(pair) or own.get(pair[::-1]):
            raise row.refused(f"a second rate of this day, besides {before.text}: keep one")
        own[pair] = quote
        _add_places(places, row)
    return quotes


def _read_table(path: Path, head: list[str], wanted: set[str]) -> _Days:
    """Read the table of the European Central Bank: of each day a row, what 1 euro was."""
    if tuple(head[:3]) != _OF_BANK or _BANKS_BASE in head:
        first = "date,base,currency,rate,source"
        raise ConfigError(
            f"{path} is a table of rates that does not say what 1 unit of which currency was: "
            f"only that of the European Central Bank is read as it is; write its lines as {first}"
        )
    quotes: _Days = {}
    for row in read_rows(path, head):
        try:
            day = _day(row.cells["Date"])
            own = {name: row.cells[name] for name in head[1:] if name in wanted}
            rates = {name: _rate(text) for name, text in own.items() if text not in _NO_RATE}
        except DataError as error:
            raise row.refused(error) from error
        if quotes.get(day):
            raise row.refused("a second row of this day: keep one")
        quotes[day] = {
            (_BANKS_BASE, name): _Quote(_BANKS_BASE, name, rate, _BANK, row)
            for name, rate in rates.items()
        }
    return quotes


def _rates_of(code: str, quotes: _Days) -> dict[date, ExternalRate]:
    """Return the rates of a currency by day; refuse one that was turned upside down."""
    rates: dict[date, ExternalRate] = {}
    for day, own in sorted(quotes.items()):
        ways = [*_ways(code, day, own)]
        for _, quote in ways[1:]:
            raise quote.row.refused(f"{ways[0][1].text} and {quote.text}: keep one way to {code}")
        for rate, quote in ways:
            _require_same_way([*rates.values()][-1:], rate, quote)
            rates[day] = rate
    return rates


def _ways(
    code: str, day: date, own: Mapping[tuple[str, str], _Quote]
) -> Iterable[tuple[ExternalRate, _Quote]]:
    """Yield the rates of a currency on a day: quoted with dollars, else by way of a base."""
    direct = [own[pair] for pair in ((USD, code), (code, USD)) if pair in own]
    for quote in direct:
        yield _rate_of(quote, day), quote
    for (base, currency), quote in own.items() if not direct else ():
        if currency == code and (base, USD) in own:
            rate = _rate_of(quote, day)
            yield replace(rate, base=base, dollars=own[base, USD].rate), quote


def _rate_of(quote: _Quote, day: date) -> ExternalRate:
    if quote.currency != USD:
        return ExternalRate(day, quote.currency, quote.rate, quote.source, quote.base)
    return ExternalRate(day, quote.base, Decimal(1), quote.source, quote.base, quote.rate)


def _require_same_way(before: list[ExternalRate], rate: ExternalRate, quote: _Quote) -> None:
    """Refuse a rate that is clearly nearer to the inverse of the day before than to its rate."""
    for last in before:
        is_steady, is_turned = (
            max(ratio, 1 / ratio)
            for ratio in (rate.per_usd / last.per_usd, rate.per_usd * last.per_usd)
        )
        if is_steady > is_turned * _TURNED:
            other = f"1 {quote.currency} = {format_amount(quote.rate)} {quote.base}"
            raise quote.row.refused(
                f"{rate.quotation} turns the rate of {last.day} upside down ({last.quotation}): "
                f"if it is {other}, write base {quote.currency} and currency {quote.base}"
            )


def currency_code(text: str) -> str:
    """Return the code of a currency as a person names it.

    >>> currency_code("eur"), currency_code("Toman")
    ('EUR', 'IRT')
    """
    code = _NAMES.get(text.strip().upper(), text.strip().upper())
    if not _CODE.match(code) or code == "USD":
        message = (
            f"{text!r:.40} cannot be shown beside USD: write a code such as EUR, or IRT for toman"
        )
        raise ConfigError(message)
    return code


def parse_rates(facts: Mapping[str, Any]) -> ExternalRates:
    """Read the rates that `to_json` wrote; raise `ConfigError` where that cannot be."""
    try:
        rates = [
            ExternalRate(
                _day(each["date"]),
                each["currency"],
                _rate(each["rate"]),
                each["source"],
                each.get("base", USD),
                _rate(each.get("dollars", "1")),
            )
            for each in facts["rates"]
        ]
        by_day = {each.day: each for each in rates}
        code, places = currency_code(facts["currency"]), int(facts["places"])
        if not 0 <= places <= SCALE or {each.currency for each in rates} - {code}:
            raise DataError("of another currency, or too many places")
        return ExternalRates(code, places, by_day)
    except (ConfigError, KeyError, TypeError, ValueError, AttributeError, DataError) as error:
        raise ConfigError(f"these are no rates: {facts!r:.60}") from error


def _read_row(row: TypedRow) -> tuple[date, _Quote]:
    cells = row.cells
    if empty := [name for name in COLUMNS if name not in OPTIONAL and not cells[name]]:
        raise row.refused(f"{empty[0]} is empty")
    base, currency = cells["base"] or USD, cells["currency"]
    for name, code in (("base", base), ("currency", currency)):
        if not _CODE.match(code) or base == currency:
            raise row.refused(f"{name} {code!r:.40} is no code such as EUR, or IRT for toman")
    try:
        rate = _rate(cells["rate"])
        return _day(cells["date"]), _Quote(base, currency, rate, cells["source"], row)
    except DataError as error:
        raise row.refused(error) from error


def _day(text: str) -> date:
    """Return a day that is written as 2026-10-31 or 31 October 2026, of the Gregorian calendar."""
    try:
        if words := _WORDED.match(text):
            number = _MONTHS.index(words["month"]) + 1
            text = f"{words['year']}-{number:02}-{int(words['day']):02}"
        day = date.fromisoformat(text if _DATE.match(text) else "")
    except ValueError as error:
        raise DataError(f"date {text!r:.40} is no day: write it as 2026-10-31") from error
    if day.year not in _YEARS:
        raise DataError(f"date {text} is not of the Gregorian calendar: write it as 2026-10-31")
    return day


def _rate(text: str) -> Decimal:
    """Return a rate, which is above zero."""
    try:
        rate = parse_amount(text)
    except DataError as error:
        hint = "write the digits 0 to 9 with a point, as 0.92, and without separators"
        raise DataError(f"rate: {error}; {hint}") from error
    if rate <= 0:
        raise DataError(f"rate {text} is not above zero: write how many units 1 of its base is")
    return rate


def _add_places(places: dict[str, int], row: TypedRow) -> None:
    """Note how many places a currency has, which its lines say alike or not at all."""
    currency, text = row.cells["currency"], row.cells["places"]
    currency = row.cells["base"] if currency == USD else currency
    usual = places.get(currency, _PLACES.get(currency, _USUAL_PLACES))
    if text and not (re.fullmatch("[0-9]{1,2}", text) and int(text) <= SCALE):
        raise row.refused(f"places {text!r:.40} is no number from 0 to {SCALE}")
    if text and currency in places and int(text) != usual:
        why = f"places of {currency} is {text} here and {usual} in a line above"
        raise row.refused(f"{why}: write the same in each line")
    places[currency] = int(text) if text else usual
