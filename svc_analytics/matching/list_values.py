"""The values of a list: amounts, days and keys, each read in one way or refused by its line.

`1.234` alone is a thousand and some, or one and some: other amounts of the column decide, or
`match.toml` does. So it is with 03/04/2026.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import Any

import pyarrow as pa

from svc_analytics.errors import ConfigError, DataError
from svc_analytics.matching.headings import KEY, Headings, plain, total_words
from svc_analytics.matching.list_file import ListFile
from svc_analytics.money import parse_amount
from svc_analytics.periods import Period
from svc_analytics.periods.calendars import JALALI, find_calendar
from svc_analytics.periods.zones import load_zone
from svc_analytics.schema import MONEY

_SAFE = re.compile(r"-?(0\d*|\d{4,})\.\d+|-?\d+(\.\d{1,2}|\.\d{4,})?")  # meant in one way
_WORDED = re.compile(
    r"(?P<before>[^\d\s.,+()-]*)\s*(?P<number>[-+\d.,'\s]+?)\s*(?P<behind>[^\d\s.,+()-]*)"
)
_SIGNS = {"$": "usd", "€": "eur", "£": "gbp", "₮": "usdt", "₿": "btc"}
_GROUPED = {
    ".": re.compile(r"-?\d{1,3}(,\d{3})+(\.\d+)?"),
    ",": re.compile(r"-?\d{1,3}(\.\d{3})+(,\d+)?"),
}
_ISO = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T ].*)?")
_TURNED = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})(?:[ ,].*)?")
_OFFSET = re.compile(r"(.*?\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?) ?(Z|UTC|[+-]\d{2}:?\d{2})")
_NAMED = ("%d %b %Y", "%b %d, %Y", "%d %B %Y", "%B %d, %Y", "%d-%b-%Y")
_OTHER_DIGITS = {ord(sign): str(n % 10) for n, sign in enumerate("۰۱۲۳۴۵۶۷۸۹٠١٢٣٤٥٦٧٨٩")}
_OTHER_DIGITS |= {ord("٫"): ".", ord("٬"): ",", ord("\u00a0"): " ", ord("\u202f"): " "}
_MOST_DIGITS = 15  # that a number of a spreadsheet holds
_TEXTS = 100  # the place of a key that stands in a text: behind those of the columns
_LAST_JALALI = 1700  # a year before it is one of the Jalali calendar


class _Unread(ValueError):
    """Why a cell cannot be read; its line is added by whoever knows it."""


@dataclass(frozen=True)
class ListValues:
    """The rows of a list with what their cells mean."""

    file: ListFile
    headings: Headings
    kind: str
    period: Period

    def table(self) -> pa.Table:
        """Return the rows: line, day, coin, amounts, status and texts; None where none is."""
        self._refuse_totals()
        count, numbers = len(self.file.lines), ("amount", "fee", "refunded", "debit", "credit")
        columns: dict[str, Any] = {"row": pa.array(range(count), pa.int64())}
        columns["line"] = pa.array(self.file.lines, pa.int64())
        columns["day"] = pa.array(self.days, pa.date32())
        for role in numbers:
            amounts, units = self._amounts(role)
            columns[role] = pa.array(amounts or [None] * count, pa.string()).cast(MONEY)
            if role == "amount":
                columns["coin"] = pa.array(self._coins(units), pa.string())
        columns["status"] = pa.array(self._statuses(), pa.string())
        for role in ("account", "text"):
            columns[role] = pa.array(self._texts(role), pa.string())
        return pa.table(columns)

    def keys(self) -> pa.Table:
        """Return the keys of the rows: those of each column, then those that stand in a text."""
        parts = [
            _keys(slot, place, [(key_of(cell),) for cell in self.file.column(slot)])
            for place, slot in enumerate(self.headings.columns.get(KEY, ()))
        ]
        parts += [
            _keys("text", _TEXTS, [_words(cell) for cell in self.file.column(slot)])
            for slot in self.headings.columns.get("text", ())
        ]
        return pa.concat_tables([_keys("", 0, []), *parts])

    def _cells(self, role: str) -> Sequence[Any]:
        heading = self.headings.of(role)
        return self.file.column(heading) if heading else ()

    def _texts(self, role: str) -> list[str | None]:
        cells = self._cells(role) or [None] * len(self.file.lines)
        return [_text(cell) or None for cell in cells]

    def _refused(self, row: int, why: object) -> ConfigError:
        return self.file.refused(self.file.lines[row], str(why))

    def _refuse_totals(self) -> None:
        """Refuse a row of totals: it would count everything twice."""
        words = total_words()
        for row, cells in enumerate(zip(*self.file.columns, strict=True)):
            first = cells[0] or next((cell for cell in cells if cell not in (None, "")), "")
            if isinstance(first, str) and first.strip(" :*").casefold() in words:
                raise self._refused(row, f"{first!r:.40} is a row of totals: take it away")

    # ---------- days

    @cached_property
    def days(self) -> list[date | None]:
        """The day of each row: of its payment, where it has one."""
        own, paid = self._days_of("day"), self._days_of("paid")
        if not own or not paid:
            return own or paid or [None] * len(self.file.lines)
        return [second or first for first, second in zip(own, paid, strict=True)]

    def _days_of(self, role: str) -> list[date | None]:
        cells = self._cells(role)
        order = self.headings.said.get("day_order") or _day_order(cells)
        days: list[date | None] = []
        known: dict[Any, date | None] = {}
        for row, cell in enumerate(cells):
            if cell not in known:
                try:
                    known[cell] = _day(cell, order, self.period)
                except (_Unread, ValueError, OverflowError) as error:
                    why = str(error) if isinstance(error, _Unread) else f"{cell!r:.40} is no day"
                    raise self._refused(row, why) from error
            days.append(known[cell])
        return days

    # ---------- amounts

    def _amounts(self, role: str) -> tuple[list[str | None], dict[int, str]]:
        """Return each amount of a column as plain text, and by row the currency that it names."""
        cells, units = self._cells(role), dict[int, str]()
        point = self.headings.said.get("decimal") or _decimal_point(cells)
        amounts: list[str | None] = []
        for row, cell in enumerate(cells):
            try:
                amount, unit = _amount(cell, point)
            except (_Unread, DataError, InvalidOperation) as error:
                raise self._refused(row, error) from error
            amounts.append(amount)
            if unit:
                units[row] = unit
        return amounts, units

    def _coins(self, units: Mapping[int, str]) -> Iterator[str | None]:
        """Yield the coin of each row: that of its cell must be that of its column."""
        cells = self._texts("currency")
        said = self.headings.said.get("coin", "").casefold()
        for row, cell in enumerate(cells):
            named = {(cell or "").casefold(), units.get(row, ""), said} - {""}
            if len(named) > 1:
                raise self._refused(row, f"an amount in {' and '.join(sorted(named))}")
            yield next(iter(named), None)

    def _statuses(self) -> Iterator[str | None]:
        """Yield the meaning of each status; all are paid where no column has one."""
        cancelled = self._cells("cancelled") or [None] * len(self.file.lines)
        unsaid = None if self.headings.of("status") else "paid"
        known: dict[str | None, str | None] = {None: unsaid}
        for row, (text, gone) in enumerate(zip(self._texts("status"), cancelled, strict=True)):
            if text not in known:
                known[text] = self._status(row, text or "")
            is_gone = gone and _text(gone) and known[text] != "refunded"
            yield "cancelled" if is_gone else known[text]

    def _status(self, row: int, text: str) -> str:
        word = plain(text).removeprefix("wc ")
        if word in self.headings.words:
            return self.headings.words[word]
        say = f'write "{word}" = "…" below [{self.kind}.words] of match.toml'
        say += ": paid, unpaid, cancelled, expired or refunded"
        raise self._refused(row, f"the status {text!r:.40} is not known: {say}")


def _keys(slot: str, place: int, keys: Sequence[Iterable[str]]) -> pa.Table:
    pairs = [(row, key) for row, each in enumerate(keys) for key in each if key]
    columns = {
        "row": pa.array([row for row, _ in pairs], pa.int64()),
        "slot": pa.array([slot] * len(pairs), pa.string()),
        "place": pa.array([place] * len(pairs), pa.int64()),
        KEY: pa.array([key for _, key in pairs], pa.string()),
    }
    return pa.table(columns)


def _words(cell: Any) -> set[str]:
    """Return the words of a text that may be a key: each has a digit."""
    words = re.findall(r"[A-Za-z0-9][A-Za-z0-9_-]{5,}", str(cell or ""))
    return {word for word in words if not word.isalpha()}


def key_of(cell: Any) -> str:
    """Return a key as text: a # before it is no part of it.

    >>> key_of(" #1001"), key_of(1001.0), key_of(None)
    ('1001', '1001', '')
    """
    return _text(cell).removeprefix("#")


def _text(cell: Any) -> str:
    if isinstance(cell, float):
        cell = int(cell) if cell.is_integer() else "" if cell != cell else cell
    return "" if cell is None else str(cell).strip()


def _amount(cell: Any, point: str) -> tuple[str | None, str]:
    """Return the amount of a cell, exactly, and the currency that it names."""
    if isinstance(cell, str):
        text = cell.strip()
        if _SAFE.fullmatch(text) and point == ".":
            return _exact(text), ""
        return _worded(text.translate(_OTHER_DIGITS), point) if text else (None, "")
    if cell is None or cell != cell:
        return None, ""
    if isinstance(cell, bool) or not isinstance(cell, (int, float, Decimal)):
        raise _Unread(f"{cell!r:.40} is no amount")
    if isinstance(cell, float):
        return _of_float(cell), ""
    return _exact(format(Decimal(cell), "f")), ""


def _exact(text: str) -> str:
    """Return a plain amount, or refuse one that cannot be held exactly."""
    parse_amount(text)
    return text


def _of_float(cell: float) -> str:
    """Return a number of a spreadsheet by its shortest text; refuse more digits than it holds."""
    exact = Decimal(repr(cell))
    if len(exact.normalize().as_tuple().digits) > _MOST_DIGITS:
        raise _Unread(f"{cell!r} has more digits than a number of a spreadsheet holds: as text")
    return _exact(format(exact, "f"))


def _worded(text: str, point: str) -> tuple[str, str]:
    match = _WORDED.fullmatch(text)
    if not match:
        raise _Unread(f"{text!r:.40} is no amount")
    units = {_SIGNS.get(word, word.casefold()) for word in (match["before"], match["behind"])}
    if len(units - {""}) > 1:
        raise _Unread(f"{text!r:.40} names two currencies")
    number = match["number"].replace(" ", "").replace("'", "").removeprefix("+")
    return _exact(_plain_number(number, point)), next(iter(units - {""}), "")


def _plain_number(number: str, point: str) -> str:
    """Return a number with a point and no sign between thousands, where it is meant in one way."""
    if number.isdigit() or number[1:].isdigit():
        return number
    if not point and not _SAFE.fullmatch(number):
        say = 'write decimal = "." or "," in match.toml'
        raise _Unread(f"{number!r:.40} can be read in two ways: {say}")
    point = point or "."
    other = "," if point == "." else "."
    if _GROUPED[point].fullmatch(number):
        number = number.replace(other, "")
    return number.replace(",", ".") if point == "," and "." not in number else number


def _decimal_point(cells: Sequence[Any]) -> str:
    """Return the sign that amounts of a column have before their decimals; "" where none tells."""
    undecided = ""
    for cell in cells:
        if isinstance(cell, str):
            sign = _point_of(cell.translate(_OTHER_DIGITS) if not cell.isascii() else cell)
            if sign in (".", ","):
                return sign
            undecided = undecided or sign
    return "" if undecided else "."


def _point_of(text: str) -> str:
    """Return the decimal sign that a text shows; "?" where it may be either, "" where none is."""
    point, comma = text.rfind("."), text.rfind(",")
    if point < 0 and comma < 0:
        return ""
    if point >= 0 and comma >= 0:
        return "." if point > comma else ","
    sign = "." if point >= 0 else ","
    if text.count(sign) > 1:
        return "," if sign == "." else "."  # it is between thousands
    before, _, behind = text.partition(sign)
    whole, rest = re.sub(r"\D", "", before), re.sub(r"\D", "", behind)
    is_grouped = len(rest) == 3 and 0 < len(whole) <= 3 and not whole.startswith("0")
    return "?" if is_grouped else sign


def _day_order(cells: Sequence[Any]) -> str:
    """Return the order of day and month in a column; "" where nothing in it tells."""
    orders = set()
    for cell in {cell for cell in cells if isinstance(cell, str)}:
        if match := _TURNED.fullmatch(cell.strip().translate(_OTHER_DIGITS)):
            if match[2] == "." or int(match[1]) > 12:
                orders.add("DMY")
            elif int(match[3]) > 12:
                orders.add("MDY")
    return orders.pop() if len(orders) == 1 else ""


def _day(cell: Any, order: str, period: Period) -> date | None:
    if isinstance(cell, datetime):
        return _local(cell, period) if cell.tzinfo else cell.date()
    if isinstance(cell, date):
        return cell
    text = _text(cell)
    if not text:
        return None
    if not isinstance(cell, str):
        raise _Unread(f"{cell!r:.40} is no day: format the column as dates")
    return _written_day(text.translate(_OTHER_DIGITS), order, period)


def _written_day(text: str, order: str, period: Period) -> date:
    if iso := _ISO.fullmatch(text):
        if offset := _OFFSET.fullmatch(text):
            zone = {"Z": "+00:00", "UTC": "+00:00"}.get(offset[2], offset[2])
            return _local(datetime.fromisoformat(f"{offset[1].replace('/', '-')}{zone}"), period)
        return _date(int(iso[1]), int(iso[2]), int(iso[3]))
    if turned := _TURNED.fullmatch(text):
        return _turned(turned, order, text)
    for form in _NAMED:
        try:
            return datetime.strptime(text, form).date()
        except ValueError:
            continue
    raise _Unread(f"{text!r:.40} is no day")


def _turned(turned: re.Match[str], order: str, text: str) -> date:
    first, second, year = int(turned[1]), int(turned[3]), int(turned[4])
    if not order and first != second:
        say = 'write day_order = "DMY" or "MDY" in match.toml'
        raise _Unread(f"{text!r:.40} can be two days: {say}")
    day, month = (second, first) if order == "MDY" else (first, second)
    return _date(year, month, day)


def _date(year: int, month: int, day: int) -> date:
    if year >= _LAST_JALALI:
        return date(year, month, day)
    calendar = find_calendar(JALALI)
    if not 1 <= day <= 31:
        raise ValueError(day)
    return calendar.first_day(year, month) + timedelta(days=day - 1)


def _local(at: datetime, period: Period) -> date:
    return at.astimezone(load_zone(period.zone)).date()
