"""A language of a statement: its texts, its direction and its digits.

English stands where it is used. Another language is one file beside `en.toml`, named for its
code. It holds the words of each message by its code, and those of a label by its English text;
what is missing there is displayed in English.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from svc_analytics.errors import ConfigError
from svc_analytics.language.words import RULES, Catalogue, other_languages, read_catalogue
from svc_analytics.messages import PLACE, Label, Message
from svc_analytics.periods import CALENDARS, JALALI

LATIN_DIGITS = "latin"
_BOTH = "en+"  # before the code of a language that stands behind the English
_GREGORIAN_DAY = re.compile(r"(19|[2-9][0-9])[0-9]{2}-[0-9]{2}-[0-9]{2}(?![0-9])")
# Columns of tables that hold words of ours; texts of other people stand in the others.
WORDED = {
    *("kind", "severity", "check_name", "detail", "stream", "state", "reading", "status", "unit"),
    *("incurred_by", "fee_bearer", "verdict", "receipt_verdict", "reason", "key_class", "note"),
    *("name", "change", "cause", "subject", "group", "figure", "label", "of"),
}
BETWEEN = " · "  # an English text and its Persian
_NUMBER = re.compile(
    r"\N{ALMOST EQUAL TO}?[+-]?[0-9][0-9,]*(\.[0-9]+)?%?"
    r"|[0-9]{4}-[0-9]{2}[-0-9T: .()]*(?:Z|\+00)?|[0-9]{1,2}:[0-9]{2}"
)


def languages() -> tuple[str, ...]:
    """Return the languages of a statement: English, each other one, and both together.

    >>> languages()
    ('en', 'fa', 'en+fa')
    """
    return ("en", *(code for other in other_languages() for code in (other, f"{_BOTH}{other}")))


def digit_choices() -> tuple[str, ...]:
    """Return the digits of a statement: Latin ones, and those of each other language.

    >>> digit_choices()
    ('latin', 'fa')
    """
    return (LATIN_DIGITS, *other_languages())


@dataclass(frozen=True)
class Language:
    """`en`, another such as `fa`, or both, `en+fa`; numbers in Latin or in the other's digits.

    >>> Language("fa").text("Gross sales"), Language("fa").direction
    ('فروش ناخالص', 'rtl')
    """

    code: str = "en"
    digits: str = LATIN_DIGITS

    def __post_init__(self) -> None:
        if self.code not in languages():
            raise ConfigError(
                f"no language {self.code!r:.40}: choose from {', '.join(languages())}"
            )
        if self.digits not in digit_choices():
            choices = ", ".join(digit_choices())
            raise ConfigError(f"no digits {self.digits!r:.40}: choose from {choices}")
        if self.has_own_digits and self.digits != self.other:
            message = f"the digits {self.digits} need a text in that language: choose the language"
            raise ConfigError(f"{message} {self.digits} or {_BOTH}{self.digits}")
        if self.has_own_digits and not self._catalogue.digits:
            raise ConfigError(f"the language {self.digits} has no digits of its own: choose latin")

    @property
    def is_english(self) -> bool:
        """Whether it is English alone."""
        return self.code == "en"

    @property
    def has_own_digits(self) -> bool:
        """Whether numbers are in the digits of the other language."""
        return self.digits != LATIN_DIGITS

    @property
    def digits_in_excel(self) -> str:
        """The beginning of a number's format by which Excel shows its digits."""
        return self._catalogue.digits_in_excel if self.has_own_digits else ""

    @property
    def is_both(self) -> bool:
        """Whether another language stands behind the English."""
        return self.code.startswith(_BOTH)

    @property
    def other(self) -> str:
        """The code of the language that stands alone, or behind the English."""
        return self.code.removeprefix(_BOTH)

    @property
    def direction(self) -> str:
        """`rtl`, from right to left, or `ltr`."""
        return "ltr" if self.is_both else self._catalogue.direction

    @property
    def has_right_to_left(self) -> bool:
        """Whether any of its texts runs from right to left."""
        return self._catalogue.direction == "rtl"

    @property
    def has_jalali(self) -> bool:
        """Whether days are displayed in the Jalali calendar too."""
        return self._catalogue.calendar == JALALI

    @property
    def _catalogue(self) -> Catalogue:
        return read_catalogue(self.other)

    def text(self, english: str, *, between: str = BETWEEN, **values: object) -> str:
        """Return a text in the language; in two languages both, the other isolated behind.

        What stands `between` them may be a new line. With `values`, the English is a pattern
        such as `gross sales of {currency}`. Behind the words for a rule its name stands too, as
        files have it.
        """
        known = Message(english, **values) if values else english
        translated = None if self.is_english else self.translation(known)
        if translated is None:
            return known
        if self.is_both:
            return f"{known}{between}{self.isolated(translated)}"
        is_rule = known in self._catalogue.sections.get(RULES, ())
        return f"{translated} ({isolate(known)})" if is_rule else translated

    def translation(self, english: str) -> str | None:
        """Return a text in the other language, its values isolated; None where there is none.

        In two languages what both write alike, as the name of a month in digits, stands once.
        """
        message = english if isinstance(english, Message) else None
        words = self._catalogue.label(english) if message is None else self._message(message)
        is_alike = self.is_both and words is not None and without_marks(words) == english
        return None if is_alike else words

    def isolated(self, translated: str) -> str:
        """Return a text of the other language, isolated within English."""
        return (isolate_right_to_left if self.has_right_to_left else isolate)(translated)

    def number(self, text: str) -> str:
        """Return a number, a day or an instant in the digits of the language, one by one.

        >>> Language("fa", "fa").number("-1,234.50")
        '-۱٬۲۳۴٫۵۰'
        """
        return text.translate(self._catalogue.own_digits) if self.has_own_digits else text

    def latin(self, text: str) -> str:
        """Return a text that a person typed with its numbers in Latin digits.

        >>> Language("fa", "fa").latin("۱٬۲۳۴٫۵۰")
        '1,234.50'
        """
        own = self._catalogue.own_digits if self._catalogue.digits else {}
        return text.translate({new: old for old, new in own.items()})

    def day(self, text: str) -> str:
        """Return the Jalali day of a text that begins with a Gregorian day, if it is displayed."""
        return jalali_day(text) if self.has_jalali else ""

    def value(self, text: str) -> str:
        """Return a value isolated, a Gregorian day behind the same day of the Jalali calendar.

        >>> Language("fa").value("2026-10-23").translate({0x2066: "<", 0x2069: ">"})
        '<1405-08-01> (<2026-10-23>)'
        >>> Language("fa").value("1405-08-01 (2026-10-23)").translate({0x2066: "<", 0x2069: ">"})
        '<1405-08-01> (<2026-10-23>)'
        >>> Language("fa").value("2026-10-23T00:00Z").translate({0x2066: "<", 0x2069: ">"})
        '<1405-08-01> (<2026-10-23 00:00Z>)'
        """
        if not is_number(text):
            return isolate(text)
        day, text = self.day(text), text.replace("T", " ")
        parts = (f"{day} ({text})" if day else text).removesuffix(")").split(" (")
        first, *second = (isolate(self.number(part)) for part in parts)
        return f"{first} ({second[0]})" if second else first

    def _message(self, message: Message) -> str | None:
        """Return a message in the other language; a value that has no words there is isolated."""
        template = self._catalogue.words_of(message.code)
        if template is None:
            return None
        values = {name: self._part(value) for name, value in message.values.items()}
        return _fill(template, values)

    def _part(self, value: object) -> str:
        words = self.translation(value) if isinstance(value, Message | Label) else None
        return words or self.value(value if isinstance(value, str) else str(value))


