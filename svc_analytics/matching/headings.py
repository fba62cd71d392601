"""Which column of a list is what: by its headings, or by `match.toml`, where a person says so.

`headings.toml` holds the headings of what exports lists; what can be meant in two ways, and what
is not there, is asked for in words.
"""

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyarrow as pa

from svc_analytics.errors import ConfigError
from svc_analytics.formatting.texts import single_line

FILE = "match.toml"
ORDERS, PAYOUTS, BOOKS = "orders", "payouts", "books"
KINDS = (ORDERS, PAYOUTS, BOOKS)
KEY, WORDS, COINS = "key", "words", "coins"
_LISTS = (KEY, "text")  # roles that several columns may have
_NEEDED = {
    ORDERS: (KEY, "amount"),
    PAYOUTS: ("amount", "day"),
    BOOKS: ("account", "day"),
}
_OTHERS = {
    ORDERS: ("currency", "status", "day", "paid", "refunded", "cancelled"),
    PAYOUTS: ("currency", KEY, "fee", "status", "text"),
    BOOKS: (KEY, "debit", "credit", "amount", "currency", "text"),
}
_MEANINGS = {
    KEY: "what names a row: the order's number, the payout's reference, the entry's id",
    "amount": "the total of an order, the amount that arrived, or an entry's signed amount",
    "currency": "the coin of the amount",
    "status": "whether it was paid",
    "day": "the day",
    "paid": "the day of payment, where it is another one",
    "refunded": "how much was returned of an order",
    "cancelled": "filled where an order was cancelled",
    "fee": "what was kept of an amount that arrived",
    "text": "a text in which a reference may stand",
    "account": "the account of a line",
    "debit": "a line's debit",
    "credit": "a line's credit",
}
SINGLES = tuple(role for role in _MEANINGS if role not in _LISTS)
# What no column says, and how its texts are meant: these names are no headings.
_SAID = {"coin": (), "decimal": (".", ","), "day_order": ("DMY", "MDY", "YMD")}
_TOML = (
    '# coin = "usdt"  # of every row, where no column says it',
    '# decimal = "."  # or ","',
    '# day_order = "DMY"  # or "MDY", of 03/04/2026',
)


@dataclass(frozen=True)
class Headings:
    """The columns of a list by what they hold, and how their texts are meant."""

    columns: Mapping[str, tuple[str, ...]]  # by role, the headings as the list has them
    words: pa.Table  # what a status, a coin's name and the first cell of a row of totals say
    said: Mapping[str, Any]

    def values(self) -> dict[str, Any]:
        """Give the queries the values that they name."""
        day = plain(" ".join(self.columns.get("day", ())))
        return {name: self.said.get(name) for name in _SAID} | {
            "slots": [*self.columns.get(KEY, ())],
            "has_status": bool(self.columns.get("status")),
            "other_status": self.said.get("other_status"),
            "is_whole": bool(self.said.get("is_whole")),
            "is_utc": "utc" in day or bool(self.said.get("is_utc")),
            "booked_by": self.said.get("booked_by"),
        }


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("headings.toml").read_text("utf-8"))


def plain(text: str) -> str:
    """Return a heading as the table has it.

    >>> plain("*Order_ID "), plain("line_ids/debit")
    ('order id', 'line ids debit')
    """
    return " ".join(re.sub(r"[*_\-/.]", " ", text.casefold()).split())


def find_headings(kind: str, names: Sequence[str], lake: Path, list_name: str) -> Headings:
    """Tell which column is what, by `match.toml` of a lake first; ask for what is not there."""
    own, form = _read_own(lake / FILE).get(kind, {}), _form(kind, names)
    said = {name: each[name] for each in (form, own) for name in each if name not in _MEANINGS}
    typed = {role: _as_list(own[role]) for role in own if role in _MEANINGS}
    if strange := [each for role in typed for each in typed[role] if each not in names]:
        why = f"the list has no column {strange[0]!r:.60}; it has {_listed(names)}"
        raise ConfigError(f"{lake / FILE}: {why}")
    columns = _by_form(form, names) | typed
    if asked := [*_questions(kind, columns, typed), *_twins(columns, names)]:
        how = f"svc-analytics match {kind} FILE --init writes {FILE}, in which you say it"
        raise ConfigError(f"{list_name}: {' '.join(asked)} It has {_listed(names)}. {how}")
    return Headings(columns, _words(kind, form, own), said)


