"""Console: every action is a post, then a redirect to what it did; a reload does nothing."""

from dataclasses import replace

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from svc_analytics.sandbox.core import html
from svc_analytics.sandbox.core.errors import Refusal, no_such_route
from svc_analytics.sandbox.http.browsing import Form, first, is_own_page, read_form
from svc_analytics.sandbox.http.path_route import PathRoute, path_routes
from svc_analytics.sandbox.http.responses import date_header
from svc_analytics.sandbox.pages.console_actions import ACTIONS
from svc_analytics.sandbox.pages.console_page import ConsolePage
from svc_analytics.sandbox.pages.layout import ShopPage
from svc_analytics.sandbox.pages.notices import ConsoleNotice, Notices
from svc_analytics.sandbox.pages.sentences import CONSOLE, alerts
from svc_analytics.sandbox.resources.console import Console
from svc_analytics.sandbox.resources.service import Service
from svc_analytics.sandbox.state.records import Record
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
