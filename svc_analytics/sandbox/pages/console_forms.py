"""Forms of the console page: their fields, and what their buttons do."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from svc_analytics.sandbox.core import html
from svc_analytics.sandbox.resources.console import Console
from svc_analytics.sandbox.state.rates import ENABLED
from svc_analytics.sandbox.state.records import Record

Given = Mapping[str, list[str]]  # the submitted fields, each with all its values
Settings = Mapping[str, Any]

_LIMITS = {"payout_max_usd": "One payout, USD", "payout_day_usd": "In 24 hours, USD"}


@dataclass(frozen=True)
class Form:
    """Describe a form: heading, button, fields as HTML, and the button's action."""

    title: str
    button: str
    fields: Callable[[Settings], str]
    act: Callable[[Console, Given], Record]


def first(given: Given, name: str) -> str:
    """Return the first value of a field."""
    return given.get(name, [""])[0]


def _coin_fields(settings: Settings) -> str:
    accepted = settings["accepted_currencies"]
    return html.checkboxes("coin", [(slug, slug in accepted) for slug in ENABLED])


def _url_fields(settings: Settings) -> str:
    label = "https, or http on this machine"
    return html.text_field("url", label, str(settings["webhook_url"]))


def _payout_fields(settings: Settings) -> str:
    scopes = [("payers", "those who have paid"), ("any", "any address, by lookup")]
    limits = [
        html.text_field(name, f"{label} (empty: not set)", _shown(settings[name]))
        for name, label in _LIMITS.items()
    ]
    scope = html.select("scope", "Recipients", scopes, str(settings["payout_scope"]))
    return (
        html.checkboxes("armed", [("armed", bool(settings["payouts_armed"]))])
        + scope
        + "".join(limits)
    )


def _sending_fields(_: Settings) -> str:
    coins = html.select("currency", "Coin", [(slug, slug) for slug in ENABLED])
    texts = (("payer_id", "Recipient (payer_id)"), ("amount", "Amount"), ("comment", "Comment"))
    return coins + "".join(html.text_field(*text) for text in texts)


def _set_payouts(console: Console, given: Given) -> Record:
    limits = {name: _number(first(given, name)) for name in _LIMITS}
    scope = first(given, "scope")
    return console.configure({"payouts_armed": "armed" in given, "payout_scope": scope, **limits})


def _send(console: Console, given: Given) -> Record:
    names = ("currency", "payer_id", "amount", "comment")
    return console.pay_out({name: text for name in names if (text := first(given, name))})


def _number(text: str) -> int | str | None:
    """Read a limit; text that is no number is left for the console to refuse."""
    return (int(text) if text.isascii() and text.isdigit() else text) if text else None


def _shown(value: object) -> str:
    return "" if value is None else str(value)


def _key_fields(_: Settings) -> str:
    classes = html.select("class", "Class", [(name, name) for name in ("checkout", "payout")])
    return classes + html.text_field("allowlist", "Its addresses, with spaces between (empty: any)")


def _mint(console: Console, given: Given) -> Record:
    allowlist = first(given, "allowlist").replace(",", " ").split()
    return console.mint_key({"class": first(given, "class"), "allowlist": allowlist})


FORMS = {
    "mint": Form("A key with an allowlist", "Mint this key", _key_fields, _mint),
    "accept": Form(
        *("Accepted coins", "Accept these coins", _coin_fields),
        lambda console, given: console.configure({"accepted_currencies": given.get("coin", [])}),
    ),
    "webhook-url": Form(
        *("Webhook URL", "Set the webhook URL", _url_fields),
        lambda console, given: console.set_webhook_url({"url": first(given, "url")}),
    ),
    "payout-terms": Form("Payout terms", "Set the payout terms", _payout_fields, _set_payouts),
    "pay-out": Form("Pay a customer", "Pay out", _sending_fields, _send),
}
