"""The merchant's chart of accounts: `books.toml`, read strictly.

Each mistake names its line and how to mend it. Which class a coin is of is the merchant's word:
rules for it differ by country and change.
"""

import json
import re
import tomllib
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from unicodedata import name as unicode_name

from svc_analytics.books.movements import FIGURES, ROUNDING, WALLET
from svc_analytics.books.presets.preset import CLEARING, CodeForm, Preset, shown
from svc_analytics.books.presets.registry import PRESETS
from svc_analytics.errors import ConfigError
from svc_analytics.external_rates import currency_code
from svc_analytics.formatting.texts import escape_invisible

FILE = "books.toml"
_FILL_IN = "cash, intangible or other: fill it in"
_MARK = b"\xef\xbb\xbf"  # which some editors begin a file with


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
    file: str = FILE
    lines: Mapping[tuple[str, ...], int] = field(default_factory=dict)  # where each name stands

    def where(self, *path: str) -> str:
        """Return the file, and the line in which a section or a name of it stands."""
        line = self.lines.get(path) or self.lines.get(path[:1])
        return f"{self.file}, line {line}" if line else self.file

    def account(self, figure: str, coin: str = "") -> str | None:
        """Return the account of a figure; None where the merchant has named none."""
        section, name = self.key(figure, coin)
        return (self.wallet if section == WALLET else self.accounts).get(name)

    def key(self, figure: str, coin: str = "") -> tuple[str, str]:
        """Return the section and the name by which the account of a figure is found."""
        if figure != WALLET:
            return "accounts", figure
        is_own = coin in self.wallet and coin not in CLASSES
        return WALLET, coin if is_own else self.coins.get(coin, "")

    def tax_code(self, figure: str) -> str:
        """Return the tax code of a figure, empty where none is named."""
        return self.tax.get(figure, self.tax.get("default", ""))

    def missing(self, wanted: Collection[tuple[str, str]]) -> list[str]:
        """Say which of these figures and coins have no account, and what to write."""
        lacking = [(figure, coin) for figure, coin in wanted if self.account(figure, coin) is None]
        moved = {coin for _, coin in wanted}
        return sorted({_what_to_write(figure, coin, self, moved) for figure, coin in lacking})


class NeutralAccounts(Accounts):
    """Accounts that are called as the figures are: for a file that no chart is known for."""

    def account(self, figure: str, coin: str = "") -> str:
        """Return the figure's own name."""
        name = figure.replace("_", " ").capitalize()
        return f"{name} {coin}" if figure == WALLET else name


def _what_to_write(figure: str, coin: str, accounts: Accounts, moved: set[str]) -> str:
    if figure != WALLET:
        return f'{figure}: write {figure} = "ACCOUNT" below [accounts]'
    known = accounts.coins.get(coin)
    if known:
        return f'the wallet of {coin}: write {known} = "ACCOUNT" below [wallet]'
    text = f'the wallet of {coin}: write {_key(coin)} = "cash", "intangible" or "other" in [coins]'
    unmoved = [name for name in accounts.coins if name not in moved]
    for near in get_close_matches(coin, unmoved, n=1):
        text += f" ({accounts.where('coins', near)} has {near}: is {coin} meant?)"
    return text


def _key(coin: str) -> str:
    is_bare = re.fullmatch(r"[A-Za-z0-9_-]+", coin)
    return coin if is_bare else json.dumps(escape_invisible(coin), ensure_ascii=False)


def starter(coins: Collection[str] = ()) -> str:
    """Return a commented file to begin with, with these coins; without any, with examples."""
    text = files(__package__).joinpath("starter.toml").read_text(encoding="utf-8")
    if not coins:
        return text
    head, examples, rest = _parted(text)
    known = {line.partition(" =")[0]: line for line in examples.splitlines()}
    lines = [known.get(coin, f'# {_key(coin)} = ""  # {_FILL_IN}') for coin in sorted(coins)]
    return "\n".join([head, *lines, rest])


def _parted(text: str) -> tuple[str, str, str]:
    """Return a chart up to its coins, the lines of these, and what comes behind them."""
    head, coins, behind = text.partition("[coins]\n")
    examples, blank, rest = behind.partition("\n\n")
    return f"{head}{coins}".rstrip("\n"), examples, f"{blank[1:]}{rest}"


def unknown_coins(coins: Collection[str]) -> list[str]:
    """Return those coins whose class is to be filled in of a file to begin with."""
    known = parse_accounts(starter()).coins
    return sorted(coin for coin in coins if coin not in known)


def read_accounts(path: Path) -> Accounts:
    """Read a file of accounts; raise `ConfigError` for the first mistake, with its line."""
    try:
        content = path.read_bytes().removeprefix(_MARK)
        text = content.decode()
    except FileNotFoundError as error:
        message = f"there is no {path}: svc-analytics books --init writes one to begin with"
        raise ConfigError(message) from error
    except UnicodeDecodeError as error:
        line = len((content[: error.start] + b"x").splitlines())
        raise ConfigError(f"{path}, line {line}: this is no UTF-8: save it as UTF-8") from error
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error
    return parse_accounts(text, str(path))


