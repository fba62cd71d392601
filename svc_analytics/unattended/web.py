"""Calls to the addresses that a person named, for notices and pings.

No redirect is followed and no proxy of the environment is used: what is sent may hold a name.
"""

import socket
from collections.abc import Callable
from concurrent.futures import Future
from http.client import HTTPException
from threading import Thread
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import (
    BaseHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    ProxyHandler,
    Request,
    build_opener,
)

from svc_analytics.unattended.notifiers import Late, TooMuch, Undelivered
from svc_analytics.unattended.settings import Watching

TIMEOUT = 20  # seconds
_NOT_AS_IT_IS = (400, 403, 406, 413, 415, 422)  # answers to what is too large, or has wrong content
_LARGE = 1 << 16  # bytes: whoever hangs up while so many are sent takes no more


class _Stay(HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow nothing: the answer is then an error."""


def call(url: str, watching: Watching, body: bytes | None = None) -> None:
    """Send JSON, or ask for an address; raise `Undelivered` unless it is taken in time."""
    in_time(lambda: _call(url, watching, body), TIMEOUT)


def connect(url: str, watching: Watching) -> None:
    """Reach the server of an address and look at its certificate, and ask for nothing."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)

    def reach() -> None:
        try:
            with socket.create_connection((parts.hostname or "", port), TIMEOUT) as line:
                if parts.scheme == "https":
                    watching.trusted().wrap_socket(line, server_hostname=parts.hostname).close()
        except OSError as error:
            raise Undelivered(str(error)) from None

    in_time(reach, TIMEOUT)


def in_time(work: Callable[[], None], seconds: float) -> None:
    """Do work that waits for another machine, for so long as a whole.

    A limit for each piece would wait for ever where pieces come one by one, and none holds for
    the look-up of a name.
    """
    future: Future[None] = Future()

    def run() -> None:
        try:
            work()
            future.set_result(None)
        except BaseException as error:  # whatever it is, it is raised where it is waited for
            future.set_exception(error)

    Thread(target=run, daemon=True).start()
    try:
        future.result(seconds)
    except TimeoutError:
        raise Late(f"no whole answer within {seconds:g} seconds") from None


def _call(url: str, watching: Watching, body: bytes | None) -> None:
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
        refused = TooMuch if error.code in _NOT_AS_IT_IS else Undelivered
        raise refused(f"it answered {error.code}") from None  # its text may name the address
    except URLError as error:
        is_cut = isinstance(error.reason, ConnectionError) and len(body or b"") > _LARGE
        raise (TooMuch if is_cut else Undelivered)(str(error.reason)) from None
    except (OSError, HTTPException, ValueError) as error:
        raise Undelivered(type(error).__name__) from None
