"""The words of a language: its file, read once."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from svc_analytics.messages import ENGLISH, PLACE, english_templates

FOLDER = ENGLISH.parent  # of the files
RULES, TITLES = "rules", "titles of one's own"  # sections of their own kind
LATIN = "0123456789.,%"
_LANGUAGE, _MESSAGES = "language", "messages"  # what it is like; its messages by their codes
_PARTS = ("list.", "part.")


def other_languages() -> list[str]:
    """Return the codes of the languages besides English: each is a file."""
    return sorted(path.stem for path in FOLDER.glob("*.toml") if path.stem != ENGLISH.stem)


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
        upper = code[:1].upper() + code[1:]  # a label as it stands within a sentence
        return self.messages.get(code) or self.labels.get(code) or self.labels.get(upper)

    @cached_property
    def patterns(self) -> tuple[tuple[re.Pattern[str], str], ...]:
        """The texts that have values, those with the longest words first.

        Titles of one's own would fit many a sentence: no pattern finds them.
        """
        parts = {text for code, text in english_templates().items() if code.startswith(_PARTS)}
        others = parts | self.sections.get(TITLES, {}).keys()
        return _patterns({text: own for text, own in self.labels.items() if text not in others})


@cache
def read_catalogue(code: str = "fa") -> Catalogue:
    """Return the words of a language; English needs none."""
    if code == "en":
        return Catalogue({}, {})
    parts: dict[str, Any] = tomllib.loads((FOLDER / f"{code}.toml").read_text(encoding="utf-8"))
    about, messages = parts.pop(_LANGUAGE, {}), parts.pop(_MESSAGES, {})
    named = {f"{each}.{name}": text for each in messages for name, text in messages[each].items()}
    return Catalogue(parts, named, **about)


def _patterns(texts: dict[str, str]) -> tuple[tuple[re.Pattern[str], str], ...]:
    found = sorted(english for english in texts if PLACE.search(english))
    found.sort(key=lambda english: -len(PLACE.sub("", english)))
    return tuple((_pattern(english), texts[english]) for english in found)


def _pattern(english: str) -> re.Pattern[str]:
    parts = PLACE.split(english)
    names = parts[1::2]
    parts[::2] = map(re.escape, parts[::2])
    parts[1::2] = [_place(name, is_new=name not in names[:at]) for at, name in enumerate(names)]
    return re.compile("".join(parts), re.DOTALL)


def _place(name: str, *, is_new: bool) -> str:
    """Return the pattern of a value; the name of a field is one word, others can have blanks."""
    if not is_new:
        return f"(?P={name})"
    return f"(?P<{name}>{'[a-z_]+' if name == 'field' else '.+?'})"
