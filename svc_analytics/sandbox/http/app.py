"""App: serve the API over HTTP."""

import asyncio
import socket
import struct
from collections.abc import Callable
from operator import attrgetter
from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from svc_analytics.sandbox.core.behaviour import Failure
from svc_analytics.sandbox.core.errors import Refusal
from svc_analytics.sandbox.core.validation import decode_json
from svc_analytics.sandbox.http.messages import (
    Endpoint,
    date_header,
    error_handlers,
    error_response,
    json_response,
    path_routes,
)
from svc_analytics.sandbox.http.routes import PREFIX, ROUTES, ServedRoute, describe
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


# ---------- Limit of request bodies
# A body that is too large is refused before it is kept.


MAX_BODY = 2**20  # bytes; our choice, far above what any field can hold but metadata


class BodyLimit:
    """Refuse a larger body when it is read: what needs no body is answered before."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_request = scope["type"] == "http"
        await self._app(scope, _limited(scope, receive) if is_request else receive, send)


def _limited(scope: Scope, receive: Receive) -> Receive:
    lengths = [value for name, value in scope["headers"] if name == b"content-length"]
    is_announced = any(len(value) > 9 or int(value) > MAX_BODY for value in lengths)
    received = 0

    async def receive_limited() -> Message:
        nonlocal received
        if is_announced:
            raise _too_large()
        message = await receive()
        received += len(message.get("body", b""))
        if received > MAX_BODY:
            raise _too_large()
        return message

    return receive_limited


def _too_large() -> Refusal:
    return Refusal(413, "PAYLOAD_TOO_LARGE")


# ---------- Fault injection
# Delay requests and make them fail as networks and proxies do.


_REFUSALS: dict[Failure, Refusal] = {
    "500": Refusal(500, "INTERNAL_SERVER_ERROR"),
    "502": Refusal(502, "BAD_GATEWAY"),
    "503": Refusal(503, "SERVICE_UNAVAILABLE"),
    "429": Refusal(429, "RATE_LIMITED"),
    "429_retry_after": Refusal(429, "RATE_LIMITED"),
}
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER: on, no seconds


class FaultInjection:
    """Delay every request and fail some of them, as `Behaviour` says."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service
        self._requests = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._requests += 1
        behaviour = self._service.behaviour
        if behaviour.latency:
            await asyncio.sleep(behaviour.latency)
        failure = behaviour.failure(self._requests)
        if failure is None:
            await self._app(scope, receive, send)
        elif failure == "reset":
            await _hang_up(scope, receive, is_reset=True)
        elif failure == "cut":
            await self._app(scope, receive, _half(scope, receive, send))
        else:
            await self._failed(failure)(scope, receive, send)

    def _failed(self, failure: Failure) -> Response:
        if failure == "html":
            page = "<!doctype html><title>Just a moment</title>"
            return HTMLResponse(page, headers=date_header(self._service))
        says_when = failure == "429_retry_after"
        pause = {"retry-after": self._service.behaviour.retry_after} if says_when else {}
        return error_response(self._service, _REFUSALS[failure], pause)


def _half(scope: Scope, receive: Receive, send: Send) -> Send:
    """Return a `send` that closes the connection after half of the body."""

    async def send_half(message: Message) -> None:
        if message["type"] != "http.response.body":
            return await send(message)
        body = message["body"]
        await send({**message, "body": body[: len(body) // 2], "more_body": True})
        return await _hang_up(scope, receive)

    return send_half


async def _hang_up(scope: Scope, receive: Receive, *, is_reset: bool = False) -> None:
    """Close or reset the connection of a request; the server gave it in the scope."""
    transport: Any = scope["state"]["transport"]
    if is_reset:
        connection = transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
    transport.close()
    while (await receive())["type"] != "http.disconnect":
        pass
