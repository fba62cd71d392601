"""What the business console and the platform's staff do; the API itself has none of it.

Not shown by the contract: we chose. MERCHANT_WEBHOOK_SECRET_UNSEEN has the status 422;
a logo is a PNG, JPEG, WebP or SVG image of at most 512 KiB, of which the sandbox keeps
the address that the profile then shows and not the picture; a conversion target is an
enabled coin, kept but never converted into, for no rule says when; a webhook URL whose
host is a name is judged by that name alone. One liberty beyond the contract: plain http
to this machine is a webhook URL too, for there a tester's receiver stands.
"""

import ipaddress
from typing import Any
from urllib.parse import urlsplit

from svc_analytics.sandbox.core import validation
from svc_analytics.sandbox.core.errors import Refusal, invalid
from svc_analytics.sandbox.resources.service import Service
from svc_analytics.sandbox.state.rates import ENABLED
from svc_analytics.sandbox.state.records import Record
from svc_analytics.sandbox.state.settings import DEFAULTS
from svc_analytics.sandbox.state.signing_secrets import SecretKind

_LOGO_TYPES = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/webp": "webp",
    "image/svg+xml": "svg",
}
# Each has an action of its own, with a code of its own.
_SET_ELSEWHERE = ("webhook_url", "webhook_secret_seen", "logo_url", "convert_target")
_LOGO_BYTES = 512 * 1024
_PRIVATE_NAMES = ("localhost", ".localhost", ".local", ".internal", ".lan", ".home.arpa")
_SCOPES = ("payers", "any")


class Console:
    """The actions by name. Refusals are the contract's, in the same envelope."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._world = service.world

    def mint_key(self, body: validation.Body) -> Record:
        """Return a new key; its value is shown this once."""
        keys, allowlist = self._world.keys, body.get("allowlist", [])
        return keys.mint(body.get("class"), allowlist, self._world.now())

    def revoke_key(self, key_id: str) -> Record:
        """Revoke a key and return what is left."""
        self._world.keys.revoke(key_id, self._world.now())
        return {"keys": self._world.keys.all()}

    def set_webhook_url(self, body: validation.Body) -> Record:
        """Register the one URL of the merchant: https, or http on this machine."""
        url = body.get("url")
        if not (is_public_https(url) or validation.loopback_url(url)):
            raise Refusal(422, "MERCHANT_WEBHOOK_URL_INVALID")
        self._world.settings["webhook_url"] = url
        return {"webhook_url": url}

    def open_secret(self, kind: SecretKind) -> Record:
        """Show the newest secret of a kind."""
        if kind == "webhook":
            self._world.settings["webhook_secret_seen"] = True
        account = self._world.account
        ring = account.webhook_ring if kind == "webhook" else account.receipt_ring
        return {"secret": ring[0].secret.reveal()}

    def rotate_secret(self, kind: SecretKind) -> Record:
        """Make a new secret and show it; the previous one works for 24 hours more."""
        return {"secret": self._world.rings.rotate(kind, self._world.now()).reveal()}

    def send_test_event(self) -> Record:
        """Queue a `test.ping`, once the webhook secret has been opened."""
        if not self._world.settings["webhook_secret_seen"]:
            raise Refusal(422, "MERCHANT_WEBHOOK_SECRET_UNSEEN")
        event_id = self._world.events.emit("test.ping", self._world.now(), source="console")
        return {"event_id": event_id}

    def pay_out(self, body: validation.Body) -> Record:
        """Pay a customer from the console: the record has no reference."""
        request = validation.as_object({**body, "reference_id": None})
        record_id = self._service.disbursed.pay_from_console(request)
        return self._service.payout_record(record_id)

    def configure(self, body: validation.Body) -> Record:
        """Change settings by name, all or none, and return them all."""
        settings = self._world.settings
        with self._world.store.transaction():
            for name, value in body.items():
                _judge(name, value)
                settings[name] = value
            return settings.all()

    def set_logo(self, body: validation.Body) -> Record:
        """Accept a logo by its type and size, and name its address in the profile."""
        size = body.get("size")
        is_small = validation.whole_number(1, _LOGO_BYTES)(size)
        ending = _LOGO_TYPES.get(str(body.get("content_type")))
        if ending is None or not is_small:
            raise Refusal(422, "MERCHANT_LOGO_INVALID")
        url = f"https://saffron-tile.example/logo.{ending}"
        self._world.settings["logo_url"] = url
        return {"logo_url": url}

    def set_convert_target(self, body: validation.Body) -> Record:
        """Keep the coin to convert into; null ends it. The sandbox converts nothing."""
        target = body.get("currency")
        is_coin = isinstance(target, str) and target in ENABLED
        if not is_coin and body != {"currency": None}:
            raise Refusal(422, "MERCHANT_CONVERT_TARGET_INVALID")
        self._world.settings["convert_target"] = target
        return {"currency": target}

    def promote(self) -> Record:
        """Make the account behind the keys a business."""
        if self._world.settings["is_business"]:
            raise Refusal(409, "MERCHANT_EXISTS")
        self._world.settings["is_business"] = True
        return {"is_business": True}


def is_public_https(url: object) -> bool:
    """Tell whether a webhook URL is https, parsable and no private or multicast address.

    >>> [is_public_https(f"https://{host}/") for host in ("shop.example", "10.0.0.1", "224.0.1.1")]
    [True, False, False]
    """
    if not isinstance(url, str) or len(url) > validation.MOST_URI or any(c.isspace() for c in url):
        return False
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".")
        _ = parts.port  # raises where it is no port
    except ValueError:
        return False
    if parts.scheme != "https":
        return False
    try:
        address = ipaddress.ip_address(host)
        return address.is_global and not address.is_multicast
    except ValueError:
        return "." in host and not host.endswith(_PRIVATE_NAMES) and not host[-1].isdigit()


def _judge(name: str, value: Any) -> None:
    """Refuse a setting that is not one, or a value of another kind than its default."""
    if name in _SET_ELSEWHERE or name not in DEFAULTS:
        raise invalid()
    default = DEFAULTS[name]
    if name == "deliver_to":
        is_good = value is None or validation.loopback_url(value)
    elif name == "payout_scope":
        is_good = value in _SCOPES
    elif isinstance(default, list):
        is_good = isinstance(value, list) and all(slug in ENABLED for slug in value)
    elif isinstance(default, bool):
        is_good = isinstance(value, bool)
    else:
        is_unset = value is None and name.startswith("payout_")
        is_good = is_unset or validation.whole_number(1, 10**9)(value)
    if not is_good:
        raise invalid()
