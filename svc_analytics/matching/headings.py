"""Which column of a list is what: by its headings, or by `match.toml`, where a person says so.

`headings.toml` holds the headings of what exports lists; what can be meant in two ways, and what
is not there, is asked for in words.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from svc_analytics.errors import ConfigError

FILE = "match.toml"
ORDERS, PAYOUTS, BOOKS = "orders", "payouts", "books"
KINDS = (ORDERS, PAYOUTS, BOOKS)
KEY, WORDS = "key", "words"
_LISTS = (KEY, "text")  # roles that several columns may have
_NEEDED = {
    ORDERS: (KEY, "amount", "currency"),
    PAYOUTS: ("amount", "currency", "day"),
    BOOKS: ("account", "day"),
}
_OTHERS = {
    ORDERS: ("status", "day", "paid", "refunded", "cancelled"),
    PAYOUTS: (KEY, "fee", "status", "text"),
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
# What no column says, and how its texts are meant: these names are no headings.
_SAID = {"coin": None, "decimal": (".", ","), "day_order": ("DMY", "MDY")}


@dataclass(frozen=True)
class Headings:
    """The columns of a list by what they hold, and how their texts are meant."""

    columns: Mapping[str, tuple[str, ...]]  # by role, the headings as the list has them
    words: Mapping[str, str]  # what a status says, by its text
    said: Mapping[str, str] = field(default_factory=dict)

    def of(self, role: str) -> str | None:
        """Return the heading of a role; None where no column has it."""
        return next(iter(self.columns.get(role, ())), None)


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("headings.toml").read_text("utf-8"))


def total_words() -> frozenset[str]:
    """Return the words that a row of totals begins with."""
    return frozenset(_table()["totals"]["words"])


def plain(text: str) -> str:
    """Return a heading as the table has it.

    >>> plain("*Order_ID "), plain("line_ids/debit")
    ('order id', 'line ids debit')
    """
    return " ".join(re.sub(r"[*_\-/.]", " ", text.casefold()).split())


def find_headings(kind: str, names: Sequence[str], lake: Path, list_name: str) -> Headings:
    """Tell which column is what, by `match.toml` of a lake first; ask for what is not there."""
    own = _read_own(lake / FILE).get(kind, {})
    words = dict(_words_of(kind) | {plain(k): v for k, v in own.get(WORDS, {}).items()})
    said = {name: str(own[name]) for name in _SAID if name in own}
    for name, value in said.items():
        _check_said(lake, kind, name, value)
    form = _form(kind, names)
    said = {name: form[name] for name in _SAID if name in form} | said
    columns = _by_table(kind, names) | _by_person(own, names, lake)
    lacking = [role for role in _NEEDED[kind] if not columns.get(role) and role not in own]
    if "coin" in said and "currency" in lacking:
        lacking.remove("currency")
    if kind == BOOKS and not columns.get("amount") and not columns.get("debit"):
        lacking.append("debit")
    unsure = {role: each for role, each in columns.items() if role not in _LISTS and len(each) > 1}
    unsure = {role: each for role, each in unsure.items() if role not in own}
    if lacking or unsure:
        raise ConfigError(_question(kind, names, lacking, unsure, list_name))
    return Headings(columns, words, said)


def _words_of(kind: str) -> dict[str, str]:
    groups = _table()["words"].get(kind, {})
    return {word: meaning for meaning, words in groups.items() for word in words}


def _by_table(kind: str, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the columns by role, as the table of headings knows them."""
    known = _known(names)
    form = _form(kind, names)
    here = {role: _in_order(form[role], known) for role in _MEANINGS if role in form}
    is_known = "marks" in form
    return {
        role: each[:1] if is_known and role not in _LISTS else each for role, each in here.items()
    }


def _form(kind: str, names: Sequence[str]) -> dict[str, Any]:
    """Return the section of the table that a list is of: one with its marks, or the general."""
    known = _known(names)
    forms: list[dict[str, Any]] = [each for each in _table()["format"] if each["of"] == kind]
    is_there = ({*map(plain, each["marks"])} <= known.keys() for each in forms)
    return next(
        (form for form, is_it in zip(forms, is_there, strict=True) if is_it), _table()[kind]
    )


def _known(names: Sequence[str]) -> dict[str, str]:
    """Return the headings by what the table calls them; of two alike, the first."""
    return {plain(name): name for name in reversed(names)}


def _in_order(headings: Sequence[str], known: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(known[each] for each in map(plain, headings) if each in known)


def _by_person(
    own: Mapping[str, Any], names: Sequence[str], lake: Path
) -> dict[str, tuple[str, ...]]:
    columns = {}
    for role, value in own.items():
        if role in _MEANINGS:
            headings = (value,) if isinstance(value, str) else tuple(value)
            for heading in headings:
                if heading not in names:
                    raise ConfigError(
                        f"{lake / FILE}: {role} is {heading!r:.60}, and the list has no such "
                        f"column; it has {_listed(names)}"
                    )
            columns[role] = headings
    return columns


def _check_said(lake: Path, kind: str, name: str, value: str) -> None:
    choices = _SAID[name]
    if choices and value not in choices:
        raise ConfigError(f"{lake / FILE}: {name} of [{kind}] is {' or '.join(choices)}")


def _read_own(path: Path) -> dict[str, Any]:
    try:
        tables = tomllib.loads(path.read_text("utf-8-sig"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    for kind, own in tables.items():
        known = (*_NEEDED.get(kind, ()), *_OTHERS.get(kind, ()), *_SAID, WORDS)
        if kind not in KINDS or not isinstance(own, dict):
            raise ConfigError(f"{path}: {kind} is no section of it: they are {', '.join(KINDS)}")
        if strange := next((name for name in own if name not in known), None):
            raise ConfigError(f"{path}: [{kind}] has no {strange}; it has {', '.join(known)}")
    return tables


def _question(
    kind: str,
    names: Sequence[str],
    lacking: Sequence[str],
    unsure: Mapping[str, Sequence[str]],
    list_name: str,
) -> str:
    asked = [f"which column is {role} ({_MEANINGS[role]})?" for role in lacking]
    asked += [f"is {role} {' or '.join(each)}?" for role, each in unsure.items()]
    how = f"svc-analytics match {kind} FILE --init writes {FILE}, in which you say it"
    return f"{list_name}: {' '.join(asked)} It has {_listed(names)}. {how}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"{name!r:.40}" for name in names[:30])


def starter(kind: str, names: Sequence[str]) -> str:
    """Return a commented section of `match.toml` to begin with, from a list's own headings."""
    columns = _by_table(kind, names)
    lines = [f"[{kind}]", f"# The columns of the list: {', '.join(names)}"]
    for role in (*_NEEDED[kind], *_OTHERS[kind]):
        here = columns.get(role, ())
        if role in _LISTS:
            value = f"[{', '.join(map(_quoted, here))}]"
        else:
            value = _quoted(here[0]) if len(here) == 1 else '""'
        mark = "" if len(here) == 1 or (here and role in _LISTS) else "# "
        choice = f": {' or '.join(here)}?" if len(here) > 1 and role not in _LISTS else ""
        lines.append(f"{mark}{role} = {value}  # {_MEANINGS[role]}{choice}")
    lines += ['# coin = "usdt"  # of every row, where no column says it']
    lines += ['# decimal = "."  # or ","', '# day_order = "DMY"  # or "MDY", of 03/04/2026']
    if kind != BOOKS:
        lines += [
            f"# [{kind}.{WORDS}]  # of a status that is not known",
            '# "in the post" = "paid"',
        ]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
