"""JSON text that every reader takes: DuckDB, Python's json and msgspec.

JSON's grammar allows what some of them refuse: half of a surrogate pair, a number that no
double holds, ten thousand levels. One such text in a column fails a query of all its rows.
"""

import json
import re
from math import isinf

import msgspec

from svc_analytics.errors import DataError
from svc_analytics.records.raw_json import TOKEN, depth_of

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
    reader holds becomes a text of its digits. Raises `DataError` for what is no JSON, or is
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
    raise DataError("is nested too deep" if is_deep else "is not JSON")


def as_kept(raw: bytes) -> str:
    """Return a value as JSON to keep: as received, or else as a text of what was received.

    >>> as_kept(b"1.10"), as_kept(b"1e999")
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
