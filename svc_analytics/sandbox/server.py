"""Server: run the sandbox on this machine's loopback."""

import asyncio
import errno
import logging
import os
import re
import socket
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import ClassVar
from urllib.parse import unquote, urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from svc_analytics.errors import ConfigError, SvcError
from svc_analytics.sandbox.app import BodyLimit, create_app, error_handlers, error_response
from svc_analytics.sandbox.checkout_pages import EMBED_PATH, Widget
from svc_analytics.sandbox.console import control_routes
from svc_analytics.sandbox.console_pages import ConsolePages
from svc_analytics.sandbox.service import Service
from svc_analytics.sandbox.validation import Refusal, is_loopback, loopback_url

_BASE_URL = re.compile(r"^(?:export )?SVC_BASE_URL=['\"]?([^\s'\"]+)", re.MULTILINE)


@dataclass(frozen=True)
class Running:
    """Hold the address of a running server and the settings that point to it."""

    base_url: str
    environment: dict[str, str] = field(repr=False)  # holds keys and secrets


@contextmanager
def serve(service: Service, port: int = 0, host: str = "127.0.0.1") -> Iterator[Running]:
    """Serve in a thread until the block ends; port 0 takes a free port.

    The thread has its own event loop, so the caller may be running one.
    """
    listener = _listen(host, port)
    base_url = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
    service.platform.base_url = base_url
    server = uvicorn.Server(_config(service))
    thread = Thread(target=server.run, args=([listener],), name="sandbox", daemon=True)
    try:
        thread.start()  # inside `try`: an interruption must not leave it running
        _await_start(server, thread)
        with background_work(service):
            yield Running(base_url, service.environment(base_url))
    finally:
        server.should_exit = True
        if thread.ident is not None:
            thread.join()
        listener.close()


def write_env_file(path: str | os.PathLike[str], environment: Mapping[str, str]) -> None:
    """Write settings as `NAME=value` lines that only this user can read, in one step.

    Raises `ConfigError` rather than overwrite settings of a real service: the file may
    hold the only copy of a live key. The file is written here, not by the code of the
    client, of which the sandbox shares none.
    """
    target = Path(path)
    if not _is_ours(target):
        message = f"{target} holds settings that are not a sandbox's: name another file"
        raise ConfigError(message)
    text = "".join(f"{name}={value}\n" for name, value in environment.items())
    try:
        # mkstemp makes the file with mode 0600.
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).replace(target)
    except OSError as error:
        raise ConfigError(f"cannot write {target}: {error.strerror}") from error


def _is_ours(target: Path) -> bool:
    """Tell whether a file may be overwritten: missing, empty or of a sandbox."""
    try:
        text = target.read_text(encoding="utf-8", errors="replace") if target.is_file() else ""
    except OSError as error:
        raise ConfigError(f"cannot read {target}: {error.strerror}") from error
    named = _BASE_URL.search(text)
    return not text.strip() or bool(named and loopback_url(named[1]))


