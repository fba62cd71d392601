"""Signing secrets of the merchant: rotated, and accepted for 24 hours after."""

import secrets
from dataclasses import replace
from typing import Literal

from svc_analytics.sandbox.state.account import Account
from svc_analytics.sandbox.state.store import Store
from svc_analytics.signing.secrets import ROTATION_OVERLAP, Secret, SigningSecret

SecretKind = Literal["receipt", "webhook"]
_PREFIX: dict[SecretKind, str] = {"receipt": "rcpt_", "webhook": "whsec_"}


class SigningSecrets:
    """Keep the receipt and webhook secrets, newest first."""

    def __init__(self, store: Store, account: Account) -> None:
        self._store = store
        self._first = account

    @property
    def account(self) -> Account:
        """The account with all secrets made so far."""
        rows = self._store.fetch("select kind, secret, valid_from from secrets order by rowid desc")
        if not rows:
            return self._first
        added: dict[str, list[SigningSecret]] = {"receipt": [], "webhook": []}
        for kind, secret, valid_from in rows:
            added[kind].append(SigningSecret(Secret(secret), valid_from))
        return replace(
            self._first,
            receipt_ring=(*added["receipt"], *self._first.receipt_ring),
            webhook_ring=(*added["webhook"], *self._first.webhook_ring),
        )

    def rotate(self, kind: SecretKind, at: int) -> Secret:
        """Make a new secret, valid at once; the previous one works for 24 hours more."""
        secret = _PREFIX[kind] + secrets.token_hex(32)
        self._store.fetch("insert into secrets values (?, ?, ?)", (kind, secret, at))
        return Secret(secret)

    def webhook_secrets(self, now: int) -> list[Secret]:
        """Return the secrets that sign a webhook: two in the 24 hours after a rotation."""
        ring = self.account.webhook_ring
        recent = now < (ring[0].valid_from or 0) + ROTATION_OVERLAP
        return [entry.secret for entry in ring[: 2 if recent else 1]]
