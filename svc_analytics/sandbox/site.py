"""All that a sandbox serves: the API; beside it widget, embed script, console, control API."""

import ipaddress

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from svc_analytics.sandbox.core.errors import Refusal
from svc_analytics.sandbox.http.app import create_app
from svc_analytics.sandbox.http.control_api import control_routes
from svc_analytics.sandbox.http.responses import refuse
from svc_analytics.sandbox.pages.console_pages import ConsolePages
from svc_analytics.sandbox.pages.embed import PATH, embed_route
from svc_analytics.sandbox.pages.widget import Widget
from svc_analytics.sandbox.resources.service import Service

_BESIDE = ("/control", "/console", "/checkout", PATH)


def create_site(service: Service) -> ASGIApp:
    """Return the app that serves all of it; faults on demand strike the API alone."""
    api, beside = create_app(service), _create_beside(service)

    async def site(scope: Scope, receive: Receive, send: Send) -> None:
        is_beside = str(scope.get("path", "")).startswith(_BESIDE)
        if is_beside and not _names_this_machine(scope):
            await refuse(service, Refusal(403, "FORBIDDEN"))(scope, receive, send)
        else:
            await (beside if is_beside else api)(scope, receive, send)

    return site


def _names_this_machine(scope: Scope) -> bool:
    """Tell whether the host asked for is loopback: a foreign name may resolve to it too."""
    host = Request(scope).url.hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _create_beside(service: Service) -> Starlette:
    async def refused(_: Request, error: Exception) -> Response:
        failure = Refusal(500, "INTERNAL_SERVER_ERROR")
        return refuse(service, error if isinstance(error, Refusal) else failure)

    async def not_routed(_: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 404
        return refuse(service, Refusal(status, "NOT_FOUND" if status == 404 else "BAD_REQUEST"))

    routes = [
        *control_routes(service),
        *ConsolePages(service).routes(),
        *Widget(service).routes(),
        embed_route(service),
    ]
    handlers = {Refusal: refused, HTTPException: not_routed, Exception: refused}
    return Starlette(routes=routes, exception_handlers=handlers)
