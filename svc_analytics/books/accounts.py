"""The merchant's chart of accounts: `books.toml`, read strictly.

Each mistake names its line and how to mend it. Which class a coin is of is the merchant's word:
rules for it differ by country and change.
"""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path

from svc_analytics.books.chart_file import CLASSES, ChartFile
from svc_analytics.books.movements import WALLET
from svc_analytics.books.presets.registry import PRESETS
from svc_analytics.errors import ConfigError
from svc_analytics.formatting.sanitize import escape_invisible

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
