"""Pieces of the text of a query: steps, lists of columns, quoted texts."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from types import MappingProxyType

from svc_analytics.instants import format_instant
from svc_analytics.messages import PLACE, english_templates

_PARAMETER = re.compile(r"\b(?:starts_at|ends_at)\b|(?<=:= )\w+|\{currency\}")


def step(name: str, sql: str) -> str:
    """Return a step of a query, as WITH takes it."""
    return f"{name} as (\n    {indented(sql)}\n)"


def lines(texts: Iterable[str], separator: str, indent: int) -> str:
    """Return texts a line each, indented but for the first."""
    return (separator + "\n" + " " * indent).join(texts)


def commented(columns: list[tuple[str, str]]) -> str:
    """Return the columns of a select, one a line, each with its meaning behind it."""
    texts = [f"{sql},  -- {meaning}" for sql, meaning in columns[:-1]]
    return lines([*texts, "{}  -- {}".format(*columns[-1])], "", 4)


def indented(sql: str) -> str:
    """Return lines of which all but the first are indented."""
    return sql.replace("\n", "\n    ")


def quote(text: str) -> str:
    """Write a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def instant_literal(micros: int) -> str:
    """Return an instant as a literal of SQL."""
    return f"timestamptz '{format_instant(micros)}'"


def fill_places(sql: str, places: Mapping[str, str]) -> str:
    """Put values in the places of a source's parameters."""
    return _PARAMETER.sub(lambda match: places[match[0].strip("{}")], sql)


# ---------- The SQL of a text
# Its English and its message, of the code and values that a query states.
#
# The query, as that of a rule, gives a `code` of `en.toml` and a column for each value that the
# text of the code names. So the words stand in the catalogue alone. Beside a value that is a text
# of ours, a column such as `reason_message` may state the message that it was made of.


_CODE = re.compile(r"'(\w+\.\w+)'")
_MESSAGE = re.compile(r"\b(\w+)_message\b")  # beside a value, the message that it was made of
_COLUMNS: Mapping[str, str] = MappingProxyType({})  # each value is the column of its name

Write = Callable[[str, Mapping[str, str]], str]


def english_of(sql: str, values: Mapping[str, str] = _COLUMNS) -> str:
    """Return the SQL of the English of what a query states.

    `values` are the SQL of the code and the values, where these are no columns.

    >>> english_of("select 'finding.amount_charged' as code, amount, charged_amount as charged")
    "'amount ' || amount || ', charged ' || charged"
    """
    return _by_code(sql, values, _english)


def message_of(sql: str, values: Mapping[str, str] = _COLUMNS) -> str:
    """Return the SQL of the message of what a query states, in JSON.

    >>> message_of("select 'finding.amount' as code, amount")
    '\\'{"code": "finding.amount", "values": {"amount": \\' || json_text(amount) || \\'}}\\''
    """
    return _by_code(sql, values, partial(_message, columns=frozenset(_MESSAGE.findall(sql))))


def _by_code(sql: str, values: Mapping[str, str], write: Write) -> str:
    codes = [code for code in dict.fromkeys(_CODE.findall(sql)) if code in english_templates()]
    if len(codes) == 1:
        return write(codes[0], values)
    cases = " ".join(f"when {quote(code)} then {write(code, values)}" for code in codes)
    return f"case {values.get('code', 'code')} {cases} end"


def _english(code: str, values: Mapping[str, str]) -> str:
    parts = PLACE.split(english_templates()[code])  # words and names of values, by turns
    sql = [_value(part, values) if place % 2 else quote(part) for place, part in enumerate(parts)]
    return " || ".join(part for part in sql if part != "''")


def _message(code: str, values: Mapping[str, str], columns: Collection[str]) -> str:
    names = dict.fromkeys(PLACE.findall(english_templates()[code]))
    if not names:
        return quote(f'{{"code": "{code}"}}')
    heads = [f'{{"code": "{code}", "values": {{', *[", "] * (len(names) - 1)]
    keys = [quote(f'{head}"{name}": ') for head, name in zip(heads, names, strict=True)]
    pairs = zip(keys, names, strict=True)
    texts = [f"{key} || {_json(name, values, columns)}" for key, name in pairs]
    return " || ".join([*texts, quote("}}")])


def _json(name: str, values: Mapping[str, str], columns: Collection[str]) -> str:
    text = f"json_text({_value(name, values)})"
    return f"coalesce({name.lower()}_message, {text})" if name.lower() in columns else text


def _value(name: str, values: Mapping[str, str]) -> str:
    return values.get(name, name.lower())
