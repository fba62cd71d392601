"""The merchant's chart of accounts: `books.toml`, read strictly.

Each mistake names its line and how to mend it. Which class a coin is of is the merchant's word:
rules for it differ by country and change.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from importlib.resources import files
from pathlib import Path

from svc_analytics.books.movements import FIGURES, ROUNDING, WALLET
from svc_analytics.books.presets.registry import PRESETS
from svc_analytics.errors import ConfigError
from svc_analytics.formatting.sanitize import escape_invisible

FILE = "books.toml"
CLASSES = ("cash", "intangible", "other")
MAPPED = (*(name for name in FIGURES if name != WALLET), ROUNDING)
_BOOKS = {"currency": r"[A-Za-z]{3,10}", "prefix": "[A-Z0-9]{1,6}"}
_SECTIONS = ("books", "accounts", "coins", "wallet", "tax", "tracking")
_MOST_TRACKED = 2
_STARTS = ("=", "+", "-", "@", "'")  # what a spreadsheet may run, and importers take literally

Tables = dict[str, dict[str, str]]


@dataclass(frozen=True)
class Accounts:
    """How figures are booked: the accounts, and what else a system asks for."""

    accounts: Mapping[str, str]  # by figure
    coins: Mapping[str, str] = field(default_factory=dict)  # the class of each
    wallet: Mapping[str, str] = field(default_factory=dict)  # by class or coin
    tax: Mapping[str, str] = field(default_factory=dict)
    tracking: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # by preset
    currency: str = "USD"
    prefix: str = "SVC"

    def account(self, figure: str, coin: str = "") -> str | None:
        """Return the account of a figure; None where the merchant has named none."""
        if figure != WALLET:
            return self.accounts.get(figure)
        own = None if coin in CLASSES else self.wallet.get(coin)
        return own or self.wallet.get(self.coins.get(coin, ""))

    def tax_code(self, figure: str) -> str:
        """Return the tax code of a figure, empty where none is named."""
        return self.tax.get(figure, self.tax.get("default", ""))

    def missing(self, wanted: Iterable[tuple[str, str]]) -> list[str]:
        """Say which of these figures and coins have no account, and what to write."""
        texts = {
            _what_to_write(figure, coin, self)
            for figure, coin in wanted
            if self.account(figure, coin) is None
        }
        return sorted(texts)


class NeutralAccounts(Accounts):
    """Accounts that are called as the figures are: for a file that no chart is known for."""

    def account(self, figure: str, coin: str = "") -> str:
        """Return the figure's own name."""
        name = figure.replace("_", " ").capitalize()
        return f"{name} {coin}" if figure == WALLET else name


def _what_to_write(figure: str, coin: str, accounts: Accounts) -> str:
    if figure != WALLET:
        return f'{figure}: write {figure} = "ACCOUNT" below [accounts]'
    known = accounts.coins.get(coin)
    if known:
        return f'the wallet of {coin}: write {known} = "ACCOUNT" below [wallet]'
    return f'the wallet of {coin}: write {_key(coin)} = "cash", "intangible" or "other" in [coins]'


def _key(coin: str) -> str:
    return coin if re.fullmatch(r"[A-Za-z0-9_-]+", coin) else f'"{escape_invisible(coin)}"'


def starter() -> str:
    """Return a commented file to begin with."""
    return files(__package__).joinpath("starter.toml").read_text(encoding="utf-8")


