"""API keys: minted, limited, revoked; stored as hashes, so shown only once.

The address of a call is that of its connection, or the one in `X-Forwarded-For` if a
proxy on this machine sends it, so that allowlists can be tested locally.
"""

import hashlib
import ipaddress
import secrets
import uuid
from dataclasses import dataclass, field
from typing import Any

import msgspec

from svc_analytics.sandbox.core.errors import Refusal, invalid
from svc_analytics.sandbox.state.account import Account, KeyClass
from svc_analytics.sandbox.state.records import instant_text
from svc_analytics.sandbox.state.settings import MerchantSettings
from svc_analytics.sandbox.state.store import Store

MAX_KEYS = 5  # Authentication 3: enabled keys of each class
_PREFIX: dict[str, str] = {"checkout": "svc_live_", "payout": "svc_payout_"}


@dataclass(frozen=True)
class PresentedKey:
    """Hold the key of a request and the address it came from."""

    key: str | None = field(repr=False)
    address: str


Key = PresentedKey | str | None  # a plain text: called in this process, without an address


class ApiKeys:
    """Mint, look up and revoke the merchant's keys of both classes."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def open(self, account: Account, at: int) -> None:
        """Enable the two keys of the scenario once; a revoked key stays revoked."""
        with self._store.transaction():
            if self.all():
                return
            self._keep("checkout", account.checkout_key.reveal(), [], at)
            self._keep("payout", account.payout_key.reveal(), [], at)

    def class_of(self, key: Key) -> KeyClass | None:
        """Return the class of a key, or None if it is revoked or its address not allowed."""
        text, address = (key.key, key.address) if isinstance(key, PresentedKey) else (key, None)
        sql = "select class, allowlist from api_keys where hash = ? and revoked_at is null"
        row = self._store.first(sql, _hash(text or ""))
        if row is None or not (address is None or _is_allowed(address, row[1])):
            return None
        key_class: KeyClass = row[0]
        return key_class

    def mint(self, key_class: object, allowlist: object, at: int) -> dict[str, Any]:
        """Mint a key and return it with its value, which is shown only once."""
        is_class = isinstance(key_class, str) and key_class in _PREFIX
        if not is_class or not isinstance(allowlist, list):
            raise invalid()
        if not all(isinstance(entry, str) and _network(entry) for entry in allowlist):
            raise invalid()
        with self._store.transaction():
            enabled = [key for key in self.all() if key["class"] == key_class and key["is_enabled"]]
            if len(enabled) >= MAX_KEYS:
                raise Refusal(422, "MERCHANT_KEY_LIMIT")
            text = _PREFIX[str(key_class)] + secrets.token_hex(32)
            key_id = self._keep(str(key_class), text, allowlist, at)
        return {"id": key_id, "class": key_class, "key": text}

    def revoke(self, key_id: str, at: int) -> None:
        """Revoke a key for good; refuse one that is revoked already."""
        with self._store.transaction():
            is_enabled = {key["id"]: key["is_enabled"] for key in self.all()}
            if key_id not in is_enabled:
                raise Refusal(404, "NOT_FOUND")
            if not is_enabled[key_id]:
                raise Refusal(409, "CONFLICT")
            self._store.fetch("update api_keys set revoked_at = ? where id = ?", (at, key_id))

    def all(self) -> list[dict[str, Any]]:
        """List every key without its value."""
        sql = "select id, class, allowlist, created_at, revoked_at from api_keys order by rowid"
        return [
            {
                "id": key_id,
                "class": key_class,
                "allowlist": msgspec.json.decode(allowlist),
                "created_at": instant_text(created_at),
                "is_enabled": revoked_at is None,
            }
            for key_id, key_class, allowlist, created_at, revoked_at in self._store.fetch(sql)
        ]

    def _keep(self, key_class: str, text: str, allowlist: list[str], at: int) -> str:
        key_id = str(uuid.uuid4())
        allowed = msgspec.json.encode(allowlist).decode()
        self._store.insert("api_keys", key_id, key_class, _hash(text), allowed, at, None)
        return key_id


class Authorizer:
    """Check keys and the state of the business, or refuse."""

    def __init__(self, api_keys: ApiKeys, settings: MerchantSettings) -> None:
        self._api_keys = api_keys
        self._settings = settings
        self._revoked: set[KeyClass] = set()

    def revoke(self, key_class: KeyClass) -> None:
        """Refuse every key of a class until this process ends."""
        self._revoked.add(key_class)

    def admit(self, key: Key) -> KeyClass:
        """Return the class of a key, or refuse a key that may make no call at all."""
        self.require_service()
        held = self._api_keys.class_of(key)
        if held is None or held in self._revoked:
            raise Refusal(401, "UNAUTHORIZED")
        if not self._settings["is_business"]:
            raise Refusal(404, "MERCHANT_NOT_FOUND")
        return held

    def authorize(self, key: Key, *classes: KeyClass) -> None:
        """Refuse a key that may not make this call (Authentication 4 to 7 and 9)."""
        if self.admit(key) not in classes:
            raise Refusal(403, "PAY_WRONG_KEY_KIND")

    def require_service(self) -> None:
        """Refuse every call during maintenance."""
        if self._settings["is_maintenance"]:
            raise Refusal(503, "MAINTENANCE_MODE")

    def require_sales(self) -> None:
        """Refuse a business that cannot take payments now."""
        if self._settings["is_suspended"] or not self._settings["is_rail_enabled"]:
            raise Refusal(403, "MERCHANT_DISABLED")

    def require_payouts(self) -> None:
        """Refuse payouts unless they are armed (Payouts rule 5)."""
        settings = self._settings
        are_limits_set = settings["payout_max_usd"] and settings["payout_day_usd"]
        is_able = settings["is_rail_enabled"] and not settings["is_suspended"]
        if not (is_able and settings["payouts_armed"] and are_limits_set):
            raise Refusal(403, "MERCHANT_PAYOUTS_DISABLED")

    def require_any_scope(self) -> None:
        """Refuse payouts by email unless the payout scope is `any`."""
        if self._settings["payout_scope"] != "any":
            raise Refusal(403, "MERCHANT_PAYOUTS_DISABLED")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _network(entry: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return None


def _is_allowed(address: str, allowlist: str) -> bool:
    """Authentication 7: an empty allowlist means no restriction."""
    networks = [_network(entry) for entry in msgspec.json.decode(allowlist)]
    try:
        caller = ipaddress.ip_address(address) if networks else None
    except ValueError:
        return False
    return caller is None or any(caller in network for network in networks if network)
