"""Routing by the raw path: an id may hold any character, line breaks and slashes included."""

from collections.abc import Awaitable, Callable, Mapping
from itertools import groupby
from urllib.parse import unquote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Receive, Scope, Send

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
