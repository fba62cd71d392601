"""The words of a language: its file, read once."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from svc_analytics.messages import ENGLISH, PLACE, english_templates

FOLDER = ENGLISH.parent  # of the files
RULES = "rules"  # a section of its own kind
LATIN = "0123456789.,%"
_LANGUAGE, _MESSAGES = "language", "messages"  # what it is like; its messages by their codes


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
