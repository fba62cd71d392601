"""Calls to the addresses that a person named, for notices and pings.

No redirect is followed and no proxy of the environment is used: what is sent may hold a name.
"""

from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import (
    BaseHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    ProxyHandler,
    Request,
    build_opener,
)

from svc_analytics.unattended.notifiers import Undelivered
from svc_analytics.unattended.settings import Watching

TIMEOUT = 20  # seconds


class _Stay(HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow nothing: the answer is then an error."""


def call(url: str, watching: Watching, body: bytes | None = None) -> None:
    """Send JSON, or ask for an address; raise `Undelivered` unless it is taken."""
    headers = {"User-Agent": "svc-analytics"} | (
        {"Content-Type": "application/json"} if body is not None else {}
    )
    proxy = watching.proxy
    handlers: list[BaseHandler] = [
        _Stay(),
        ProxyHandler({"http": proxy, "https": proxy} if proxy else {}),
    ]
    if "https:" in (url[:6], proxy[:6]):  # the list of authorities loads slowly
        handlers.append(HTTPSHandler(context=watching.trusted()))
    try:
        request = Request(url, body, headers)  # noqa: S310  (its scheme was checked when read)
        with build_opener(*handlers).open(request, timeout=TIMEOUT):
            pass
    except HTTPError as error:
        error.close()
        raise Undelivered(f"it answered {error.code}") from None  # its text may name the address
    except URLError as error:
        raise Undelivered(str(error.reason)) from None
    except (OSError, HTTPException, ValueError) as error:
        raise Undelivered(type(error).__name__) from None
