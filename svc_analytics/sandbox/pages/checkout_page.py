"""Checkout page: the shop, the sum, the customer's next step or the receipt."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from svc_analytics.instants import SECOND, parse_instant
from svc_analytics.sandbox.core import html
from svc_analytics.sandbox.core.errors import Refusal
from svc_analytics.sandbox.pages.figures import (
    coin_text,
    left_text,
    price_text,
    time_text,
    value_text,
)
from svc_analytics.sandbox.pages.layout import ShopPage
from svc_analytics.sandbox.pages.sentences import WIDGET, alerts
from svc_analytics.sandbox.resources.bindings import Binding
from svc_analytics.sandbox.resources.service import Service
from svc_analytics.sandbox.resources.sessions import Session
from svc_analytics.sandbox.state.customers import Person

_ENDINGS = {
    "expired": "This checkout has expired. Nothing was charged.",
    "cancelled": "This checkout is cancelled. Nothing was charged.",
}
_LINKING = (
    "Linking ties your account to your customer account at this shop, so that nobody else can"
    " pay for you there. It is done once and stays until the shop ends it. The shop sees your"
    " name as {masked} and never your email address. Nothing is charged yet."
)


@dataclass(frozen=True)
class Visit:
    """Hold what a visitor's page depends on."""

    session: Session
    person: Person | None = None  # who is signed in
    codes: Sequence[str] = ()  # why the last step was refused
    warning: str = ""
    coin: str = ""  # chosen before
    status: int = 200


