"""Pages of the console: every action is a post that leads to what it did; a reload does nothing."""

import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from svc_analytics.sandbox import app
from svc_analytics.sandbox.coins import ENABLED
from svc_analytics.sandbox.console import Console, ControlApi
from svc_analytics.sandbox.customers import BUSINESS
from svc_analytics.sandbox.pages import TEXTS, coin_text, page, redirect
from svc_analytics.sandbox.service import Service
from svc_analytics.sandbox.validation import Record, Refusal, no_such_route
from svc_analytics.signing.secrets import Secret

_EVENTS = 100  # listed on the page
_MOST = 20  # a notice that nobody fetches makes room for the next


@dataclass(frozen=True)
class ConsoleNotice:
    """Say what was done; a key or secret is shown with it."""

    text: str
    secret: Secret | None = None


class ConsolePages:
    """Serve the console page and the actions of its buttons."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._console = Console(service)
        self._notices: OrderedDict[str, ConsoleNotice] = OrderedDict()

    def routes(self) -> list[app.PathRoute]:
        """Return the console's routes."""
        return app.path_routes(
            {
                ("GET", "/console"): self.show,
                ("GET", "/console/{action}"): self.ask,
                ("POST", "/console/{action}"): self.act,
            }
        )

    async def show(self, request: Request) -> Response:
        """Show the console, and once what an action did."""
        return self._page(notice=self._notices.pop(request.query_params.get("said", ""), None))

    async def ask(self, request: Request) -> Response:
        """Ask whether an action is meant that moves money or cannot be undone."""
        name = request.path_params["action"]
        action = ACTIONS.get(name)
        if action is None or not action.ask or not app.is_own_page(request):
            return redirect(self._service, "/console")
        return page(
            self._service,
            "question.html",
            settings=self._service.platform.settings.all(),
            name=name,
            action=action,
            form={field: request.query_params.getlist(field) for field in request.query_params},
            new_number=_new_number,
        )

    async def act(self, request: Request) -> Response:
        """Run an action; lead to what it did, or show why not with what was typed."""
        name = request.path_params["action"]
        # Pages of other sites must not use these buttons.
        if name not in ACTIONS or not app.is_own_page(request):
            raise no_such_route()
        form = await app.read_form(request)
        if "once" in form and not self._console.is_first(app.first(form, "once")):
            return self._page(status=409, is_again=True)
        action = ACTIONS[name]
        try:
            record = ACTS[name](self._console, form)
        except Refusal as why:
            again = {"codes": why.codes, "hint": action.hint, "typed": {name: form}}
            return self._page(status=why.status, **again)
        secret = record.get("key") or record.get("secret")
        notice = ConsoleNotice(action.said.format_map(record), Secret(secret) if secret else None)
        return redirect(self._service, f"/console?said={self._keep(notice)}")

    def _keep(self, notice: ConsoleNotice) -> str:
        """Keep a notice for the one page that a redirect leads to: a reload shows no key again."""
        name = _new_number()
        self._notices[name] = notice
        if len(self._notices) > _MOST:
            self._notices.popitem(last=False)
        return name

    def _page(self, **values: Any) -> Response:
        """Return the console, with what its last action did or why it was refused."""
        state = ControlApi(self._service).state()
        settings = state["settings"]
        own = [wallet for wallet in state["wallets"] if wallet["account"] == BUSINESS]
        news: Record = {"notice": None, "is_again": False, "codes": (), "hint": "", "typed": {}}
        return page(
            self._service,
            "console.html",
            **{**news, **values},
            settings=settings,
            actions=ACTIONS,
            forms=FORMS.values(),
            buttons=_buttons(settings),
            keys=state["keys"],
            coins=[*ENABLED],
            wallet=[(wallet["currency"], wallet["balance"]) for wallet in own],
            events=self._console.events(_EVENTS),
            event_count=self._service.webhooks.count(),
            new_number=_new_number,
        )


