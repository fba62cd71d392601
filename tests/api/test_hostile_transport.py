"""A hostile service on a real socket: floods, drips, endless heads, codings, bad TLS (A10, H6)."""

import gzip
import ssl
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path
from socket import socket
from typing import Any

import pytest

from svc_analytics.api import transport
from svc_analytics.api.client import Client
from svc_analytics.api.transport import MAX_BODY, PooledTransport
from svc_analytics.errors import ApiError, ProtocolError, TooLarge, Unavailable
from tests.support.fake_service import MERCHANT_ID
from tests.support.loopback import Loopback
from tests.support.rings import sample
from tests.support.unit_material import Hours, both_keys

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
PROFILE = b'{"id":"%s"}' % MERCHANT_ID.encode()
GOOD = HEAD + b"Content-Length: %d\r\n\r\n" % len(PROFILE) + PROFILE
GIGABYTE = 1 << 30
# A key and a certificate of nobody: CN=localhost, self-signed, good until 2120.
SELF_SIGNED = Path(__file__).parent.parent / "signing" / "vectors" / "self-signed.pem"

Pieces = Iterator[bytes]


class Streaming(Loopback):
    """A loopback server that sends the pieces of an answer until nobody listens any more."""

    def __init__(self, pieces: Callable[[], Pieces], tls: ssl.SSLContext | None = None) -> None:
        self.sent, self.heads = 0, list[bytes]()
        self._pieces, self._tls = pieces, tls
        super().__init__(self._answer)

    def _answer(self, connection: socket) -> None:
        if self._tls:
            connection = self._tls.wrap_socket(connection, server_side=True)
        with connection:
            self.heads.append(connection.recv(65_536))
            for piece in self._pieces():
                connection.sendall(piece)
                self.sent += len(piece)


@contextmanager
def serving(pieces: Callable[[], Pieces], tls: ssl.SSLContext | None = None) -> Iterator[Streaming]:
    server = Streaming(pieces, tls)
    yield server
    server.close()


def asking(server: Streaming, scheme: str = "http", **options: Any) -> Client:
    settings = both_keys(base_url=f"{scheme}://localhost:{server.port}")
    return Client(settings, limiter=Hours().limiter(5), **options)


FLOODS: dict[str, Callable[[], Pieces]] = {
    "with its length": lambda: iter([HEAD + b"Content-Length: %d\r\n\r\n" % GIGABYTE,
                                     *[b" " * (1 << 20)] * 1024]),
    "without a length": lambda: iter([HEAD + b"\r\n", *[b" " * (1 << 20)] * 1024]),
    "in chunks": lambda: iter([HEAD + b"Transfer-Encoding: chunked\r\n\r\n",
                               *[b"100000\r\n" + b" " * (1 << 20) + b"\r\n"] * 1024]),
}  # fmt: skip


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS.keys())
def test_a_body_of_a_gigabyte_is_refused_at_the_cap(flood: Callable[[], Pieces]) -> None:
    """No more is read than the cap and what the sockets hold; no more is kept in memory."""
    with serving(flood) as server, asking(server) as client:
        tracemalloc.start()
        with pytest.raises(TooLarge, match="64 MiB was refused"):
            client.me()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < MAX_BODY + (16 << 20) and server.sent < MAX_BODY + (32 << 20)


def test_a_gzip_bomb_is_refused_at_the_cap() -> None:
    """It is unfolded piece by piece, and no further than the cap."""
    bomb = gzip.compress(bytes(1 << 28), 1)  # 1.2 MB that unfold to 256
    head = HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb)
    with serving(lambda: iter([head, bomb])) as server, asking(server) as client:
        tracemalloc.start()
        with pytest.raises(TooLarge):
            client.me()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < MAX_BODY + (16 << 20)


@pytest.mark.parametrize("coding", ["br", "zstd", "deflate", "gzip, gzip", "x-gzip", "GZIP, br"])
def test_a_coding_that_was_not_asked_for_is_refused(coding: str) -> None:
    """Whatever decoders happen to be installed: some unfold a millionfold within one piece."""
    head = HEAD + b"Content-Encoding: %s\r\n" % coding.encode()
    answer = head + b"Content-Length: %d\r\n\r\n" % len(PROFILE) + PROFILE
    with (
        serving(lambda: iter([answer])) as server,
        asking(server) as client,
        pytest.raises(ProtocolError, match="not asked for"),
    ):
        client.me()


def slowly(*parts: bytes) -> Callable[[], Pieces]:
    """Send the first part at once, then the last one again and again, 20 ms apart."""

    def pieces() -> Pieces:
        yield parts[0]
        for part in repeat(parts[-1]):
            time.sleep(0.02)
            yield part

    return pieces


