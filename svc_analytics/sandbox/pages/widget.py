"""Checkout widget at a session's `checkout_url`, and the embed script that opens it.

To sign in, choose one of the sandbox's customers; there are no passwords. The script puts
a button on the shop's page that opens the widget in the whole window: in a frame, the
shop's page could cover the place where the customer signs in, so the widget refuses that.
"""

from collections.abc import Iterator
from urllib.parse import parse_qs, quote, urlencode, urlsplit, urlunsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from svc_analytics.sandbox.core import html
from svc_analytics.sandbox.core.errors import Refusal, not_found
from svc_analytics.sandbox.http.responses import date_header
from svc_analytics.sandbox.resources.service import Service
from svc_analytics.sandbox.resources.sessions import Session
from svc_analytics.sandbox.state.customers import Person

_MESSAGES = {
    "PAY_SESSION_EXPIRED": "This checkout has expired.",
    "PAY_SESSION_STATE": "This checkout is closed.",
    "PAY_BINDING_REQUIRED": "Link your account to this shop first.",
    "PAY_BINDING_REVIEW": "The shop is reviewing your account; please come back later.",
    "PAY_BINDING_MISMATCH": "Another account is linked to this order's customer.",
    "PAY_BINDING_CONFLICT": "This customer or this account is linked already.",
    "PAY_SELF_PAYMENT": "A business cannot pay itself.",
    "INSUFFICIENT_BALANCE": "Your balance does not cover this amount.",
    "TOTP_REQUIRED": "Enter the code of your second factor.",
    "TOTP_INVALID": "That code is not right.",
    "TOTP_NOT_ENROLLED": "Set up a second factor first.",
    "MERCHANT_DISABLED": "This shop cannot take payments now.",
    "MAINTENANCE_MODE": "Payments are under maintenance; please try again later.",
    "PAY_SESSION_NOT_FOUND": "There is no such checkout.",
}

EMBED_PATH = "/embed.js"
_SCRIPT = """(function () {
  "use strict";
  var own = document.currentScript;
  var session = own.getAttribute("data-session") || "";
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(session)) {
    console.error("embed.js: data-session must be the id of a checkout session");
    return;
  }
  var button = document.createElement("button");
  button.type = "button";
  button.textContent = own.getAttribute("data-label") || "Pay";
  button.addEventListener("click", function () {
    window.location.assign(new URL("/checkout/" + session, own.src));
  });
  own.insertAdjacentElement("afterend", button);
})();
"""


