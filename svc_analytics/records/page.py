"""Parse the body of a list's answer into a page: its records as text, and its cursor.

Where the JSON decoder fails (a record nested a thousand deep, a bare NaN) the page is split
at its own commas, so that one bad record never takes the others with it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from svc_analytics.errors import DataError, ProtocolError
from svc_analytics.records.raw_json import InvalidJson, count_keys, count_marks, members, split


class _Envelope(msgspec.Struct):
    data: msgspec.Raw
    next_cursor: str | None


_quick_list = msgspec.json.Decoder(list[msgspec.Raw])
_quick_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_quick_page = msgspec.json.Decoder(_Envelope)


@dataclass(frozen=True)
class Page:
    """A page as received: its body, and the cursor of the page that follows it."""

    body: bytes
    next_cursor: str | None
    structs: list[Any] | None = None  # if each record has all the contract's members, no other

    @cached_property
    def document(self) -> dict[str, Any] | None:
        """The whole page, decoded; None when the decoder refuses it and only `split` helps."""
        try:
            document = _decode(self.body)
        except InvalidJson:
            return None
        return document if isinstance(document, dict) else None

    @cached_property
    def has_single_keys(self) -> bool:
        """Whether no key is known to appear twice in any object of the page.

        A mark is a quote with a colon after it. Texts may hold marks too, so there are
        never fewer marks than keys; equal numbers prove that decoding overwrote nothing.
        """
        if self.document is None or self.has_spaced_colons:
            return False
        return count_marks(self.body) == count_keys(self.document)

    def refuse_doubles(self) -> None:
        """Refuse a page with two lists or two cursors: which one counts is not known."""
        if self.has_single_keys:
            return
        try:
            members(self.body)
        except DataError as error:
            raise ProtocolError(f"the answer is not a page: {error}") from error

    @cached_property
    def has_spaced_colons(self) -> bool:
        """Whether a blank precedes a colon somewhere, so that counting marks proves nothing."""
        # Searching for one byte is far quicker than for two, so that goes first.
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
    """Parse a page; raises `InvalidJson`, or `ProtocolError` when it is JSON of another shape."""
    try:
        envelope = _quick_page.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _parse_odd_page(body)
    if bytes(memoryview(envelope.data)[:1]) != b"[":
        return _parse_odd_page(body)
    return Page(body, check_cursor(envelope.next_cursor))


def _parse_odd_page(body: bytes) -> Page:
    """Parse a page that the quick decoder refused, or say what is wrong with it."""
    try:
        document = _decode(body)
    except InvalidJson:
        return _split_page(body)
    if not isinstance(document, dict) or not isinstance(document.get("data"), list):
        raise ProtocolError("the answer is not a page: it has no list named data")
    return Page(body, _find_cursor(document))


def _decode(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidJson("the body is not JSON") from error


def _split_page(body: bytes) -> Page:
    try:
        envelope = members(body)
        split(envelope["data"])
        raw_cursor = envelope.get("next_cursor", b"")
    except (KeyError, DataError) as error:
        raise InvalidJson("the body is not a page of JSON") from error
    return Page(body, check_cursor(_decode_cursor(raw_cursor)))


def _decode_cursor(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if not _is_string(raw):
            raise InvalidJson("the body is not a page of JSON") from error
        # Half a surrogate, or a bare control character: asked again, it would come again.
        message = "the page's next_cursor is not a text that can be sent back"
        raise ProtocolError(message) from error


def _is_string(raw: bytes) -> bool:
    """Whether bytes are UTF-8 and begin as a string of JSON does."""
    try:
        return raw.decode().startswith('"')
    except UnicodeDecodeError:
        return False


def _find_cursor(envelope: Mapping[str, Any]) -> str | None:
    if "next_cursor" not in envelope:
        raise ProtocolError("the page has no next_cursor: more records may follow")
    return check_cursor(envelope["next_cursor"])


def check_cursor(cursor: Any) -> str | None:
    """Return a cursor or None; refuse the page for anything else: a list ends with null."""
    if cursor is None or (isinstance(cursor, str) and cursor):
        return cursor
    raise ProtocolError("the page's next_cursor is neither a text nor null")
