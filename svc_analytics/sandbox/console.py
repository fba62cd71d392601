"""Console: what a person does outside the API, and the same as JSON under `/control`.

The control API is not part of the contract and answers on this machine only. The README of
the sandbox lists every path. Errors have the contract's envelope. A write needs the header
`Content-Type: application/json`: browsers do not let foreign pages send it unasked.
"""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from svc_analytics.instants import SECOND, parse_instant
from svc_analytics.sandbox import validation
from svc_analytics.sandbox.account import DEFAULTS, SecretKind
from svc_analytics.sandbox.app import Endpoint, PathRoute, is_own_page, json_response, path_routes
from svc_analytics.sandbox.behaviour import Behaviour
from svc_analytics.sandbox.clock import instant_text
from svc_analytics.sandbox.coins import ENABLED, decimal_text
from svc_analytics.sandbox.service import Service
from svc_analytics.sandbox.validation import Body, Record, Refusal
from svc_analytics.schema import PAYMENTS

_LOGO_ENDINGS = {"png": "png", "jpeg": "jpg", "webp": "webp", "svg+xml": "svg"}
# Each of these has its own action and error code.
_SET_ELSEWHERE = ("webhook_url", "webhook_secret_seen", "logo_url", "convert_target")
_LOGO_BYTES = 512 * 1024
_SCOPES = ("payers", "any")
_MAX_MINUTES = 1440  # of a session, as for ttl_minutes


class Console:
    """Do what the console's buttons do; errors are the contract's."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._platform = service.platform

    def mint_key(self, body: Body) -> Record:
        """Mint a key; its value is shown only once."""
        keys, allowlist = self._platform.api_keys, body.get("allowlist", [])
        return keys.mint(body.get("class"), allowlist, self._platform.now())

    def revoke_key(self, key_id: str) -> Record:
        """Revoke a key and list all keys."""
        self._platform.api_keys.revoke(key_id, self._platform.now())
        return {"keys": self._platform.api_keys.all()}

    def set_webhook_url(self, body: Body) -> Record:
        """Set the webhook URL: https, or http on this machine."""
        url = body.get("url")
        if not (validation.is_public_https(url) or validation.loopback_url(url)) or self._is_own(
            url
        ):
            raise Refusal(422, "MERCHANT_WEBHOOK_URL_INVALID")
        self._platform.settings["webhook_url"] = url
        return {"webhook_url": url}

    def _is_own(self, url: object) -> bool:
        """Whether a URL leads to this sandbox: its own events would press its own buttons."""
        if not validation.loopback_url(url):
            return False
        own = urlsplit(self._platform.base_url).port  # none before it is served
        return own is not None and (urlsplit(str(url)).port or 80) == own

    def open_secret(self, kind: SecretKind) -> Record:
        """Show the newest receipt or webhook secret."""
        if kind == "webhook":
            self._platform.settings["webhook_secret_seen"] = True
        account = self._platform.account
        ring = account.webhook_ring if kind == "webhook" else account.receipt_ring
        return {"secret": ring[0].secret.reveal()}

    def rotate_secret(self, kind: SecretKind) -> Record:
        """Make and show a new secret; each older one keeps its own 24 hours."""
        secret = self._platform.signing_secrets.rotate(kind, self._platform.now())
        return {"secret": secret.reveal()}

    def send_test_event(self) -> Record:
        """Queue a `test.ping`; the webhook secret must have been opened."""
        if not self._platform.settings["webhook_secret_seen"]:
            raise Refusal(422, "MERCHANT_WEBHOOK_SECRET_UNSEEN")
        event_id = self._platform.outbox.emit("test.ping", self._platform.now(), source="console")
        return {"event_id": event_id}

    def pay_out(self, body: Body) -> Record:
        """Pay a customer; the record has no `reference_id`."""
        return self._service.pay_from_console({**body, "reference_id": None})

    def is_first(self, form: str) -> bool:
        """Tell whether a form is sent for the first time, and remember it for good."""
        forms = self._platform.idempotency_keys
        with self._platform.store.transaction():
            if forms.is_replay("console form", form, None):
                return False
            forms.keep("console form", form, None)
            return True

    def events(self, most: int) -> list[Record]:
        """List the newest events with their attempts and what each is about."""
        newest = "select id, body from events order by rowid desc limit ?"
        bodies = self._platform.store.fetch(newest, (most,))
        events = {event_id: msgspec.json.decode(body) for event_id, body in bodies}
        return [
            {**event, "about": dict(list(events[event["event_id"]].items())[2:])}
            for event in self._service.webhooks.log(most)
            if event["event_id"] in events
        ]

    def configure(self, body: Body) -> Record:
        """Change settings by name, all or none, and return all settings."""
        settings = self._platform.settings
        with self._platform.store.transaction():
            for name, value in body.items():
                if name == "deliver_to" and self._is_own(value):
                    raise validation.invalid()
                _check(name, value)
                settings[name] = value
            return settings.all()

    def set_logo(self, body: Body) -> Record:
        """Check a logo's type and size, and set its address in the profile."""
        is_small = validation.whole_number(1, _LOGO_BYTES)(body.get("size"))
        type_ = body.get("content_type")
        family, _, kind = (type_ if isinstance(type_, str) else "").partition("/")
        ending = _LOGO_ENDINGS.get(kind)
        if family != "image" or ending is None or not is_small:
            raise Refusal(422, "MERCHANT_LOGO_INVALID")
        url = f"https://saffron-tile.example/logo.{ending}"
        self._platform.settings["logo_url"] = url
        return {"logo_url": url}

    def set_convert_target(self, body: Body) -> Record:
        """Set the coin to convert into, or null; the sandbox converts nothing."""
        target = body.get("currency")
        is_coin = isinstance(target, str) and target in ENABLED
        if not is_coin and body != {"currency": None}:
            raise Refusal(422, "MERCHANT_CONVERT_TARGET_INVALID")
        self._platform.settings["convert_target"] = target
        return {"currency": target}

    def promote(self) -> Record:
        """Make the account behind the keys a business."""
        if self._platform.settings["is_business"]:
            raise Refusal(409, "MERCHANT_EXISTS")
        self._platform.settings["is_business"] = True
        return {"is_business": True}


