"""The client on a real socket: what only the wire can do to an answer (A1, A2, A10)."""

import gzip
import json
import logging
from collections.abc import Iterator

import httpcore
import httpx
import pytest

from svc_analytics.api.client import Client
from svc_analytics.api.transport import _TROUBLES
from svc_analytics.errors import ApiError, ConfigError, ProtocolError
from tests.support.fake_service import CHECKOUT_KEY, MERCHANT_ID, PAYOUT_KEY
from tests.support.loopback import HEAD, Answering, whole
from tests.support.unit_material import Hours, both_keys

BODY = json.dumps({"id": MERCHANT_ID, "note": "x" * 2000}).encode()


class Wire(Answering):
    """Answers well, once what stands in `first` was sent."""

    def __init__(self) -> None:
        super().__init__(whole(BODY))

    def client(self, hours: Hours | None = None, **changes: object) -> Client:
        hours = hours or Hours()
        return Client(both_keys(base_url=self.base_url, **changes), limiter=hours.limiter())


@pytest.fixture
def wire() -> Iterator[Wire]:
    wire = Wire()
    yield wire
    wire.close()


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
def test_damaged_answer_is_tried_again(wire: Wire, answer: bytes) -> None:
    """A1, A2: an answer damaged on the way is asked for anew; half a body is never read as one."""
    wire.first = [answer, answer]
    hours = Hours()
    with wire.client(hours) as client:
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
def test_an_answer_that_does_not_say_clearly_where_it_ends_is_refused(
    wire: Wire, answer: bytes
) -> None:
    """A2: so one answer is passed off as two; it is not read, and not asked for again."""
    wire.first = [answer]
    with wire.client() as client, pytest.raises(ProtocolError, match="where it ends was refused"):
        client.me()
    assert len(wire.asked) == 1


MEMBERS = {
    "one": ZIPPED,
    "several": gzip.compress(BODY[:40]) + gzip.compress(b"") + gzip.compress(BODY[40:]),
    "large": gzip.compress(b" " * 10_000_000 + BODY),
}


@pytest.mark.parametrize("zipped", MEMBERS.values(), ids=MEMBERS.keys())
def test_whole_gzip_is_read(wire: Wire, zipped: bytes) -> None:
    """A compressed answer that arrived whole is an answer; else the test above proves little."""
    wire.first = [whole(zipped, b"Content-Encoding: gzip")]
    with wire.client() as client:
        assert client.me()[0]["id"] == MERCHANT_ID
    assert len(wire.asked) == 1


def test_redirect_is_refused_and_the_key_stays(wire: Wire) -> None:
    """A10: the key goes to the service's address, and nowhere it points to."""
    elsewhere = Wire()
    head = b"HTTP/1.1 307 Temporary Redirect\r\nContent-Length: 0\r\nConnection: close\r\n"
    wire.first = [head + b"Location: %s/api/pay/v1/me\r\n\r\n" % elsewhere.base_url.encode()]
    with wire.client() as client, pytest.raises(ApiError):
        client.me()
    elsewhere.close()
    assert (len(wire.asked), elsewhere.asked) == (1, [])


PROXIES = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]


def test_proxies_of_the_environment_are_ignored(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key passes no proxy that only happened to stand in the environment."""
    proxy = Wire()
    for name in PROXIES:
        monkeypatch.setenv(name, proxy.base_url)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with wire.client() as client:
        client.me()
    proxy.close()
    assert (len(wire.asked), proxy.asked) == (1, [])


def test_proxy_that_was_asked_for_is_used(wire: Wire) -> None:
    """SVC_PROXY is the way to say so."""
    proxy = Wire()
    with wire.client(proxy=proxy.base_url) as client:
        client.me()
    proxy.close()
    assert (wire.asked, len(proxy.asked)) == ([], 1)


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1080", "ftp://proxy", "nonsense"])
def test_a_proxy_of_another_kind_is_refused(wire: Wire, proxy: str) -> None:
    """One line, before anything is sent."""
    with pytest.raises(ConfigError, match="SVC_PROXY is not the address of a proxy"):
        wire.client(proxy=proxy)
    assert wire.asked == []


def test_every_trouble_of_the_wire_has_its_name_in_httpx() -> None:
    """So none of httpcore's own comes through to those who ask."""
    kinds = [kind for kind in vars(httpcore).values() if isinstance(kind, type)]
    troubles = [kind for kind in kinds if issubclass(kind, Exception)]
    told = {kind.__name__ for kind in troubles if issubclass(kind, _TROUBLES)}
    assert told == {kind.__name__ for kind in troubles} - {"ConnectionNotAvailable"}
    assert all(issubclass(getattr(httpx, name), httpx.TransportError) for name in told)


def test_netrc_is_ignored(wire: Wire, monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    """Only our own key is sent, whatever a .netrc says of the host."""
    netrc = f"{tmp_path}/netrc"
    with open(netrc, "w") as file:  # noqa: PTH123
        file.write("machine 127.0.0.1 login someone password else\n")
    monkeypatch.setenv("NETRC", netrc)
    with wire.client() as client:
        client.me()
    assert f"Bearer {CHECKOUT_KEY}".encode() in wire.asked[0]
    assert b"Basic" not in wire.asked[0]


def test_no_library_logs_a_key(wire: Wire, caplog: pytest.LogCaptureFixture) -> None:
    """H5: with everything logged, down to the bytes of the wire, no key is in the log."""
    caplog.set_level(logging.DEBUG)
    wire.first = [b"", whole(BODY)[:-1]]
    with wire.client() as client:
        client.me()
    text = caplog.text + "".join(repr(vars(record)) for record in caplog.records)
    assert "httpcore" in text
    assert CHECKOUT_KEY[9:25] not in text and PAYOUT_KEY[11:27] not in text
