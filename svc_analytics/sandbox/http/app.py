"""App: serve the API over HTTP."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import Response

from svc_analytics.sandbox.core.validation import decode_json
from svc_analytics.sandbox.http.body_limit import BodyLimit
from svc_analytics.sandbox.http.fault_injection import FaultInjection
from svc_analytics.sandbox.http.openapi import describe
from svc_analytics.sandbox.http.path_route import Endpoint, path_routes
from svc_analytics.sandbox.http.responses import error_handlers, json_response
from svc_analytics.sandbox.http.routes import PREFIX, ROUTES, ServedRoute
from svc_analytics.sandbox.resources.service import Service
from svc_analytics.sandbox.state.api_keys import PresentedKey


def create_app(service: Service) -> FastAPI:
    """Create the web app of a service; every error has the contract's envelope."""
    endpoints = {(one.method, PREFIX + one.path): _endpoint(service, one) for one in ROUTES}
    endpoints["GET", "/openapi.json"] = _description(service)
    # The framework's own description and redirects are not in the contract.
    app = FastAPI(
        openapi_url=None,
        redirect_slashes=False,
        exception_handlers=error_handlers(service),
        routes=[*path_routes(endpoints)],
    )
    app.add_middleware(BodyLimit)
    app.add_middleware(FaultInjection, service=service)
    return app


def _endpoint(service: Service, route: ServedRoute) -> Endpoint:
    operation: Callable[..., dict[str, Any]] = attrgetter(route.operation)(service)

    async def endpoint(request: Request) -> Response:
        key = _presented(request)
        if route.body:
            service.platform.authorizer.admit(key)  # before any of the body is read
        arguments = await _arguments(route, request)
        return json_response(service, operation(key, *arguments), route.status)

    return endpoint


def _description(service: Service) -> Endpoint:
    document = describe(ROUTES)

    async def endpoint(_: Request) -> Response:
        return json_response(service, document)

    return endpoint


def _presented(request: Request) -> PresentedKey:
    headers = request.headers.getlist("authorization")
    scheme, _, key = (headers[0] if len(headers) == 1 else "").partition(" ")
    address = request.client.host if request.client else ""
    return PresentedKey(key.strip() if scheme.lower() == "bearer" else None, address)


async def _arguments(route: ServedRoute, request: Request) -> tuple[Any, ...]:
    """Return the arguments of an operation after the key."""
    if route.filters:
        return (request.query_params,)
    named = tuple(request.path_params.values())
    return (*named, decode_json(await request.body())) if route.body else named
