"""JSON as people send it: values over several lines, lists of records, a name twice."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from svc_analytics.errors import SvcError

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
