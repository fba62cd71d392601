"""Checkout widget at a session's `checkout_url`, and the embed script that leads there.

To sign in, choose one of the sandbox's customers; there are no passwords. A script without
a browser names the customer in the field `as` instead, of the address or of each post.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from svc_analytics.instants import SECOND, parse_instant
from svc_analytics.sandbox import html
from svc_analytics.sandbox.account import read_signed, write_signed
from svc_analytics.sandbox.app import (
    Form,
    date_header,
    first,
    is_browser,
    is_own_page,
    json_response,
    read_form,
)
from svc_analytics.sandbox.bindings import Binding
from svc_analytics.sandbox.customers import Person
from svc_analytics.sandbox.pages import (
    WIDGET,
    ShopPage,
    alerts,
    coin_text,
    left_text,
    price_text,
    time_text,
    value_text,
)
from svc_analytics.sandbox.service import Service
from svc_analytics.sandbox.sessions import Session
from svc_analytics.sandbox.validation import Refusal, not_found, uuid_form

_BARRED = "This account cannot sign in."
_UNKNOWN = "Please sign in first."
_FOREIGN = "Another page sent this here, so nothing was done. If you mean it, do it on this page."


class Widget:
    """Serve the pages of a session to anybody who has its address."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._page = CheckoutPage(service)
        self._sign_in = SignIn(service)

    def routes(self) -> list[Route]:
        """Return the routes of the widget and of its embed script."""
        return [
            Route("/checkout/{session_id}", self.visit, methods=["GET", "POST"]),
            Route("/checkout/{session_id}/button", self.button, methods=["GET"]),
            Route(EMBED_PATH, self.embed, methods=["GET"]),
        ]

    async def embed(self, _: Request) -> Response:
        """Return the embed script."""
        headers = {**date_header(self._service), "x-content-type-options": "nosniff"}
        return Response(SCRIPT, 200, headers, media_type="text/javascript")

    async def button(self, request: Request) -> Response:
        """Return the words of the embed script's button, to any page that knows the id."""
        session = self._session(request)
        words = {
            "label": self._page.label(session),
            "shop": self._service.profile()["display_name"],
        }
        answer = json_response(self._service, words)
        answer.headers["access-control-allow-origin"] = "*"
        answer.headers["cache-control"] = "no-store"
        return answer

    async def visit(self, request: Request) -> Response:
        """Show a session and the customer's next step, or take that step."""
        form = await read_form(request)
        try:
            session = self._session(request)
            if request.method == "POST":
                return self._act(request, session, form)
            return self._look(request, session)
        except Refusal as refusal:
            parts = (html.tag("h1", "Checkout"), *alerts(refusal.codes, WIDGET))
            shop = self._service.profile()
            return self._answer(ShopPage("Checkout", shop, parts, status=refusal.status))

    def _look(self, request: Request, session: Session) -> Response:
        """Show the page; an address of ours or a script's may name the customer."""
        email = request.query_params.get("as")
        if email is None or not is_own_page(request):
            return self._show(Visit(session, self._sign_in.customer(request, session)))
        person = self._sign_in.account(email)
        if person is None:
            return self._show(Visit(session, warning=_BARRED))
        answer = self._show(Visit(session, person))
        self._sign_in.keep(answer, session, person)
        return answer

    def _act(self, request: Request, session: Session, form: Form) -> Response:
        """Take the step that a form asks for, or say why not."""
        if not is_own_page(request):
            return self._show(Visit(session, warning=_FOREIGN, status=403))
        person, action = self._actor(request, session, form), first(form, "action")
        if action == "sign-out":
            return self._sign_out(session)
        if person is None:
            warning = _BARRED if first(form, "as") else _UNKNOWN
            return self._show(Visit(session, warning=warning, status=403))
        if action == "sign-in":
            return self._signed_in(session, person)
        try:
            return self._run(request, session, person, form)
        except Refusal as refusal:
            now = self._service.sessions.find(session.id)
            coin = first(form, "currency")
            return self._show(Visit(now, person, refusal.codes, "", coin, refusal.status))

    def _actor(self, request: Request, session: Session, form: Form) -> Person | None:
        """Return who acts: in a browser who is signed in, otherwise whom the script names."""
        is_named = first(form, "action") == "sign-in" or not is_browser(request)
        if is_named and "as" in form:
            return self._sign_in.account(first(form, "as"))
        return self._sign_in.customer(request, session)

    def _run(self, request: Request, session: Session, person: Person, form: Form) -> Response:
        checkout = self._service.checkout
        if first(form, "action") == "link":
            checkout.link(session.id, person.payer_id)
            query = "" if is_browser(request) else f"?{urlencode({'as': person.email})}"
            return self._redirect(f"/checkout/{session.id}{query}")
        paid = first(form, "currency"), first(form, "totp") or None
        payment_id = checkout.confirm(session.id, person.payer_id, *paid)
        payment = self._service.payment_record(payment_id)
        if target := return_address(session, payment):
            return self._redirect(target)
        if is_browser(request):
            return self._redirect(f"/checkout/{session.id}")  # so a reload posts nothing
        return self._show(Visit(self._service.sessions.find(session.id), person))

    def _signed_in(self, session: Session, person: Person) -> Response:
        answer = self._redirect(f"/checkout/{session.id}")
        self._sign_in.keep(answer, session, person)
        return answer

    def _sign_out(self, session: Session) -> Response:
        answer = self._redirect(f"/checkout/{session.id}")
        self._sign_in.forget(answer, session)
        return answer

    def _session(self, request: Request) -> Session:
        """Return the session by UUID only; a reference is not part of an address."""
        session_id = uuid_form(request.path_params["session_id"])
        session = self._service.sessions.find(session_id)
        if session.id != session_id:
            raise not_found()
        self._service.platform.open_wallets()
        return session

    def _show(self, visit: Visit) -> Response:
        return self._answer(self._page.write(visit))

    def _answer(self, page: ShopPage) -> Response:
        return page.response(date_header(self._service))

    def _redirect(self, address: str) -> Response:
        return RedirectResponse(address, 303, date_header(self._service))


