"""Signed texts: opaque tokens that only this merchant's service can have written."""

import base64
import binascii
import hashlib
import hmac

from svc_analytics.signing.secrets import Secret

_SIGNATURE_BYTES = 32


def write_signed(payload: bytes, purpose: str, secret: Secret) -> str:
    """Write a payload as base64 text, signed for one purpose."""
    return base64.urlsafe_b64encode(_sign(payload, purpose, secret) + payload).decode()


def read_signed(text: str, purpose: str, secret: Secret) -> bytes | None:
    """Read a payload back, or None if the text was altered or has another purpose."""
    raw = decode_exactly(text)
    signature, payload = raw[:_SIGNATURE_BYTES], raw[_SIGNATURE_BYTES:]
    is_ours = hmac.compare_digest(signature, _sign(payload, purpose, secret))
    return payload if is_ours else None


def decode_exactly(text: str) -> bytes:
    """Decode base64 that the service wrote; return no bytes for any other spelling.

    >>> decode_exactly("QQ=="), decode_exactly("QR=="), decode_exactly("Q!Q==")
    (b'A', b'', b'')
    """
    try:
        raw = base64.urlsafe_b64decode(text.encode())
    except (binascii.Error, UnicodeEncodeError):
        return b""
    # The decoder ignores foreign characters and the spare bits of the last letter.
    return raw if base64.urlsafe_b64encode(raw).decode() == text else b""


def _sign(payload: bytes, purpose: str, secret: Secret) -> bytes:
    message = purpose.encode() + b"\n" + payload
    return hmac.new(secret.reveal().encode(), message, hashlib.sha256).digest()
