"""Read a saved log of webhook deliveries: a verdict on each, and the record it names.

A line is a JSON object: `received_at` (RFC 3339), `signature` (the x-pay-signature header)
and `body_base64` (the exact raw body). One that cannot be read never ends the run.
"""

import base64
import binascii
import gzip
import hashlib
import io
import os
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from svc_analytics.errors import ConfigError, DataError
from svc_analytics.formatting.texts import canonical_id
from svc_analytics.instants import parse_instant
from svc_analytics.messages import Message, clauses
from svc_analytics.records import raw_json
from svc_analytics.signing.secrets import SigningSecret, valid_until
from svc_analytics.signing.webhooks import WEBHOOK_TOLERANCE, verify_webhook

MAX_BODY = 10 * 1000 * 1000
LONGEST_SIGNATURE = 8192
LONGEST_ID = 128
# Contract, Event types: what each type names, and the property with its id.
NAMED = {
    "payment.completed": ("payment", "payment_id"),
    "payout.completed": ("payout", "payout_id"),
    "session.expired": ("session", "session_id"),
    "binding.completed": ("binding", "binding_id"),
    "binding.review": ("binding", "binding_id"),
    "binding.revoked": ("binding", "binding_id"),
}
WITHOUT_RECORD = "test.ping"
# What an event may say of its record besides the id, as the record names it.
FACTS = ("reference_id", "session_id", "kind", "status")
INVALID = ("bad_signature", "conflicting", "malformed")  # a person should look at these
AUTHENTIC = Message("webhook.authentic")

Lines = str | os.PathLike[str] | Iterable[str | bytes | Mapping[str, Any]]


class _LogLine(msgspec.Struct):
    received_at: str
    body_base64: str
    signature: str | None = None


_FIELDS = _LogLine.__struct_fields__


class _Event(msgspec.Struct):
    event_id: str
    type: str


@dataclass(frozen=True)
class WebhookDelivery:
    """One webhook delivery: its verdict, and if authentic the record its event names."""

    line_no: int
    verdict: str
    reason: Message
    event_id: str | None = None
    event_type: str | None = None
    subject: str | None = None
    record_id: str | None = None
    received_at: int | None = None
    facts: Mapping[str, str] = field(default_factory=dict)  # what the event says of its record

    @property
    def names_money(self) -> bool:
        """Whether an authentic event names a payment or payout record."""
        is_authentic = self.verdict in ("valid", "repeated", "conflicting")
        return is_authentic and self.subject in ("payment", "payout")


def read_deliveries(source: Lines, ring: Sequence[SigningSecret]) -> Iterator[WebhookDelivery]:
    """Yield the webhook deliveries of a file (`-` is stdin) or of lines, with verdicts.

    Raises `ConfigError` without a webhook secret, and for a file that is no such log.
    """
    if not ring:
        raise ConfigError("SVC_WEBHOOK_SECRETS is not set: no delivery can be verified without it")
    seen: dict[bytes, bytes] = {}
    if isinstance(source, (str, os.PathLike)):
        entries = read_log(os.fspath(source))
    else:
        entries = enumerate(map(_as_bytes, source), 1)
    for number, line in entries:
        if line is None or line.strip():
            yield _mark_repeated(_classify(number, line, ring), seen)


def ring_at(ring: Sequence[SigningSecret], at: int) -> tuple[SigningSecret, ...]:
    """Return the secrets that may have signed a delivery received at an instant.

    Contract, Events 7: a new secret is valid at once, the one before it for 24 hours
    more; the receiver's clock may be 5 minutes off on either side.
    """
    return tuple(
        entry
        for entry in ring
        if (entry.valid_from is None or entry.valid_from <= at + WEBHOOK_TOLERANCE)
        and ((until := valid_until(entry, ring)) is None or at <= until + WEBHOOK_TOLERANCE)
    )


def _as_bytes(line: Any) -> bytes | None:
    try:
        if isinstance(line, Mapping):
            line = msgspec.json.encode(dict(line))
        data = line if isinstance(line, bytes) else str(line).encode()
    except (TypeError, ValueError, RecursionError):
        return None
    return data if len(data) < LONGEST_LINE else None


# ---------- one delivery


def _classify(number: int, line: bytes | None, ring: Sequence[SigningSecret]) -> WebhookDelivery:
    try:
        entry, at, body = _parse_line(line)
    except DataError as error:
        return WebhookDelivery(number, "malformed", error.args[0])
    if len(entry.signature or "") > LONGEST_SIGNATURE:
        return WebhookDelivery(
            number, "malformed", Message("webhook.long_signature"), received_at=at
        )
    if reason := _signature_fault(body, entry.signature, ring, at):
        return WebhookDelivery(number, "bad_signature", reason, received_at=at)
    return _read_event(body, WebhookDelivery(number, "valid", AUTHENTIC, received_at=at))


