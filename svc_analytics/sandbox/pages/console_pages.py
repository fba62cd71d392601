"""Console page: settings, keys, wallet, events, a form or a button for each action."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from svc_analytics.sandbox.core import html
from svc_analytics.sandbox.core.coins import ENABLED
from svc_analytics.sandbox.core.errors import Refusal, no_such_route
from svc_analytics.sandbox.http.control_api import ControlApi
from svc_analytics.sandbox.http.responses import date_header
from svc_analytics.sandbox.resources.console import Console
from svc_analytics.sandbox.resources.service import Service
from svc_analytics.sandbox.state.records import Record
from svc_analytics.sandbox.state.wallet import BUSINESS

Given = Mapping[str, list[str]]  # the submitted fields, each with all its values
Action = Callable[[Console, Given], Record]

_LIMITS = {"payout_max_usd": "One payout, USD", "payout_day_usd": "In 24 hours, USD"}
_SCOPES = (("payers", "those who have paid"), ("any", "any address, by lookup"))
_BUTTONS: dict[str, tuple[str, Action]] = {
    "mint-checkout": ("Mint a checkout key", lambda con, _: con.mint_key({"class": "checkout"})),
    "mint-payout": ("Mint a payout key", lambda con, _: con.mint_key({"class": "payout"})),
    "open-receipt": ("Open the receipt secret", lambda con, _: con.open_secret("receipt")),
    "open-webhook": ("Open the webhook secret", lambda con, _: con.open_secret("webhook")),
    "rotate-receipt": ("Rotate the receipt secret", lambda con, _: con.rotate_secret("receipt")),
    "rotate-webhook": ("Rotate the webhook secret", lambda con, _: con.rotate_secret("webhook")),
    "resume": ("Resume", lambda con, _: con.configure({"is_suspended": False})),
    "suspend": ("Suspend the business", lambda con, _: con.configure({"is_suspended": True})),
    "reopen": ("End maintenance", lambda con, _: con.configure({"is_maintenance": False})),
    "maintain": ("Begin maintenance", lambda con, _: con.configure({"is_maintenance": True})),
    "test-event": ("Send a test event", lambda con, _: con.send_test_event()),
}
_EVENTS = 100  # listed on the page
# Fields of a result that are shown above the console; settings are shown below anyway.
_SHOWN = ("id", "class", "key", "secret", "event_id", "kind", "amount", "debited_amount")


@dataclass(frozen=True)
class Form:
    """Describe a form: heading, button, fields from the settings, and what it does."""

    title: str
    button: str
    fields: Callable[[Mapping[str, Any]], Iterable[str]]
    act: Action


def _payout_fields(settings: Mapping[str, Any]) -> Iterator[str]:
    yield html.checkboxes("armed", [("armed", settings["payouts_armed"])])
    yield html.select("scope", "Recipients", _SCOPES, settings["payout_scope"])
    for name, label in _LIMITS.items():
        value = "" if settings[name] is None else str(settings[name])
        yield html.text_field(name, f"{label} (empty: not set)", value)


def _set_payouts(console: Console, given: Given) -> Record:
    limits = {name: _number(_first(given, name)) for name in _LIMITS}
    scope = _first(given, "scope")
    return console.configure({"payouts_armed": "armed" in given, "payout_scope": scope, **limits})


def _send(console: Console, given: Given) -> Record:
    names = ("currency", "payer_id", "amount", "comment")
    return console.pay_out({name: text for name in names if (text := _first(given, name))})


def _mint(console: Console, given: Given) -> Record:
    allowlist = _first(given, "allowlist").replace(",", " ").split()
    return console.mint_key({"class": _first(given, "class"), "allowlist": allowlist})


def _number(text: str) -> int | str | None:
    """Read a limit; text that is no number is left for the console to refuse."""
    is_number = text.isascii() and text.isdigit() and len(text) < 20
    return (int(text) if is_number else text) if text else None


def _first(given: Given, name: str) -> str:
    return given.get(name, [""])[0]


_FORMS = {
    "mint": Form(
        *("A key with an allowlist", "Mint this key"),
        lambda _: (
            html.select("class", "Class", [("checkout", "checkout"), ("payout", "payout")]),
            html.text_field("allowlist", "Its addresses, with spaces between (empty: any)"),
        ),
        _mint,
    ),
    "accept": Form(
        *("Accepted coins", "Accept these coins"),
        lambda settings: [
            html.checkboxes(
                "coin", [(slug, slug in settings["accepted_currencies"]) for slug in ENABLED]
            )
        ],
        lambda console, given: console.configure({"accepted_currencies": given.get("coin", [])}),
    ),
    "webhook-url": Form(
        *("Webhook URL", "Set the webhook URL"),
        lambda settings: [
            html.text_field("url", "https, or http on this machine", settings["webhook_url"])
        ],
        lambda console, given: console.set_webhook_url({"url": _first(given, "url")}),
    ),
    "payout-terms": Form("Payout terms", "Set the payout terms", _payout_fields, _set_payouts),
    "pay-out": Form(
        *("Pay a customer", "Pay out"),
        lambda _: (
            html.select("currency", "Coin", [(slug, slug) for slug in ENABLED]),
            html.text_field("payer_id", "Recipient (payer_id)"),
            html.text_field("amount", "Amount"),
            html.text_field("comment", "Comment"),
        ),
        _send,
    ),
}
_ACTIONS: dict[str, Action] = {
    **{name: form.act for name, form in _FORMS.items()},
    **{name: act for name, (_, act) in _BUTTONS.items()},
    "revoke": lambda console, given: console.revoke_key(_first(given, "id")),  # beside each key
}


class ConsolePages:
    """Serve the console page and the actions of its buttons."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._console = Console(service)

    def routes(self) -> list[Route]:
        """Return the console's routes."""
        return [
            Route("/console", self.show, methods=["GET"]),
            Route("/console/{action}", self.act, methods=["POST"]),
        ]

    async def show(self, _: Request) -> Response:
        """Show the console."""
        return self._page()

    async def act(self, request: Request) -> Response:
        """Run the action of a button and show its result above the console."""
        act = _ACTIONS.get(request.path_params["action"])
        # Pages of other sites must not use these buttons.
        if act is None or not _is_own_page(request):
            raise no_such_route()
        given = parse_qs((await request.body()).decode("utf-8", "replace"))
        try:
            shown = act(self._console, given)
        except Refusal as refusal:
            return self._page(html.alert(", ".join(refusal.codes)), status=refusal.status)
        rows = [(name, value) for name, value in shown.items() if name in _SHOWN]
        note = html.paragraph("This key is shown only now.") if "key" in shown else ""
        return self._page(html.table((), rows) + note if rows else "")

    def _page(self, *news: str, status: int = 200) -> Response:
        headers = date_header(self._service)
        return html.page("Business console", *news, *self._parts(), status=status, headers=headers)

    def _parts(self) -> Iterator[str]:
        state = ControlApi(self._service).state()
        settings = state["settings"]
        yield html.button_bar(*_buttons(settings))
        yield "<h2>Keys</h2>" + "".join(map(_key_line, state["keys"]))
        for name, form in _FORMS.items():
            yield f"<h2>{form.title}</h2>"
            yield html.form(form.button, *form.fields(settings), action=f"/console/{name}")
        rows = [(name, _setting_text(value)) for name, value in sorted(settings.items())]
        yield "<h2>Settings</h2>" + html.table((), rows)
        own = [wallet for wallet in state["wallets"] if wallet["account"] == BUSINESS]
        balances = [(wallet["currency"], wallet["balance"]) for wallet in own]
        yield "<h2>Wallet</h2>" + html.table(("Coin", "Balance"), balances)
        yield "<h2>Events</h2>" + html.table(("Event", "Attempts"), self._events())
        if (count := self._service.webhooks.count()) > _EVENTS:
            yield html.paragraph(f"The newest {_EVENTS} of {count:,}; all at /control/deliveries")

    def _events(self) -> Iterator[tuple[str, str]]:
        for event in self._service.webhooks.log(_EVENTS):
            tried = [f"{one['at']} {one['outcome']}" for one in event["attempts"]]
            if event["next_attempt_at"]:
                tried.append(f"next at {event['next_attempt_at']}")
            yield f"{event['type']}, {event['state']}", "; ".join((event["event_id"], *tried))


def _buttons(settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield a button for each action that has an effect now."""
    hidden = {
        "suspend" if settings["is_suspended"] else "resume",
        "maintain" if settings["is_maintenance"] else "reopen",
    }
    for action, (label, _) in _BUTTONS.items():
        if action not in hidden:
            yield html.form(label, action=f"/console/{action}")


def _key_line(key: dict[str, Any]) -> str:
    """Return a row for a key, by the start of its id, with a button to revoke it."""
    text = f"{key['class']} {key['id'][:8]}, made {key['created_at']}"
    if key["allowlist"]:
        text += f", from {', '.join(key['allowlist'])} alone"
    if not key["is_enabled"]:
        return html.row(f"{text}, revoked")
    form = html.form("Revoke", html.hidden("id", key["id"]), action="/console/revoke")
    return html.row(text, form)


def _setting_text(value: Any) -> str:
    """Write a setting for people to read."""
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "not set" if value is None else str(value)


def _is_own_page(request: Request) -> bool:
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == request.headers.get("host")
