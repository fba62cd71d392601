"""Account of the merchant: profile, keys and secrets, derived from the scenario."""

import hashlib
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from svc_analytics.instants import format_instant
from svc_analytics.sandbox.past.scenario import Scenario
from svc_analytics.sandbox.past.tampering import Tampering
from svc_analytics.signing.secrets import ROTATION_OVERLAP, Secret, SigningSecret

KeyClass = Literal["checkout", "payout"]


@dataclass(frozen=True)
class Account:
    """Hold a merchant's id, keys and secrets (newest first); no repr shows them."""

    merchant_id: str
    checkout_key: Secret
    payout_key: Secret
    cursor_secret: Secret
    receipt_ring: tuple[SigningSecret, ...]
    webhook_ring: tuple[SigningSecret, ...]
    tampering: Tampering

    @property
    def profile(self) -> dict[str, Any]:
        """The part of the merchant profile that no setting changes."""
        return {
            "id": self.merchant_id,
            "display_name": "Saffron & Tile",
            "display_name_fa": "زعفران و کاشی",
        }

    def receipt_secret(self, at: int) -> Secret:
        """Return the secret that signs receipts issued at an instant."""
        return next(
            (entry.secret for entry in self.receipt_ring if (entry.valid_from or 0) <= at),
            self.receipt_ring[-1].secret,
        )

    def accepted_receipt_ring(self, now: int) -> tuple[SigningSecret, ...]:
        """Return the secrets that the service accepts on receipts now.

        Events, Delivery 8: the previous secret is accepted for 24 hours more.
        """
        in_force = [entry for entry in self.receipt_ring if (entry.valid_from or 0) <= now]
        since = (in_force[0].valid_from or 0) if in_force else now
        return tuple(in_force[: 2 if now < since + ROTATION_OVERLAP else 1])

    def environment(self, base_url: str) -> dict[str, str]:
        """Return the environment variables that point svc-analytics at this merchant."""
        return {
            "SVC_BASE_URL": base_url,
            "SVC_CHECKOUT_KEY": self.checkout_key.reveal(),
            "SVC_PAYOUT_KEY": self.payout_key.reveal(),
            "SVC_RECEIPT_SECRETS": _ring_text(self.receipt_ring),
            "SVC_WEBHOOK_SECRETS": _ring_text(self.webhook_ring),
        }


def account_of(scenario: Scenario) -> Account:
    """Derive the account of a scenario; every scenario has its own."""

    def derive(purpose: str) -> str:
        return hashlib.sha256(f"{scenario.identity}/{purpose}".encode()).hexdigest()

    def dated(prefix: str, purpose: str, since: int) -> SigningSecret:
        return SigningSecret(Secret(prefix + derive(purpose)), since)

    return Account(
        merchant_id=str(uuid.uuid5(uuid.NAMESPACE_URL, f"sandbox:{scenario.identity}")),
        checkout_key=Secret(f"svc_live_{derive('checkout key')}"),
        payout_key=Secret(f"svc_payout_{derive('payout key')}"),
        cursor_secret=Secret(derive("cursors")),
        receipt_ring=tuple(
            dated("rcpt_", f"{_ordinal(number)} receipt secret", since)
            for number, since in _numbered(scenario.receipt_secrets_since)
        ),
        webhook_ring=(dated("whsec_", "webhook secret", scenario.start),),
        tampering=Tampering(scenario.business.tampered_one_in, scenario.current_month.start),
    )


def _numbered(newest_first: tuple[int, ...]) -> Iterable[tuple[int, int]]:
    return zip(range(len(newest_first), 0, -1), newest_first, strict=True)


def _ordinal(number: int) -> str:
    return {1: "first", 2: "second"}.get(number, str(number))


def _ring_text(ring: Iterable[SigningSecret]) -> str:
    return ",".join(
        f"{entry.secret.reveal()}@{format_instant(entry.valid_from or 0)}" for entry in ring
    )
