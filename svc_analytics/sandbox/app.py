"""The service over HTTP."""

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import unquote

import msgspec
from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from svc_analytics.sandbox.answers import answer, refuse
from svc_analytics.sandbox.faults import Faults
from svc_analytics.sandbox.openapi import describe
from svc_analytics.sandbox.refusals import Refusal, no_such_route
from svc_analytics.sandbox.routes import PREFIX, ROUTES, Route
from svc_analytics.sandbox.service import Service

Endpoint = Callable[[Request], Awaitable[Response]]


def create_app(service: Service) -> FastAPI:
    """Return the app that serves a service; every non-2xx answer has the envelope."""
    # The framework's own description and its redirects to other paths are not the contract's.
    app = FastAPI(openapi_url=None, redirect_slashes=False)
    for route in ROUTES:
        # ":path", because an id may hold a slash: servers decode %2F before they route.
        path = PREFIX + route.path.replace("{id}", "{id:path}")
        app.add_api_route(path, _endpoint(service, route), methods=[route.method])
    app.add_api_route("/openapi.json", _description(service))
    _add_error_handlers(app, service)
    app.add_middleware(Faults, service=service)
    return app


def _endpoint(service: Service, route: Route) -> Endpoint:
    operation: Callable[..., dict[str, Any]] = getattr(service, route.operation)

    async def endpoint(request: Request) -> Response:
        arguments = await _arguments(route, request)
        return answer(service, operation(_bearer(request), *arguments))

    return endpoint


def _description(service: Service) -> Endpoint:
    document = describe(ROUTES)

    async def endpoint(_: Request) -> Response:
        return answer(service, document)

    return endpoint


def _bearer(request: Request) -> str | None:
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else None


async def _arguments(route: Route, request: Request) -> tuple[Any, ...]:
    """Return what an operation takes besides the key."""
    if route.filters:
        return (request.query_params,)
    if route.has_id:
        return (_path_id(route, request),)
    return (_json(await request.body()),) if route.body else ()


def _path_id(route: Route, request: Request) -> str:
    """Return the id in the path as the client meant it, from the bytes before decoding."""
    parts = request.scope["raw_path"].split(b"/")
    if len(parts) != len((PREFIX + route.path).split("/")) or not parts[-1]:
        raise no_such_route()
    return unquote(parts[-1])


def _json(body: bytes) -> object:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _add_error_handlers(app: FastAPI, service: Service) -> None:
    @app.exception_handler(Refusal)
    async def refused(_: Request, refusal: Refusal) -> Response:
        return refuse(service, refusal)

    @app.exception_handler(HTTPException)
    async def not_routed(_: Request, error: HTTPException) -> Response:
        code = {404: "NOT_FOUND", 405: "METHOD_NOT_ALLOWED"}.get(error.status_code, "BAD_REQUEST")
        return refuse(service, Refusal(error.status_code, code), dict(error.headers or {}))

    @app.exception_handler(Exception)
    async def broken(_: Request, __: Exception) -> Response:
        return refuse(service, Refusal(500, "INTERNAL_SERVER_ERROR"))
