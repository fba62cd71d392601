"""A language of a statement: its texts, its direction and its digits.

English stands where it is used. The Persian of every text that is displayed stands in
`fa.toml`; one that is missing there is displayed in English. A sentence with values is found
by its pattern, so that sentences of sealed statements can be translated too.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from datetime import date
from functools import cache, lru_cache
from importlib.resources import files

from svc_analytics.calendars import CALENDARS, JALALI
from svc_analytics.errors import ConfigError
from svc_analytics.language.isolation import PERSIAN_DIGITS, isolate, isolate_persian

LANGUAGES = ("en", "fa", "en+fa")
_LISTS = ("FIGURES", "COINS")
_OWN = "OWN_"  # begins the name of a text that somebody else may have written
_RULES, _TITLES = "rules", "titles of one's own"  # sections of their own kind
_AND = re.compile(r", | and ")
_GREGORIAN_DAY = re.compile(r"(19|[2-9][0-9])[0-9]{2}-[0-9]{2}-[0-9]{2}(?![0-9])")
DIGITS = ("latin", "fa")
# Columns of tables that hold words of ours; texts of other people stand in the others.
WORDED = {
    *("kind", "severity", "check_name", "detail", "stream", "state", "reading", "status", "unit"),
    *("incurred_by", "fee_bearer", "verdict", "receipt_verdict", "reason", "key_class", "note"),
    *("name", "change", "cause"),
}
BETWEEN = " · "  # an English text and its Persian
_NUMBER = re.compile(
    r"[\N{ALMOST EQUAL TO}+-]?[0-9][0-9,]*(\.[0-9]+)?%?"
    r"|[0-9]{4}-[0-9]{2}[-0-9T: .()]*(?:Z|\+00)?|[0-9]{1,2}:[0-9]{2}"
)
_PLACE = re.compile(r"\{([A-Za-z_0-9]+)\}")


@dataclass(frozen=True)
class Language:
    """`en`, `fa` or both, `en+fa`; numbers in Latin or, beside Persian, in Persian digits.

    >>> Language("fa").text("Net settlement"), Language("fa").direction
    ('تسویهٔ خالص', 'rtl')
    """

    code: str = "en"
    digits: str = "latin"

    def __post_init__(self) -> None:
        if self.code not in LANGUAGES:
            raise ConfigError(f"no language {self.code!r:.40}: choose of {', '.join(LANGUAGES)}")
        if self.digits not in DIGITS:
            raise ConfigError(f"no digits {self.digits!r:.40}: choose of {', '.join(DIGITS)}")
        if self.is_english and self.digits != "latin":
            raise ConfigError("Persian digits need a Persian text: choose the language fa or en+fa")

    @property
    def is_english(self) -> bool:
        """Whether it is English alone."""
        return self.code == "en"

    @property
    def direction(self) -> str:
        """`rtl`, from right to left, or `ltr`."""
        return "rtl" if self.code == "fa" else "ltr"

    def text(self, english: str, *, between: str = BETWEEN, **values: object) -> str:
        """Return a text in the language; in `en+fa` both, the Persian isolated behind.

        What stands `between` them may be a new line. With `values`, the English is a pattern
        such as `net sales of {currency}`. Behind the Persian of a rule its name stands too, as
        files have it.
        """
        known = english.format(**values) if values else english
        persian = None if self.is_english else self.persian(known)
        if persian is None:
            return known
        if self.code == "en+fa":
            return f"{known}{between}{isolate_persian(persian)}"
        return f"{persian} ({isolate(known)})" if known in _sections()[_RULES] else persian

    def persian(self, english: str) -> str | None:
        """Return the Persian of a text, its values isolated; None where there is none."""
        return _text_within(english, self.digits)

    def title(self, english: str) -> str | None:
        """Return the Persian of the title of a chart of two columns, or None.

        The name of a column that is nobody's but the user's stays, isolated.

        >>> Language("fa").title("Net sales by shop").translate({0x2066: "<", 0x2069: ">"})
        'فروش خالص به تفکیک <shop>'
        """
        return _translate(english, self.digits) or _match(english, self.digits, _TITLES)

    def number(self, text: str) -> str:
        """Return a number, a day or an instant in the digits of the language, one by one.

        >>> Language("fa", "fa").number("-1,234.50")
        '-۱٬۲۳۴٫۵۰'
        """
        return text.translate(PERSIAN_DIGITS) if self.digits == "fa" else text


ENGLISH = Language()


@cache
def read_catalogue() -> dict[str, str]:
    """Return the Persian of every text, from all sections of `fa.toml`."""
    sections = _sections().values()
    return {english: persian for found in sections for english, persian in found.items()}


@cache
def _sections() -> dict[str, dict[str, str]]:
    text = (files("svc_analytics.language") / "fa.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def _patterns(section: str = "") -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return the texts that have values, those with the longest words first.

    Titles of one's own would fit many a sentence: they are in a section that is asked for.
    """
    known = read_catalogue()
    texts = _sections()[section] if section else known.keys() - _sections()[_TITLES].keys()
    found = sorted(english for english in texts if _PLACE.search(english))
    found.sort(key=lambda english: -len(_PLACE.sub("", english)))
    return tuple((_pattern(english), known[english]) for english in found)