class _Protocol(H11Protocol):
    """Speak HTTP/1.1 and give the app its connection, so that faults can break it."""

    service: ClassVar[Service]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.app_state = {**self.app_state, "transport": transport}
        # Head and body are sent apart; without this the body waits 40 ms for an acknowledgement.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().connection_made(transport)

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP in the envelope, unless an answer has begun already."""
        del msg  # it stands in the log
        if self.cycle is not None:
            self.cycle.disconnected = True  # the app must not answer too
        if repr(self.conn.our_state) in ("IDLE", "SEND_RESPONSE"):
            self.transport.write(_bad_request(self.service))
        self.transport.close()


def _bad_request(service: Service) -> bytes:
    refusal = Refusal(400, "BAD_REQUEST")
    answer = error_response(service, refusal, {"connection": "close"})
    head = b"".join(b"%s: %s\r\n" % header for header in answer.raw_headers)
    return b"HTTP/1.1 400 Bad Request\r\n%s\r\n%s" % (head, bytes(answer.body))


def _config(service: Service) -> uvicorn.Config:
    return uvicorn.Config(
        create_site(service),
        http=type("_Protocol", (_Protocol,), {"service": service}),
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        log_level="warning",
        access_log=False,
        date_header=False,  # responses carry the date of the sandbox's clock
        server_header=False,
        timeout_graceful_shutdown=1,
    )


def _listen(host: str, port: int) -> socket.socket:
    if not is_loopback(host):
        raise ConfigError(f"{host} is not this machine's loopback: serve on 127.0.0.1")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=256)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise ConfigError(f"cannot listen on {host}: {error.strerror}") from error
        message = f"port {port} is in use: choose another with --port"
        raise ConfigError(message) from error


def _await_start(server: uvicorn.Server, thread: Thread) -> None:
    while not server.started:
        if not thread.is_alive():
            message = "the sandbox's server stopped before it was ready"
            raise SvcError(message)
        time.sleep(0.002)


_OTHER_PATHS = ("/control", "/console", "/checkout", EMBED_PATH)
_ABSOLUTE = re.compile(rb"https?://([^/]*)(.*)", re.IGNORECASE | re.DOTALL)
_HOST = re.compile(rb"([A-Za-z0-9.]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?\Z")


def create_site(service: Service) -> ASGIApp:
    """Create the web app of the whole sandbox; injected faults affect the API alone."""
    api, pages = create_app(service), _create_pages(service)

    async def site(scope: Scope, receive: Receive, send: Send) -> None:
        asked = _with_origin_form(scope)
        is_page = str(asked.get("path", "")).startswith(_OTHER_PATHS)
        asked = _without_slash(asked) if is_page else asked
        # A foreign host name may resolve to this machine: its pages must not get in.
        if is_page and not _is_from_here(asked):
            await error_response(service, Refusal(403, "FORBIDDEN"))(asked, receive, send)
        else:
            await (pages if is_page else api)(asked, receive, send)

    return site


def _create_pages(service: Service) -> Starlette:
    pages = ConsolePages(service), Widget(service)
    routes = [*control_routes(service), *(route for page in pages for route in page.routes())]
    handlers = error_handlers(service)
    app = Starlette(routes=routes, middleware=[Middleware(BodyLimit)], exception_handlers=handlers)
    app.router.redirect_slashes = False  # a redirect has no envelope
    return app


def _with_origin_form(scope: Scope) -> Scope:
    """Return a request for `http://host/path` as one for the path, at that host (RFC 9112)."""
    match = _ABSOLUTE.match(scope.get("raw_path", b""))
    if not match:
        return scope
    others = [(name, value) for name, value in scope["headers"] if name != b"host"]
    path = match[2] or b"/"
    return {
        **scope,
        "path": unquote(path.decode("latin-1")),
        "raw_path": path,
        "headers": [(b"host", match[1]), *others],
    }


def _without_slash(scope: Scope) -> Scope:
    """Return a request for `/console/` as one for `/console`."""
    path, raw_path = scope["path"].removesuffix("/"), scope["raw_path"].removesuffix(b"/")
    return {**scope, "path": path, "raw_path": raw_path}


def _is_from_here(scope: Scope) -> bool:
    """Tell whether a request names this machine; what cannot be read does not."""
    hosts = _header(scope, b"host")
    host = _HOST.match(hosts[0]) if len(hosts) == 1 else None
    if not host or not is_loopback(host[1].decode().strip("[]").lower()):
        return False
    try:
        return all(urlsplit(origin.decode()) for origin in _header(scope, b"origin"))
    except ValueError:
        return False


def _header(scope: Scope, wanted: bytes) -> list[bytes]:
    return [value for name, value in scope["headers"] if name == wanted]


_PAUSE = 0.2  # seconds of this machine


@contextmanager
def background_work(service: Service) -> Iterator[None]:
    """Expire sessions and deliver webhooks in a thread until the block ends."""
    stop = Event()
    thread = Thread(target=_run, args=(service, stop), name="sandbox background", daemon=True)
    try:
        thread.start()  # inside `try`: an interruption must not leave it running
        yield
    finally:
        stop.set()
        if thread.ident is not None:
            thread.join()


def _run(service: Service, stop: Event) -> None:
    while not stop.wait(_PAUSE):
        try:
            service.sessions.expire()
            service.webhooks.deliver_due(stop.is_set)
        except Exception:
            logging.getLogger(__name__).exception("the sandbox could not deliver")
