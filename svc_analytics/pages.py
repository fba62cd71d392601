"""One page of a list, taken from the body of an answer.

A page comes apart in one step, its records still as text. One that does not (a record
nested a thousand deep, a bare NaN) is cut at its own commas instead, so that one bad
record never takes the others with it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
import numpy as np

from svc_analytics.errors import DataError, ProtocolError

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+|\s+', re.DOTALL)
_OPENING = (b"{", b"[")
_CLOSING = {b"}": b"{", b"]": b"["}


class NotJson(DataError):
    """A body that is not one JSON document: cut off, from a proxy, or not JSON at all."""


class _Envelope(msgspec.Struct):
    data: msgspec.Raw
    next_cursor: str | None


_quick_list = msgspec.json.Decoder(list[msgspec.Raw])
_quick_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_quick_page = msgspec.json.Decoder(_Envelope)


@dataclass(frozen=True)
class Page:
    """A page as received: its body, and the cursor of the page that follows it.

    `regular` are its records, where all were told at once to be as the contract has them.
    """

    body: bytes
    next_cursor: str | None
    regular: list[Any] | None = None

    @cached_property
    def document(self) -> dict[str, Any] | None:
        """The whole page, decoded; None when only the raw texts can be told apart."""
        try:
            document = _decode(self.body)
        except NotJson:
            return None
        return document if isinstance(document, dict) else None

    @cached_property
    def has_single_keys(self) -> bool:
        """Whether it is proven that no key stands twice anywhere on the page.

        Text may hold key marks of its own, so there are never fewer marks than
        keys; equal numbers prove that decoding overwrote nothing.
        """
        if self.document is None or self.has_spaced_colons:
            return False
        return count_marks(self.body) == _count_keys(self.document)

    def refuse_doubles(self) -> None:
        """Refuse a page on which a list or a cursor stands twice: which counts is not known."""
        if self.has_single_keys:
            return
        try:
            members(self.body)
        except DataError as error:
            raise ProtocolError(f"the answer is not a page: {error}") from error

    @cached_property
    def has_spaced_colons(self) -> bool:
        """Whether a blank may stand between a key and its colon, so that marks prove nothing."""
        # One-byte searches are far quicker than two-byte ones, so they go first.
        blanks = (b" ", b"\t", b"\n", b"\r")
        return any(blank in self.body and blank + b":" in self.body for blank in blanks)

    def raw_records(self) -> list[bytes]:
        """Return the text of each record, exactly as received."""
        if self.document is None:
            return split(members(self.body)["data"])
        return [bytes(raw) for raw in _quick_list.decode(_quick_members.decode(self.body)["data"])]

    def raw_members(self, raw: bytes) -> dict[str, bytes]:
        """Split the text of one record of this page into its members, as received."""
        if not self.has_single_keys:
            return members(raw)
        return {name: bytes(value) for name, value in _quick_members.decode(raw).items()}


def parse_page(body: bytes) -> Page:
    """Read a page; raise `NotJson`, or `ProtocolError` when it is JSON of another shape."""
    try:
        envelope = _quick_page.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _parse_patiently(body)
    if bytes(memoryview(envelope.data)[:1]) != b"[":
        return _parse_patiently(body)
    return Page(body, check_cursor(envelope.next_cursor))


def _parse_patiently(body: bytes) -> Page:
    """Read a page that does not come apart in one step, or say what is wrong with it."""
    try:
        document = _decode(body)
    except NotJson:
        return _cut_page(body)
    if not isinstance(document, dict) or not isinstance(document.get("data"), list):
        raise ProtocolError("the answer is not a page: it has no list named data")
    return Page(body, _find_cursor(document))


def _decode(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NotJson("the body is not JSON") from error


def count_marks(body: bytes) -> int:
    """Count the quotes that a colon follows; numpy does it several times as fast as `count`."""
    text = np.frombuffer(body, np.uint8)
    return int(np.count_nonzero((text[:-1] == ord('"')) & (text[1:] == ord(":"))))


def _count_keys(value: Any) -> int:
    count, left = 0, [value]  # a stack of our own: records may be nested deeper than Python's
    while left:
        item = left.pop()
        if type(item) is dict:
            count += len(item)
        inner = item.values() if type(item) is dict else item
        left.extend(value for value in inner if type(value) in (dict, list))
    return count


def members(text: bytes) -> dict[str, bytes]:
    """Split the text of a JSON object into its members, values as received.

    Depth does not matter. A key that stands twice is refused.

    >>> members(b'{"a": [1, {"b": 2}], "c": "x,y"}')
    {'a': b'[1, {"b": 2}]', 'c': b'"x,y"'}
    """
    found: dict[str, bytes] = {}
    for part in split(text, b"{"):
        key, value = split_member(part)
        if key in found:
            message = f"the key {key!r} stands twice"
            raise DataError(message)
        found[key] = value
    return found


def split(text: bytes, opening: bytes = b"[") -> list[bytes]:
    """Split the text of a JSON array (or object) at the commas of its own level."""
    parts: list[bytes] = []
    stack: list[bytes] = []
    text = text.strip()
    start = end = 0
    for token in _TOKEN.finditer(text):
        mark = token.group()
        if token.start() != end or (end and not stack) or not (stack or mark == opening):
            raise NotJson("not one JSON document")
        end = token.end()
        if mark in _OPENING:
            stack.append(mark)
            start = end if len(stack) == 1 else start
        elif mark in _CLOSING:
            if stack.pop() != _CLOSING[mark]:
                raise NotJson("brackets that do not match")
            if not stack:
                parts.append(text[start : token.start()].strip())
        elif mark == b"," and len(stack) == 1:
            parts.append(text[start : token.start()].strip())
            start = end
    if stack or end != len(text) or not parts:
        raise NotJson("the document is cut off")
    return _without_blanks(parts)


def _without_blanks(parts: list[bytes]) -> list[bytes]:
    if parts == [b""]:
        return []
    if not all(parts):
        raise NotJson("a comma with nothing beside it")
    return parts


def split_member(part: bytes) -> tuple[str, bytes]:
    key = _TOKEN.match(part)
    rest = part[key.end() :].lstrip() if key else b""
    if not key or not rest.startswith(b":"):
        raise NotJson("a member without a key")
    try:
        return msgspec.json.decode(key.group(), type=str), rest[1:].strip()
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NotJson("a key that is not text") from error


def _cut_page(body: bytes) -> Page:
    try:
        envelope = members(body)
        split(envelope["data"])
        cursor = msgspec.json.decode(envelope.get("next_cursor", b""))
    except (KeyError, msgspec.DecodeError, UnicodeDecodeError, DataError) as error:
        raise NotJson("the body is not a page of JSON") from error
    return Page(body, check_cursor(cursor))


def _find_cursor(envelope: Mapping[str, Any]) -> str | None:
    if "next_cursor" not in envelope:
        raise ProtocolError("the page has no next_cursor: it is not known whether more follows")
    return check_cursor(envelope["next_cursor"])


def check_cursor(cursor: Any) -> str | None:
    """Return the cursor, or refuse the page: the end of a list is null and nothing else."""
    if cursor is None or (isinstance(cursor, str) and cursor):
        return cursor
    raise ProtocolError("the page's next_cursor is neither a text nor null")