# ---------- Checkout page
# The shop, the sum, the customer's next step or the receipt.


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


# ---------- Sign-in to one checkout
# A signed cookie, so that no later form names the account.


_COOKIE = "checkout_customer"


class SignIn:
    """Remember which customer signed in to which checkout."""

    def __init__(self, service: Service) -> None:
        self._customers = service.platform.customers
        self._secret = service.account.cursor_secret

    def account(self, email: str) -> Person | None:
        """Return the account of an address, or None if it cannot sign in."""
        return _able(self._customers.by_email(email) if email else None)

    def customer(self, request: Request, session: Session) -> Person | None:
        """Return the customer who signed in to this checkout, if one did."""
        cookie = request.cookies.get(_COOKIE, "")
        payer_id = read_signed(cookie, _purpose(session), self._secret)
        return _able(self._customers.find(payer_id.decode()) if payer_id else None)

    def keep(self, response: Response, session: Session, person: Person) -> None:
        """Sign a customer in, until the browser is closed."""
        value = write_signed(person.payer_id.encode(), _purpose(session), self._secret)
        # Lax: it is there when the shop leads to the checkout, but not on a foreign post.
        options = {"path": _path(session), "httponly": True, "samesite": "lax"}
        response.set_cookie(_COOKIE, value, **options)  # type: ignore[arg-type]

    def forget(self, response: Response, session: Session) -> None:
        """Sign the customer out."""
        response.delete_cookie(_COOKIE, path=_path(session), httponly=True, samesite="lax")


def _able(person: Person | None) -> Person | None:
    return None if person is None or person.state == "disabled" else person


def _path(session: Session) -> str:
    return f"/checkout/{session.id}"


def _purpose(session: Session) -> str:
    return f"sign-in {session.id}"


# ---------- Embed script
# A button on the shop's page that opens a checkout in the whole window.
#
# In a frame, the shop's page could cover the place where the customer signs in, so the
# widget refuses that. The script asks for the words on its button: the shop and the sum are
# no secret to whoever has the session id, and a page without them still has its button.


EMBED_PATH = "/embed.js"
# Styles are set one by one: a shop's policy may forbid inline styles, but not these.
SCRIPT = """(function () {
  "use strict";
  var own = document.currentScript;
  var session = own.getAttribute("data-session") || "";
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(session)) {
    console.error("embed.js: data-session must be the id of a checkout session");
    return;
  }
  var address = new URL("/checkout/" + session, own.src);
  var button = document.createElement("button");
  var words = document.createElement("span");
  var shop = document.createElement("span");
  button.type = "button";
  button.style.cssText = "font:600 16px/1.35 system-ui,sans-serif;color:#fff;" +
    "background:#1b57b5;border:1px solid #1b57b5;border-radius:8px;padding:10px 20px;" +
    "min-width:11em;max-width:100%;cursor:pointer;overflow-wrap:anywhere";
  words.style.display = shop.style.display = "block";
  shop.style.fontWeight = "400";
  shop.style.fontSize = "13px";
  words.textContent = own.getAttribute("data-label") || "Pay";
  button.append(words, shop);
  button.addEventListener("click", function () {
    window.location.assign(address);
  });
  own.insertAdjacentElement("afterend", button);
  fetch(address + "/button", {credentials: "omit"}).then(function (answer) {
    return answer.ok ? answer.json() : Promise.reject(new Error(answer.status));
  }).then(function (said) {
    words.textContent = own.getAttribute("data-label") || said.label;
    shop.textContent = said.shop;
    shop.dir = "auto";
  }).catch(function (error) {
    console.warn("embed.js: the button does not name the sum: " + error.message);
  });
})();
"""