def _check(name: str, value: Any) -> None:
    """Refuse an unknown setting, or a value that its setting cannot have."""
    if name in _SET_ELSEWHERE or name not in DEFAULTS:
        raise validation.invalid()
    default = DEFAULTS[name]
    if name == "deliver_to":
        is_good = value is None or validation.loopback_url(value)
    elif name == "payout_scope":
        is_good = value in _SCOPES
    elif isinstance(default, list):
        is_good = isinstance(value, list) and _are_coins(value)
    elif isinstance(default, bool):
        is_good = isinstance(value, bool)
    else:
        is_unset = value is None and name.startswith("payout_")
        most = _MAX_MINUTES if name == "session_minutes" else 10**9
        is_good = is_unset or validation.whole_number(1, most)(value)
    if not is_good:
        raise validation.invalid()


def _are_coins(slugs: list[Any]) -> bool:
    are_coins = all(isinstance(slug, str) and slug in ENABLED for slug in slugs)
    return are_coins and len(set(slugs)) == len(slugs)


Action = Callable[[Body], Record]

_END_OF_TIME = parse_instant("9999-01-01T00:00:00Z")[0]


def control_routes(service: Service) -> list[PathRoute]:
    """Return the routes of the control API for a service."""
    actions = _actions(service).items()
    return path_routes(
        {(method, f"/control{path}"): _endpoint(service, act) for (method, path), act in actions}
    )


def _actions(service: Service) -> dict[tuple[str, str], Action]:
    control, console, webhooks = ControlApi(service), Console(service), service.webhooks
    return {
        ("GET", ""): lambda _: control.state(),
        ("POST", "/clock"): control.set_clock,
        ("POST", "/quirks"): control.set_behaviour,
        ("POST", "/bind"): control.bind,
        ("POST", "/confirm"): control.confirm,
        ("GET", "/deliveries"): lambda _: {"data": webhooks.log()},
        ("POST", "/deliveries"): lambda _: {"attempted": webhooks.deliver_due()},
        ("POST", "/settings"): console.configure,
        ("POST", "/keys"): console.mint_key,
        ("DELETE", "/keys/{id}"): lambda body: console.revoke_key(body["id"]),
        ("POST", "/webhook-url"): console.set_webhook_url,
        ("POST", "/secrets/receipt/open"): lambda _: console.open_secret("receipt"),
        ("POST", "/secrets/webhook/open"): lambda _: console.open_secret("webhook"),
        ("POST", "/secrets/receipt/rotate"): lambda _: console.rotate_secret("receipt"),
        ("POST", "/secrets/webhook/rotate"): lambda _: console.rotate_secret("webhook"),
        ("POST", "/payouts"): console.pay_out,
        ("POST", "/test-event"): lambda _: console.send_test_event(),
        ("POST", "/logo"): console.set_logo,
        ("POST", "/convert-target"): console.set_convert_target,
        ("POST", "/promote"): lambda _: console.promote(),
    }


