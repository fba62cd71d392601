"""HTTP responses: JSON bodies, the contract's error envelope, the clock's date."""

from email.utils import formatdate
from typing import Any

import msgspec
from starlette.responses import Response

from svc_analytics.instants import SECOND
from svc_analytics.sandbox.core.errors import Refusal
from svc_analytics.sandbox.resources.service import Service

Headers = dict[str, str]


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
    more = {**date_header(service), **(headers or {})}
    return Response(content, refusal.status, more, media_type="application/json")
