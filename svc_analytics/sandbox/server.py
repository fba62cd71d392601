"""Server: run the sandbox on this machine's loopback."""

import asyncio
import errno
import os
import re
import socket
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import ClassVar

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from svc_analytics.errors import ConfigError, SvcError
from svc_analytics.sandbox.background import background_work
from svc_analytics.sandbox.core.errors import Refusal
from svc_analytics.sandbox.core.urls import is_loopback, loopback_url
from svc_analytics.sandbox.http.responses import error_response
from svc_analytics.sandbox.resources.service import Service
from svc_analytics.sandbox.site import create_site

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
