"""The client on a real socket: what only the wire can do to an answer (A1, A2, A10).

And a hostile service: floods, drips, endless heads, codings (A1, H6).
"""

import gzip
import json
import random
import socket
import time
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import repeat

import httpcore
import httpx
import pytest

from svc_analytics.api import transport
from svc_analytics.api.client import Client
from svc_analytics.api.responses import RetryableError
from svc_analytics.api.transport import _TROUBLES, MAX_BODY, PIECE, DeadlineBackend, inflate
from svc_analytics.errors import ApiError, ConfigError, ProtocolError, TooLarge, Unavailable
from tests.support.fake_service import CHECKOUT_KEY, MERCHANT_ID, FakeService, payment
from tests.support.hostile_wire import OPEN, RawServer, Sent, answer, length, written
from tests.support.loopback import HEAD, PROFILE, Answer, Answering, Loopback, answering, whole
from tests.support.rings import sample
from tests.support.unit_material import Hours, both_keys

BODY = json.dumps({"id": MERCHANT_ID, "note": "x" * 2000}).encode()


@pytest.fixture
def wire() -> Iterator[Answering]:
    """Answers well, once what stands in `first` was sent."""
    with answering(whole(BODY)) as wire:
        yield wire


def asking(server: Loopback, hours: Hours | None = None, **changes: object) -> Client:
    settings = both_keys(base_url=server.base_url, **changes)
    return Client(settings, limiter=(hours or Hours()).limiter(5))


CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
ZIPPED = gzip.compress(BODY, mtime=0)
DAMAGED = {
    "hangs up at once": b"",
    "hangs up within the headers": HEAD[:40],
    "hangs up before the body": HEAD + b"Content-Length: 100\r\n\r\n",
    "shorter than its Content-Length": HEAD + b"Content-Length: 5000\r\n\r\n" + BODY,
    "one byte short": whole(BODY)[:-1],
    "cut chunk": CHUNKED + b"100\r\n" + BODY[:50],
    "no last chunk": CHUNKED + b"%x\r\n" % len(BODY) + BODY + b"\r\n",
    "no chunk": CHUNKED + b"zz\r\n",
    "cut gzip": whole(ZIPPED[:-12], b"Content-Encoding: gzip"),
    "gzip without its checksum": whole(ZIPPED[:-8], b"Content-Encoding: gzip"),
    "gzip with another's checksum": whole(
        ZIPPED[:-8] + bytes(4) + ZIPPED[-4:], b"Content-Encoding: gzip"
    ),
    "flipped gzip": whole(ZIPPED[:20] + b"\xff\xff" + ZIPPED[22:], b"Content-Encoding: gzip"),
    "no gzip": whole(BODY, b"Content-Encoding: gzip"),
    "cut without a length": HEAD + b"\r\n" + BODY[:-1],
    "longer than its Content-Length": HEAD + b"Content-Length: 100\r\n\r\n" + BODY,
    "no HTTP": b"SSH-2.0-OpenSSH_9.2\r\n",
}  # fmt: skip


@pytest.mark.parametrize("answer", DAMAGED.values(), ids=DAMAGED.keys())
def test_damaged_answer_is_tried_again(wire, answer):
    """A1, A2: an answer damaged on the way is asked for anew; half a body is never read as one."""
    wire.first = [answer, answer]
    hours = Hours()
    with asking(wire, hours) as client:
        profile, _ = client.me()
    assert profile == json.loads(BODY)
    assert (len(wire.asked), len(hours.waits)) == (3, 2)


CHUNKS = b"%x\r\n" % len(BODY) + BODY + b"\r\n0\r\n\r\n"
UNCLEAR = {
    "a length and chunks": CHUNKED[:-2] + b"Content-Length: 5\r\n\r\n" + CHUNKS,
    "chunks and a length that is right": whole(BODY, b"Transfer-Encoding: chunked"),
    "two lengths": whole(BODY, b"Content-Length: 5"),
    "two lengths in one": HEAD + b"Content-Length: 5, 9\r\n\r\n" + BODY,
    "a length that is none": HEAD + b"Content-Length: -5\r\n\r\n" + BODY,
    "an encoding beside chunked": CHUNKED[:-4] + b", gzip\r\n\r\n" + CHUNKS,
    "chunked twice": CHUNKED[:-2] + b"Transfer-Encoding: chunked\r\n\r\n" + CHUNKS,
    "a refusal": whole(b"", b"Transfer-Encoding: chunked").replace(b"200 OK", b"503 Busy"),
}


