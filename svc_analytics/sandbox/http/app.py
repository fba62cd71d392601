"""App: serve the API over HTTP."""

from collections.abc import Awaitable, Callable
from operator import attrgetter
from typing import Any
from urllib.parse import unquote

from fastapi import FastAPI, Request
from starlette.responses import Response

from svc_analytics.sandbox.core.errors import no_such_route
from svc_analytics.sandbox.core.validation import decode_json
from svc_analytics.sandbox.http.fault_injection import FaultInjection
from svc_analytics.sandbox.http.openapi import describe
from svc_analytics.sandbox.http.responses import error_handlers, json_response
from svc_analytics.sandbox.http.routes import PREFIX, ROUTES, Route
from svc_analytics.sandbox.resources.service import Service
from svc_analytics.sandbox.state.api_keys import PresentedKey

Endpoint = Callable[[Request], Awaitable[Response]]


def create_app(service: Service) -> FastAPI:
    """Create the web app of a service; every error has the contract's envelope."""
    handlers = error_handlers(service)
    # The framework's own description and redirects are not in the contract.
    app = FastAPI(openapi_url=None, redirect_slashes=False, exception_handlers=handlers)
    # Longest paths first: an id may contain slashes and would match the longer path too.
    for route in sorted(ROUTES, key=lambda route: -route.path.count("/")):
        app.add_api_route(route.pattern, _endpoint(service, route), methods=[route.method])
    app.add_api_route("/openapi.json", _description(service))
    app.add_middleware(FaultInjection, service=service)
    return app


def _endpoint(service: Service, route: Route) -> Endpoint:
    operation: Callable[..., dict[str, Any]] = attrgetter(route.operation)(service)

    async def endpoint(request: Request) -> Response:
        arguments = await _arguments(route, request)
        return json_response(service, operation(_presented(request), *arguments), route.status)

    return endpoint


def _description(service: Service) -> Endpoint:
    document = describe(ROUTES)

    async def endpoint(_: Request) -> Response:
        return json_response(service, document)

    return endpoint


def _presented(request: Request) -> PresentedKey:
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    address = request.client.host if request.client else ""
    return PresentedKey(key.strip() if scheme.lower() == "bearer" else None, address)


async def _arguments(route: Route, request: Request) -> tuple[Any, ...]:
    """Return the arguments of an operation after the key."""
    if route.filters:
        return (request.query_params,)
    named = (_path_id(route, request),) if route.id_name else ()
    return (*named, decode_json(await request.body())) if route.body else named


def _path_id(route: Route, request: Request) -> str:
    """Return the id in the path, decoded once from the raw bytes."""
    wanted = (PREFIX + route.path).split("/")
    parts = request.scope["raw_path"].decode("latin-1").split("/")
    place = wanted.index(f"{{{route.id_name}}}")
    if len(parts) != len(wanted) or not parts[place]:
        raise no_such_route()
    return unquote(parts[place])