def _new_number() -> str:
    """Return the number of a form, which acts only once."""
    return secrets.token_urlsafe(16)


def _buttons(settings: Record) -> list[str]:
    """Return the names of the buttons that have an effect now."""
    hidden = {
        "suspend" if settings["is_suspended"] else "resume",
        "maintain" if settings["is_maintenance"] else "reopen",
    }
    return [name for name in BUTTONS if name not in hidden]


class Action(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describe an action by its texts; it asks first if it moves money or cannot be undone."""

    button: str
    said: str  # what was done, with values of its record
    ask: str = ""
    sure: str = ""  # the answer to that, where it is not the button's text
    title: str = ""  # of its form
    hint: str = "Something is missing, or not in its form."  # where it is VALIDATION_FAILED
    is_repeatable: bool = True  # doing it again by mistake does no harm


FORMS, BUTTONS, _ROWS = (
    msgspec.convert(TEXTS[group], dict[str, Action]) for group in ("forms", "buttons", "rows")
)
ACTIONS = {**FORMS, **BUTTONS, **_ROWS}

_LIMITS = ("payout_max_usd", "payout_day_usd")


def _mint(console: Console, form: app.Form) -> Record:
    allowlist = app.first(form, "allowlist").replace(",", " ").split()
    return console.mint_key({"class": app.first(form, "class"), "allowlist": allowlist})


def _accept(console: Console, form: app.Form) -> Record:
    settings = console.configure({"accepted_currencies": form.get("coin", [])})
    coins = ", ".join(settings["accepted_currencies"])
    none = "No coin is ticked: the shop accepts none now, so no checkout can be made."
    return {"accepted": f"The shop accepts {coins} now." if coins else none}


def _set_payouts(console: Console, form: app.Form) -> Record:
    limits = {name: _number(app.first(form, name)) for name in _LIMITS}
    terms = {"payouts_armed": "armed" in form, "payout_scope": app.first(form, "scope"), **limits}
    settings = console.configure(terms)
    is_on = settings["payouts_armed"] and all(settings[name] for name in _LIMITS)
    return {"possible": "possible" if is_on else "off"}


def _number(text: str) -> int | str | None:
    """Read a limit; text that is no number is left for the console to refuse."""
    is_number = text.isascii() and text.isdigit() and len(text) < 20  # beyond what a limit can be
    return (int(text) if is_number else text) if text else None


def _pay(console: Console, form: app.Form) -> Record:
    names = ("currency", "payer_id", "amount", "comment")
    record = console.pay_out({name: text for name in names if (text := app.first(form, name))})
    return {**record, "paid": coin_text(record), "debited": coin_text(record, "debited_amount")}


ACTS: dict[str, Callable[[Console, app.Form], Record]] = {
    "mint": _mint,
    "accept": _accept,
    "webhook-url": lambda console, form: console.set_webhook_url({"url": app.first(form, "url")}),
    "payout-terms": _set_payouts,
    "pay-out": _pay,
    "mint-checkout": lambda console, _: console.mint_key({"class": "checkout"}),
    "mint-payout": lambda console, _: console.mint_key({"class": "payout"}),
    "open-receipt": lambda console, _: console.open_secret("receipt"),
    "open-webhook": lambda console, _: console.open_secret("webhook"),
    "rotate-receipt": lambda console, _: console.rotate_secret("receipt"),
    "rotate-webhook": lambda console, _: console.rotate_secret("webhook"),
    "resume": lambda console, _: console.configure({"is_suspended": False}),
    "suspend": lambda console, _: console.configure({"is_suspended": True}),
    "reopen": lambda console, _: console.configure({"is_maintenance": False}),
    "maintain": lambda console, _: console.configure({"is_maintenance": True}),
    "test-event": lambda console, _: console.send_test_event(),
    "revoke": lambda console, form: console.revoke_key(app.first(form, "id")),
}
