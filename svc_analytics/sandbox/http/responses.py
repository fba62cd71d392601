"""HTTP answers: JSON bodies, every error in the contract's envelope, the sandbox's own date."""

from email.utils import formatdate
from typing import Any

import msgspec
from starlette.responses import Response

from svc_analytics.periods import SECOND
from svc_analytics.sandbox.core.errors import Refusal
from svc_analytics.sandbox.resources.service import Service

Headers = dict[str, str]


def date_header(service: Service) -> Headers:
    """Return the `Date` header by the service's clock, if it sends one."""
    if service.quirks.no_date_header:
        return {}
    return {"date": formatdate(service.clock.now() // SECOND, usegmt=True)}


def answer(service: Service, body: dict[str, Any], status: int = 200) -> Response:
    """Return a successful answer."""
    content = msgspec.json.encode(body)
    return Response(content, status, date_header(service), media_type="application/json")


def refuse(service: Service, refusal: Refusal, headers: Headers | None = None) -> Response:
    """Return a refusal in the contract's envelope."""
    content = msgspec.json.encode(refusal.envelope)
    more = {**date_header(service), **(headers or {})}
    return Response(content, refusal.status, more, media_type="application/json")
