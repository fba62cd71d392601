"""Account of the merchant: its secrets, keys, settings, and who may call.

The address of a call is that of its connection, or the one in `X-Forwarded-For` if a
proxy on this machine sends it, so that allowlists can be tested locally.
"""

import base64
import binascii
import hashlib
import hmac
import ipaddress
import secrets
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import msgspec

from svc_analytics.instants import format_instant
from svc_analytics.sandbox.clock import instant_text
from svc_analytics.sandbox.coins import COINS
from svc_analytics.sandbox.scenario import Scenario, Tampering
from svc_analytics.sandbox.store import Store
from svc_analytics.sandbox.validation import Refusal, invalid
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


# Signed texts: opaque tokens that only this merchant's service can have written.
_SIGNATURE_BYTES = 32


def write_signed(payload: bytes, purpose: str, secret: Secret) -> str:
    """Write a payload as base64 text, signed for one purpose."""
    return base64.urlsafe_b64encode(_sign(payload, purpose, secret) + payload).decode()


def read_signed(text: str, purpose: str, secret: Secret) -> bytes | None:
    """Read a payload back, or None if the text was altered or has another purpose."""
    raw = decode_base64(text)
    signature, payload = raw[:_SIGNATURE_BYTES], raw[_SIGNATURE_BYTES:]
    is_ours = hmac.compare_digest(signature, _sign(payload, purpose, secret))
    return payload if is_ours else None


def decode_base64(text: str) -> bytes:
    """Decode base64 that the service wrote; return no bytes for any other spelling.

    >>> decode_base64("QQ=="), decode_base64("QR=="), decode_base64("Q!Q==")
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


MAX_KEYS = 5  # Authentication 3: enabled keys of each class
_KEY_PREFIX: dict[str, str] = {"checkout": "svc_live_", "payout": "svc_payout_"}


@dataclass(frozen=True)
class PresentedKey:
    """Hold the key of a request and the address it came from."""

    key: str | None = field(repr=False)
    address: str


Key = PresentedKey | str | None  # a plain text: called in this process, without an address


class ApiKeys:
    """Mint, look up and revoke keys of both classes; stored as hashes, so shown only once."""

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
        is_class = isinstance(key_class, str) and key_class in _KEY_PREFIX
        if not is_class or not isinstance(allowlist, list):
            raise invalid()
        if not all(isinstance(entry, str) and _network(entry) for entry in allowlist):
            raise invalid()
        with self._store.transaction():
            enabled = [key for key in self.all() if key["class"] == key_class and key["is_enabled"]]
            if len(enabled) >= MAX_KEYS:
                raise Refusal(422, "MERCHANT_KEY_LIMIT")
            text = _KEY_PREFIX[str(key_class)] + secrets.token_hex(32)
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


class Authorizer:
    """Check keys and the state of the business, or refuse."""

    def __init__(self, api_keys: ApiKeys, settings: MerchantSettings) -> None:
        self._api_keys = api_keys
        self._settings = settings

    def admit(self, key: Key) -> KeyClass:
        """Return the class of a key, or refuse a key that may make no call at all."""
        self.require_service()
        held = self._api_keys.class_of(key)
        if held is None:
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
