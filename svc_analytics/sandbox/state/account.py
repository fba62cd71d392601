"""Account of the merchant: profile, keys and secrets, derived from the scenario."""

import base64
import binascii
import hashlib
import hmac
import secrets
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from svc_analytics.instants import format_instant
from svc_analytics.sandbox.past.scenario import Scenario
from svc_analytics.sandbox.past.tampering import Tampering
from svc_analytics.sandbox.state.store import Store
from svc_analytics.signing.secrets import ROTATION_OVERLAP, Secret, SigningSecret

KeyClass = Literal["checkout", "payout"]
SecretKind = Literal["receipt", "webhook"]

_PREFIX: dict[SecretKind, str] = {"receipt": "rcpt_", "webhook": "whsec_"}
_ORDINALS = {1: "first", 2: "second"}
Ring = tuple[SigningSecret, ...]  # newest first


@dataclass(frozen=True)
class Account:
    """Hold a merchant's id, keys and secrets; no repr shows them."""

    merchant_id: str
    checkout_key: Secret
    payout_key: Secret
    cursor_secret: Secret
    receipt_ring: Ring
    webhook_ring: Ring
    tampering: Tampering

    def receipt_secret(self, at: int) -> Secret:
        """Return the secret that signs receipts issued at an instant."""
        return next(
            (entry.secret for entry in self.receipt_ring if (entry.valid_from or 0) <= at),
            self.receipt_ring[-1].secret,
        )

    def accepted_receipt_ring(self, now: int) -> Ring:
        """Return the secrets that the service accepts on receipts now."""
        return in_use((*(one for one in self.receipt_ring if (one.valid_from or 0) <= now),), now)

    def environment(self, base_url: str) -> dict[str, str]:
        """Return the environment variables that point svc-analytics at this merchant."""
        return {
            "SVC_BASE_URL": base_url,
            "SVC_CHECKOUT_KEY": self.checkout_key.reveal(),
            "SVC_PAYOUT_KEY": self.payout_key.reveal(),
            "SVC_RECEIPT_SECRETS": _ring_text(self.receipt_ring),
            "SVC_WEBHOOK_SECRETS": _ring_text(self.webhook_ring),
        }


def in_use(ring: Ring, now: int) -> Ring:
    """Return the newest secret and each other whose 24 hours have not passed (Delivery 7, 8).

    They count from its own successor, so that one more rotation takes nothing back.
    """
    successors = (None, *ring)
    return tuple(
        secret
        for secret, newer in zip(ring, successors, strict=False)
        if newer is None or now < (newer.valid_from or 0) + ROTATION_OVERLAP
    )


class SigningSecrets:
    """Keep the receipt and webhook secrets that were made after the seeded past."""

    def __init__(self, store: Store, account: Account) -> None:
        self._store = store
        self._first = account

    @property
    def account(self) -> Account:
        """The account with all secrets made so far."""
        added: dict[str, list[SigningSecret]] = {"receipt": [], "webhook": []}
        sql = "select kind, secret, valid_from from secrets order by rowid desc"
        for kind, secret, valid_from in self._store.fetch(sql):
            added[kind].append(SigningSecret(Secret(secret), valid_from))
        return replace(
            self._first,
            receipt_ring=(*added["receipt"], *self._first.receipt_ring),
            webhook_ring=(*added["webhook"], *self._first.webhook_ring),
        )

    def rotate(self, kind: SecretKind, at: int) -> Secret:
        """Make a new secret, valid at once; each older one keeps its 24 hours."""
        secret = _PREFIX[kind] + secrets.token_hex(32)
        self._store.insert("secrets", kind, secret, at)
        return Secret(secret)

    def webhook_secrets(self, now: int) -> list[Secret]:
        """Return the secrets that sign a webhook."""
        return [entry.secret for entry in in_use(self.account.webhook_ring, now)]


def account_of(scenario: Scenario) -> Account:
    """Derive the account of a scenario; every scenario has its own."""

    def derive(purpose: str) -> str:
        return hashlib.sha256(f"{scenario.identity}/{purpose}".encode()).hexdigest()

    def dated(prefix: str, purpose: str, since: int) -> SigningSecret:
        return SigningSecret(Secret(prefix + derive(purpose)), since)

    starts = scenario.receipt_secrets_since
    return Account(
        merchant_id=str(uuid.uuid5(uuid.NAMESPACE_URL, f"sandbox:{scenario.identity}")),
        checkout_key=Secret(f"svc_live_{derive('checkout key')}"),
        payout_key=Secret(f"svc_payout_{derive('payout key')}"),
        cursor_secret=Secret(derive("cursors")),
        receipt_ring=tuple(
            dated("rcpt_", f"{_ORDINALS.get(number, number)} receipt secret", since)
            for number, since in zip(range(len(starts), 0, -1), starts, strict=True)
        ),
        webhook_ring=(dated("whsec_", "webhook secret", scenario.start),),
        tampering=Tampering(scenario.business.tampered_one_in, scenario.current_month.start),
    )


def _ring_text(ring: Iterable[SigningSecret]) -> str:
    return ",".join(
        f"{entry.secret.reveal()}@{format_instant(entry.valid_from or 0)}" for entry in ring
    )


# ---------- Signed texts
# Opaque tokens that only this merchant's service can have written.


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
