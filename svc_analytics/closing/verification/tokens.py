"""The numbers, instants and ids that a text says, alike in whatever way they are written.

Signs, separators, digits of another script, percents and rounding are ways of writing.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal

from svc_analytics.formatting.numbers import ROUNDED
from svc_analytics.language.catalogue import jalali_day

_UNSEEN = (0x061C, 0x200E, 0x200F, *range(0x2066, 0x206A))
_LATIN = {
    **dict.fromkeys(_UNSEEN),
    **{start + digit: str(digit) for start in (0x660, 0x6F0) for digit in range(10)},
    0x2212: "-",
    0x066B: ".",
    0x066C: ",",
    0x066A: "%",
}
_TOKEN = re.compile(rf"{ROUNDED}?[\w.,:+-]*\d[\w.,:+%-]*")
_NUMBER = re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?%?")
_INSTANT = re.compile(r"(\d{4}-\d\d-\d\d)?T?((\d\d:\d\d)(:\d\d)?(\.\d+)?)?(Z|\+00(:00)?)?")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
# A cell's number, its format, and a mark if that, or the head of its column, tells it is rounded.
_IN_SHEET = re.compile(rf"(-?[\d.]+(?:E[+-]?\d+)?) \[(.*)\]({ROUNDED}?)")
_IN_SHEETS = Context(prec=15, rounding=ROUND_HALF_UP)  # the digits that a cell of a workbook keeps
_NO_DATE = datetime(1899, 12, 30)  # day 0 of a workbook
_DAY_SECONDS = 86400
# The parts of a format that change no digit.
_LOOK = re.compile(r"\[\$-[0-9A-Fa-f]+\]|_.")
_QUOTED = re.compile('"([\N{MINUS SIGN}-])"')
_DIGITS = re.compile(r"-?(?:#,##0|0)(?:\.(0+))?(%?)")
_CLOCK = re.compile(r"[ymdhs:. /-]+")


@dataclass(frozen=True)
class Value:
    """A number, plain, or the part of an instant or an id that a text says."""

    text: str
    places: int | None = None  # of a number that says it is rounded
    is_short: bool = False  # a number of a workbook's cell: of 15 digits

    @property
    def key(self) -> str:
        """The number, marked where it is rounded."""
        return self.text if self.places is None else f"{ROUNDED}{self.text}"

    def is_in(self, known: Collection[str]) -> bool:
        """Whether it is among known texts, or says one of them in fewer digits."""
        if self.key in known:
            return True
        if self.places is None and not self.is_short:
            return False
        return any(self._says(Decimal(each)) for each in known if _NUMBER.fullmatch(each))

    def _says(self, number: Decimal) -> bool:
        mine = Decimal(self.text)
        if self.places is None:
            return _IN_SHEETS.plus(number) == _IN_SHEETS.plus(mine)
        return abs(number - mine) * 2 <= Decimal(1).scaleb(-self.places)


def values_of(text: str) -> Iterator[Value]:
    """Yield the values in a text, or in a cell of a page or a workbook."""
    if match := _IN_SHEET.fullmatch(text):
        yield from _of_sheet(Decimal(match[1]), match[2], text, is_rounded=bool(match[3]))
        return
    for token in _TOKEN.findall(text.translate(_LATIN)):
        bare = token.lstrip(ROUNDED).rstrip(".,:-").lstrip(".,:")
        if not _NUMBER.fullmatch(bare):
            yield from map(Value, _parts(bare))
            continue
        number = Decimal(bare.rstrip("%").replace(",", ""))
        places = max(-int(number.as_tuple().exponent), 0)
        if bare.endswith("%"):
            number, places = number.scaleb(-2, Context(prec=80)), places + 2
        yield Value(_plain(number), places if token.startswith(ROUNDED) else None)


def _parts(token: str) -> Iterator[str]:
    """Yield the day and the time of an instant; of anything else itself."""
    match = _INSTANT.fullmatch(token)
    if not match:
        yield token
        return
    yield from filter(None, (match[1], match[2]))


def known_texts(texts: Iterable[str]) -> frozenset[str]:
    """Return the values in sealed texts: an instant to the minute too, a day as Jalali too."""
    keys = {value.key for text in texts for value in values_of(text)}
    times = [match for each in keys if ":" in each and (match := _INSTANT.fullmatch(each))]
    keys |= {f"{time[3]}{seconds}" for time in times for seconds in ("", time[4] or "")}
    return frozenset(keys | {jalali_day(each) for each in keys if _DAY.fullmatch(each)})


def negated(texts: Iterable[str]) -> set[str]:
    """Return numbers with the other sign, with every digit.

    >>> negated(["-7999999999999998.999999999999999999", "2026-10"])
    {'7999999999999998.999999999999999999'}
    """
    return {_plain(Decimal(each).copy_negate()) for each in texts if _NUMBER.fullmatch(each)}


def _plain(number: Decimal) -> str:
    return f"{number.normalize(Context(prec=80)):f}" if number else "0"


def _of_sheet(number: Decimal, look: str, cell: str, *, is_rounded: bool) -> Iterator[Value]:
    """Yield the value of a cell, if its format shows it; else the cell, which nothing says."""
    look = _QUOTED.sub(r"\1", _LOOK.sub("", look)).replace("\N{MINUS SIGN}", "-")
    if _CLOCK.fullmatch(look):
        at = _NO_DATE + timedelta(seconds=int((number * _DAY_SECONDS).to_integral_value()))
        yield from map(Value, (f"{at:%Y-%m-%d}", *([f"{at:%H:%M:%S}"] if "h" in look else [])))
    elif _shows(look, number, is_rounded=is_rounded):
        yield Value(_plain(number), is_short=True)
    else:
        yield Value(cell)


def _shows(look: str, number: Decimal, *, is_rounded: bool) -> bool:
    """Whether a format shows a number with its sign, and every digit or that it is rounded."""
    positive, _, negative = look.partition(";")
    match = _DIGITS.fullmatch(positive)
    is_known = match and (not negative or (_DIGITS.fullmatch(negative) and "-" in negative))
    if not match or not is_known:
        return False
    places = len(match[1] or "") + 2 * len(match[2])
    return is_rounded or number == round(number, places)
