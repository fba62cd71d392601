"""Checkout widget at a session's `checkout_url`, and the embed script that leads there.

To sign in, choose one of the sandbox's customers; there are no passwords. A script without
a browser names the customer in the field `as` instead, of the address or of each post.
"""

from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from svc_analytics.sandbox.core import html
from svc_analytics.sandbox.core.errors import Refusal, not_found
from svc_analytics.sandbox.core.validation import uuid_form
from svc_analytics.sandbox.http.browsing import Form, first, is_browser, is_own_page, read_form
from svc_analytics.sandbox.http.responses import date_header, json_response
from svc_analytics.sandbox.pages.checkout_page import CheckoutPage, Visit, return_address
from svc_analytics.sandbox.pages.embed import EMBED_PATH, SCRIPT
from svc_analytics.sandbox.pages.layout import ShopPage
from svc_analytics.sandbox.pages.sentences import WIDGET, alerts
from svc_analytics.sandbox.pages.sign_in import SignIn
from svc_analytics.sandbox.resources.service import Service
from svc_analytics.sandbox.resources.sessions import Session
from svc_analytics.sandbox.state.customers import Person

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