class CheckoutPage:
    """Write the page of a session."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._platform = service.platform

    def write(self, visit: Visit) -> ShopPage:
        """Return the page for a visitor."""
        session, profile = visit.session, self._service.profile()
        return ShopPage(
            session.request["title"],
            profile,
            tuple(self._parts(visit, profile["display_name"])),
            status=visit.status,
            is_led_away=session.status == "open" and "return_url" in session.request,
            reload_in=self._seconds_left(session) + 1 if session.status == "open" else None,
        )

    def label(self, session: Session) -> str:
        """Return the words of the button that leads here."""
        if session.status == "completed":
            return "Paid: see the receipt"
        if session.status != "open":
            return (
                f"This checkout {'has' if session.status == 'expired' else 'is'} {session.status}"
            )
        sum_, _ = _sum(session)
        return f"Pay {sum_}".strip()

    def _parts(self, visit: Visit, shop: str) -> Iterator[html.Html]:
        session, request = visit.session, visit.session.request
        yield html.tag("h1", request["title"], dir="auto")
        if request.get("description"):
            yield html.said(request["description"])
        if session.status == "open":
            yield from self._open_parts(visit, shop)
        elif session.status == "completed":
            yield from self._receipt(visit, shop)
        else:
            yield html.alert(_ENDINGS[session.status], ", ".join(visit.codes))
        if "cancel_url" in request and session.status != "completed":
            yield html.link(request["cancel_url"], "Back to the store")
        yield html.paragraph("A sandbox: no real money moves here.", kind="foot")

    def _open_parts(self, visit: Visit, shop: str) -> Iterator[html.Html]:
        closed = self._closed()
        codes = dict.fromkeys((*visit.codes, *closed))
        yield from alerts([*codes], WIDGET)
        if visit.warning:
            yield html.alert(visit.warning)
        yield self._due(visit.session)
        if not closed:
            yield html.tag("div", *self._step(visit, shop), class_="step")

    def _closed(self) -> tuple[str, ...]:
        """Return why nobody can pay this shop now, if so."""
        authorizer = self._platform.authorizer
        try:
            authorizer.require_service()
            authorizer.require_sales()
        except Refusal as refusal:
            return refusal.codes
        return ()

    def _due(self, session: Session) -> html.Html:
        """Return the sum in each coin, and the time left."""
        sum_, value = _sum(session)
        parts = [html.paragraph("To pay" if sum_ else "To pay, in the coin that you choose")]
        if sum_:
            parts.append(html.paragraph(sum_, kind="sum"))
        listed = html.tag("ul", *map(_listed, session.amounts))
        parts.append(html.paragraph(value) if value else listed)
        now, until = self._platform.now(), session.expires_at
        by = f"Pay by {time_text(until)}: {left_text(until - now)} left at {time_text(now)[-9:]}"
        return html.tag("div", *parts, html.paragraph(by, kind="by"), class_="due")

    def _step(self, visit: Visit, shop: str) -> Iterator[html.Html]:
        """Yield the form that signs in, the one that links, or the one that pays."""
        if visit.person is None:
            yield html.tag("h2", "Sign in to pay")
            people = [(one.email, one.name) for one in self._platform.customers.all()]
            fields = html.hidden("action", "sign-in"), html.select("as", "You are", people)
            yield html.form("Sign in", *fields)
            return
        yield _signed_in(visit.person)
        if obstacle := self._obstacle(visit.session, visit.person):
            yield from alerts({obstacle}.difference(visit.codes), WIDGET)
        elif self._binding(visit.session) is None:
            yield html.tag("h2", f"Link your account to {shop}")
            yield html.paragraph(_LINKING.format(masked=visit.person.masked_name))
            yield html.form("Link my account to this shop", html.hidden("action", "link"))
        else:
            yield self._payment_form(visit)

    def _obstacle(self, session: Session, person: Person) -> str | None:
        """Return why this account cannot take the next step, if so."""
        live = self._binding(session)
        if person.payer_id == self._service.account.merchant_id:
            return "PAY_SELF_PAYMENT"
        if live is None:
            is_linked = self._service.bindings.live("payer_id", person.payer_id)
            return "PAY_BINDING_CONFLICT" if is_linked else None
        if live.payer_id != person.payer_id:
            return "PAY_BINDING_MISMATCH"
        return "PAY_BINDING_REVIEW" if live.status == "pending_review" else None

    def _binding(self, session: Session) -> Binding | None:
        return self._service.bindings.live("customer_id", session.request["customer"]["id"])

    def _payment_form(self, visit: Visit) -> html.Html:
        amounts = visit.session.amounts
        # Their values stand in the list above: on a phone there is no room for them here.
        options = [(one["currency"], coin_text(one["amount"], one["currency"])) for one in amounts]
        if len(options) == 1:
            slug = options[0][0]
            text = html.paragraph(f"Pay with the {slug.upper()} of your account.")
            fields = [html.hidden("currency", slug), text]
        else:
            fields = [html.select("currency", "Pay with", options, visit.coin)]
        if self._platform.settings["asks_totp"]:
            more = {"inputmode": "numeric", "autocomplete": "one-time-code"}
            fields.append(html.text_field("totp", "Second factor", **more))
        return html.form(f"Pay {options[0][1]}" if len(options) == 1 else "Pay", *fields)

    def _receipt(self, visit: Visit, shop: str) -> Iterator[html.Html]:
        """Yield the amount that was paid, and the way back to the shop."""
        payment = self._service.payment_record(visit.session.payment_id or "")
        if visit.codes:
            again = "This checkout is paid already. Nothing was charged again."
            yield html.alert(again, ", ".join(visit.codes))
        thanks = html.tag("strong", "Paid. Thank you!"), " This checkout is completed."
        yield html.notice(html.paragraph(*thanks), kind="good")
        yield html.tag("h2", "Receipt")
        yield html.facts(
            (
                ("Paid", coin_text(payment["amount"], payment["currency"])),
                ("Value", value_text(payment["usd_value"])),
                ("To", shop),
                ("Receipt number", payment["receipt_no"]),
                ("Date", time_text(parse_instant(payment["paid_at"])[0])),
                ("Order", payment["reference_id"]),
            )
        )
        if target := return_address(visit.session, payment):
            yield html.link(target, f"Back to {shop}", "button")

    def _seconds_left(self, session: Session) -> int:
        return max(0, session.expires_at - self._platform.now()) // SECOND


def return_address(session: Session, payment: dict[str, str]) -> str | None:
    """Return the shop's `return_url` with the receipt, if it has one."""
    target = session.request.get("return_url")
    query = {"receipt": payment["receipt"], "payment_id": payment["id"]}
    return with_query(target, query) if target else None


def with_query(url: str, more: dict[str, str]) -> str:
    """Return a URL with more query parameters.

    >>> with_query("https://shop.example/done?a=1#top", {"b": "2"})
    'https://shop.example/done?a=1&b=2#top'
    """
    parts = urlsplit(url)
    query = "&".join(filter(None, (parts.query, urlencode(more, quote_via=quote))))
    return urlunsplit(parts._replace(query=query))


def _sum(session: Session) -> tuple[str, str]:
    """Return the sum and its value; no sum where each coin has its own."""
    if "price_usd" in session.request:
        return price_text(session.request["price_usd"]), ""
    if len(session.amounts) > 1:
        return "", ""
    [one] = session.amounts
    return coin_text(one["amount"], one["currency"]), value_text(one.get("usd_value"))


def _listed(one: dict[str, str]) -> html.Html:
    amount = html.tag("strong", coin_text(one["amount"], one["currency"]))
    return html.tag("li", amount, html.tag("span", value_text(one.get("usd_value"))))


def _signed_in(person: Person) -> html.Html:
    who = html.paragraph("Signed in as ", html.tag("strong", person.name))
    leave = html.form("Not you?", html.hidden("action", "sign-out"), kind="quiet")
    return html.tag("div", who, leave, class_="who")