class Widget:
    """Serve the pages of a session to anybody who has its address."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._customers = service.platform.customers

    def routes(self) -> list[Route]:
        """Return the routes of the widget and of its embed script."""
        return [
            Route("/checkout/{session_id}", self.visit, methods=["GET", "POST"]),
            Route(EMBED_PATH, self.embed, methods=["GET"]),
        ]

    async def embed(self, _: Request) -> Response:
        """Return the embed script."""
        headers = {**date_header(self._service), "x-content-type-options": "nosniff"}
        return Response(_SCRIPT, 200, headers, media_type="text/javascript")

    async def visit(self, request: Request) -> Response:
        """Show a session and the customer's next step, or take that step."""
        fields = parse_qs((await request.body()).decode("utf-8", "replace"))
        try:
            session = self._session(request.path_params["session_id"])
        except Refusal as refusal:
            alerts, headers = _alerts(refusal), date_header(self._service)
            return html.page("Checkout", *alerts, status=refusal.status, headers=headers)
        if request.method == "POST":
            return self._act(session, {name: values[0] for name, values in fields.items()})
        return self._show(session, request.query_params.get("as"))

    def _show(self, session: Session, email: str | None) -> Response:
        person = self._signed_in(email)
        is_barred = email is not None and person is None
        news = [html.alert("This account cannot sign in.")] if is_barred else []
        return self._page(session, person, *news)

    def _act(self, session: Session, given: dict[str, str]) -> Response:
        """Link the account or pay, then show the page again or return to the shop."""
        person = self._signed_in(given.get("as"))
        try:
            return self._run_action(session, person, given)
        except Refusal as refusal:
            return self._page(session, person, *_alerts(refusal), status=refusal.status)

    def _run_action(
        self, session: Session, person: Person | None, given: dict[str, str]
    ) -> Response:
        if person is None:
            raise not_found()
        if given.get("action") == "link":
            self._service.checkout.link(session.id, person.payer_id)
            # Redirect, so that reloading the page does not link again.
            address = f"?{urlencode({'as': person.email})}"
            return RedirectResponse(address, 303, date_header(self._service))
        payment_id = self._service.checkout.confirm(
            session.id, person.payer_id, given.get("currency", ""), given.get("totp")
        )
        return self._paid(session, payment_id)

    def _paid(self, session: Session, payment_id: str) -> Response:
        """Redirect to `return_url` with the receipt, or show that it is paid."""
        receipt = self._service.payment_record(payment_id)["receipt"]
        target = session.request.get("return_url")
        if target is None:
            return self._page(self._service.sessions.find(session.id), None)
        url = with_query(target, {"receipt": receipt, "payment_id": payment_id})
        return RedirectResponse(url, 303, date_header(self._service))

    def _session(self, session_id: str) -> Session:
        """Return the session by UUID only; a reference is not part of an address."""
        session = self._service.sessions.find(session_id)
        if session.id != session_id:
            raise not_found()
        self._service.platform.open_wallets()
        return session

    def _signed_in(self, email: str | None) -> Person | None:
        person = self._customers.by_email(email) if email else None
        return None if person is None or person.state == "disabled" else person

    def _page(
        self, session: Session, person: Person | None, *news: str, status: int = 200
    ) -> Response:
        title, headers = session.request["title"], date_header(self._service)
        parts = self._parts(session, person)
        return html.page(title, *news, *parts, status=status, headers=headers)

    def _parts(self, session: Session, person: Person | None) -> Iterator[str]:
        if "description" in session.request:
            yield html.paragraph(session.request["description"])
        if session.status != "open":
            yield html.paragraph(f"This checkout is {session.status}.")
        elif person is None:
            people = [(one.email, one.name) for one in self._customers.all()]
            yield html.form("Sign in", html.select("as", "You are", people), method="get")
        else:
            yield html.paragraph(f"Signed in as {person.name}")
            yield self._next_step(session, person)
        if "cancel_url" in session.request and session.status != "completed":
            yield html.link(session.request["cancel_url"], "Back to the store")

    def _next_step(self, session: Session, person: Person) -> str:
        """Return the form that links the account, or the form that pays."""
        signed_in = html.hidden("as", person.email)
        live = self._service.bindings.live("customer_id", session.request["customer"]["id"])
        if live is None:
            link = html.hidden("action", "link")
            return html.form("Link my account to this shop", signed_in, link)
        if live.status == "pending_review" and live.payer_id == person.payer_id:
            return html.alert(_MESSAGES["PAY_BINDING_REVIEW"])
        coins = [
            (quote_["currency"], f"{quote_['amount']} {quote_['currency']}")
            for quote_ in session.amounts
        ]
        asks = self._service.platform.settings["asks_totp"]
        code = html.text_field("totp", "Second factor") if asks else ""
        return html.form("Pay", signed_in, html.select("currency", "Pay with", coins), code)


def with_query(url: str, more: dict[str, str]) -> str:
    """Return a URL with more query parameters.

    >>> with_query("https://shop.example/done?a=1#top", {"b": "2"})
    'https://shop.example/done?a=1&b=2#top'
    """
    parts = urlsplit(url)
    query = "&".join(filter(None, (parts.query, urlencode(more, quote_via=quote))))
    return urlunsplit(parts._replace(query=query))


def _alerts(refusal: Refusal) -> list[str]:
    texts = (f"{_MESSAGES.get(code, 'This did not work.')} ({code})" for code in refusal.codes)
    return list(map(html.alert, texts))