@pytest.mark.parametrize("answer", UNCLEAR.values(), ids=UNCLEAR.keys())
def test_an_answer_that_does_not_say_clearly_where_it_ends_is_refused(wire, answer):
    """A2: so one answer is passed off as two; it is not read, and not asked for again."""
    wire.first = [answer]
    with asking(wire) as client, pytest.raises(ProtocolError, match="where it ends was refused"):
        client.me()
    assert len(wire.asked) == 1


def test_whole_gzip_is_read(wire):
    """A compressed answer that arrived whole is an answer; else the test above proves little."""
    zipped = gzip.compress(b" " * 3_000_000) + gzip.compress(BODY)
    wire.first = [whole(zipped, b"Content-Encoding: gzip")]
    with asking(wire) as client:
        assert client.me()[0]["id"] == MERCHANT_ID
    assert len(wire.asked) == 1


def test_redirect_is_refused_and_the_key_stays(wire):
    """A10: the key goes to the service's address, and nowhere it points to."""
    head = b"HTTP/1.1 307 Temporary Redirect\r\nContent-Length: 0\r\nConnection: close\r\n"
    with answering(whole(BODY)) as elsewhere, asking(wire) as client, pytest.raises(ApiError):
        wire.first = [head + b"Location: %s/api/pay/v1/me\r\n\r\n" % elsewhere.base_url.encode()]
        client.me()
    assert (len(wire.asked), elsewhere.asked) == (1, [])


PROXIES = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]


def test_proxies_of_the_environment_are_ignored(wire, monkeypatch):
    """A key passes no proxy that only happened to stand in the environment."""
    monkeypatch.delenv("NO_PROXY", raising=False)
    with answering(whole(BODY)) as proxy:
        for name in PROXIES:
            monkeypatch.setenv(name, proxy.base_url)
        with asking(wire) as client:
            client.me()
    assert (len(wire.asked), proxy.asked) == (1, [])


def test_proxy_that_was_asked_for_is_used(wire):
    """SVC_PROXY is the way to say so."""
    with answering(whole(BODY)) as proxy, asking(wire, proxy=proxy.base_url) as client:
        client.me()
    assert (wire.asked, len(proxy.asked)) == ([], 1)


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1080", "ftp://proxy", "nonsense"])
def test_a_proxy_of_another_kind_is_refused(wire, proxy):
    """One line, before anything is sent."""
    with pytest.raises(ConfigError, match="SVC_PROXY is not the address of a proxy"):
        asking(wire, proxy=proxy)
    assert wire.asked == []


def test_every_trouble_of_the_wire_has_its_name_in_httpx():
    """So none of httpcore's own comes through to those who ask."""
    kinds = [kind for kind in vars(httpcore).values() if isinstance(kind, type)]
    troubles = [kind for kind in kinds if issubclass(kind, Exception)]
    told = {kind.__name__ for kind in troubles if issubclass(kind, _TROUBLES)}
    assert told == {kind.__name__ for kind in troubles} - {"ConnectionNotAvailable"}
    assert all(issubclass(getattr(httpx, name), httpx.TransportError) for name in told)


def test_netrc_is_ignored(wire, monkeypatch, tmp_path):
    """Only our own key is sent, whatever a .netrc says of the host."""
    netrc = f"{tmp_path}/netrc"
    with open(netrc, "w") as file:  # noqa: PTH123
        file.write("machine 127.0.0.1 login someone password else\n")
    monkeypatch.setenv("NETRC", netrc)
    with asking(wire) as client:
        client.me()
    assert f"Bearer {CHECKOUT_KEY}".encode() in wire.asked[0]
    assert b"Basic" not in wire.asked[0]


# ---------- connections end with their client, also those that were being opened when it was closed


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def connect(backend: DeadlineBackend, listener: socket.socket) -> httpcore.NetworkStream:
    return backend.connect_tcp("127.0.0.1", listener.getsockname()[1])


def test_an_open_connection_is_closed_with_its_client(listener):
    """Its pool may not know it yet."""
    backend = DeadlineBackend(10)
    opened = connect(backend, listener)
    backend.close()
    assert opened.get_extra_info("socket").fileno() == -1


def test_a_connection_that_comes_too_late_is_closed(listener, monkeypatch):
    """The client was closed while a thread waited for it."""
    backend, opened = DeadlineBackend(10), []
    real = socket.create_connection

    def slowly(*args: object, **options: object) -> socket.socket:
        opened.append(real(*args, **options))
        backend.close()
        return opened[0]

    monkeypatch.setattr(socket, "create_connection", slowly)
    with pytest.raises(httpcore.ConnectError, match="the client is closed"):
        connect(backend, listener)
    assert opened[0].fileno() == -1


