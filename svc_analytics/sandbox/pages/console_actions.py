"""Actions of the console: their forms, what they do, what is asked before and said after."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from svc_analytics.sandbox.core import html
from svc_analytics.sandbox.core.coins import ENABLED
from svc_analytics.sandbox.http.messages import Form, first
from svc_analytics.sandbox.pages.texts import coin_text
from svc_analytics.sandbox.resources.console import Console
from svc_analytics.sandbox.state.records import Record

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