def _words(kind: str, form: Mapping[str, Any], own: Mapping[str, Any]) -> pa.Table:
    """Return the words of statuses, coins and totals with their meanings, a person's first."""
    table = _table()
    words = {("total", word): word for word in table["totals"]["words"]}
    words |= {(COINS, word): coin for coin, names in table[COINS].items() for word in names}
    for groups in (table[WORDS].get(kind, {}), form.get(WORDS, {})):
        words |= {(WORDS, word): meaning for meaning, each in groups.items() for word in each}
    words |= {(WORDS, plain(word)): meaning for word, meaning in own.get(WORDS, {}).items()}
    words |= {(COINS, word.casefold()): coin for word, coin in own.get(COINS, {}).items()}
    rows = [{"use": use, "word": word, "meaning": words[use, word]} for use, word in words]
    return pa.Table.from_pylist(rows)


def _questions(
    kind: str, columns: Mapping[str, Sequence[str]], typed: Collection[str]
) -> Iterator[str]:
    """Yield a question for each column of a list that is not known, or may be two."""
    needed = [*_NEEDED[kind]]
    if kind == BOOKS and not columns.get("amount"):
        needed.append("debit")
    if kind == BOOKS and not columns.get("text"):
        needed.append(KEY)
    for role in needed:
        if not columns.get(role) and role not in typed:
            yield f"which column is {role} ({_MEANINGS[role]})?"
    for role, each in columns.items():
        if role not in _LISTS and len({*each}) > 1:
            yield f"is {role} {' or '.join(each)}?"


def _twins(columns: Mapping[str, Sequence[str]], names: Sequence[str]) -> Iterator[str]:
    used = {each for role in columns for each in columns[role]}
    return (
        f"two columns are called {each!r:.60}: rename one."
        for each in used
        if names.count(each) > 1
    )


def _form(kind: str, names: Sequence[str]) -> dict[str, Any]:
    """Return the section of the table that a list is of: one with its marks, or the general."""
    known, table = {*map(plain, names)}, _table()
    forms = (each for each in table["format"] if each["of"] == kind)
    form = next((form for form in forms if known >= {*map(plain, form["marks"])}), table[kind])
    return dict(form)


def _by_form(form: Mapping[str, Any], names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the columns by role, as a section of the table knows them."""
    columns = {}
    for role in (role for role in _MEANINGS if role in form):
        here = [name for each in form[role] for name in names if plain(name) == plain(each)]
        is_first = "marks" in form and role not in _LISTS
        columns[role] = tuple(here[:1] if is_first else dict.fromkeys(here))
    return columns


def _as_list(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _read_own(path: Path) -> dict[str, Any]:
    """Read what a person says of lists; refuse what is no part of the file."""
    try:
        tables = tomllib.loads(path.read_text("utf-8-sig"))
        for kind, own in tables.items():
            _check(kind, own)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: {error}") from error
    return tables


def _check(kind: str, own: Any) -> None:
    """Raise `ValueError` for a section that does not say what it can say."""
    if kind not in KINDS or not isinstance(own, dict):
        raise ValueError(f"{kind} is no section of it: they are {', '.join(KINDS)}")
    known = (*_NEEDED[kind], *_OTHERS[kind], *_SAID, WORDS, COINS)
    for name, value in own.items():
        if name not in known:
            raise ValueError(f"[{kind}] has no {name}; it has {', '.join(known)}")
        texts = [*value.values()] if isinstance(value, dict) else _as_list(value or ())
        if not all(isinstance(text, str) for text in texts):
            raise ValueError(f"{name} of [{kind}] is no text")
        if _SAID.get(name) and value not in _SAID[name]:
            raise ValueError(f"{name} of [{kind}] is {' or '.join(_SAID[name])}")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"{name!r:.40}" for name in names[:30])


def starter(kind: str, names: Sequence[str]) -> str:
    """Return a commented section of `match.toml` to begin with, from a list's own headings."""
    columns = _by_form(_form(kind, names), names)
    lines = [f"[{kind}]", single_line(f"# The columns of the list: {', '.join(names)}")]
    lines += [_line(role, columns.get(role, ())) for role in (*_NEEDED[kind], *_OTHERS[kind])]
    lines += [*_TOML, f"# [{kind}.{COINS}]  # of a coin by another name", '# "tether" = "usdt"']
    if kind != BOOKS:
        lines += [f"# [{kind}.{WORDS}]  # of a status that is not known"]
        lines += ['# "in the post" = "paid"']
    return "\n".join(lines) + "\n"


def _line(role: str, here: Sequence[str]) -> str:
    """Return the line of a role, a comment where nothing or too much is known of it."""
    is_list, is_one = role in _LISTS, len(here) == 1
    value = f"[{', '.join(map(_quoted, here))}]" if is_list else _quoted(here[0] if is_one else "")
    mark = "" if is_one or (here and is_list) else "# "
    choice = "" if is_one or is_list or not here else f": {' or '.join(here)}?"
    return f"{mark}{role} = {value}  # {_MEANINGS[role]}{choice}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