def parse_accounts(text: str, path: str = FILE) -> Accounts:
    """Read the text of a file of accounts."""
    chart = ChartFile(text.replace("\r\n", "\n").replace("\r", "\n"), path)
    tables = chart.tables
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
        file=path,
        lines=chart.lines,
    )


# ---------- The text of a chart of accounts
# Its sections, in which line each name stands, its mistakes.


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
KeyPath = tuple[str, ...]  # of a name: its section, and itself


@dataclass(frozen=True)
class _Stand:
    """Where a section or a name stands."""

    path: KeyPath
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
    def lines(self) -> Mapping[KeyPath, int]:
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
        stands, section = [], KeyPath()
        for line, text in enumerate(self.text.split("\n"), 1):
            if head := _HEAD.match(text):
                section = _path(head[2])
                stands.append(_Stand(section, line, head[1]))
            elif key := _KEY.match(text):
                stands.append(_Stand((*section, *_path(key[1])), line, ""))
        return stands

    def _twice(self) -> ConfigError | None:
        """Return the mistake of a name or section that stands twice, if one does."""
        lines: dict[KeyPath, int] = {}
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

    def _at(self, path: KeyPath) -> _Stand:
        """Return where a name stands, or begins; the section if the name was not found."""
        near = [each for each in self._stands if each.path[: len(path)] == path]
        return near[0] if near else self._at(path[:-1]) if path else _Stand((), 1, "")

    def _refused(self, path: KeyPath, why: str) -> ConfigError:
        line = self._at(path).line
        return ConfigError(f"{self.file}, line {line}: {shown('.'.join(path))} {why}")


def _path(text: str) -> KeyPath:
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


# ---------- What a system would refuse of a chart of accounts
# Each with its line and how to mend it.


def refusals(accounts: Accounts, preset: Preset, places: Iterable[tuple[str, str]]) -> list[str]:
    """Say what a system would refuse of the accounts of these figures and coins."""
    wanted = sorted(places, key=lambda place: (accounts.lines.get(accounts.key(*place), 0), place))
    figures = [*dict.fromkeys(figure for figure, _ in wanted)]
    texts = [
        *_of_settings(accounts, preset),
        *(text for figure, coin in wanted for text in _of_account(accounts, preset, figure, coin)),
        *_of_tax(accounts, preset, figures),
        *_of_tracking(accounts, preset),
    ]
    return [*dict.fromkeys(texts)]


def _of_settings(accounts: Accounts, preset: Preset) -> Iterator[str]:
    settings = accounts.settings.get(preset.name, {})
    clearing = settings.get(CLEARING)
    if clearing and (why := preset.form_of_account(settings).refusal(clearing)):
        yield f"{accounts.where(preset.name, CLEARING)}: {preset.name}.{CLEARING} {why}"
    for name in preset.required:
        if name not in settings:
            line = f'{name} = "{preset.settings[name].example}"'
            yield f"{accounts.where(preset.name)}: write {name} below [{preset.name}], as {line}"


def _of_account(accounts: Accounts, preset: Preset, figure: str, coin: str) -> Iterator[str]:
    account = accounts.account(figure, coin)
    form = preset.form_of_account(accounts.settings.get(preset.name, {}))
    if account is not None and (why := form.refusal(account)):
        section, name = accounts.key(figure, coin)
        yield f"{accounts.where(section, name)}: {section}.{name} {why}"
    if account and account == accounts.settings.get(preset.name, {}).get(CLEARING):
        section, name = accounts.key(figure, coin)
        why = f"is the clearing account of [{preset.name}], which each line is booked against"
        yield f"{accounts.where(section, name)}: {section}.{name} {why}: name another there"


def _of_tax(accounts: Accounts, preset: Preset, figures: list[str]) -> Iterator[str]:
    without = [figure for figure in figures if not accounts.tax_code(figure)]
    if preset.needs_tax and without:
        fix = f'write default = "{preset.tax.example}" below [tax]'
        yield f"{accounts.where('tax')}: no tax code of {', '.join(without)}: {fix}"
    for figure in figures:
        code = accounts.tax_code(figure)
        if code and (why := preset.tax.refusal(code)):
            name = figure if figure in accounts.tax else "default"
            yield f"{accounts.where('tax', name)}: tax.{name} {why}"


def _of_tracking(accounts: Accounts, preset: Preset) -> Iterator[str]:
    for name, value in accounts.tracking.items():
        is_written = not preset.left_out((), [name])
        if is_written and (why := preset.tracking.refusal(value)):
            yield f"{accounts.where('tracking', name)}: tracking.{name} {why}"