def read_accounts(path: Path) -> Accounts:
    """Read a file of accounts; raise `ConfigError` for the first mistake, with its line."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        message = f"there is no {path}: svc-analytics books --init writes one to begin with"
        raise ConfigError(message) from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"cannot read {path}: {type(error).__name__}; save it as UTF-8"
        ) from error
    return parse_accounts(text, str(path))


def parse_accounts(text: str, path: str = FILE) -> Accounts:
    """Read the text of a file of accounts."""
    tables = _Reader(text, path).tables
    books = tables.get("books", {})
    return Accounts(
        accounts=tables.get("accounts", {}),
        coins=tables.get("coins", {}),
        wallet=tables.get("wallet", {}),
        tax=tables.get("tax", {}),
        tracking=tables.get("tracking", {}),
        settings={name: tables[name] for name in PRESETS if name in tables},
        currency=books.get("currency", "USD").upper(),
        prefix=books.get("prefix", "SVC"),
    )


@dataclass(frozen=True)
class _Reader:
    """A text of accounts, and where each of its names stands."""

    text: str
    path: str

    @cached_property
    def tables(self) -> Tables:
        """The sections, in which every name and value was looked at."""
        try:
            sections = tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            fix = 'write each line as name = "value", and a section as [name]'
            raise ConfigError(f"{self.path}: {error}; {fix}") from error
        for section, values in sections.items():
            self._check_section(section, values)
        return sections

    def _check_section(self, section: str, values: object) -> None:
        known = (*_SECTIONS, *PRESETS)
        if not isinstance(values, dict):
            raise self._refused("", section, "stands before any section: move it below one")
        if section not in known:
            raise self._refused(section, "", _unknown(section, known))
        for name, value in values.items():
            if not isinstance(value, str):
                raise self._refused(section, name, 'is no text: put it in quotes, as "4000"')
            if why := self._why_wrong(section, name, value):
                raise self._refused(section, name, why)

    def _why_wrong(self, section: str, name: str, value: str) -> str:
        """Say what is wrong with a name or its value, and how to mend it; empty if nothing is."""
        if why := _why_wrong_text(value):
            return why
        own = self._names_of(section)
        if own and name not in own:
            return _unknown(name, own)
        if section == "coins" and value not in CLASSES:
            return f"is of no class {value!r:.40}: choose cash, intangible or other"
        if section == "tracking" and [*self.tables_of(section)].index(name) >= _MOST_TRACKED:
            return "is a third one: no system takes more than two; take one away"
        form = _BOOKS.get(name, "") if section == "books" else _form_of(section, name)
        if form and not re.fullmatch(form, value):
            return f"cannot be {value!r:.40}: it must be of the form {form}"
        return ""

    def tables_of(self, section: str) -> dict[str, str]:
        """Return the names of a section in the order of the file."""
        names: dict[str, str] = tomllib.loads(self.text)[section]
        return names

    @staticmethod
    def _names_of(section: str) -> tuple[str, ...]:
        """Return the names that a section may hold; none where any may stand."""
        if section in PRESETS:
            return (*PRESETS[section].settings,) or ("nothing",)
        fixed = {"books": (*_BOOKS,), "accounts": MAPPED, "tax": ("default", *FIGURES, ROUNDING)}
        return fixed.get(section, ())

    def _refused(self, section: str, name: str, why: str) -> ConfigError:
        line = _line_of(self.text, section, name)
        shown = f"{section}.{name}" if section and name else section or name
        return ConfigError(f"{self.path}, line {line}: {escape_invisible(shown)} {why}")


def _why_wrong_text(value: str) -> str:
    if not value.strip() or value != value.strip():
        return "is empty, or has blanks at an end: write the text alone"
    if escape_invisible(value) != value or "\n" in value or "\t" in value:
        return "holds a character that cannot be seen: type it anew"
    if value.startswith(_STARTS):
        return (
            f"begins with {value[0]}, which a spreadsheet would run: begin with a letter or digit"
        )
    return ""


def _form_of(section: str, name: str) -> str:
    return PRESETS[section].settings.get(name, "") if section in PRESETS else ""


def _unknown(name: str, known: Iterable[str]) -> str:
    names = [*known]
    near = get_close_matches(name, names, n=1)
    return f"is unknown: did you mean {near[0]}?" if near else f"is unknown: {', '.join(names)} are"


def _line_of(text: str, section: str, name: str) -> int:
    """Return the line in which a name of a section stands, or its section begins."""
    current, begun = "", 1
    for number, line in enumerate(text.splitlines(), 1):
        if head := re.match(r"\s*\[\s*([^\]]+?)\s*\]", line):
            current = head[1].strip("\"'")
            begun = number if current == section else begun
        key = re.match(r"""\s*["']?(.+?)["']?\s*=""", line)
        if name and current == section and key and key[1] == name:
            return number
    return begun
