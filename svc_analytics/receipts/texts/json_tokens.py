"""Tokens in JSON: a record in each line, or a document of records, in members however deep.

A record that cannot be read has no token but never ends the run.
"""

import json
import re
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

import msgspec

from svc_analytics.errors import ConfigError
from svc_analytics.receipts.texts.token_rows import NAMES, Cells, Row, holds_none, require_one
from svc_analytics.receipts.texts.worded_tokens import every_token, is_like_token, tokens_in

MOST_COLUMNS = 1_000  # of records, which may name others in each line
LONGEST_DOCUMENT = 1 << 26  # characters
_BEGINNING = re.compile(r'\s*(?:[\[{]\s*\Z|\{\s*"|\[\s*[\[{"])')
_VALUE = re.compile(r"\S")
_UNREADABLE = (ValueError, RecursionError)  # msgspec's errors are of the first kind


class _Members(list[tuple[str, Any]]):
    """The members of an object: each one, where several have the same name."""


def _no_text(_: str) -> None:
    """A number holds no token, however many digits it has."""


_DECODER = json.JSONDecoder(object_pairs_hook=_Members, parse_int=_no_text, parse_float=_no_text)


def begins_json(text: str) -> bool:
    """Tell whether a file that begins with this text is JSON.

    >>> [begins_json(text) for text in ('[{"a": 1},', "{", "[2026-10-05] paid")]
    [True, True, False]
    """
    return _BEGINNING.match(text) is not None


def json_rows(
    lines: Iterator[str], source: str, column: str | None, keep: tuple[str, ...]
) -> Iterator[Row]:
    """Yield the tokens of each record, in the line in which each begins."""
    for number, record in _records(lines, source):
        cells = _cells(record, keep)
        for token in _tokens_of(record, column, source):
            place = max(record.find(token), 0) if token and is_like_token(token) else 0
            yield number + record.count("\n", 0, place), token, cells


def json_columns(lines: Iterator[str], source: str, column: str | None) -> list[str]:
    """Return the names of the members of all records."""
    names: dict[str, None] = {}
    for _, record in _records(lines, source):
        names |= dict.fromkeys(_members(record))
        if len(names) > MOST_COLUMNS:
            message = f"{source} has more than {MOST_COLUMNS:,} columns: name those to keep"
            raise ConfigError(message)
    return list(names)


# ---------- records


def _records(lines: Iterator[str], source: str) -> Iterator[tuple[int, str]]:
    """Yield each record with the number of its first line."""
    values = _values(lines, source)
    opening = list(islice(values, 2))
    for number, value in chain(opening, values):
        place = 0
        for record in _parts(value, is_whole=len(opening) == 1):
            start = value.index(record, place)
            number, place = number + value.count("\n", place, start), start
            yield number, record


def _values(lines: Iterator[str], source: str) -> Iterator[tuple[int, str]]:
    """Yield each value with the number of its first line: one in a line, or over several."""
    numbered = enumerate(lines, 1)
    number, first = next(((each, line) for each, line in numbered if line.strip()), (1, ""))
    if not begins_json(first) or _is_json(first):
        rest = ((each, line.strip()) for each, line in chain([(number, first)], numbered))
        yield from ((each, line) for each, line in rest if line)
        return
    text = _whole_text(chain([first], lines), source)
    place = 0
    while match := _VALUE.search(text, place):
        number, place = number + text.count("\n", place, match.start()), match.start()
        end = _end_of_value(text, place)
        yield number, text[place:end]
        number, place = number + text.count("\n", place, end), end


def _whole_text(lines: Iterator[str], source: str) -> str:
    """Return a document as one text; refuse one that is too long to be held."""
    parts, room = [], LONGEST_DOCUMENT
    for line in lines:
        parts.append(line)
        room -= len(line)
        if room <= 0:
            why = " that can be read; it is one long JSON document: write each record in a line"
            raise holds_none(source, why)
    return "".join(parts)


def _end_of_value(text: str, start: int) -> int:
    """Return where a value ends; where it is torn, its line does."""
    try:
        return _DECODER.raw_decode(text, start)[1]
    except _UNREADABLE:
        end = text.find("\n", start)
        return end if end > 0 else len(text)


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except _UNREADABLE:
        return False
    return True


def _parts(value: str, *, is_whole: bool) -> list[str]:
    """Return the records of a value: of a list, of the list that an object is about, or itself."""
    try:
        if value.startswith("["):
            return _items(value)
        if is_whole and (listed := _list_of_tokens(value)):
            return [item for item in _items(listed) if _tokens_within(item) or _is_named(item)]
    except _UNREADABLE:
        pass
    return [value]


def _list_of_tokens(document: str) -> str | None:
    """Return the member of an object that is a list and holds each token of it, if one does."""
    tokens = _tokens_within(document)
    texts = [bytes(raw).decode() for raw in _members(document).values() if tokens]
    lists = (text for text in texts if text.startswith("["))
    return next((text for text in lists if _tokens_within(text) == tokens), None)


def _tokens_within(value: str) -> list[str]:
    return [token for _, text in _texts(_DECODER.decode(value)) for token in every_token(text)]


def _items(text: str) -> list[str]:
    return [bytes(raw).decode() for raw in msgspec.json.decode(text, type=list[msgspec.Raw])]


def _is_named(record: str) -> bool:
    return any(f'"{name}"' in record for name in NAMES)


# ---------- members


def _tokens_of(record: str, column: str | None, source: str) -> list[str | None]:
    """Return the tokens of a record; refuse to choose where members hold different ones."""
    try:
        texts = list(_texts(_DECODER.decode(record)))
        "".join(text for _, text in texts).encode()  # refuses half a character
    except _UNREADABLE:
        return [None]
    if column is not None:
        texts = [each for each in texts if f"{each[0]}.".startswith(f"{column}.")]
    tokens: dict[str, list[str]] = {}
    for name, text in texts:
        tokens.setdefault(name, []).extend(every_token(text))
    holding = {name: dict.fromkeys(each) for name, each in tokens.items() if each}
    if column is None and any(each != next(iter(holding.values())) for each in holding.values()):
        require_one(list(holding), source)
    distinct = {token: None for each in holding.values() for token in each}
    return list(distinct) or _named_texts(texts, column)


def _named_texts(texts: list[tuple[str, str]], column: str | None) -> list[str | None]:
    """Return what stands where a token should."""
    names = NAMES if column is None else (column,)
    named = [text for name, text in texts if name in names or not name]
    return [token for text in named for token in tokens_in(text)] or [None]


def _texts(value: Any, above: str = "") -> Iterator[tuple[str, str]]:
    """Yield each text within a value, with the names that lead to it: `custom_fields.value`."""
    if isinstance(value, str):
        yield above, value
    elif isinstance(value, _Members):
        for name, member in value:
            yield from _texts(member, f"{above}.{name}".lstrip("."))
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item, above)


def _cells(record: str, keep: tuple[str, ...]) -> Cells:
    """Return members as texts: a text as it is, a number digit for digit, null as nothing."""
    if not keep:
        return ()
    members = _members(record)
    return tuple(_json_text(bytes(members[name])) if name in members else None for name in keep)


def _members(record: str) -> dict[str, msgspec.Raw]:
    """Return an object's members as they are written; none where the record is no object."""
    try:
        return msgspec.json.decode(record, type=dict[str, msgspec.Raw])
    except _UNREADABLE:
        return {}


def _json_text(raw: bytes) -> str | None:
    if raw == b"null":
        return None
    return msgspec.json.decode(raw, type=str) if raw.startswith(b'"') else raw.decode()