def _pattern(english: str) -> re.Pattern[str]:
    parts = _PLACE.split(english)
    parts[::2] = map(re.escape, parts[::2])
    # The name of a field is one word; anything else may be a text with blanks.
    parts[1::2] = [f"(?P<{name}>{'[a-z_]+' if name == 'field' else '.+?'})" for name in parts[1::2]]
    return re.compile("".join(parts), re.DOTALL)


@lru_cache(maxsize=4096)
def _translate(english: str, digits: str) -> str | None:
    """Return the Persian of a text or of a sentence with values, None for one unknown."""
    return read_catalogue().get(english) or _match(english, digits)


def _match(english: str, digits: str, section: str = "") -> str | None:
    """Return the Persian of a sentence with values, found by its pattern."""
    for pattern, persian in _patterns(section):
        if (match := pattern.fullmatch(english)) and (values := _values(match, digits)):
            return _fill(persian, values)
    return None


def _fill(persian: str, values: dict[str, str]) -> str:
    return _PLACE.sub(lambda place: values[place[1]], persian)


def _values(match: re.Match[str], digits: str) -> dict[str, str]:
    """Return the values of a sentence as Persian shows them, none where one is unknown."""
    values = {name: _value(name, text, digits) for name, text in match.groupdict().items()}
    known = {name: text for name, text in values.items() if text is not None}
    return known if known.keys() == values.keys() else {}


def _value(name: str, text: str, digits: str) -> str | None:
    """Return a value isolated; one with a capital name is a text, or a list of texts, itself."""
    if name in _LISTS:
        found = [_text_within(each, digits) or isolate(each) for each in _AND.split(text)]
        return " و ".join(["، ".join(found[:-1])] * (len(found) > 1) + found[-1:])
    if name.startswith(_OWN):
        return _text_within(text, digits) or isolate(text)
    return _text_within(text, digits) if name.isupper() else shown_value(text, digits)


def _text_within(text: str, digits: str) -> str | None:
    """Return the Persian of a text that may have lost its capital within a sentence."""
    return _translate(text, digits) or _translate(text[:1].upper() + text[1:], digits)


def shown_value(text: str, digits: str = "latin") -> str:
    """Return a value isolated, a Gregorian day behind the same day of the Jalali calendar.

    >>> shown_value("2026-10-23").translate({0x2066: "<", 0x2069: ">"})
    '<1405-08-01> (<2026-10-23>)'
    """
    if not is_number(text):
        return isolate(text)
    number = Language("fa", digits).number
    day = jalali_day(text)
    return f"{isolate(number(day))} ({isolate(number(text))})" if day else isolate(number(text))


def jalali_day(text: str) -> str:
    """Return the Jalali day of a text that begins with a Gregorian day; else no text."""
    match = _GREGORIAN_DAY.match(text)
    if not match or "(" in text:
        return ""
    try:
        return CALENDARS[JALALI].day_text(date.fromisoformat(match[0]))
    except ValueError:  # no day at all, such as the 31st of a short month
        return ""


def is_number(text: str) -> bool:
    """Whether a text is a number, a day or an instant, and no name or id.

    >>> [is_number(text) for text in ("-1,234.5%", "2026-10-23 00:00Z", "SVC-12", "usdt")]
    [True, True, False, False]
    """
    return bool(_NUMBER.fullmatch(text))
