"""Read a saved log of webhook deliveries: a verdict on each, and the record it names.

A line is a JSON object: `received_at` (RFC 3339), `signature` (the x-pay-signature header)
and `body_base64` (the exact raw body). One that cannot be read never ends the run.
"""

import base64
import binascii
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from svc_analytics.errors import ConfigError, DataError
from svc_analytics.formatting.ids import canonical_id
from svc_analytics.formatting.json_values import UNREADABLE, decode_pairs
from svc_analytics.instants import parse_instant
from svc_analytics.messages import Message, clauses
from svc_analytics.signing.secrets import SigningSecret, valid_until
from svc_analytics.signing.webhooks import WEBHOOK_TOLERANCE, verify_webhook
from svc_analytics.webhooks.log_files import LONGEST_LINE, read_log

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
        names = [name for name, _ in decode_pairs(line.decode())]
    except (*UNREADABLE, TypeError):
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
