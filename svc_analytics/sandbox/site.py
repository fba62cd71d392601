"""Site: everything a sandbox serves: API, widget, console, control API."""

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from svc_analytics.sandbox.core.errors import Refusal
from svc_analytics.sandbox.core.validation import is_loopback
from svc_analytics.sandbox.http.app import create_app
from svc_analytics.sandbox.http.control_api import control_routes
from svc_analytics.sandbox.http.responses import error_handlers, error_response
from svc_analytics.sandbox.pages.console_pages import ConsolePages
from svc_analytics.sandbox.pages.embed import EMBED_PATH
from svc_analytics.sandbox.pages.widget import Widget
from svc_analytics.sandbox.resources.service import Service

_OTHER_PATHS = ("/control", "/console", "/checkout", EMBED_PATH)


def create_site(service: Service) -> ASGIApp:
    """Create the web app of the whole sandbox; injected faults affect the API alone."""
    api, pages = create_app(service), _create_pages(service)

    async def site(scope: Scope, receive: Receive, send: Send) -> None:
        is_page = str(scope.get("path", "")).startswith(_OTHER_PATHS)
        # A foreign host name may resolve to this machine: its pages must not get in.
        if is_page and not is_loopback(Request(scope).url.hostname or ""):
            await error_response(service, Refusal(403, "FORBIDDEN"))(scope, receive, send)
        else:
            await (pages if is_page else api)(scope, receive, send)

    return site


def _create_pages(service: Service) -> Starlette:
    pages = ConsolePages(service), Widget(service)
    routes = [*control_routes(service), *(route for page in pages for route in page.routes())]
    return Starlette(routes=routes, exception_handlers=error_handlers(service))
