"""A language of a statement: its texts, its direction and its digits.

English stands where it is used. Another language is one file beside `en.toml`, named for its
code. It holds the words of each message by its code, and those of a label by its English text;
what is missing there is displayed in English.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache, cached_property
from typing import Any

from svc_analytics.arguments import check
from svc_analytics.errors import ConfigError
from svc_analytics.messages import ENGLISH as ENGLISH_FILE, PLACE, Label, Message, english_templates
from svc_analytics.periods import CALENDARS, JALALI

FOLDER = ENGLISH_FILE.parent  # of the files
RULES = "rules"  # a section of its own kind
LATIN = "0123456789.,%"
_LANGUAGE, _MESSAGES = "language", "messages"  # what it is like; its messages by their codes
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
# Numbers, ids and foreign words within Persian are isolated, so that no sign changes sides. In
# plain texts the isolates are characters that are not seen: a page turns them into elements.
LEFT_TO_RIGHT, RIGHT_TO_LEFT, END = "\u2066", "\u2067", "\u2069"


def other_languages() -> list[str]:
    """Return the codes of the languages besides English: each is a file."""
    return sorted(path.stem for path in FOLDER.glob("*.toml") if path.stem != ENGLISH_FILE.stem)


def name_keys() -> dict[str, str]:
    """Return the properties that are a merchant's names by their language; the plain one is first.

    >>> name_keys()
    {'': 'display_name', 'fa': 'display_name_fa'}
    """
    return {"": "display_name"} | {code: f"display_name_{code}" for code in other_languages()}


def merchant_names(merchant: Mapping[str, Any], own: str = "") -> list[tuple[str, str]]:
    """Return a merchant's names, each behind its language's code; that of `own` is the first."""
    keys = sorted(name_keys().items(), key=lambda named: named[0] != own)
    return [(code, str(merchant[key])) for code, key in keys if merchant.get(key)]


@dataclass(frozen=True)
class Catalogue:
    """The words of one language, as its file has them."""

    sections: dict[str, dict[str, str]]  # labels and sentences by their English
    messages: dict[str, str]
    direction: str = "ltr"
    digits: str = ""  # its own signs for those of LATIN, in their order; empty if it has none
    digits_in_excel: str = ""  # what shows them, before a format of numbers
    calendar: str = ""  # whose days are displayed beside the Gregorian ones

    @cached_property
    def own_digits(self) -> dict[int, int]:
        """Its own signs by the Latin ones: a library of numbers would cut long decimals."""
        return str.maketrans(LATIN, self.digits)

    @cached_property
    def labels(self) -> dict[str, str]:
        """Every text by its English, that of messages too."""
        labels = {
            english: text for each in self.sections.values() for english, text in each.items()
        }
        return labels | {english_templates()[code]: text for code, text in self.messages.items()}

    def words_of(self, code: str) -> str | None:
        """Return the words of a message, or of a sentence that is its own code."""
        return self.messages.get(code) or self.label(code)

    def label(self, english: str) -> str | None:
        """Return the words of a label, which may stand within a sentence, or of a verdict."""
        upper = english[:1].upper() + english[1:]
        known = self.labels.get(english) or self.labels.get(upper) or self._verdicts.get(english)
        return known or self._causes(english)

    def _causes(self, english: str) -> str | None:
        """Return the words of several causes of a difference: their table has no message."""
        known = self.sections.get("values", {})
        causes = [known.get(each) for each in english.split(", ")]
        comma = PLACE.sub("", self.messages.get("list.comma", ""))
        return None if None in causes else comma.join(filter(None, causes))

    @cached_property
    def _verdicts(self) -> dict[str, str]:
        """The verdicts on receipts in two clauses: their table has no message."""
        english = english_templates()
        clauses = [(english[code], own) for code, own in self.messages.items() if _is_plain(code)]
        return {
            _two_clauses(english, first[0], rest[0]): _two_clauses(self.messages, first[1], rest[1])
            for first in clauses
            for rest in clauses
        }


def _is_plain(code: str) -> bool:
    return code.startswith("receipt.") and "{" not in english_templates()[code]


def _two_clauses(words: Mapping[str, str], first: str, rest: str) -> str:
    return words["text.clauses"].format(FIRST=first, REST=rest)


@cache
def read_catalogue(code: str = "fa") -> Catalogue:
    """Return the words of a language; English needs none."""
    if code == "en":
        return Catalogue({}, {})
    parts: dict[str, Any] = tomllib.loads((FOLDER / f"{code}.toml").read_text(encoding="utf-8"))
    about, messages = parts.pop(_LANGUAGE, {}), parts.pop(_MESSAGES, {})
    named = {f"{each}.{name}": text for each in messages for name, text in messages[each].items()}
    return Catalogue(parts, named, **about)


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
        check("lang", self.code, str, 'the code of a language, such as "fa"')
        check("digits", self.digits, str, 'the name of digits, such as "latin"')
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
        return PLACE.sub(lambda place: values[place[1]], template)

    def _part(self, value: object) -> str:
        words = self.translation(value) if isinstance(value, Message | Label) else None
        return words or self.value(value if isinstance(value, str) else str(value))


ENGLISH = Language()


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


def isolate(text: str) -> str:
    """Return a number, an id or a word of another script, isolated within Persian."""
    return f"{LEFT_TO_RIGHT}{text}{END}" if text else ""


def isolate_right_to_left(text: str) -> str:
    """Return a Persian text isolated within a line that runs from left to right."""
    return f"{RIGHT_TO_LEFT}{text}{END}"


def without_marks(text: str) -> str:
    """Return a text as it is read, without the characters that isolate its parts."""
    return text.translate(dict.fromkeys(map(ord, (LEFT_TO_RIGHT, RIGHT_TO_LEFT, END))))
