"""Fault injection: delay requests and make them fail as networks and proxies do."""

import asyncio
import socket
import struct
from typing import Any

from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from svc_analytics.sandbox.core.behaviour import Failure
from svc_analytics.sandbox.core.errors import Refusal
from svc_analytics.sandbox.http.responses import date_header, error_response
from svc_analytics.sandbox.resources.service import Service

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
