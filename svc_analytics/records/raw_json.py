"""JSON text as it was sent, split without decoding, and as every reader of JSON takes it.

JSON's grammar allows what some of DuckDB, Python's json and msgspec refuse: half of a surrogate
pair, a number that no double holds, ten thousand levels. One such text in a column fails a query
of all its rows.
"""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import isinf
from typing import Any

import msgspec
import numpy as np

from svc_analytics.errors import DataError, SvcError
from svc_analytics.messages import Message

TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+|\s+', re.DOTALL)
_OPENING = (b"{", b"[")
_CLOSING = {b"}": b"{", b"]": b"["}


class InvalidJson(DataError):
    """A body that is not one JSON document: cut off, from a proxy, or not JSON at all."""


def count_marks(body: bytes) -> int:
    """Count the quotes with a colon after them; several times as fast as `bytes.count`."""
    text = np.frombuffer(body, np.uint8)
    return int(np.count_nonzero((text[:-1] == ord('"')) & (text[1:] == ord(":"))))


def count_keys(value: Any) -> int:
    """Count the keys of all objects within a decoded value."""
    count, unvisited = 0, [value]  # not by recursion: records may be nested too deep for it
    while unvisited:
        item = unvisited.pop()
        if type(item) is dict:
            count += len(item)
        inner = item.values() if type(item) is dict else item
        unvisited.extend(value for value in inner if type(value) in (dict, list))
    return count


def depth_of(text: bytes) -> int:
    """Return how many levels a JSON text is nested; raise `InvalidJson` for what is none."""
    opening = (depth for token, depth in _scan(text.strip()) if token.group() in _OPENING)
    return max(opening, default=-1) + 1


def members(text: bytes) -> dict[str, bytes]:
    """Split the text of a JSON object into its members, values as received.

    Nesting may be of any depth. A key that appears twice is refused.

    >>> members(b'{"a": [1, {"b": 2}], "c": "x,y"}')
    {'a': b'[1, {"b": 2}]', 'c': b'"x,y"'}
    """
    values: dict[str, bytes] = {}
    for part in split(text, b"{"):
        key, value = split_member(part)
        if key in values:
            raise DataError(Message("record.key_twice", key=repr(key)))
        values[key] = value
    return values


def split(text: bytes, opening: bytes = b"[") -> list[bytes]:
    """Split the text of a JSON array (or object) at the commas of its own level."""
    text = text.strip()
    # What bounds the parts: the outer brackets, and the commas directly within them.
    bounds = [
        token
        for token, depth in _scan(text)
        if depth == 0 or (depth == 1 and token.group() == b",")
    ]
    if not bounds or bounds[0].group() != opening:
        raise InvalidJson("not one JSON document")
    parts = [text[left.end() : right.start()].strip() for left, right in pairwise(bounds)]
    if parts == [b""]:
        return []
    if not all(parts):
        raise InvalidJson("a comma without a value next to it")
    return parts


def _scan(text: bytes) -> Iterator[tuple[re.Match[bytes], int]]:
    """Yield each token, and how many brackets enclose it; refuse all but one document."""
    enclosing: list[bytes] = []
    end = 0
    for token in TOKEN.finditer(text):
        mark = token.group()
        if token.start() != end or (end and not enclosing):
            raise InvalidJson("not one JSON document")
        end = token.end()
        if mark in _CLOSING and (not enclosing or enclosing.pop() != _CLOSING[mark]):
            raise InvalidJson("brackets that do not match")
        yield token, len(enclosing)
        if mark in _OPENING:
            enclosing.append(mark)
    if enclosing or end != len(text):
        raise InvalidJson("the document is cut off")


def split_member(part: bytes) -> tuple[str, bytes]:
    """Split a member of an object into its key, decoded, and its value, as received."""
    key = TOKEN.match(part)
    rest = part[key.end() :].lstrip() if key else b""
    if not key or not rest.startswith(b":"):
        raise InvalidJson("a member without a key")
    return decode_text(key.group()), rest[1:].strip()


def decode_text(raw: bytes) -> str:
    """Return a JSON text; halves of surrogate pairs in it become their escapes."""
    try:
        text = json.loads(raw.decode())
    except ValueError as error:
        raise InvalidJson("a text that is not JSON") from error
    if not isinstance(text, str):
        raise InvalidJson("no text")
    return escape_halves(text)


def escape_halves(text: str) -> str:
    r"""Write halves of surrogate pairs, which no file can hold, as their escapes.

    >>> print(escape_halves("a\ud83d"))
    a\ud83d
    """
    return text.encode(errors="backslashreplace").decode()


DEEPEST = 500  # levels; from about 900 on, it depends on the caller whether Python reads them
_LARGEST_INTEGER = 4300  # digits that Python reads
_ESCAPES = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"  # a pair, as it should be
    rb"|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.",
    re.DOTALL,
)
_NUMBER = re.compile(rb"-?(?P<integer>0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", re.ASCII)


