"""A hostile service on a real socket: floods, drips, endless heads, codings (A1, H6)."""

import gzip
import time
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import repeat

import pytest

from svc_analytics.api import transport
from svc_analytics.api.client import Client
from svc_analytics.api.transport import MAX_BODY
from svc_analytics.errors import ProtocolError, TooLarge, Unavailable
from tests.support.fake_service import MERCHANT_ID
from tests.support.loopback import HEAD, PROFILE, Answering, Loopback, answering, whole
from tests.support.rings import sample
from tests.support.unit_material import Hours, both_keys

GIGABYTE = 1 << 30

Pieces = Iterator[bytes]


def asking(server: Answering) -> Client:
    return Client(both_keys(base_url=server.base_url), limiter=Hours().limiter(5))


FLOODS: dict[str, Callable[[], Pieces]] = {
    "with its length": lambda: iter([HEAD + b"Content-Length: %d\r\n\r\n" % GIGABYTE,
                                     *[b" " * (1 << 20)] * 1024]),
    "without a length": lambda: iter([HEAD + b"\r\n", *[b" " * (1 << 20)] * 1024]),
    "in chunks": lambda: iter([HEAD + b"Transfer-Encoding: chunked\r\n\r\n",
                               *[b"100000\r\n" + b" " * (1 << 20) + b"\r\n"] * 1024]),
}  # fmt: skip


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS.keys())
def test_a_body_of_a_gigabyte_is_refused_at_the_cap(flood):
    """No more is read than the cap and what the sockets hold; no more is kept in memory."""
    with answering(flood) as server, asking(server) as client:
        tracemalloc.start()
        with pytest.raises(TooLarge, match="64 MiB was refused"):
            client.me()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < MAX_BODY + (16 << 20) and server.sent < MAX_BODY + (32 << 20)


def test_a_gzip_bomb_is_refused_at_the_cap():
    """It is unfolded piece by piece, and no further than the cap."""
    bomb = gzip.compress(bytes(1 << 28), 1)  # 1.2 MB that unfold to 256
    with answering(whole(bomb, b"Content-Encoding: gzip")) as server, asking(server) as client:
        tracemalloc.start()
        with pytest.raises(TooLarge):
            client.me()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < MAX_BODY + (16 << 20)


@pytest.mark.parametrize("coding", ["br", "zstd", "deflate", "gzip, gzip", "x-gzip", "GZIP, br"])
def test_a_coding_that_was_not_asked_for_is_refused(coding):
    """Whatever decoders happen to be installed: some unfold a millionfold within one piece."""
    with (
        answering(whole(PROFILE, b"Content-Encoding: %s" % coding.encode())) as server,
        asking(server) as client,
        pytest.raises(ProtocolError, match="not asked for"),
    ):
        client.me()


def slowly(*parts: bytes) -> Callable[[], Pieces]:
    """Send the first part at once, then the last one again and again for ten seconds."""

    def pieces() -> Pieces:
        yield parts[0]
        for part in repeat(parts[-1], 500):  # who sends nothing is not told that nobody listens
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
def test_an_answer_that_drips_is_given_up_in_time(drip, monkeypatch):
    """H6: the limit is on the whole answer, its head included: no worker is held for ever."""
    monkeypatch.setattr(transport, "LONGEST_ANSWER", 0.1)
    with answering(drip) as server, asking(server) as client:
        began = time.monotonic()
        with pytest.raises(Unavailable, match=r"in time|not complete after"):
            client.me()
        tries = len(server.asked)
    assert tries >= 2 and time.monotonic() - began < 60


def test_a_slow_answer_within_the_limit_is_read(monkeypatch):
    """Else the test above proves little; a connection that is used again gets its time anew."""
    monkeypatch.setattr(transport, "LONGEST_ANSWER", 20.0)
    kept = whole(PROFILE).replace(b"Connection: close\r\n", b"")

    def pieces() -> Pieces:
        for byte in kept:
            time.sleep(0.001)
            yield bytes([byte])

    with answering(pieces) as server, asking(server) as client:
        assert client.me()[0]["id"] == MERCHANT_ID


def endless_head() -> Pieces:
    yield HEAD
    yield from [b"X-More: " + b"y" * 60_000 + b"\r\n"] * 2_000


def test_an_endless_head_is_cut_off():
    """A head of any size is not held in memory."""
    with answering(endless_head) as server, asking(server) as client, pytest.raises(Unavailable):
        client.me()
    assert server.sent < 100_000_000


def test_a_handshake_that_breaks_is_tried_again():
    """A1: reset in the middle of TLS is a lost connection, and says nothing about anybody."""
    listener = Loopback(lambda connection: None)
    settings = both_keys(base_url=f"https://localhost:{listener.port}")
    with Client(settings, limiter=Hours().limiter(5)) as client, pytest.raises(Unavailable):
        client.me()
    listener.close()
