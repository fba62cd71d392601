"""Console page: state of the shop, keys, forms, settings, wallet, events."""

import secrets
from collections.abc import Iterator, Mapping
from typing import Any

from svc_analytics.sandbox.core import html
from svc_analytics.sandbox.http.browsing import Form
from svc_analytics.sandbox.http.control_api import ControlApi
from svc_analytics.sandbox.pages.console_actions import BUTTONS, FORMS, REVOKE, Action, Settings
from svc_analytics.sandbox.pages.figures import moment_text
from svc_analytics.sandbox.pages.layout import ShopPage
from svc_analytics.sandbox.resources.console import Console
from svc_analytics.sandbox.resources.service import Service
from svc_analytics.sandbox.state.wallet import BUSINESS

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
