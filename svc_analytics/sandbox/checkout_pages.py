"""Checkout widget at a session's `checkout_url`, and the embed script that leads there.

To sign in, choose one of the sandbox's customers; there are no passwords. A script without
a browser names the customer in the field `as` instead, of the address or of each post.

The embed script makes a button on the shop's page that opens a checkout in the whole window:
in a frame, the shop's page could cover the place where the customer signs in, so the widget
refuses that. The script asks for the words on its button: the shop and the sum are no secret
to whoever has the session id, and a page without them still has its button.
"""

from collections.abc import Sequence
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from svc_analytics.sandbox import app
from svc_analytics.sandbox.account import read_signed, write_signed
from svc_analytics.sandbox.bindings import Binding
from svc_analytics.sandbox.customers import Person
from svc_analytics.sandbox.pages import TEMPLATES, coin_text, page, price_text, redirect, value_text
from svc_analytics.sandbox.service import Service
from svc_analytics.sandbox.sessions import Session
from svc_analytics.sandbox.validation import Record, Refusal, not_found, uuid_form

EMBED_PATH = "/embed.js"

_BARRED = "This account cannot sign in."
_UNKNOWN = "Please sign in first."
_FOREIGN = "Another page sent this here, so nothing was done. If you mean it, do it on this page."


class Widget:
    """Serve the pages of a session to anybody who has its address."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._platform = service.platform
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
        headers = {**app.date_header(self._service), "x-content-type-options": "nosniff"}
        script = TEMPLATES.get_template("embed.js").render()
        return Response(script, 200, headers, media_type="text/javascript")

    async def button(self, request: Request) -> Response:
        """Return the words of the embed script's button, to any page that knows the id."""
        label = button_label(self._session(request))
        words = {"label": label, "shop": self._service.profile()["display_name"]}
        answer = app.json_response(self._service, words)
        answer.headers["access-control-allow-origin"] = "*"
        answer.headers["cache-control"] = "no-store"
        return answer

    async def visit(self, request: Request) -> Response:
        """Show a session and the customer's next step, or take that step."""
        form = await app.read_form(request)
        try:
            session = self._session(request)
            if request.method == "POST":
                return self._act(request, session, form)
            return self._look(request, session)
        except Refusal as refusal:
            return page(self._service, "refused.html", status=refusal.status, codes=refusal.codes)

    def _look(self, request: Request, session: Session) -> Response:
        """Show the page; an address of ours or a script's may name the customer."""
        email = request.query_params.get("as")
        if email is None or not app.is_own_page(request):
            return self._show(session, self._sign_in.customer(request, session))
        person = self._sign_in.account(email)
        if person is None:
            return self._show(session, warning=_BARRED)
        answer = self._show(session, person)
        self._sign_in.keep(answer, session, person)
        return answer

    def _act(self, request: Request, session: Session, form: app.Form) -> Response:
        """Take the step that a form asks for, or say why not."""
        if not app.is_own_page(request):
            return self._show(session, warning=_FOREIGN, status=403)
        person, action = self._actor(request, session, form), app.first(form, "action")
        answer = redirect(self._service, _path(session))
        if action == "sign-out":
            self._sign_in.forget(answer, session)
            return answer
        if person is None:
            warning = _BARRED if app.first(form, "as") else _UNKNOWN
            return self._show(session, warning=warning, status=403)
        if action == "sign-in":
            self._sign_in.keep(answer, session, person)
            return answer
        try:
            return self._run(request, session, person, form)
        except Refusal as refusal:
            now, coin = self._service.sessions.find(session.id), app.first(form, "currency")
            return self._show(now, person, codes=refusal.codes, coin=coin, status=refusal.status)

    def _actor(self, request: Request, session: Session, form: app.Form) -> Person | None:
        """Return who acts: in a browser who is signed in, otherwise whom the script names."""
        is_named = app.first(form, "action") == "sign-in" or not app.is_browser(request)
        if is_named and "as" in form:
            return self._sign_in.account(app.first(form, "as"))
        return self._sign_in.customer(request, session)

    def _run(self, request: Request, session: Session, person: Person, form: app.Form) -> Response:
        checkout = self._service.checkout
        if app.first(form, "action") == "link":
            checkout.link(session.id, person.payer_id)
            query = "" if app.is_browser(request) else f"?{urlencode({'as': person.email})}"
            return redirect(self._service, _path(session) + query)
        coin, code = app.first(form, "currency"), app.first(form, "totp") or None
        payment_id = checkout.confirm(session.id, person.payer_id, coin, code)
        payment = self._service.payment_record(payment_id)
        if target := return_address(session, payment):
            return redirect(self._service, target)
        if app.is_browser(request):
            return redirect(self._service, _path(session))  # so a reload posts nothing
        return self._show(self._service.sessions.find(session.id), person)

    def _session(self, request: Request) -> Session:
        """Return the session by UUID only; a reference is not part of an address."""
        session_id = uuid_form(request.path_params["session_id"])
        session = self._service.sessions.find(session_id)
        if session.id != session_id:
            raise not_found()
        self._service.platform.open_wallets()
        return session

    def _show(
        self,
        session: Session,
        person: Person | None = None,
        *,
        codes: Sequence[str] = (),  # why the last step was refused
        warning: str = "",
        coin: str = "",  # chosen before
        status: int = 200,
    ) -> Response:
        """Return the page, whatever the state of its session."""
        is_open = session.status == "open"
        values = self._step(session, person) if is_open else self._ending(session)
        values["codes"] = [*dict.fromkeys((*codes, *values.get("closed", ())))]
        return page(
            self._service,
            "checkout.html",
            status=status,
            is_led_away=is_open and "return_url" in session.request,
            session=session,
            order=session.request,
            person=person,
            warning=warning,
            chosen=coin,
            **values,
        )

    def _step(self, session: Session, person: Person | None) -> Record:
        """Return the sum of an open session, its time, and whatever its next step depends on."""
        sum_, value = sum_of(session)
        return {
            "sum": sum_,
            "value": value,
            "now": self._platform.now(),
            "closed": self._closed(),
            "people": self._platform.customers.all(),
            "obstacle": self._obstacle(session, person) if person else None,
            "is_linked": self._binding(session) is not None,
            "asks_totp": self._platform.settings["asks_totp"],
        }

    def _ending(self, session: Session) -> Record:
        """Return the payment of a session, and the way back to the shop."""
        payment = self._service.payment_record(session.payment_id) if session.payment_id else None
        return {"payment": payment, "back": payment and return_address(session, payment)}

    def _closed(self) -> tuple[str, ...]:
        """Return why nobody can pay this shop now, if so."""
        authorizer = self._platform.authorizer
        try:
            authorizer.require_service()
            authorizer.require_sales()
        except Refusal as refusal:
            return refusal.codes
        return ()

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


