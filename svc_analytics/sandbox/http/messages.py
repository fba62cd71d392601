"""Messages of HTTP: JSON bodies, the error envelope, what forms sent, the raw path."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from email.utils import formatdate
from itertools import groupby
from typing import Any
from urllib.parse import parse_qs, unquote

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Receive, Scope, Send

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


# ---------- Browsing
# What a form sent, and whether a page of our own sent it.


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


# ---------- Routing by the raw path
# An id may hold any character, line breaks and slashes included.


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