ENGLISH = Language()


def _fill(template: str, values: dict[str, str]) -> str:
    return PLACE.sub(lambda place: values[place[1]], template)


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

    >>> [is_number(text) for text in ("≈-1,234.5%", "2026-10-23 00:00Z", "SVC-12", "usdt")]
    [True, True, False, False]
    """
    return bool(_NUMBER.fullmatch(text))


# ---------- Numbers, ids and foreign words within Persian
# Isolated, so that no sign changes sides.
#
# In plain texts the isolates are characters of Unicode that are not seen: from U+2066 or U+2067
# up to U+2069. A page turns them into elements.


LEFT_TO_RIGHT, RIGHT_TO_LEFT, END = "\u2066", "\u2067", "\u2069"


def isolate(text: str) -> str:
    """Return a number, an id or a word of another script, isolated within Persian."""
    return f"{LEFT_TO_RIGHT}{text}{END}" if text else ""


def isolate_right_to_left(text: str) -> str:
    """Return a Persian text isolated within a line that runs from left to right."""
    return f"{RIGHT_TO_LEFT}{text}{END}"


def without_marks(text: str) -> str:
    """Return a text as it is read, without the characters that isolate its parts."""
    return text.translate(dict.fromkeys(map(ord, (LEFT_TO_RIGHT, RIGHT_TO_LEFT, END))))
