"""The text of a chart of accounts: its sections, in which line each name stands, its mistakes."""

import re
import tomllib
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from unicodedata import name as unicode_name

from svc_analytics.books.movements import FIGURES, ROUNDING, WALLET
from svc_analytics.books.presets.form import CodeForm, shown
from svc_analytics.books.presets.registry import PRESETS
from svc_analytics.errors import ConfigError
from svc_analytics.external_rates import currency_code

CLASSES = ("cash", "intangible", "other")
MAPPED = (*(name for name in FIGURES if name != WALLET), ROUNDING)
_PREFIX = CodeForm("[A-Z0-9]{1,6}", "1 to 6 capital letters or digits", "SVC")
_BOOKS = ("currency", "prefix")
_SECTIONS = ("books", "accounts", "coins", "wallet", "tax", "tracking")
_MOST_TRACKED = 2
_STARTS = ("=", "+", "-", "@", "'")  # what a spreadsheet may run, and importers take literally
_BLANKS = "\u034f\u115f\u1160\u2800\u3164\uffa0"  # drawn as nothing, though called printable
# Between letters such as the Persian ones, a joiner changes how they are drawn.
_JOINED = re.compile("(?<=[^\x00-\x7f])[\u200c\u200d](?=[^\x00-\x7f])")
_HEAD = re.compile(r"\s*(\[{1,2})(.+?)\]{1,2}\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*((?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"'=#.\[]+|\s*\.\s*)+?)\s*=""")
_FIX = (
    'write each line as name = "value" in straight quotes (a backslash twice), '
    "and a section as [name]"
)

Tables = dict[str, dict[str, str]]
Path = tuple[str, ...]  # of a name: its section, and itself


@dataclass(frozen=True)
class _Stand:
    """Where a section or a name stands."""

    path: Path
    line: int
    brackets: str  # before a section; empty before a name


@dataclass(frozen=True)
class ChartFile:
    """A text of accounts, and where each of its names stands."""

    text: str
    file: str

    @property
    def tables(self) -> Tables:
        """The sections, in which every name and value was looked at."""
        sections = self._sections
        for section, values in sections.items():
            self._check_section(section, values)
            for name, value in values.items():
                if why := self._why_wrong(section, name, value):
                    raise self._refused((section, name), why)
        return sections

    @property
    def lines(self) -> Mapping[Path, int]:
        """The line of each section and name."""
        return {each.path: each.line for each in reversed(self._stands)}

    @cached_property
    def _sections(self) -> dict[str, dict[str, str]]:
        try:
            sections: Tables = tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            raise self._twice() or self._unreadable(error) from error
        return sections

    @cached_property
    def _stands(self) -> list[_Stand]:
        stands, section = [], Path()
        for line, text in enumerate(self.text.split("\n"), 1):
            if head := _HEAD.match(text):
                section = _path(head[2])
                stands.append(_Stand(section, line, head[1]))
            elif key := _KEY.match(text):
                stands.append(_Stand((*section, *_path(key[1])), line, ""))
        return stands

    def _twice(self) -> ConfigError | None:
        """Return the mistake of a name or section that stands twice, if one does."""
        lines: dict[Path, int] = {}
        for each in self._stands:
            if each.path and each.path in lines:
                name = shown(".".join(each.path))
                why = f"{name} stands in line {lines[each.path]} too: keep one of them"
                return ConfigError(f"{self.file}, line {each.line}: {why}")
            lines[each.path] = each.line
        return None

    def _unreadable(self, error: Exception) -> ConfigError:
        """Return the mistake of the first line with which the text cannot be read."""
        lines = self.text.split("\n")

        def is_broken(count: int) -> bool:
            try:
                tomllib.loads("\n".join(lines[:count]))
            except tomllib.TOMLDecodeError:
                return True
            return False

        line = bisect_left(range(len(lines)), True, key=is_broken)
        unseen = _unseen(lines[line - 1].replace("\t", " "))
        why = f"this line holds {unseen}" if unseen else f"{error}: {_FIX}"
        return ConfigError(f"{self.file}, line {line}: {why}")

    def _check_section(self, section: str, values: object) -> None:
        known = (*_SECTIONS, *PRESETS)
        if isinstance(values, list) and self._at((section,)).brackets:
            raise self._refused((section,), f"has two brackets at each end: write [{section}]")
        if not isinstance(values, dict) and section in known:
            raise self._refused((section,), f"is a section: write [{section}] in a line of its own")
        if not isinstance(values, dict):
            raise self._refused((section,), "stands before any section: move it below one")
        if section not in known:
            raise self._refused((section,), _unknown(section, known))

    def _why_wrong(self, section: str, name: str, value: object) -> str:
        """Say what is wrong with a name or its value, and how to mend it; empty if nothing is."""
        if not isinstance(value, str):
            return self._why_no_text(section, name, value)
        if unseen := _unseen(name):
            return f"has in its name {unseen}"
        return self._why_wrong_name(section, name) or _why_wrong_value(section, name, value)

    def _why_no_text(self, section: str, name: str, value: object) -> str:
        if not isinstance(value, dict):
            return 'is no text: put it in quotes, as "4000"'
        if self._at((section, name)).brackets:
            return f"is a section within a section: write its lines below [{section}]"
        return "is parted by a point: put its whole name in quotes"

    def _why_wrong_name(self, section: str, name: str) -> str:
        if section in PRESETS and not PRESETS[section].settings:
            return f"is unknown: [{section}] takes no settings; take the line away"
        own = self._names_of(section)
        if name in own or section == "tracking":
            return self._why_too_many(section, name)
        if section == "coins":
            slug = name.strip().lower() or "its coin"
            return f"is no coin of the records: write {slug}" if name != slug else ""
        if section == "wallet" and not _near(name, own):
            return f"is no coin of [coins]: write there that it is {_choice()}"
        return _unknown(name, own)

    def _why_too_many(self, section: str, name: str) -> str:
        if section == "tracking" and [*self._sections[section]].index(name) >= _MOST_TRACKED:
            return "is a third one: no system takes more than two; take one away"
        return ""

    def _names_of(self, section: str) -> tuple[str, ...]:
        """Return the names that a section may hold."""
        if section in PRESETS:
            return (*PRESETS[section].settings,)
        names = {"books": _BOOKS, "accounts": MAPPED, "tax": ("default", *FIGURES, ROUNDING)}
        names["wallet"] = (*CLASSES, *self._sections.get("coins", {}))
        return names.get(section, ())

    def _at(self, path: Path) -> _Stand:
        """Return where a name stands, or begins; the section if the name was not found."""
        near = [each for each in self._stands if each.path[: len(path)] == path]
        return near[0] if near else self._at(path[:-1]) if path else _Stand((), 1, "")

    def _refused(self, path: Path, why: str) -> ConfigError:
        line = self._at(path).line
        return ConfigError(f"{self.file}, line {line}: {shown('.'.join(path))} {why}")


def _path(text: str) -> Path:
    """Return the names that a key or the head of a section consists of; none if it is broken."""
    names: list[str] = []
    try:
        table: object = tomllib.loads(f"{text} = 0")
    except tomllib.TOMLDecodeError:
        return ()
    while isinstance(table, dict):
        [(name, table)] = table.items()
        names.append(name)
    return (*names,)


def _why_wrong_value(section: str, name: str, value: str) -> str:
    if why := _why_wrong_text(value):
        return why
    if section == "coins" and value not in CLASSES:
        return f"is of no class '{shown(value)}': choose {_choice()}"
    if section == "books":
        return _why_no_currency(value) if name == "currency" else _PREFIX.refusal(value)
    return PRESETS[section].settings[name].refusal(value) if section in PRESETS else ""


def _choice() -> str:
    return f"{', '.join(CLASSES[:-1])} or {CLASSES[-1]}"


def _why_no_currency(value: str) -> str:
    try:
        if value.upper() != "USD":
            currency_code(value)
    except ConfigError:
        return (
            f"cannot be '{shown(value)}': write a code of three letters, as EUR, or IRT for toman"
        )
    return ""


def _why_wrong_text(value: str) -> str:
    if unseen := _unseen(value):
        return f"holds {unseen}"
    if not value.strip() or value != value.strip():
        return "is empty, or has blanks at an end: write the text alone"
    if value.startswith(_STARTS):
        return (
            f"begins with {value[0]}, which a spreadsheet would run: begin with a letter or digit"
        )
    return ""


def _unseen(text: str) -> str:
    """Name the first character that cannot be seen, and the fix; empty where there is none."""
    for sign in _JOINED.sub("", text):
        if not sign.isprintable() or sign in _BLANKS:
            named = f"U+{ord(sign):04X} {unicode_name(sign, 'control character').lower()}"
            return f"a character that cannot be seen ({named}): type it anew"
    return ""


def _near(name: str, known: Iterable[str]) -> list[str]:
    return get_close_matches(name.lower(), known, n=1)


def _unknown(name: str, known: Iterable[str]) -> str:
    names = [*known]
    if near := _near(name, names):
        return f"is unknown: did you mean {near[0]}?"
    return f"is unknown: choose among {', '.join(names)}"
