"""API keys: minted, limited, revoked; stored as hashes, so shown only once.

The address of a call is that of its connection, or the one in `X-Forwarded-For` if a
proxy on this machine sends it, so that allowlists can be tested locally. Not shown by
the contract, our choice: revoking a key twice is CONFLICT.
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
        rows = self._store.fetch(
            "select class, allowlist from api_keys where hash = ? and revoked_at is null",
            (_hash(text or ""),),
        )
        if not rows:
            return None
        [(key_class, allowlist)] = rows
        allowed = msgspec.json.decode(allowlist)
        found: KeyClass = key_class
        return found if address is None or _is_allowed(address, allowed) else None

    def mint(self, key_class: object, allowlist: object, at: int) -> dict[str, Any]:
        """Mint a key and return it with its value, which is shown only once."""
        if key_class not in _PREFIX or not isinstance(allowlist, list):
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
            sql = "update api_keys set revoked_at = ? where id = ?"
            self._store.fetch(sql, (at, key_id))

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
        values = (key_id, key_class, _hash(text), allowed, at, None)
        self._store.fetch("insert into api_keys values (?, ?, ?, ?, ?, ?)", values)
        return key_id


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _network(entry: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return None


def _is_allowed(address: str, allowlist: list[str]) -> bool:
    """Authentication 7: an empty allowlist means no restriction."""
    if not allowlist:
        return True
    try:
        caller = ipaddress.ip_address(address)
    except ValueError:
        return False
    return any(caller in network for network in map(_network, allowlist) if network)