DRIPS = {
    "the body": slowly(HEAD + b"Content-Length: 100000\r\n\r\n", b" "),
    "chunks": slowly(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    "a header": slowly(HEAD + b"X-Long: ", b"x"),
    "many headers": slowly(HEAD, b"X-More: y\r\n"),
    "the status": slowly(b"H", b""),
    "100 Continue": slowly(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "nothing": slowly(b"", b""),
}


@pytest.mark.parametrize("drip", sample(DRIPS.values(), 4), ids=DRIPS.keys())
def test_an_answer_that_drips_is_given_up_in_time(
    drip: Callable[[], Pieces], monkeypatch: pytest.MonkeyPatch
) -> None:
    """H6: the limit is on the whole answer, its head included: no worker is held for ever."""
    monkeypatch.setattr(transport, "LONGEST_ANSWER", 0.25)
    with serving(drip) as server, asking(server) as client:
        began = time.monotonic()
        with pytest.raises(Unavailable, match=r"in time|not complete after"):
            client.me()
        tries = len(server.heads)
    assert tries >= 2 and time.monotonic() - began < 60


def test_a_slow_answer_within_the_limit_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the test above proves little; a connection that is used again gets its time anew."""
    monkeypatch.setattr(transport, "LONGEST_ANSWER", 20.0)
    kept = GOOD.replace(b"Connection: close\r\n", b"")

    def pieces() -> Pieces:
        for byte in kept:
            time.sleep(0.001)
            yield bytes([byte])

    with serving(pieces) as server, asking(server) as client:
        assert client.me()[0]["id"] == MERCHANT_ID


def endless_head() -> Pieces:
    yield HEAD
    yield from [b"X-More: " + b"y" * 60_000 + b"\r\n"] * 2_000


def test_an_endless_head_is_cut_off() -> None:
    """A head of any size is not held in memory."""
    with serving(endless_head) as server, asking(server) as client, pytest.raises(Unavailable):
        client.me()
    assert server.sent < 100_000_000


# ---------- TLS


@pytest.fixture(scope="module")
def of_nobody() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(SELF_SIGNED)
    return context


def trusting() -> PooledTransport:
    """Connections that trust the certificate of nobody, if it is for the host asked."""
    trusted = ssl.create_default_context(cafile=str(SELF_SIGNED))
    return PooledTransport(1, 20.0, trusted=trusted)


def test_a_self_signed_certificate_is_refused_without_a_key(of_nobody: ssl.SSLContext) -> None:
    """A10: one clear line, no second try, and not a byte of a request has left."""
    with serving(lambda: iter([GOOD]), of_nobody) as server:
        with asking(server, "https") as client, pytest.raises(ApiError) as refused:
            client.me()
        assert "the certificate of localhost cannot be trusted" in str(refused.value)
        assert "no key was sent" in str(refused.value)
        assert server.heads == [] and refused.value.exit_code == 1


def test_a_trusted_certificate_is_accepted(of_nobody: ssl.SSLContext) -> None:
    """Else the test above proves little."""
    with (
        serving(lambda: iter([GOOD]), of_nobody) as server,
        asking(server, "https", transport=trusting()) as client,
    ):
        assert client.me()[0]["id"] == MERCHANT_ID


def test_a_certificate_of_another_name_is_refused(of_nobody: ssl.SSLContext) -> None:
    """A10: trusted, but not for this host."""
    with serving(lambda: iter([GOOD]), of_nobody) as server:
        settings = both_keys(base_url=f"https://127.0.0.1:{server.port}")
        with (
            Client(settings, limiter=Hours().limiter(5), transport=trusting()) as client,
            pytest.raises(ApiError, match=r"certificate of 127\.0\.0\.1 cannot be trusted"),
        ):
            client.me()
        assert server.heads == []


def test_a_port_that_speaks_no_tls_gets_no_key() -> None:
    """A10: https means https; what answers in the clear is not there."""
    with serving(lambda: iter([GOOD])) as server:
        with asking(server, "https") as client, pytest.raises(Unavailable):
            client.me()
        assert server.heads and not [head for head in server.heads if b"Bearer" in head]


def test_a_handshake_that_breaks_is_tried_again() -> None:
    """A1: reset in the middle of TLS is a lost connection, and says nothing about anybody."""
    listener = Loopback(lambda connection: None)
    settings = both_keys(base_url=f"https://localhost:{listener.port}")
    with Client(settings, limiter=Hours().limiter(5)) as client, pytest.raises(Unavailable):
        client.me()
    listener.close()
