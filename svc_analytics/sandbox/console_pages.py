"""Console: every action is a post, then a redirect to what it did; a reload does nothing."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from svc_analytics.sandbox import html
from svc_analytics.sandbox.app import (
    Form,
    PathRoute,
    date_header,
    first,
    is_own_page,
    path_routes,
    read_form,
)
from svc_analytics.sandbox.coins import ENABLED
from svc_analytics.sandbox.console import Console, ControlApi
from svc_analytics.sandbox.customers import BUSINESS
from svc_analytics.sandbox.pages import CONSOLE, ShopPage, alerts, coin_text, moment_text
from svc_analytics.sandbox.service import Service
from svc_analytics.sandbox.validation import Record, Refusal, no_such_route
from svc_analytics.signing.secrets import Secret

_AGAIN = "This form was sent before: nothing was done a second time."


class ConsolePages:
    """Serve the console page and the actions of its buttons."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._console = Console(service)
        self._page = ConsolePage(service)
        self._notices = Notices()

    def routes(self) -> list[PathRoute]:
        """Return the console's routes."""
        return path_routes(
            {
                ("GET", "/console"): self.show,
                ("GET", "/console/{action}"): self.ask,
                ("POST", "/console/{action}"): self.act,
            }
        )

    async def show(self, request: Request) -> Response:
        """Show the console, and once what an action did."""
        notice = self._notices.take(request.query_params.get("said", ""))
        return self._answer(self._page.write(*([_shown(notice)] if notice else [])))

    async def ask(self, request: Request) -> Response:
        """Ask whether an action is meant that moves money or cannot be undone."""
        name = request.path_params["action"]
        action = ACTIONS.get(name)
        if action is None or not action.ask or not is_own_page(request):
            return self._redirect("/console")
        form = {field: request.query_params.getlist(field) for field in request.query_params}
        return self._answer(self._page.ask(name, action, form))

    async def act(self, request: Request) -> Response:
        """Run an action; lead to what it did, or show why not with what was typed."""
        name = request.path_params["action"]
        # Pages of other sites must not use these buttons.
        if name not in ACTIONS or not is_own_page(request):
            raise no_such_route()
        form = await read_form(request)
        if "once" in form and not self._console.is_first(first(form, "once")):
            return self._answer(self._page.write(html.alert(_AGAIN), status=409))
        try:
            record = ACTIONS[name].act(self._console, form)
        except Refusal as refusal:
            return self._answer(self._refused(name, form, refusal))
        said = self._notices.keep(_notice(ACTIONS[name].said(record), record))
        return self._redirect(f"/console?said={said}")

    def _refused(self, name: str, form: Form, refusal: Refusal) -> ShopPage:
        sentences = {**CONSOLE, "VALIDATION_FAILED": ACTIONS[name].hint}
        news = alerts(refusal.codes, sentences)
        return self._page.write(*news, typed={name: form}, status=refusal.status)

    def _answer(self, page: ShopPage) -> Response:
        return page.response(date_header(self._service))

    def _redirect(self, address: str) -> Response:
        return RedirectResponse(address, 303, date_header(self._service))


def _notice(text: str, record: Record) -> ConsoleNotice:
    """Return the notice; a key or secret goes with it, masked until it is shown."""
    secret = record.get("key") or record.get("secret")
    notice = ConsoleNotice(text)
    return replace(notice, secret=Secret(secret)) if secret else notice


def _shown(notice: ConsoleNotice) -> html.Html:
    code = [html.tag("code", notice.secret.reveal(), class_="secret")] if notice.secret else []
    return html.notice(html.paragraph(notice.text), *code, kind="good")


# ---------- Console page
# State of the shop, keys, forms, settings, wallet, events.


