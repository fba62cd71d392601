"""Limit of request bodies: a body that is too large is refused before it is kept."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from svc_analytics.sandbox.core.errors import Refusal

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
