"""Tampered receipts: a scenario can ask for them, and checks must find them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from svc_analytics.signing.receipts import sign_receipt
from svc_analytics.signing.secrets import Secret


@dataclass(frozen=True)
class Tampering:
    """Tamper with about every n-th receipt of payments before an instant; 0 is none."""

    one_in: int = 0
    before: int = 0

    def of(self, stored: Mapping[str, Any]) -> int | None:
        """Return the number of the way to tamper with a receipt, or None."""
        mark = crc32(stored["id"].encode())
        if not self.one_in or stored["paid_at"] >= self.before or mark % self.one_in:
            return None
        return mark // self.one_in % len(_WAYS)

    def sign(self, stored: Mapping[str, Any], facts: Mapping[str, str], secret: Secret) -> str:
        """Sign the receipt of a payment, tampered with if it is one of those."""
        way = self.of(stored)
        return sign_receipt(facts, secret) if way is None else _WAYS[way](facts, secret)


def _forged(facts: Mapping[str, str], secret: Secret) -> str:
    """Sign with a secret that never was the merchant's: bad_signature."""
    return sign_receipt(facts, Secret("a forger's secret"))


def _altered(facts: Mapping[str, str], secret: Secret) -> str:
    """Sign a wrong amount with the right secret: facts_mismatch."""
    return sign_receipt({**facts, "charged_amount": f"1{facts['charged_amount']}"}, secret)


def _cut(facts: Mapping[str, str], secret: Secret) -> str:
    """Cut off the end of a receipt: malformed."""
    return sign_receipt(facts, secret)[:-10]


_WAYS = (_forged, _altered, _cut)