class ControlApi:
    """Do what only a sandbox can: move the clock, cause faults, act as the customer."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._platform = service.platform

    def state(self) -> Record:
        """Return clock, settings, faults, customers and wallets; no key and no secret."""
        platform = self._platform
        platform.open_wallets()
        return {
            "now": instant_text(platform.now()),
            "settings": platform.settings.all(),
            "quirks": msgspec.to_builtins(self._service.behaviour),
            "keys": platform.api_keys.all(),
            "customers": msgspec.to_builtins(platform.customers.all()),
            "wallets": [
                {
                    "account": account,
                    "currency": slug,
                    "balance": _signed_text(units, ENABLED[slug].decimals),
                }
                for account, slug, units in platform.wallet.balances(platform.shown_until())
            ],
        }

    def set_clock(self, body: Body) -> Record:
        """Set or advance the clock, or let it run again."""
        clock = self._platform.clock
        if body.keys() == {"set"}:
            clock.set(_writable(validation.instant(body["set"])))
        elif body.keys() == {"advance_seconds"}:
            clock.set(_writable(clock.now() + _whole(body["advance_seconds"]) * SECOND))
        elif body == {"run": True}:
            clock.run()
        else:
            raise validation.invalid()
        self._service.sessions.expire()
        return {"now": instant_text(clock.now())}

    def set_behaviour(self, body: Body) -> Record:
        """Replace the faults; an empty object ends them."""
        try:
            if not body.keys() <= Behaviour.__dataclass_fields__.keys():
                raise validation.invalid()
            self._service.behaviour = msgspec.convert(body, Behaviour)
        except msgspec.ValidationError:
            raise validation.invalid() from None
        return {"quirks": msgspec.to_builtins(self._service.behaviour)}

    def bind(self, body: Body) -> Record:
        """Link a session's customer to a platform account."""
        payer_id = self.payer_id(_text(body, "email"))
        binding = self._service.checkout.link(_text(body, "session"), payer_id)
        return {"binding_id": binding.id, "status": binding.status}

    def confirm(self, body: Body) -> Record:
        """Pay a session as a customer."""
        payer_id, totp = self.payer_id(_text(body, "email")), body.get("totp")
        names = _text(body, "session"), payer_id, _text(body, "currency")
        code = totp if isinstance(totp, str) else None
        payment_id = self._service.checkout.confirm(*names, code)
        return self._service.true_record(PAYMENTS, payment_id)

    def payer_id(self, email: str) -> str:
        """Return the `payer_id` of a customer by email address."""
        self._platform.open_wallets()
        person = self._platform.customers.by_email(email)
        if person is None:
            raise validation.invalid_recipient()  # an unknown address, not an unknown session
        return person.payer_id


def _endpoint(service: Service, action: Action) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        raw = await request.body()
        if not is_own_page(request):
            raise Refusal(403, "FORBIDDEN")
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if request.method == "POST" and kind != "application/json":
            raise validation.invalid()
        body = _decode(raw or b"{}")
        # In a thread: a delivery waits for its receiver.
        record = await run_in_threadpool(action, {**body, **request.path_params})
        return json_response(service, record)

    return endpoint


def _decode(raw: bytes) -> Body:
    try:
        body = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise validation.invalid() from None
    if not isinstance(body, dict) or not validation.is_shallow(body):
        raise validation.invalid()
    return body


def _text(body: Body, name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise validation.invalid()
    return value


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise validation.invalid()
    return value


def _writable(at: int) -> int:
    """Refuse a time that cannot be written, or whose next day cannot."""
    if not 0 <= at < _END_OF_TIME:
        raise validation.invalid()
    return at


def _signed_text(units: int, decimals: int) -> str:
    return ("-" if units < 0 else "") + decimal_text(abs(units), decimals)
