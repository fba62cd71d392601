"""Settings of the merchant, kept in the store: coins, limits, suspension."""

from collections.abc import Sequence
from typing import Any

import msgspec

from svc_analytics.sandbox.core.coins import COINS
from svc_analytics.sandbox.state.store import Store

# Limits and lifetimes that the contract does not show are our choices.
DEFAULTS: dict[str, Any] = {
    "accepted_currencies": [coin.slug for coin in COINS],
    "webhook_url": "https://saffron-tile.example/hooks/pay",
    "webhook_secret_seen": False,
    "logo_url": "https://saffron-tile.example/logo.svg",
    "convert_target": None,
    "is_business": True,
    "is_suspended": False,
    "is_rail_enabled": True,
    "is_maintenance": False,
    "session_minutes": 30,
    "payouts_armed": True,
    "payout_scope": "payers",  # or "any": recipients can then be found by email
    "payout_max_usd": 5_000,
    "payout_day_usd": 20_000,
    "lookups_per_minute": 10,
    "lookups_per_day": 100,
    "absent_rates": [],
    "asks_totp": False,
    "deliver_to": None,  # a receiver on this machine; the sandbox sends nothing elsewhere
}


class MerchantSettings:
    """Read and write settings by name, each time from the store."""

    def __init__(self, store: Store, accepted: Sequence[str]) -> None:
        self._store = store
        self._defaults = {**DEFAULTS, "accepted_currencies": list(accepted)}

    def __getitem__(self, name: str) -> Any:
        default = self._defaults[name]
        row = self._store.first("select value from settings where name = ?", name)
        return msgspec.json.decode(row[0]) if row else default

    def __setitem__(self, name: str, value: Any) -> None:
        text = msgspec.json.encode(value).decode()
        self._store.fetch("insert or replace into settings values (?, ?)", (name, text))

    def all(self) -> dict[str, Any]:
        """Return every setting."""
        return {name: self[name] for name in DEFAULTS}
