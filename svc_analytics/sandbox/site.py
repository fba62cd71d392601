"""Site: everything a sandbox serves: API, widget, console, control API."""

import re
from urllib.parse import unquote, urlsplit

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Receive, Scope, Send

from svc_analytics.sandbox.core.errors import Refusal
from svc_analytics.sandbox.core.urls import is_loopback
from svc_analytics.sandbox.http.app import create_app
from svc_analytics.sandbox.http.body_limit import BodyLimit
from svc_analytics.sandbox.http.control_api import control_routes
from svc_analytics.sandbox.http.responses import error_handlers, error_response
from svc_analytics.sandbox.pages.console_pages import ConsolePages
from svc_analytics.sandbox.pages.embed import EMBED_PATH
from svc_analytics.sandbox.pages.widget import Widget
from svc_analytics.sandbox.resources.service import Service

_OTHER_PATHS = ("/control", "/console", "/checkout", EMBED_PATH)
_ABSOLUTE = re.compile(rb"https?://([^/]*)(.*)", re.IGNORECASE | re.DOTALL)
_HOST = re.compile(rb"([A-Za-z0-9.]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?\Z")


def create_site(service: Service) -> ASGIApp:
    """Create the web app of the whole sandbox; injected faults affect the API alone."""
    api, pages = create_app(service), _create_pages(service)

    async def site(scope: Scope, receive: Receive, send: Send) -> None:
        asked = _with_origin_form(scope)
        is_page = str(asked.get("path", "")).startswith(_OTHER_PATHS)
        asked = _without_slash(asked) if is_page else asked
        # A foreign host name may resolve to this machine: its pages must not get in.
        if is_page and not _is_from_here(asked):
            await error_response(service, Refusal(403, "FORBIDDEN"))(asked, receive, send)
        else:
            await (pages if is_page else api)(asked, receive, send)

    return site


def _create_pages(service: Service) -> Starlette:
    pages = ConsolePages(service), Widget(service)
    routes = [*control_routes(service), *(route for page in pages for route in page.routes())]
    handlers = error_handlers(service)
    app = Starlette(routes=routes, middleware=[Middleware(BodyLimit)], exception_handlers=handlers)
    app.router.redirect_slashes = False  # a redirect has no envelope
    return app


def _with_origin_form(scope: Scope) -> Scope:
    """Return a request for `http://host/path` as one for the path, at that host (RFC 9112)."""
    match = _ABSOLUTE.match(scope.get("raw_path", b""))
    if not match:
        return scope
    others = [(name, value) for name, value in scope["headers"] if name != b"host"]
    path = match[2] or b"/"
    return {
        **scope,
        "path": unquote(path.decode("latin-1")),
        "raw_path": path,
        "headers": [(b"host", match[1]), *others],
    }


def _without_slash(scope: Scope) -> Scope:
    """Return a request for `/console/` as one for `/console`."""
    path, raw_path = scope["path"].removesuffix("/"), scope["raw_path"].removesuffix(b"/")
    return {**scope, "path": path, "raw_path": raw_path}


def _is_from_here(scope: Scope) -> bool:
    """Tell whether a request names this machine; what cannot be read does not."""
    hosts = _header(scope, b"host")
    host = _HOST.match(hosts[0]) if len(hosts) == 1 else None
    if not host or not is_loopback(host[1].decode().strip("[]").lower()):
        return False
    try:
        return all(urlsplit(origin.decode()) for origin in _header(scope, b"origin"))
    except ValueError:
        return False


def _header(scope: Scope, wanted: bytes) -> list[bytes]:
    return [value for name, value in scope["headers"] if name == wanted]
