"""Servers on loopback ports of their own, for what only bytes on a socket can show."""

import re
import ssl
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import SHUT_RDWR, create_server, socket
from socketserver import BaseServer
from threading import Thread

import httpx

from tests.support.fake_service import MERCHANT_ID, FakeService


class Loopback:
    """Hands each connection to a function, on a thread of its own, and then closes it."""

    def __init__(self, talk: Callable[[socket], None]) -> None:
        self._talk = talk
        self.on_open: Callable[[int], None] = lambda port: None
        self._socket = create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._socket.getsockname()[1]
        self.base_url = f"http://127.0.0.1:{self.port}"
        self._thread = Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Take no connection any more."""
        with suppress(OSError):
            self._socket.shutdown(SHUT_RDWR)
        self._socket.close()
        self._thread.join()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, (_, port) = self._socket.accept()
                self.on_open(port)
                Thread(target=self._converse, args=(connection,), daemon=True).start()

    def _converse(self, connection: socket) -> None:
        with suppress(OSError), connection:
            self._talk(connection)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
PROFILE = b'{"id":"%s"}' % MERCHANT_ID.encode()


def whole(body: bytes, *headers: bytes) -> bytes:
    """Write a whole answer as it is sent."""
    lines = b"".join(header + b"\r\n" for header in headers)
    return HEAD + lines + b"Content-Length: %d\r\n\r\n" % len(body) + body


Answer = bytes | Callable[[], Iterable[bytes]]  # whole, or in pieces


def _request(connection: socket) -> bytes:
    """Read a request with its body: who closes before it was all read cuts the answer off."""
    asked = connection.recv(65_536)
    if length := re.search(rb"\r\ncontent-length: (\d+)", asked, re.IGNORECASE):
        whole_length = asked.find(b"\r\n\r\n") + 4 + int(length[1])
        while len(asked) < whole_length and (more := connection.recv(65_536)):
            asked += more
    return asked


class Answering(Loopback):
    """Answers each connection once, and keeps what it was asked.

    What stands in `first` is answered first. Pieces are sent until nobody listens any more.
    """

    def __init__(self, usual: Answer, tls: ssl.SSLContext | None = None) -> None:
        self._usual, self._tls = usual, tls
        self.first, self.asked, self.sent = list[Answer](), list[bytes](), 0
        super().__init__(self._answer)

    def _answer(self, plain: socket) -> None:
        tls = self._tls
        with tls.wrap_socket(plain, server_side=True) if tls else plain as connection:
            self.asked.append(_request(connection))
            answer = self.first.pop(0) if self.first else self._usual
            for piece in [answer] if isinstance(answer, bytes) else answer():
                connection.sendall(piece)
                self.sent += len(piece)


@contextmanager
def answering(usual: Answer, tls: ssl.SSLContext | None = None) -> Iterator[Answering]:
    """Answer until the block ends."""
    server = Answering(usual, tls)
    yield server
    server.close()


# A certificate of no authority, and its key.
SELF_SIGNED = Path(__file__).parents[1] / "signing" / "vectors" / "self-signed.pem"


def self_signed() -> ssl.SSLContext:
    """Let a server show this certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(SELF_SIGNED)
    return context


class Web(BaseHTTPRequestHandler):
    """Hands requests to `get`, `post` and so on, and says nothing of them on stderr."""

    def do_GET(self) -> None:
        getattr(self, self.command.lower())()

    do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815

    def answer(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        """Send a whole answer."""
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(server: BaseServer | type[Web]) -> Iterator[int]:
    """Serve until the block ends; give the port."""
    if isinstance(server, type):
        server = ThreadingHTTPServer(("127.0.0.1", 0), server)
    server.daemon_threads = True  # type: ignore[attr-defined]
    server.handle_error = lambda *_: None  # type: ignore[method-assign] # whoever hangs up may
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


@contextmanager
def on_a_socket(service: FakeService) -> Iterator[str]:
    """Put the model service on a real socket; give its address."""

    class Handler(Web):
        def get(self) -> None:
            url = f"http://{self.headers['host']}{self.path}"
            answer = service.handle(httpx.Request("GET", url, headers=dict(self.headers)))
            self.answer(answer.status_code, answer.content)

    with serving(Handler) as port:
        yield f"http://127.0.0.1:{port}"
