"""Control API under `/control`: move the clock, cause faults, use the console.

It is not part of the contract and answers on this machine only. The README of the sandbox
lists every path. Errors have the contract's envelope. A write needs the header
`Content-Type: application/json`: browsers do not let foreign pages send it unasked.
"""

from collections.abc import Callable

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from svc_analytics.errors import DataError
from svc_analytics.instants import SECOND, parse_instant
from svc_analytics.sandbox.core.behaviour import Behaviour
from svc_analytics.sandbox.core.coins import ENABLED, decimal_text
from svc_analytics.sandbox.core.errors import Refusal, invalid, invalid_recipient
from svc_analytics.sandbox.core.validation import Body, is_shallow
from svc_analytics.sandbox.http.messages import (
    Endpoint,
    PathRoute,
    is_own_page,
    json_response,
    path_routes,
)
from svc_analytics.sandbox.resources.console import Console
from svc_analytics.sandbox.resources.service import Service
from svc_analytics.sandbox.state.records import Record, instant_text
from svc_analytics.schema import PAYMENTS

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
            clock.set(_writable(_instant(body["set"])))
        elif body.keys() == {"advance_seconds"}:
            clock.set(_writable(clock.now() + _whole(body["advance_seconds"]) * SECOND))
        elif body == {"run": True}:
            clock.run()
        else:
            raise invalid()
        self._service.sessions.expire()
        return {"now": instant_text(clock.now())}

    def set_behaviour(self, body: Body) -> Record:
        """Replace the faults; an empty object ends them."""
        try:
            if not body.keys() <= Behaviour.__dataclass_fields__.keys():
                raise invalid()
            self._service.behaviour = msgspec.convert(body, Behaviour)
        except msgspec.ValidationError:
            raise invalid() from None
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
            raise invalid_recipient()  # an unknown address, not an unknown session
        return person.payer_id


def _endpoint(service: Service, action: Action) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        raw = await request.body()
        if not is_own_page(request):
            raise Refusal(403, "FORBIDDEN")
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if request.method == "POST" and kind != "application/json":
            raise invalid()
        body = _decode(raw or b"{}")
        # In a thread: a delivery waits for its receiver.
        record = await run_in_threadpool(action, {**body, **request.path_params})
        return json_response(service, record)

    return endpoint


def _decode(raw: bytes) -> Body:
    try:
        body = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise invalid() from None
    if not isinstance(body, dict) or not is_shallow(body):
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
        return parse_instant(value if isinstance(value, str) else "")[0]
    except DataError:
        raise invalid() from None


def _writable(at: int) -> int:
    """Refuse a time that cannot be written, or whose next day cannot."""
    if not 0 <= at < _END_OF_TIME:
        raise invalid()
    return at


def _signed_text(units: int, decimals: int) -> str:
    return ("-" if units < 0 else "") + decimal_text(abs(units), decimals)