def _parse_line(line: bytes | None) -> tuple[_LogLine, int, bytes]:
    """Return the fields of a line, the instant it was received, and the raw body."""
    if line is None:
        raise DataError(Message("webhook.long_line"))
    if _names_one_twice(line):
        raise DataError(Message("webhook.member_twice"))
    try:
        entry = msgspec.json.decode(line, type=_LogLine)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise DataError(Message("webhook.other_line")) from error
    try:
        at = parse_instant(entry.received_at)[0]
    except DataError as error:
        raise DataError(Message("webhook.no_instant")) from error
    try:
        # MIME's base64 has lines of 76 characters, and some libraries write no other.
        body = base64.b64decode("".join(entry.body_base64.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise DataError(Message("webhook.not_base64")) from error
    if len(body) > MAX_BODY:
        raise DataError(Message("webhook.long_body"))
    return entry, at, body


def _names_one_twice(line: bytes) -> bool:
    """Tell whether a field stands in a line twice: nobody chooses which of them is meant."""
    if all(line.count(f'"{name}"'.encode()) < 2 for name in _FIELDS):
        return False
    try:
        names = [name for name, _ in raw_json.decode_pairs(line.decode())]
    except (*raw_json.UNREADABLE, TypeError):
        return False
    return any(names.count(name) > 1 for name in _FIELDS)


def _signature_fault(
    body: bytes, signature: str | None, ring: Sequence[SigningSecret], at: int
) -> Message | None:
    reason = verify_webhook(body, signature, ring_at(ring, at), at)
    if reason and verify_webhook(body, signature, ring, at) is None:
        return Message("webhook.secret_not_in_force")
    return reason and reason.replaced("webhook.late", Message("webhook.late_delivery"))


def _read_event(body: bytes, delivery: WebhookDelivery) -> WebhookDelivery:
    """Return an authentic delivery with its event's id and type, and the record named."""
    try:
        event = msgspec.json.decode(body, type=_Event)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return replace(delivery, verdict="malformed", reason=Message("webhook.other_event"))
    if not 0 < len(event.event_id) <= LONGEST_ID or len(event.type) > LONGEST_ID:
        return replace(delivery, verdict="malformed", reason=Message("webhook.odd_event"))
    delivery = replace(delivery, event_id=event.event_id, event_type=event.type)
    if event.type == WITHOUT_RECORD:
        return delivery
    if event.type not in NAMED:
        # Contract, Versioning 4: new event types can appear, unknown types are ignored.
        return replace(delivery, verdict="ignored", reason=Message("webhook.unknown_type"))
    return _read_record_id(body, delivery, *NAMED[event.type])


def _read_record_id(
    body: bytes, delivery: WebhookDelivery, subject: str, id_name: str
) -> WebhookDelivery:
    try:
        members = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        text = msgspec.json.decode(members.get(id_name) or b"", type=str)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        members, text = {}, ""
    if not 0 < len(text) <= LONGEST_ID:
        reason = Message("webhook.no_record_id", field=id_name)
        return replace(delivery, verdict="malformed", reason=reason)
    facts = {name: _text_of(members[name]) for name in FACTS if name in members}
    return replace(delivery, subject=subject, record_id=canonical_id(text), facts=facts)


def _text_of(raw: msgspec.Raw) -> str:
    """Return a member's text; of anything else, and of half a character, as it is written."""
    try:
        return canonical_id(msgspec.json.decode(raw, type=str))
    except (msgspec.DecodeError, RecursionError):
        return bytes(raw).decode(errors="replace")


def _mark_repeated(delivery: WebhookDelivery, seen: dict[bytes, bytes]) -> WebhookDelivery:
    """Mark an authentic event that was delivered before (contract, Delivery 3)."""
    if delivery.verdict != "valid" or delivery.event_id is None:
        return delivery
    text = f"{delivery.event_type}\0{delivery.subject}\0{delivery.record_id}"
    key, content = (hashlib.sha256(one.encode()).digest()[:16] for one in (delivery.event_id, text))
    before = seen.setdefault(key, content)
    if before is content:
        return delivery
    if before == content:
        reason = clauses(AUTHENTIC, Message("webhook.repeated"))
        return replace(delivery, verdict="repeated", reason=reason)
    return replace(delivery, verdict="conflicting", reason=Message("webhook.conflicting"))


# ---------- Files of webhook deliveries
# A JSON object in each line, or a list of them; packed, in UTF-16.
#
# Whatever else a file is, it is refused once, and not told as so many malformed deliveries.


LONGEST_LINE = 16 * 1000 * 1000  # holds a body of 10 MB in base64, and the other fields
MOST_OTHERS = 1_000  # lines that are no deliveries, before the first one that is
_ROOM = 1 << 26  # bytes of them
_PIECE = 1 << 16  # to skip the rest of a longer line
_MEMBERS = {"received_at", "body_base64"}
_FORM = "each line is a JSON object with received_at, signature and body_base64"

Entry = tuple[int, bytes | None]  # its first line, and its JSON; None for one that is too long


class _Recoded:
    """The lines of a file in UTF-16, in UTF-8."""

    def __init__(self, file: BinaryIO) -> None:
        self._text = io.TextIOWrapper(file, "utf-16", errors="replace", newline="")

    def readline(self, size: int, /) -> bytes:
        return self._text.readline(size).encode()


_Lines = BinaryIO | _Recoded


def read_log(path: str) -> Iterator[Entry]:
    """Yield the entries of a log (`-` is stdin); raise `ConfigError` for a file that is none."""
    name = "stdin" if path == "-" else f"{path!r:.200}"
    try:
        with _opened(path) as file:
            yield from _deliveries(_entries(file, name), name)
    except (EOFError, zlib.error) as error:
        raise ConfigError(f"cannot read {name}: it is torn") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error) or "not a file name"
        raise ConfigError(f"cannot read {name}: {reason:.200}") from error


@contextmanager
def _opened(path: str) -> Iterator[_Lines]:
    if path == "-":
        yield _unpacked(sys.stdin.buffer)
        return
    with Path(path).open("rb") as file:
        yield _unpacked(file)


def _unpacked(file: BinaryIO) -> _Lines:
    head = file.peek(4) if isinstance(file, io.BufferedReader) else b""
    if head.startswith(b"\x1f\x8b"):
        return _unpacked(io.BufferedReader(gzip.GzipFile(fileobj=file)))
    return _Recoded(file) if head.startswith((b"\xff\xfe", b"\xfe\xff")) else file


def _deliveries(entries: Iterator[Entry], name: str) -> Iterator[Entry]:
    """Yield entries; refuse a file in which none is a delivery, before any is told."""
    others: list[Entry] = []
    room = _ROOM
    for entry in entries:
        others.append(entry)
        if _is_delivery(entry[1]):
            yield from chain(others, entries)
            return
        room -= len(entry[1] or b"")
        if len(others) > MOST_OTHERS or room < 0:
            break
    if others:
        raise ConfigError(f"{name} is no log of webhook deliveries, of which {_FORM}")


def _is_delivery(entry: bytes | None) -> bool:
    """Tell whether an entry is written as a delivery, perhaps a broken one."""
    try:
        members = raw_json.decode_pairs((entry or b"").decode())
        return {name for name, _ in members} >= _MEMBERS
    except (*raw_json.UNREADABLE, TypeError):
        return False


def _entries(file: _Lines, name: str) -> Iterator[Entry]:
    """Yield the document in each line, or each item of a list over several."""
    lines = _bounded(file)
    number, first = 1, next(lines, b"")
    while first is not None and first and not first.strip():
        number, first = number + 1, next(lines, b"")
    if first and raw_json.begins_document(first.decode(errors="replace")):
        refusal = ConfigError(f"{name} is one long JSON document: write a log of which {_FORM}")
        texts = (line.decode(errors="replace") for line in chain([first], lines) if line)
        for each, value in raw_json.document_values(
            raw_json.whole_document(texts, refusal), number
        ):
            yield from _items(each, value.encode())
        return
    for each, line in enumerate(chain([first], lines), number):
        if line is None or line.strip():
            yield from _items(each, line)


def _items(number: int, entry: bytes | None) -> Iterator[Entry]:
    """Yield the items of a list, each with its first line; of anything else, itself."""
    if entry is None or not entry.startswith(b"["):
        yield number, entry
        return
    try:
        text, place = entry.decode(), 0
        for item in raw_json.items_of(text):
            start = text.index(item, place)
            number, place = number + text.count("\n", place, start), start
            yield number, item.encode()
    except raw_json.UNREADABLE:
        yield number, entry


def _bounded(file: _Lines) -> Iterator[bytes | None]:
    mark = b"\xef\xbb\xbf"
    while line := file.readline(LONGEST_LINE):
        if line.endswith(b"\n") or len(line) < LONGEST_LINE:
            yield line.removeprefix(mark)
            continue
        yield None
        while line and not line.endswith(b"\n"):
            line = file.readline(_PIECE)
