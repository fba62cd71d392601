"""Exchange rates that a person gives from outside: a CSV file, `rates.csv` in the lake.

A line says how many units of a currency 1 USD was on a day, and who says so. The service knows
no such rate, so each figure that rests on one is called external. A day counts only by its own
line: no rate is carried over from another day, and none is put between two.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from decimal import ROUND_HALF_UP, Context, Decimal
from pathlib import Path
from typing import Any

from svc_analytics.config import RATES_FILE
from svc_analytics.errors import ConfigError, DataError
from svc_analytics.lake.typed_files import TypedRow, read_rows
from svc_analytics.money import EXACT, SCALE, format_amount, parse_amount

COLUMNS = ("date", "currency", "rate", "source", "places")
OPTIONAL = ("places",)

_USUAL_PLACES = 2
_PLACES = {"IRT": 0}  # of currencies that nobody writes with two
_NAMES = {"TOMAN": "IRT"}  # of currencies, in the place of their codes
_CODE = re.compile(r"[A-Z]{3}\Z")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
_YEARS = range(1900, 2200)  # a Jalali year is none of these
_NAMED = 5  # days that an error names
_HALF_UP = Context(prec=EXACT.prec, rounding=ROUND_HALF_UP)


@dataclass(frozen=True)
class ExternalRate:
    """How many units of a currency 1 USD was on a day, and who says so."""

    day: date
    currency: str
    rate: Decimal
    source: str

    @property
    def text(self) -> str:
        """The rate in words.

        >>> ExternalRate(date(2026, 10, 31), "EUR", Decimal("0.9200"), "ECB").text
        '1 USD = 0.92 EUR on 2026-10-31 (ECB)'
        """
        amount = f"{format_amount(self.rate)} {self.currency}"
        return f"1 USD = {amount} on {self.day} ({self.source})"

    def convert(self, usd: Decimal) -> Decimal:
        """Return an amount of US dollars in the currency, exactly: nothing is rounded.

        >>> ExternalRate(date(2026, 10, 31), "EUR", Decimal("0.92"), "ECB").convert(Decimal("1.05"))
        Decimal('0.9660')
        """
        return EXACT.multiply(usd, self.rate)

    def to_json(self) -> dict[str, str]:
        """Return the rate as files keep it."""
        rate, day = format_amount(self.rate), self.day.isoformat()
        return {"date": day, "currency": self.currency, "rate": rate, "source": self.source}


@dataclass(frozen=True)
class ExternalRates:
    """The rates of one currency, by day, and how many decimal places its amounts have."""

    currency: str
    places: int
    by_day: Mapping[date, ExternalRate]
    file: str = RATES_FILE  # as errors name it

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
        wanted = sorted({*days})
        if missing := [day for day in wanted if day not in self.by_day]:
            raise ConfigError(self._why_missing(missing))
        return [self.by_day[day] for day in wanted]

    def to_json(self) -> dict[str, Any]:
        """Return the rates as files keep them; `parse_rates` reads them again."""
        rates = [each.to_json() for _, each in sorted(self.by_day.items())]
        return {"currency": self.currency, "places": self.places, "rates": rates}

    def only(self, days: Iterable[date]) -> "ExternalRates":
        """Return the rates of these days alone; raise `ConfigError` as `of` does."""
        return replace(self, by_day={each.day: each for each in self.of(days)})

    def rounded(self, amount: Decimal) -> Decimal:
        """Round an amount of the currency half up to its places.

        >>> ExternalRates("EUR", 2, {}).rounded(Decimal("-0.125"))
        Decimal('-0.13')
        """
        return amount.quantize(Decimal(1).scaleb(-self.places), context=_HALF_UP)

    def _why_missing(self, days: list[date]) -> str:
        named = ", ".join(map(str, days[:_NAMED]))
        more = f" and {len(days) - _NAMED:,} days more" if len(days) > _NAMED else ""
        line = f"{days[0]},{self.currency},RATE,SOURCE"
        return (
            f"{self.file} has no rate of {self.currency} for {named}{more}: "
            f"write a line for each day, as {line}; no rate is carried over from another day"
        )


def read_rates(path: Path, currency: str) -> ExternalRates:
    """Read the rates of a currency, a code of three letters or a name, from a file of a person's.

    Raises `ConfigError` naming the first line of the file that is wrong, of any currency, and
    how to write it; also where there is no file, or no rate of the currency in it.
    """
    code = currency_code(currency)
    if not path.is_file():
        needed = "write its lines as date,currency,rate,source, or name another file by --rates"
        raise ConfigError(f"there is no rate file {path}: {needed}")
    rates: dict[tuple[str, date], ExternalRate] = {}
    places: dict[str, int] = {}
    for row in read_rows(path, COLUMNS, OPTIONAL):
        rate = _read_row(row)
        if before := rates.get((rate.currency, rate.day)):
            raise row.refused(f"a second rate of this day, besides {before.text}: keep one")
        rates[rate.currency, rate.day] = rate
        _add_places(places, row)
    own = {day: rate for (of, day), rate in rates.items() if of == code}
    if not own:
        known = ", ".join(sorted(places)) or "no line"
        raise ConfigError(f"{path} has no rate of {code}: it has {known}")
    return ExternalRates(code, places[code], own, str(path))


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
            ExternalRate(_day(each["date"]), each["currency"], _rate(each["rate"]), each["source"])
            for each in facts["rates"]
        ]
        by_day = {each.day: each for each in rates}
        code, places = currency_code(facts["currency"]), int(facts["places"])
        if not 0 <= places <= SCALE or {each.currency for each in rates} - {code}:
            raise DataError("of another currency, or too many places")
        return ExternalRates(code, places, by_day)
    except (ConfigError, KeyError, TypeError, ValueError, AttributeError, DataError) as error:
        raise ConfigError(f"these are no rates: {facts!r:.60}") from error


def _read_row(row: TypedRow) -> ExternalRate:
    cells = row.cells
    if empty := [name for name in COLUMNS if name not in OPTIONAL and not cells[name]]:
        raise row.refused(f"{empty[0]} is empty")
    currency = cells["currency"]
    if not _CODE.match(currency) or currency == "USD":
        raise row.refused(f"currency {currency!r:.40} is no code such as EUR, or IRT for toman")
    try:
        return ExternalRate(_day(cells["date"]), currency, _rate(cells["rate"]), cells["source"])
    except DataError as error:
        raise row.refused(error) from error


def _day(text: str) -> date:
    """Return a day that is written as 2026-10-31, of the Gregorian calendar."""
    try:
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
        raise DataError(f"rate {text} is not above zero: write how many units 1 USD is")
    return rate


def _add_places(places: dict[str, int], row: TypedRow) -> None:
    """Note how many places a currency has, which its lines say alike or not at all."""
    currency, text = row.cells["currency"], row.cells["places"]
    usual = places.get(currency, _PLACES.get(currency, _USUAL_PLACES))
    if text and not (re.fullmatch("[0-9]{1,2}", text) and int(text) <= SCALE):
        raise row.refused(f"places {text!r:.40} is no number from 0 to {SCALE}")
    if text and currency in places and int(text) != usual:
        why = f"places of {currency} is {text} here and {usual} in a line above"
        raise row.refused(f"{why}: write the same in each line")
    places[currency] = int(text) if text else usual
