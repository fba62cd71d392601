"""A saved log of webhook deliveries, line by line: authentic or not, and what each names.

A line is a JSON object: `received_at` (RFC 3339), `signature` (the x-pay-signature
header) and `body_base64` (the exact raw body). Lines come from outside: each is
bounded, and one that cannot be read is a row with its reason, never the end of the run.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from svc_analytics.errors import ConfigError, DataError
from svc_analytics.instants import parse_instant
from svc_analytics.signing.secrets import SigningSecret, valid_until
from svc_analytics.signing.webhooks import WEBHOOK_TOLERANCE, verify_webhook

MAX_BODY = 10 * 1000 * 1000
LONGEST_LINE = 16 * 1000 * 1000  # such a body in base64, and room for the rest of the line
PIECE = 1 << 16  # of a longer line, to pass over it
LONGEST_SIGNATURE = 8192
LONGEST_ID = 128
# Contract, Event types: what each names, and the property that holds its id.
NAMED = {
    "payment.completed": ("payment", "payment_id"),
    "payout.completed": ("payout", "payout_id"),
    "session.expired": ("session", "session_id"),
    "binding.completed": ("binding", "binding_id"),
    "binding.review": ("binding", "binding_id"),
    "binding.revoked": ("binding", "binding_id"),
}
WITHOUT_RECORD = "test.ping"
INVALID = ("bad_signature", "conflicting", "malformed")  # what a person should look at
UNTIMELY = "signed by a secret that was not in force when it was received"

Lines = str | os.PathLike[str] | Iterable[str | bytes | Mapping[str, Any]]


class _Line(msgspec.Struct):
    received_at: str
    body_base64: str
    signature: str | None = None


class _Event(msgspec.Struct):
    event_id: str
    type: str


@dataclass(frozen=True)
class WebhookDelivery:
    """One delivery: what became of it, and the record its event names if it is authentic."""

    line_no: int
    verdict: str
    reason: str
    event_id: str | None = None
    event_type: str | None = None
    subject: str | None = None
    record_id: str | None = None
    received_at: int | None = None

    @property
    def names_money(self) -> bool:
        """Whether an authentic event says that this payment or payout record exists."""
        is_authentic = self.verdict in ("valid", "repeated", "conflicting")
        return is_authentic and self.subject in ("payment", "payout")


def read_deliveries(source: Lines, ring: Sequence[SigningSecret]) -> Iterator[WebhookDelivery]:
    """Yield a verdict for each line of a file (`-` is stdin) or of an iterable, in order.

    Raises `ConfigError` without a webhook secret, and for a file that cannot be read.
    """
    if not ring:
        message = "SVC_WEBHOOK_SECRETS is not set: no delivery can be verified without it"
        raise ConfigError(message)
    seen: dict[bytes, bytes] = {}
    for number, line in enumerate(_lines_of(source), 1):
        if line is None or line.strip():
            yield _repeated(_judge(number, line, ring), seen)


def ring_at(ring: Sequence[SigningSecret], at: int) -> tuple[SigningSecret, ...]:
    """The secrets that may have signed what was received at an instant.

    Contract, Events 7: a new secret is valid at once, the one before it for 24 hours
    more; the receiver's clock may be 5 minutes off on either side.
    """
    return tuple(
        entry
        for entry in ring
        if (entry.valid_from is None or entry.valid_from <= at + WEBHOOK_TOLERANCE)
        and ((until := valid_until(entry, ring)) is None or at <= until + WEBHOOK_TOLERANCE)
    )


# ---------- lines


def _lines_of(source: Lines) -> Iterator[bytes | None]:
    """Yield each line as bytes; None for one that is too long, or no line at all."""
    if not isinstance(source, (str, os.PathLike)):
        yield from map(_as_bytes, source)
    elif os.fspath(source) == "-":
        yield from _bounded(sys.stdin.buffer)
    else:
        try:
            with Path(source).open("rb") as file:
                yield from _bounded(file)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "not a file name"
            raise ConfigError(f"cannot read {os.fspath(source)!r:.200}: {reason}") from error


def _bounded(file: BinaryIO) -> Iterator[bytes | None]:
    mark = b"\xef\xbb\xbf"
    while line := file.readline(LONGEST_LINE):
        if line.endswith(b"\n") or len(line) < LONGEST_LINE:
            yield line.removeprefix(mark)
            continue
        yield None
        while line and not line.endswith(b"\n"):
            line = file.readline(PIECE)


def _as_bytes(line: Any) -> bytes | None:
    try:
        if isinstance(line, Mapping):
            line = msgspec.json.encode(dict(line))
        data = line if isinstance(line, bytes) else str(line).encode()
    except (TypeError, ValueError, RecursionError):
        return None
    return data if len(data) < LONGEST_LINE else None


# ---------- one delivery


def _judge(number: int, line: bytes | None, ring: Sequence[SigningSecret]) -> WebhookDelivery:
    if line is None:
        return WebhookDelivery(number, "malformed", "the line is too long, or not text")
    try:
        entry = msgspec.json.decode(line, type=_Line)
        at = parse_instant(entry.received_at)[0]
        body = _read_body(entry.body_base64)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        reason = "not an object with received_at, signature and body_base64 as texts"
        return WebhookDelivery(number, "malformed", reason)
    except DataError as error:
        reason = str(error) if isinstance(error, _BadBody) else "received_at is not an instant"
        return WebhookDelivery(number, "malformed", reason)
    if len(entry.signature or "") > LONGEST_SIGNATURE:
        return WebhookDelivery(number, "malformed", "the signature is too long", received_at=at)
    if refusal := _refusal(body, entry.signature, ring, at):
        return WebhookDelivery(number, "bad_signature", refusal, received_at=at)
    return _name(body, WebhookDelivery(number, "valid", "authentic", received_at=at))


class _BadBody(DataError):
    """A body that cannot be had from its line."""


def _read_body(text: str) -> bytes:
    try:
        body = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise _BadBody("body_base64 is not base64") from error
    if len(body) > MAX_BODY:
        raise _BadBody("the body is longer than 10 MB")
    return body


def _refusal(
    body: bytes, signature: str | None, ring: Sequence[SigningSecret], at: int
) -> str | None:
    reason = verify_webhook(body, signature, ring_at(ring, at), at)
    if reason and verify_webhook(body, signature, ring, at) is None:
        return UNTIMELY
    return reason and reason.replace("this clock", "received_at")


def _name(body: bytes, found: WebhookDelivery) -> WebhookDelivery:
    """Read what an authentic body says; never more of it than its ids."""
    try:
        event = msgspec.json.decode(body, type=_Event)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        reason = "authentic, but not an object with event_id and type"
        return replace(found, verdict="malformed", reason=reason)
    if not 0 < len(event.event_id) <= LONGEST_ID or len(event.type) > LONGEST_ID:
        reason = "authentic, but its event_id or type is empty or too long"
        return replace(found, verdict="malformed", reason=reason)
    found = replace(found, event_id=event.event_id, event_type=event.type)
    if event.type == WITHOUT_RECORD:
        return found
    if event.type not in NAMED:
        # Contract, Versioning 4: new event types can appear, unknown types are ignored.
        return replace(
            found, verdict="ignored", reason="authentic, of an event type that is not known here"
        )
    return _name_record(body, found, *NAMED[event.type])


def _name_record(body: bytes, found: WebhookDelivery, subject: str, holder: str) -> WebhookDelivery:
    try:
        record_id = msgspec.json.decode(body, type=dict[str, msgspec.Raw]).get(holder)
        text = msgspec.json.decode(record_id or b"", type=str)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        text = ""
    if not 0 < len(text) <= LONGEST_ID:
        reason = f"authentic, but {holder} is missing or is not an id"
        return replace(found, verdict="malformed", reason=reason)
    return replace(found, subject=subject, record_id=text)


def _repeated(found: WebhookDelivery, seen: dict[bytes, bytes]) -> WebhookDelivery:
    """Point out an event that came before: only an authentic one can (contract, Delivery 3)."""
    if found.verdict != "valid" or found.event_id is None:
        return found
    told = f"{found.event_type}\0{found.subject}\0{found.record_id}"
    key, content = (hashlib.sha256(text.encode()).digest()[:16] for text in (found.event_id, told))
    before = seen.setdefault(key, content)
    if before is content:
        return found
    if before == content:
        return replace(found, verdict="repeated", reason="authentic; the same event came before")
    reason = "authentic, but another event with this event_id came before"
    return replace(found, verdict="conflicting", reason=reason)
