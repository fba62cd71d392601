"""The control API: JSON under `/control`, outside the contract, for this machine alone.

    GET  /control                          the clock, settings, keys, customers and wallets
    POST /control/clock                    {"set": INSTANT}, {"advance_seconds": N} or {"run": true}
    POST /control/quirks                   the faults from now on (`quirks.Quirks`); {} ends them
    POST /control/settings                 settings by name (`settings.DEFAULTS`): accepted coins,
                                           absent rates, payout scope and limits, suspension,
                                           maintenance, the second factor, the webhook receiver
    POST /control/bind                     {"session", "email"}: the widget's ceremony
    POST /control/confirm                  {"session", "email", "currency", "totp"?}: pays a session
    POST /control/keys                     {"class", "allowlist"?}: mints a key, shown once
    DELETE /control/keys/{id}              revokes it
    POST /control/webhook-url              {"url"}
    POST /control/secrets/{kind}/open      shows the receipt or the webhook secret
    POST /control/secrets/{kind}/rotate    makes a new one; the old works for 24 hours more
    POST /control/payouts                  a payout made in the console
    POST /control/test-event               queues a test.ping
    GET  /control/deliveries               every event with its attempts
    POST /control/deliveries               attempts what is due now
    POST /control/logo, /control/convert-target, /control/promote

Errors have the contract's envelope. A write needs `Content-Type: application/json`,
which no foreign web page can send without being asked first.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from svc_analytics.errors import DataError
from svc_analytics.periods import SECOND, parse_instant
from svc_analytics.sandbox.core.behaviour import Quirks
from svc_analytics.sandbox.core.coins import decimal_text
from svc_analytics.sandbox.core.errors import invalid, not_found
from svc_analytics.sandbox.core.validation import Body
from svc_analytics.sandbox.http.responses import answer
from svc_analytics.sandbox.resources.console import Console
from svc_analytics.sandbox.resources.service import Service
from svc_analytics.sandbox.state.rates import ENABLED
from svc_analytics.sandbox.state.records import Record, instant_text

Action = Callable[[Body, dict[str, str]], Record]
Endpoint = Callable[[Request], Awaitable[Response]]

_END_OF_TIME = parse_instant("9999-01-01T00:00:00Z")[0]


def control_routes(service: Service) -> list[Route]:
    """Return the routes of the control API over a service."""
    console, control = Console(service), Control(service)
    actions: dict[tuple[str, str], Action] = {
        ("GET", ""): lambda _, __: control.state(),
        ("POST", "/clock"): lambda body, _: control.set_clock(body),
        ("POST", "/quirks"): lambda body, _: control.set_quirks(body),
        ("POST", "/settings"): lambda body, _: console.configure(body),
        ("POST", "/bind"): lambda body, _: control.bind(body),
        ("POST", "/confirm"): lambda body, _: control.confirm(body),
        ("POST", "/keys"): lambda body, _: console.mint_key(body),
        ("DELETE", "/keys/{id}"): lambda _, path: console.revoke_key(path["id"]),
        ("POST", "/webhook-url"): lambda body, _: console.set_webhook_url(body),
        ("POST", "/secrets/receipt/open"): lambda _, __: console.open_secret("receipt"),
        ("POST", "/secrets/webhook/open"): lambda _, __: console.open_secret("webhook"),
        ("POST", "/secrets/receipt/rotate"): lambda _, __: console.rotate_secret("receipt"),
        ("POST", "/secrets/webhook/rotate"): lambda _, __: console.rotate_secret("webhook"),
        ("POST", "/payouts"): lambda body, _: console.pay_out(body),
        ("POST", "/test-event"): lambda _, __: console.send_test_event(),
        ("GET", "/deliveries"): lambda _, __: {"data": service.deliveries.log()},
        ("POST", "/deliveries"): lambda _, __: {"attempted": service.deliveries.deliver_due()},
        ("POST", "/logo"): lambda body, _: console.set_logo(body),
        ("POST", "/convert-target"): lambda body, _: console.set_convert_target(body),
        ("POST", "/promote"): lambda _, __: console.promote(),
    }
    return [
        Route(f"/control{path}", _endpoint(service, action), methods=[method])
        for (method, path), action in actions.items()
    ]


class Control:
    """What only a sandbox can do: move time, break the wire, play the customer."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._world = service.world

    def state(self) -> Record:
        """Return all that can be seen from behind; no key or secret is in it."""
        world = self._world
        world.open_wallets()
        return {
            "now": instant_text(world.now()),
            "settings": world.settings.all(),
            "quirks": msgspec.to_builtins(self._service.quirks),
            "keys": world.keys.all(),
            "customers": msgspec.to_builtins(world.customers.all()),
            "wallets": [
                {
                    "account": account,
                    "currency": slug,
                    "balance": _signed_text(units, ENABLED[slug].decimals),
                }
                for account, slug, units in world.wallet.balances()
            ],
        }

    def set_clock(self, body: Body) -> Record:
        """Set, move or release the sandbox's clock."""
        clock = self._world.clock
        if body.keys() == {"set"}:
            clock.set(_writable(_instant(body["set"])))
        elif body.keys() == {"advance_seconds"}:
            clock.set(_writable(clock.now() + _whole(body["advance_seconds"]) * SECOND))
        elif body == {"run": True}:
            clock.run()
        else:
            raise invalid()
        self._service.sessions.expire()
        return {"now": instant_text(clock.now())}

    def set_quirks(self, body: Body) -> Record:
        """Behave as told from now on."""
        try:
            if not body.keys() <= Quirks.__dataclass_fields__.keys():
                raise invalid()
            self._service.quirks = msgspec.convert(body, Quirks)
        except msgspec.ValidationError:
            raise invalid() from None
        return {"quirks": msgspec.to_builtins(self._service.quirks)}

    def bind(self, body: Body) -> Record:
        """Run the ceremony of a session's customer with a platform account."""
        payer_id = self.payer_id(_text(body, "email"))
        binding = self._service.confirmations.link(_text(body, "session"), payer_id)
        return {"binding_id": binding.id, "status": binding.status}

    def confirm(self, body: Body) -> Record:
        """Pay a session as a customer."""
        payer_id, totp = self.payer_id(_text(body, "email")), body.get("totp")
        names = _text(body, "session"), payer_id, _text(body, "currency")
        code = totp if isinstance(totp, str) else None
        payment_id = self._service.confirmations.confirm(*names, code)
        return self._service.payment_record(payment_id)

    def payer_id(self, email: str) -> str:
        """Return the handle of a customer by the address that only a sandbox shows."""
        self._world.open_wallets()
        person = self._world.customers.by_email(email)
        if person is None:
            raise not_found()
        return person.payer_id


def _endpoint(service: Service, action: Action) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        raw = await request.body()
        kind = request.headers.get("content-type", "").partition(";")[0]
        if request.method == "POST" and kind != "application/json":
            raise invalid()
        # On a thread: attempting deliveries waits for their receiver.
        record = await run_in_threadpool(action, _body(raw), request.path_params)
        return answer(service, record)

    return endpoint


def _body(raw: bytes) -> dict[str, Any]:
    try:
        body = msgspec.json.decode(raw or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise invalid() from None
    if not isinstance(body, dict):
        raise invalid()
    return body


def _text(body: Body, name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise invalid()
    return value


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise invalid()
    return value


def _instant(value: object) -> int:
    try:
        return parse_instant(str(value))[0]
    except DataError:
        raise invalid() from None


def _writable(at: int) -> int:
    """Refuse a time that an answer could not be dated with, or an expiry a day behind it."""
    if not 0 <= at < _END_OF_TIME:
        raise invalid()
    return at


def _signed_text(units: int, decimals: int) -> str:
    return ("-" if units < 0 else "") + decimal_text(abs(units), decimals)