# ---------- a connection is used again only where nothing follows the answer on it


OTHER = b'{"id":"another merchant"}'
BEHIND = {
    "nothing": b"",
    "another answer": answer(OTHER, length(len(OTHER))),
    "half of another answer": answer(OTHER, length(len(OTHER)))[:20],
    "junk": b"\r\njunk",
}


@pytest.mark.parametrize("behind", BEHIND.values(), ids=BEHIND.keys())
def test_what_follows_an_answer_is_never_taken_for_the_next(behind):
    """RFC 9112, 6.3: extra data must not be processed as a separate response."""
    service, tries = FakeService([payment(1, "2026-10-05T00:00:00Z")]), list[str]()

    def respond(request: httpx.Request) -> Sent:
        tries.append(request.url.path)
        head, body = written(service.handle(request))
        return Sent(head + body + behind, OPEN)

    server, hours = RawServer(respond), Hours()
    with asking(server, hours) as client:
        for _ in range(3):
            assert client.me()[0]["display_name"] == "Shop"
            assert client.page("payments", {}).raw_records()
    assert len(tries) == 6 and hours.waits == []
    server.close()


def test_a_connection_is_used_again_after_a_whole_answer():
    """Else the test above proves little: opening connections takes most of a page's time."""
    service, ports = FakeService(), list[int]()
    server = RawServer(lambda request: Sent(b"".join(written(service.handle(request))), OPEN))
    server.on_open = ports.append
    with asking(server) as client:
        for _ in range(5):
            client.me()
    server.close()
    assert len(ports) == 1


# ---------- gzip unfolded by hand


BODIES = {
    "nothing": b"",
    "a little": b"{}",
    "one piece": bytes(PIECE),
    "a byte more": bytes(PIECE + 1),
    "three pieces": bytes(3 * PIECE),
    "dense": random.Random(1).randbytes(PIECE + 5),
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_bytes_come_back_whatever_the_cuts(body, size):
    """Two members, cut into chunks of any size; no piece is larger than it may be."""
    zipped = gzip.compress(body) + gzip.compress(body)
    pieces = list(inflate(zipped[at : at + size] for at in range(0, len(zipped), size)))
    assert b"".join(pieces) == body * 2
    assert max(map(len, pieces)) <= PIECE


def test_an_empty_answer_is_empty():
    """A refusal may have no body at all, and say gzip."""
    assert not list(inflate([]))


def test_junk_behind_is_damage():
    with pytest.raises(RetryableError, match="damaged"):
        list(inflate([gzip.compress(b"{}") + b"junk"]))


# ---------- a hostile service


GIGABYTE = 1 << 30

Pieces = Iterator[bytes]


FLOODS: dict[str, Callable[[], Pieces]] = {
    "with its length": lambda: iter([HEAD + b"Content-Length: %d\r\n\r\n" % GIGABYTE,
                                     *[b" " * (1 << 20)] * 1024]),
    "without a length": lambda: iter([HEAD + b"\r\n", *[b" " * (1 << 20)] * 1024]),
    "in chunks": lambda: iter([HEAD + b"Transfer-Encoding: chunked\r\n\r\n",
                               *[b"100000\r\n" + b" " * (1 << 20) + b"\r\n"] * 1024]),
}  # fmt: skip


def refused_at(usual: Answer) -> tuple[int, int]:
    """Ask for an answer that is too large; return the most memory it took, and what was sent."""
    with answering(usual) as server, asking(server) as client:
        tracemalloc.start()
        with pytest.raises(TooLarge, match="64 MiB was refused"):
            client.me()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak, server.sent


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS.keys())
def test_a_body_of_a_gigabyte_is_refused_at_the_cap(flood):
    """No more is read than the cap and what the sockets hold; no more is kept in memory."""
    peak, sent = refused_at(flood)
    assert peak < MAX_BODY + (16 << 20) and sent < MAX_BODY + (32 << 20)


def test_a_gzip_bomb_is_refused_at_the_cap():
    """It is unfolded piece by piece, and no further than the cap: 1.2 MB that unfold to 256."""
    bomb = whole(gzip.compress(bytes(1 << 28), 1), b"Content-Encoding: gzip")
    assert refused_at(bomb)[0] < MAX_BODY + (16 << 20)


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
    listener.base_url = f"https://localhost:{listener.port}"
    with asking(listener) as client, pytest.raises(Unavailable):
        client.me()
    listener.close()
