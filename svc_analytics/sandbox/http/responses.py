"""HTTP responses: JSON bodies, the contract's error envelope, the clock's date."""

from collections.abc import Callable, Coroutine
from email.utils import formatdate
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from svc_analytics.instants import SECOND
from svc_analytics.sandbox.core.errors import Refusal
from svc_analytics.sandbox.resources.service import Service

Headers = dict[str, str]
Handler = Callable[[Request, Any], Coroutine[Any, Any, Response]]


def date_header(service: Service) -> Headers:
    """Return the `Date` header of the service's clock, unless a fault hides it."""
    if service.behaviour.no_date_header:
        return {}
    return {"date": formatdate(service.clock.now() // SECOND, usegmt=True)}


def json_response(service: Service, body: dict[str, Any], status: int = 200) -> Response:
    """Return a successful JSON response."""
    content = msgspec.json.encode(body)
    return Response(content, status, date_header(service), media_type="application/json")


def error_response(service: Service, refusal: Refusal, headers: Headers | None = None) -> Response:
    """Return an error response in the contract's envelope."""
    content = msgspec.json.encode(refusal.envelope)
    asks = {"www-authenticate": "Bearer"} if refusal.status == 401 else {}
    more = {**date_header(service), **asks, **(headers or {})}
    return Response(content, refusal.status, more, media_type="application/json")


def error_handlers(service: Service) -> dict[int | type[Exception], Handler]:
    """Return the handlers that answer every error in the contract's envelope."""

    async def refused(_: Request, refusal: Refusal) -> Response:
        return error_response(service, refusal)

    async def not_routed(_: Request, error: HTTPException) -> Response:
        code = {404: "NOT_FOUND", 405: "METHOD_NOT_ALLOWED"}.get(error.status_code, "BAD_REQUEST")
        return error_response(service, Refusal(error.status_code, code), dict(error.headers or {}))

    async def gone(_: Request, __: ClientDisconnect) -> Response:
        return error_response(service, Refusal(400, "BAD_REQUEST"))  # nobody reads it

    async def broken(_: Request, __: Exception) -> Response:
        return error_response(service, Refusal(500, "INTERNAL_SERVER_ERROR"))

    return {
        Refusal: refused,
        HTTPException: not_routed,
        ClientDisconnect: gone,
        Exception: broken,
    }
