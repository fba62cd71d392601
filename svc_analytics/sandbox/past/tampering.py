"""Tampered receipts: a scenario can ask for them, and checks must find them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from svc_analytics.signing.receipts import sign_receipt
from svc_analytics.signing.secrets import Secret

_WAYS = ("forged", "altered", "cut")  # found as bad_signature, facts_mismatch, malformed


@dataclass(frozen=True)
class Tampering:
    """Tamper with about every n-th receipt of payments before an instant; 0 is none."""

    one_in: int = 0
    before: int = 0

    def of(self, stored: Mapping[str, Any]) -> str | None:
        """Return the way to tamper with a receipt, or None."""
        mark = crc32(stored["id"].encode())
        if not self.one_in or stored["paid_at"] >= self.before or mark % self.one_in:
            return None
        return _WAYS[mark // self.one_in % len(_WAYS)]

    def sign(self, stored: Mapping[str, Any], facts: Mapping[str, str], secret: Secret) -> str:
        """Sign the receipt of a payment, tampered with if it is one of those."""
        way = self.of(stored)
        if way == "forged":
            return sign_receipt(facts, Secret("a forger's secret"))
        if way == "altered":
            facts = {**facts, "charged_amount": f"1{facts['charged_amount']}"}
        receipt = sign_receipt(facts, secret)
        return receipt[:-10] if way == "cut" else receipt
