"""Webhook signatures: sign and verify `x-pay-signature` headers."""

import hashlib
import hmac
import re
from collections.abc import Iterable

from svc_analytics.arguments import Instant, as_instant, check
from svc_analytics.instants import SECOND
from svc_analytics.messages import Message
from svc_analytics.signing.secrets import Secret, Secrets, parse_ring

WEBHOOK_TOLERANCE = 300 * SECOND  # contract, Limits: both directions
_HEADER_TIME = re.compile(r"[0-9]{1,15}\Z", re.ASCII)


def sign_webhook(body: bytes, secrets: Iterable[Secret], at: int) -> str:
    """Sign a webhook body; return its `x-pay-signature` header, one entry per secret."""
    entries = [f"v1={_webhook_mac(body, secret, at)}" for secret in secrets]
    return ",".join([f"t={at}", *entries])


def verify_webhook(body: bytes, header: str | None, ring: Secrets, now: Instant) -> Message | None:
    """Verify a webhook delivery: None when it is authentic, else the reason it is not.

    `body` is the exact raw body, `header` its `x-pay-signature`. `ring` are the webhook
    secrets, newest first: texts as in SVC_WEBHOOK_SECRETS, or those of `read_settings`. `now`
    is the receiver's clock: a datetime with a zone, RFC 3339 text, or UTC microseconds.

    Returns:
        None, or a reason in words, with its `code`.

    Raises:
        ConfigError: when an argument is of another type.

    Examples:
        >>> verify_webhook(b"{}", None, ["a secret"], "2026-11-01")
        'the x-pay-signature header is missing or malformed'
    """
    check("body", body, bytes, "the raw body as bytes")
    check("header", header, (str, type(None)), "the x-pay-signature header as text")
    clock = as_instant("now", now)
    fields = [field.strip().partition("=") for field in (header or "").split(",")]
    times = [value for name, _, value in fields if name == "t"]
    signatures = [value for name, _, value in fields if name == "v1"]
    if len(times) != 1 or not _HEADER_TIME.match(times[0]) or not signatures:
        return Message("webhook.no_header")
    at = int(times[0])
    if abs(clock - at * SECOND) > WEBHOOK_TOLERANCE:
        return Message("webhook.late")
    expected = [_webhook_mac(body, entry.secret, times[0]).encode() for entry in parse_ring(ring)]
    offered = [signature.encode("utf-8", "replace") for signature in signatures]
    # No early end: the time taken must not tell which pair matched.
    matches = [hmac.compare_digest(want, have) for want in expected for have in offered]
    return None if any(matches) else Message("webhook.no_match")


def _webhook_mac(body: bytes, secret: Secret, at: int | str) -> str:
    message = f"{at}.".encode() + body
    return hmac.new(secret.reveal().encode(), message, hashlib.sha256).hexdigest()