_EVENTS = 100  # listed on the page
_TITLE = "Business console"
_LISTS = ("Settings", "Wallet", "Events")  # the last sections
# What a question shows of a form, in its words.
_LABELS = {
    "currency": "Coin",
    "payer_id": "Recipient (payer_id)",
    "amount": "Amount",
    "comment": "Comment",
    "id": "Key",
}
_STATES: tuple[tuple[str, object, str], ...] = (
    ("is_suspended", True, "The business is suspended: it takes no payments and pays nothing out."),
    ("is_maintenance", True, "Maintenance: every call to the API is refused and nobody can pay."),
    ("is_rail_enabled", False, "Payments are switched off for the whole platform."),
    ("is_business", False, "This account is not a business: the API answers MERCHANT_NOT_FOUND."),
    ("accepted_currencies", [], "No coin is accepted: no checkout can be made."),
)


class ConsolePage:
    """Write the console's page, and the page that asks before an action."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._console = Console(service)

    def write(
        self, *news: str, typed: Mapping[str, Form] | None = None, status: int = 200
    ) -> ShopPage:
        """Return the console; `typed` holds what a refused form held."""
        return self._page(_TITLE, *news, *self._parts(typed or {}), status=status)

    def ask(self, name: str, action: Action, form: Form) -> ShopPage:
        """Return the page that asks whether an action is meant."""
        fields = [html.hidden(field, one) for field, values in form.items() for one in values]
        fields += [] if "once" in form else _once(action)
        return self._page(
            f"{action.sure.capitalize()}?",
            html.facts((_LABELS[name], ", ".join(form[name])) for name in _LABELS if name in form),
            html.notice(html.paragraph(action.ask), kind="warn"),
            html.form(
                f"Yes, {action.sure}",
                *fields,
                action=f"/console/{name}",
                kind="danger sure",
            ),
            html.link("/console", "No, back to the console"),
        )

    def _page(self, title: str, *parts: str, status: int = 200) -> ShopPage:
        heading = *self._banners(), html.tag("h1", title)
        shop = self._service.profile()
        return ShopPage(title, shop, (*heading, *parts), status=status, is_wide=True)

    def _banners(self) -> Iterator[html.Html]:
        """Yield the reasons why the shop does not work."""
        settings = self._service.platform.settings
        for name, value, text in _STATES:
            if settings[name] == value:
                yield html.notice(html.paragraph(text), kind="warn")

    def _parts(self, typed: Mapping[str, Form]) -> Iterator[str]:
        state = ControlApi(self._service).state()
        settings = state["settings"]
        yield _contents(["Keys", *(form.title for form in FORMS.values()), *_LISTS])
        yield html.button_bar(*_buttons(settings))
        yield _heading("Keys")
        yield from map(_key_line, state["keys"])
        for name, form in FORMS.items():
            yield _heading(form.title)
            yield _form(name, form, *form.fields(settings, typed.get(name, {})))
        rows = [(name, _setting_text(value)) for name, value in sorted(settings.items())]
        yield _heading("Settings")
        yield html.facts(rows)
        own = [wallet for wallet in state["wallets"] if wallet["account"] == BUSINESS]
        yield _heading("Wallet")
        yield html.facts((wallet["currency"], wallet["balance"]) for wallet in own)
        yield _heading("Events")
        yield html.table(("Time", "Event", "What", "Attempts"), self._events())
        if (count := self._service.webhooks.count()) > _EVENTS:
            yield html.paragraph(f"The newest {_EVENTS} of {count:,}; all at /control/deliveries")

    def _events(self) -> Iterator[tuple[str, ...]]:
        for event in self._console.events(_EVENTS):
            about = [f"{name} {value}" for name, value in event["about"].items() if value]
            tried = [f"{moment_text(one['at'])}: {one['outcome']}" for one in event["attempts"]]
            if event["next_attempt_at"]:
                tried.append(f"next at {moment_text(event['next_attempt_at'])}")
            attempts = html.tag("strong", event["state"]), _lines(tried)
            what = _lines([*about, f"event {event['event_id']}"])
            yield moment_text(event["created_at"]), event["type"], what, html.join(attempts)


def _heading(title: str) -> html.Html:
    return html.tag("h2", title, id=_place(title))


def _contents(titles: list[str]) -> html.Html:
    """Return links to the sections of a long page."""
    links = (html.tag("li", html.link(f"#{_place(title)}", title)) for title in titles)
    return html.tag("nav", html.tag("ul", *links), aria_label="On this page")


def _place(title: str) -> str:
    return title.lower().replace(" ", "-")


def _once(action: Action) -> Iterator[html.Html]:
    """Yield the field that lets a form act only once, where that matters."""
    if not action.is_repeatable:
        yield html.hidden("once", secrets.token_urlsafe(16))


def _form(name: str, action: Action, *fields: str, about: str | None = None) -> html.Html:
    """Return the form of an action; one that asks first leads to its question."""
    address = f"/console/{name}"
    if action.ask:
        asks = {"method": "get", "action": address, "kind": "danger"}
        # It goes on to the question: going back and saying yes again is the same answer.
        return html.form(f"{action.button}…", *fields, *_once(action), **asks, about=about)
    return html.form(action.button, *fields, *_once(action), action=address)


def _buttons(settings: Settings) -> Iterator[html.Html]:
    """Yield a button for each action that has an effect now."""
    hidden = {
        "suspend" if settings["is_suspended"] else "resume",
        "maintain" if settings["is_maintenance"] else "reopen",
    }
    for name, action in BUTTONS.items():
        if name not in hidden:
            yield _form(name, action)


def _key_line(key: dict[str, Any]) -> html.Html:
    """Return a row for a key, by the start of its id, with a button to revoke it."""
    text = f"{key['class']} {key['id'][:8]}, made {moment_text(key['created_at'])}"
    if key["allowlist"]:
        text += f", from {', '.join(key['allowlist'])} alone"
    if not key["is_enabled"]:
        return html.row(f"{text}, revoked")
    return html.row(text, _form("revoke", REVOKE, html.hidden("id", key["id"]), about=text))


def _lines(texts: list[str]) -> html.Html:
    return html.tag("ul", *(html.tag("li", text) for text in texts)) if texts else html.Html()


def _setting_text(value: Any) -> str:
    """Write a setting for people to read."""
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "not set" if value is None else str(value)


# ---------- Notices
# What an action did, kept for the one page that its redirect leads to.


_MOST = 20  # a notice that nobody fetches makes room for the next


@dataclass(frozen=True)
class ConsoleNotice:
    """Say what was done; a key or secret is shown with it."""

    text: str
    secret: Secret | None = None


class Notices:
    """Keep notices in memory; each is shown once, so a reload shows no key again."""

    def __init__(self) -> None:
        self._notices: OrderedDict[str, ConsoleNotice] = OrderedDict()

    def keep(self, notice: ConsoleNotice) -> str:
        """Keep a notice and return the name under which it can be taken."""
        name = secrets.token_urlsafe(16)
        self._notices[name] = notice
        if len(self._notices) > _MOST:
            self._notices.popitem(last=False)
        return name

    def take(self, name: str) -> ConsoleNotice | None:
        """Take a notice away, if it is still there."""
        return self._notices.pop(name, None)


# ---------- Actions of the console: their forms, what they do, what is asked before and said


Settings = Mapping[str, Any]
_LIMITS = {"payout_max_usd": "One payout, USD", "payout_day_usd": "In 24 hours, USD"}
_SCOPES = (("payers", "those who have paid"), ("any", "any address, by lookup"))
_CLASSES = (("checkout", "checkout"), ("payout", "payout"))
_COINS = [(slug, slug) for slug in ENABLED]
_ROTATE = (
    "A new {0} secret is made and works from now on. The previous one is accepted for 24 hours"
    " more, then never again. One that was replaced earlier still ends 24 hours after its own"
    " replacement, not sooner: a new rotation does not end it. This cannot be undone."
)


@dataclass(frozen=True)
class Action:
    """Describe an action; it asks first if it moves money or cannot be undone."""

    button: str
    act: Callable[[Console, Form], Record]
    said: Callable[[Record], str]  # what was done
    ask: str = ""
    sure: str = ""  # the answer to that
    title: str = ""  # of its form
    fields: Callable[[Settings, Form], Iterable[str]] = lambda _, __: ()
    hint: str = "Something is missing, or not in its form."  # where it is VALIDATION_FAILED
    is_repeatable: bool = True  # doing it again by mistake does no harm


def _accept_fields(settings: Settings, typed: Form) -> Iterator[str]:
    chosen = typed.get("coin", []) if typed else settings["accepted_currencies"]
    ticks = [(slug, slug in chosen) for slug in ENABLED]
    yield html.checkboxes("coin", ticks, "Customers can pay in")


def _accepted(settings: Record) -> str:
    coins = ", ".join(settings["accepted_currencies"])
    none = "No coin is ticked: the shop accepts none now, so no checkout can be made."
    return f"The shop accepts {coins} now." if coins else none


def _payout_fields(settings: Settings, typed: Form) -> Iterator[str]:
    is_armed = "armed" in typed if typed else settings["payouts_armed"]
    yield html.checkboxes("armed", [("armed", is_armed)], "Payouts")
    scope = first(typed, "scope") or settings["payout_scope"]
    yield html.select("scope", "Recipients", _SCOPES, scope)
    for name, label in _LIMITS.items():
        stored = "" if settings[name] is None else str(settings[name])
        value = first(typed, name) if typed else stored
        yield html.text_field(name, f"{label} (empty: not set)", value, inputmode="numeric")


def _set_payouts(console: Console, form: Form) -> Record:
    limits = {name: _number(first(form, name)) for name in _LIMITS}
    scope = first(form, "scope")
    return console.configure({"payouts_armed": "armed" in form, "payout_scope": scope, **limits})


def _payouts_said(settings: Record) -> str:
    is_on = settings["payouts_armed"] and all(settings[name] for name in _LIMITS)
    return f"The payout terms are set: payouts are {'possible' if is_on else 'off'} now."


def _pay_fields(_: Settings, typed: Form) -> Iterator[str]:
    yield html.select("currency", "Coin", _COINS, first(typed, "currency"))
    yield html.text_field("payer_id", "Recipient (payer_id)", first(typed, "payer_id"))
    yield html.text_field("amount", "Amount", first(typed, "amount"), inputmode="decimal")
    yield html.text_field("comment", "Comment", first(typed, "comment"))


def _pay(console: Console, form: Form) -> Record:
    names = ("currency", "payer_id", "amount", "comment")
    return console.pay_out({name: text for name in names if (text := first(form, name))})


def _paid_out(record: Record) -> str:
    amount, debited = (coin_text(record[name], record["currency"]) for name in _PAID)
    return f"Paid {amount} to {record['payer_id']}; {debited} left the wallet, fee included."


_PAID = ("amount", "debited_amount")


def _mint_fields(_: Settings, typed: Form) -> Iterator[str]:
    label = "Its addresses, with spaces between (empty: any)"
    yield html.select("class", "Class", _CLASSES, first(typed, "class"))
    yield html.text_field("allowlist", label, first(typed, "allowlist"))


def _mint(console: Console, form: Form) -> Record:
    allowlist = first(form, "allowlist").replace(",", " ").split()
    return console.mint_key({"class": first(form, "class"), "allowlist": allowlist})


def _number(text: str) -> int | str | None:
    """Read a limit; text that is no number is left for the console to refuse."""
    is_number = text.isascii() and text.isdigit() and len(text) < 20  # beyond what a limit can be
    return (int(text) if is_number else text) if text else None


def _url_fields(settings: Settings, typed: Form) -> Iterator[str]:
    value = first(typed, "url") if typed else settings["webhook_url"]
    yield html.text_field("url", "https, or http on this machine", value, inputmode="url")


def _set(name: str, *, value: bool) -> Callable[[Console, Form], Record]:
    return lambda console, _: console.configure({name: value})


def _minted(record: Record) -> str:
    return f"A {record['class']} key is minted. It is shown only now: keep it in a safe place."


def _mint_button(key_class: str) -> Action:
    mint = {"class": key_class}
    label = f"Mint a {key_class} key"
    return Action(label, lambda con, _: con.mint_key(mint), _minted, is_repeatable=False)


def _open(kind: Any) -> Action:
    said = f"The {kind} secret that signs now:"
    return Action(f"Open the {kind} secret", lambda con, _: con.open_secret(kind), lambda _: said)


def _rotate(kind: Any) -> Action:
    said = f"The {kind} secret is rotated. The new one works from now on:"
    return Action(
        f"Rotate the {kind} secret",
        lambda con, _: con.rotate_secret(kind),
        lambda _: said,
        ask=_ROTATE.format(kind),
        sure=f"rotate the {kind} secret",
        is_repeatable=False,
    )


BUTTONS = {
    "mint-checkout": _mint_button("checkout"),
    "mint-payout": _mint_button("payout"),
    "open-receipt": _open("receipt"),
    "open-webhook": _open("webhook"),
    "rotate-receipt": _rotate("receipt"),
    "rotate-webhook": _rotate("webhook"),
    "resume": Action(
        *("Resume", _set("is_suspended", value=False)),
        lambda _: "The business is active again.",
    ),
    "suspend": Action(
        *("Suspend the business", _set("is_suspended", value=True)),
        lambda _: "The business is suspended.",
        ask="Open checkouts can no longer be paid, and nothing is paid out, until you resume it.",
        sure="suspend the business",
    ),
    "reopen": Action(
        *("End maintenance", _set("is_maintenance", value=False)),
        lambda _: "Maintenance has ended: the API answers again.",
    ),
    "maintain": Action(
        *("Begin maintenance", _set("is_maintenance", value=True)),
        lambda _: "Maintenance has begun.",
        ask="Every call to the API is refused, and nobody can pay, until you end it.",
        sure="begin maintenance",
    ),
    "test-event": Action(
        *("Send a test event", lambda con, _: con.send_test_event()),
        lambda record: f"The test event {record['event_id']} is queued: see Events below.",
    ),
}
FORMS = {
    "mint": Action(
        *("Mint this key", _mint, _minted),
        title="A key with an allowlist",
        fields=_mint_fields,
        hint="No key was minted: an address is 203.0.113.9 or a network as 10.0.0.0/8.",
        is_repeatable=False,
    ),
    "accept": Action(
        "Accept these coins",
        lambda con, form: con.configure({"accepted_currencies": form.get("coin", [])}),
        _accepted,
        title="Accepted coins",
        fields=_accept_fields,
    ),
    "webhook-url": Action(
        "Set the webhook URL",
        lambda con, form: con.set_webhook_url({"url": first(form, "url")}),
        lambda record: f"Webhooks are for {record['webhook_url']} now.",
        title="Webhook URL",
        fields=_url_fields,
    ),
    "payout-terms": Action(
        *("Set the payout terms", _set_payouts, _payouts_said),
        title="Payout terms",
        fields=_payout_fields,
        hint="Nothing was set: a limit is a whole number of USD from 1 to 1,000,000,000, or empty.",
    ),
    "pay-out": Action(
        *("Pay out", _pay, _paid_out),
        ask="The money leaves the wallet at once, with a fee on top, and cannot be called back.",
        sure="pay out",
        title="Pay a customer",
        fields=_pay_fields,
        hint=(
            "Nothing was paid: the recipient is a payer_id as in a payment, the amount a number"
            " such as 12.5, and a comment has at most 512 characters."
        ),
        is_repeatable=False,
    ),
}
REVOKE = Action(
    *("Revoke", lambda console, form: console.revoke_key(first(form, "id"))),
    lambda _: "The key is revoked.",
    ask="Every call with this key is refused from now on. This cannot be undone.",
    sure="revoke this key",
)
ACTIONS = {**FORMS, **BUTTONS, "revoke": REVOKE}