def is_plain(raw: bytes) -> bool:
    """Tell whether a value is JSON as every reader takes it."""
    try:
        msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return raw.count(b"[") + raw.count(b"{") <= DEEPEST or depth_of(raw) <= DEEPEST


def plain_json(raw: bytes) -> bytes:
    """Return a value as JSON that every reader takes: as received, wherever that is possible.

    Half of a surrogate pair becomes the six characters of its escape, and a number that no
    reader holds becomes a text of its digits. Raises `InvalidJson` for what is none, or is
    nested too deep.

    >>> plain_json(rb'{"cart": "a\\ud83d", "n": 1e999}')
    b'{"cart": "a\\\\\\\\ud83d", "n": "1e999"}'
    """
    if is_plain(raw):
        return raw
    plain = TOKEN.sub(lambda token: _plain_token(token.group()), raw)
    if is_plain(plain):
        return plain
    try:
        is_deep = depth_of(plain) > DEEPEST
    except DataError:
        is_deep = False
    raise InvalidJson("is nested too deep" if is_deep else "is not JSON")


def as_text(raw: bytes) -> str:
    """Return a value as JSON to keep: as received, or else as a text of what was received.

    >>> as_text(b"1.10"), as_text(b"1e999")
    ('1.10', '"1e999"')
    """
    return raw.decode() if is_plain(raw) else json.dumps(raw.decode(errors="backslashreplace"))


def _plain_token(token: bytes) -> bytes:
    if token.startswith(b'"'):
        return _ESCAPES.sub(_escaped, token)
    return b'"%s"' % token if _is_too_large(token) else token


def _escaped(match: re.Match[bytes]) -> bytes:
    return b"\\" + match.group() if match["half"] else match.group()


def _is_too_large(token: bytes) -> bool:
    number = _NUMBER.fullmatch(token)
    if not number:
        return False
    if number.end("integer") == len(token):
        return len(number["integer"]) > _LARGEST_INTEGER
    return isinf(float(token))


# ---------- As people send it: values over several lines, lists of records, a name twice


LONGEST_DOCUMENT = 1 << 26  # characters
UNREADABLE = (ValueError, RecursionError)  # msgspec's errors are of the first kind
_BEGINNING = re.compile(r'\s*(?:[\[{]\s*\Z|\{\s*"|\[\s*[\[{"])')
_VALUE = re.compile(r"\S")


class Members(list[tuple[str, Any]]):
    """The members of an object: each one, where several have the same name."""


def _no_text(_: str) -> None:
    """Leave out a number: only texts are looked for, and it may have any number of digits."""


_DECODER = json.JSONDecoder(object_pairs_hook=Members, parse_int=_no_text, parse_float=_no_text)


def begins_json(text: str) -> bool:
    """Tell whether a file that begins with this text is JSON.

    >>> [begins_json(text) for text in ('[{"a": 1},', "{", "[2026-10-05] paid")]
    [True, True, False]
    """
    return _BEGINNING.match(text) is not None


def begins_document(line: str) -> bool:
    """Tell whether a JSON value begins in a line, and does not end there."""
    if not begins_json(line):
        return False
    try:
        msgspec.json.decode(line)
    except UNREADABLE:
        return True
    return False


def whole_document(lines: Iterable[str], refusal: SvcError) -> str:
    """Return a document as one text; raise the refusal of one that is too long to be held."""
    parts, room = [], LONGEST_DOCUMENT
    for line in lines:
        parts.append(line)
        room -= len(line)
        if room <= 0:
            raise refusal
    return "".join(parts)


def document_values(text: str, number: int = 1) -> Iterator[tuple[int, str]]:
    """Yield each value of a text with the number of its first line; a torn one ends with its line.

    >>> list(document_values('{"a":\\n1}\\n[2]'))
    [(1, '{"a":\\n1}'), (3, '[2]')]
    """
    place = 0
    while match := _VALUE.search(text, place):
        number, place = number + text.count("\n", place, match.start()), match.start()
        end = _end_of_value(text, place)
        yield number, text[place:end]
        number, place = number + text.count("\n", place, end), end


def items_of(text: str) -> list[str]:
    """Return the items of a list, as they are written."""
    return [bytes(raw).decode() for raw in msgspec.json.decode(text, type=list[msgspec.Raw])]


def decode_pairs(text: str) -> Any:
    """Return a value of texts, lists and `Members`; numbers are None."""
    return _DECODER.decode(text)


def _end_of_value(text: str, start: int) -> int:
    try:
        return _DECODER.raw_decode(text, start)[1]
    except UNREADABLE:
        end = text.find("\n", start)
        return end if end > 0 else len(text)
