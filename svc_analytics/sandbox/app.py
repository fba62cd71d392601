"""App: the API over HTTP, with the envelope of its errors, its limits and its faults."""

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from email.utils import formatdate
from itertools import groupby
from operator import attrgetter
from typing import Any
from urllib.parse import parse_qs, unquote

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from svc_analytics.instants import SECOND
from svc_analytics.sandbox.account import PresentedKey
from svc_analytics.sandbox.behaviour import Failure
from svc_analytics.sandbox.routes import PREFIX, ROUTES, ServedRoute, describe
from svc_analytics.sandbox.service import Service
from svc_analytics.sandbox.validation import Refusal, decode_json

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


Form = Mapping[str, list[str]]  # the submitted fields, each with all its values


async def read_form(request: Request) -> Form:
    """Return the fields of a submitted form."""
    return parse_qs((await request.body()).decode("utf-8", "replace"))


def first(form: Form, name: str) -> str:
    """Return a field's first value, or an empty text."""
    return form.get(name, [""])[0]


def is_browser(request: Request) -> bool:
    """Tell whether a browser posted this: each names the page it posts from."""
    return "origin" in request.headers


def is_own_page(request: Request) -> bool:
    """Tell whether a request comes from our own pages, from a person or from a script.

    Pages of other sites must neither press these buttons nor confirm for a customer. Other
    ports of this machine are other sites.
    """
    origin = request.headers.get("origin")
    is_ours = origin is None or origin.partition("://")[2] == request.headers.get("host")
    return is_ours and request.headers.get("sec-fetch-site", "none") in ("none", "same-origin")


# Routing by the raw path: an id may hold any character, line breaks and slashes included.
Endpoint = Callable[[Request], Awaitable[Response]]


class PathRoute(Route):
    """Serve one path with all its methods, so that a 405 names every method it has."""

    def __init__(self, path: str, endpoints: Mapping[str, Endpoint]) -> None:
        super().__init__(path, self._serve, methods=[*endpoints])
        self._endpoints = endpoints
        self._segments = path.split("/")

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Tell whether a request is for this path, whatever its method, and find its ids."""
        ids = _ids(self._segments, scope)
        if ids is None:
            return Match.NONE, {}
        is_served = scope["method"] in (self.methods or ())
        return Match.FULL if is_served else Match.PARTIAL, {"path_params": ids}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse its method and name those that are served."""
        allowed = sorted(self.methods or ())
        if scope["method"] not in allowed:
            raise HTTPException(405, headers={"allow": ", ".join(allowed)})
        await super().handle(scope, receive, send)

    async def _serve(self, request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        return await self._endpoints[method](request)


def path_routes(endpoints: Mapping[tuple[str, str], Endpoint]) -> list[PathRoute]:
    """Return a route for each path of the (method, path) pairs."""
    pairs = sorted(endpoints, key=lambda pair: pair[1])
    return [
        PathRoute(path, {method: endpoints[method, path] for method, _ in same})
        for path, same in groupby(pairs, lambda pair: pair[1])
    ]


def _ids(segments: list[str], scope: Scope) -> dict[str, str] | None:
    """Return the ids in a path, each decoded once; None if it is another path."""
    parts = scope["raw_path"].decode("latin-1").split("/")
    if len(parts) != len(segments):
        return None
    pairs = [(name, unquote(part)) for name, part in zip(segments, parts, strict=True)]
    ids = {name.strip("{}"): part for name, part in pairs if name.startswith("{")}
    is_same = all(name == part for name, part in pairs if not name.startswith("{"))
    return ids if is_same and all(ids.values()) else None


def create_app(service: Service) -> Starlette:
    """Create the web app of a service; every error has the contract's envelope."""
    endpoints = {(one.method, PREFIX + one.path): _endpoint(service, one) for one in ROUTES}
    endpoints["GET", "/openapi.json"] = _description(service)
    app = Starlette(
        routes=path_routes(endpoints),
        middleware=[Middleware(FaultInjection, service=service), Middleware(BodyLimit)],
        exception_handlers=error_handlers(service),
    )
    app.router.redirect_slashes = False  # a redirect is not in the contract
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
    is_announced = any(
        len(value) > 9 or int(value) > MAX_BODY for value in lengths if value.isdigit()
    )
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
