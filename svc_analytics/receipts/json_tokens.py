"""Tokens in JSON: a record in each line, or a document of records, in members however deep.

A record that cannot be read has no token but never ends the run.
"""

from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

import msgspec

from svc_analytics.errors import ConfigError
from svc_analytics.formatting import json_values
from svc_analytics.formatting.json_values import UNREADABLE, Members
from svc_analytics.receipts import find_tokens
from svc_analytics.receipts.find_tokens import NAMES, Cells, Row

MOST_COLUMNS = 1_000  # of records, which may name others in each line


def json_rows(
    lines: Iterator[str], source: str, column: str | None, keep: tuple[str, ...]
) -> Iterator[Row]:
    """Yield the tokens of each record, in the line in which each begins."""
    is_empty = True
    for number, record in _records(lines, source):
        cells = _cells(record, keep)
        for token in _tokens_of(record, column, source):
            is_empty = False
            place = max(record.find(token), 0) if token and find_tokens.is_like_token(token) else 0
            yield number + record.count("\n", 0, place), token, cells
    if is_empty:
        raise find_tokens.holds_none(source)


def json_columns(lines: Iterator[str], source: str, column: str | None) -> list[str]:
    """Return the names of the members of all records."""
    names: dict[str, None] = {}
    for _, record in _records(lines, source):
        names |= dict.fromkeys(_members(record))
        if len(names) > MOST_COLUMNS:
            message = f"{source} has more than {MOST_COLUMNS:,} columns: name those to keep"
            raise ConfigError(message)
    return list(names)


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
    if json_values.begins_document(first):
        why = " that can be read; it is one long JSON document: write each record in a line"
        text = json_values.whole_document(
            chain([first], lines), find_tokens.holds_none(source, why)
        )
        yield from json_values.document_values(text, number)
        return
    rest = ((each, line.strip()) for each, line in chain([(number, first)], numbered))
    yield from ((each, line) for each, line in rest if line)


def _parts(value: str, *, is_whole: bool) -> list[str]:
    """Return the records of a value: of a list, of the list that an object is about, or itself."""
    try:
        if value.startswith("["):
            return json_values.items_of(value)
        if is_whole and (listed := _list_of_tokens(value)):
            return [
                item
                for item in json_values.items_of(listed)
                if _tokens_within(item) or _is_named(item)
            ]
    except UNREADABLE:
        pass
    return [value]


def _list_of_tokens(document: str) -> str | None:
    """Return the member of an object that is a list and holds each token of it, if one does."""
    tokens = _tokens_within(document)
    texts = [bytes(raw).decode() for raw in _members(document).values() if tokens]
    lists = (text for text in texts if text.startswith("["))
    return next((text for text in lists if _tokens_within(text) == tokens), None)


def _tokens_within(value: str) -> list[str]:
    return [
        token
        for _, text in _texts(json_values.decode_pairs(value))
        for token in find_tokens.every_token(text)
    ]


def _is_named(record: str) -> bool:
    return any(f'"{name}"' in record for name in NAMES)


def _tokens_of(record: str, column: str | None, source: str) -> list[str | None]:
    """Return the tokens of a record; refuse to choose where members hold different ones."""
    try:
        texts = list(_texts(json_values.decode_pairs(record)))
        "".join(text for _, text in texts).encode()  # refuses half a character
    except UNREADABLE:
        return [None]
    if column is not None:
        texts = [each for each in texts if f"{each[0]}.".startswith(f"{column}.")]
    tokens: dict[str, list[str]] = {}
    for name, text in texts:
        tokens.setdefault(name, []).extend(find_tokens.every_token(text))
    holding = {name: dict.fromkeys(each) for name, each in tokens.items() if each}
    if column is None and any(each != next(iter(holding.values())) for each in holding.values()):
        find_tokens.require_one(list(holding), source)
    distinct = {token: None for each in holding.values() for token in each}
    is_other = column is None and record.startswith("{") and not _is_named(record)
    return list(distinct) or ([] if is_other else _named_texts(texts, column))


def _named_texts(texts: list[tuple[str, str]], column: str | None) -> list[str | None]:
    """Return the texts that stand where a token should; words that a person named are none."""
    names = NAMES if column is None else (column,)
    named = [text for name, text in texts if name in names or not name]
    if column is not None and named and all(map(find_tokens.has_words, named)):
        return []
    return [token for text in named for token in find_tokens.tokens_in(text)] or [None]


def _texts(value: Any, above: str = "") -> Iterator[tuple[str, str]]:
    """Yield each text within a value, with the names that lead to it: `custom_fields.value`."""
    if isinstance(value, str):
        yield above, value
    elif isinstance(value, Members):
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
    except UNREADABLE:
        return {}


def _json_text(raw: bytes) -> str | None:
    if raw == b"null":
        return None
    return msgspec.json.decode(raw, type=str) if raw.startswith(b'"') else raw.decode()