def button_label(session: Session) -> str:
    """Return the words of the button that leads to a checkout."""
    if session.status == "completed":
        return "Paid: see the receipt"
    if session.status != "open":
        return f"This checkout {'has' if session.status == 'expired' else 'is'} {session.status}"
    return f"Pay {sum_of(session)[0]}".strip()


def sum_of(session: Session) -> tuple[str, str]:
    """Return the sum and its value; no sum where each coin has its own."""
    if "price_usd" in session.request:
        return price_text(session.request["price_usd"]), ""
    if len(session.amounts) > 1:
        return "", ""
    [one] = session.amounts
    return coin_text(one), value_text(one.get("usd_value"))


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


_COOKIE = "checkout_customer"


class SignIn:
    """Remember who signed in to which checkout: a signed cookie, so no later form says it."""

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
        response.set_cookie(_COOKIE, value, path=_path(session), httponly=True, samesite="lax")

    def forget(self, response: Response, session: Session) -> None:
        """Sign the customer out."""
        response.delete_cookie(_COOKIE, path=_path(session), httponly=True, samesite="lax")


def _able(person: Person | None) -> Person | None:
    return None if person is None or person.state == "disabled" else person


def _path(session: Session) -> str:
    return f"/checkout/{session.id}"


def _purpose(session: Session) -> str:
    return f"sign-in {session.id}"
