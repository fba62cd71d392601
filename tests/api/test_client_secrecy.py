"""No key comes out of the client: not in messages, tracebacks, reprs or logs (H5)."""

import base64
import re
import traceback
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle, product
from pathlib import Path
from socket import socket
from typing import Any

import httpx
import pytest

from svc_analytics.api.client import Client
from svc_analytics.errors import SvcError
from svc_analytics.signing.secrets import hide_keys_in
from tests.support.fake_service import CHECKOUT_KEY, PAYOUT_KEY, FakeService, refusal
from tests.support.loopback import Loopback
from tests.support.rings import rings, sample
from tests.support.unit_material import Hours, both_keys, client_of, raised_by

NEVER = (CHECKOUT_KEY[9:25], PAYOUT_KEY[11:27])
HEADER = f"Bearer {PAYOUT_KEY}"


def told(error: BaseException, *, has_locals: bool = False) -> str:
    """What a person, a log or a tracker of errors could see of an error and its causes."""
    shown = traceback.TracebackException.from_exception(error, capture_locals=has_locals)
    return "".join([*shown.format(), repr(error), str(error), repr(vars(error))])


FAILURES: dict[str, Any] = {
    "401": refusal(401, "UNAUTHORIZED"),
    "500": refusal(500, "INTERNAL_SERVER_ERROR"),
    "timeout": httpx.ReadTimeout("timed out"),
    "illegal header": httpx.LocalProtocolError(f"Illegal header value b'{HEADER}'"),
    "no connection": httpx.ConnectError("[Errno 111] Connection refused"),
    "page without a cursor": httpx.Response(200, json={"data": []}),
    "damaged page": httpx.Response(200, text="x", headers={"content-type": "application/json"}),
}


def failing(answer: Any) -> FakeService:
    def intercept(request: httpx.Request) -> httpx.Response:
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, httpx.Response)
        return answer

    return FakeService(intercept=intercept)


@pytest.mark.parametrize("answer", FAILURES.values(), ids=FAILURES.keys())
def test_no_error_tells_a_key(answer):
    """Message, repr, attributes, causes and local variables of a failure are free of keys."""
    error = raised_by(lambda: client_of(failing(answer)).page("payouts", {}))
    assert isinstance(error, SvcError)
    assert not [secret for secret in NEVER if secret in told(error, has_locals=True)]


def test_client_shows_its_address_and_no_key():
    """A client in a notebook cell shows where it calls, not with what."""
    client = client_of(FakeService())
    shown = f"{client!r} {client} {vars(client)} {vars(client.limiter)} {client._settings}"
    assert "https://pay.example" in repr(client)
    assert not [secret for secret in NEVER if secret in shown]


# ---------- a proxy that repeats the Authorization header anywhere shows nobody the key


# The digits of either key, and what base64 makes of them.
DIGITS = ("1" * 20, "2" * 20, "MTEx" * 4, "MjIy" * 4)
OK, JSON = b"HTTP/1.1 200 OK\r\n", b"Content-Type: application/json\r\n"


def whole(body: bytes, head: bytes = OK + JSON) -> bytes:
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


def headed(line: bytes) -> bytes:
    return whole(b"x", OK + line + b"\r\n")


REFUSED = b"HTTP/1.1 422 Refused\r\n" + JSON
# Where a proxy repeats the header.
PLACES: dict[str, Callable[[bytes], bytes]] = {
    "a header line without a colon": lambda header: headed(header),
    "a header's name": lambda header: headed(b"X %s: 1" % header),
    "a header": lambda header: headed(b"X-Echo: " + header),
    "the status line": lambda header: b"HTTP/1.1 4%s\r\n\r\n" % header,
    "the reason": lambda header: whole(b"{}", b"HTTP/1.1 400 %s\r\n" % header + JSON),
    "another protocol": lambda header: b"SSH-2.0 %s\r\n\r\n" % header,
    "a chunk's size": lambda header: (
        OK + JSON + b"Transfer-Encoding: chunked\r\n\r\n%s\r\n" % header
    ),
    "the length": lambda header: OK + JSON + b"Content-Length: %s\r\n\r\n" % header,
    "the transfer coding": lambda header: OK + JSON + b"Transfer-Encoding: %s\r\n\r\n" % header,
    "the content coding": lambda header: headed(b"Content-Encoding: " + header),
    "a media type": lambda header: headed(b"Content-Type: text/" + header),
    "a redirect": lambda header: b"HTTP/1.1 302 Found\r\nLocation: /%s\r\n\r\n" % header,
    "a page of HTML": lambda header: whole(b"<html>%s</html>" % header, b"HTTP/1.1 502 Bad\r\n"),
    "a code": lambda header: whole(b'{"errors":{"error":["%s"]}}' % header, REFUSED),
    "a name": lambda header: whole(b'{"id":"1","display_name":"%s"}' % header),
    "the merchant's id": lambda header: whole(b'{"id":"%s"}' % header),
    "a cursor": lambda header: whole(b'{"data":[],"next_cursor":"%s"}' % header),
    "no JSON": whole,
}
SPELLINGS: dict[str, Callable[[bytes], bytes]] = {
    "as it was": lambda header: header,
    "in capitals": bytes.upper,
    "as an address writes it": lambda header: urllib.parse.quote(header, safe="").encode(),
    "with each character quoted": lambda header: header.replace(b"_", b"%5F"),
    "in base64": base64.b64encode,
    "cut short": lambda header: header[:40],
}


@contextmanager
def repeating(place: Callable[[bytes], bytes], spell: Callable[[bytes], bytes]) -> Iterator[str]:
    """Run a proxy that answers each request with its own header in this place."""

    def repeat(connection: socket) -> None:
        header = re.search(rb"(?i)authorization: ([^\r]*)", connection.recv(65536))
        connection.sendall(place(spell(header[1] if header else b"")))

    server = Loopback(repeat)
    yield server.base_url
    server.close()


def read_page(client: Client) -> None:
    client.page("payouts", {})  # nobody is shown a page, or its cursor


@pytest.mark.parametrize(
    ("place", "spelling"), rings(zip(PLACES, cycle(SPELLINGS)), product(PLACES, SPELLINGS))
)
def test_no_error_repeats_what_a_proxy_repeats(place, spelling):
    """Neither the error nor what led to it has the key, nor has a profile that is taken."""
    with (
        repeating(PLACES[place], SPELLINGS[spelling]) as address,
        Client(both_keys(base_url=address), limiter=Hours().limiter(0.2)) as client,
    ):
        for call in (client.me, lambda: client.me("payout"), lambda: read_page(client)):
            try:
                shown = repr(call())
            except SvcError as error:
                shown = told(error)
            assert not any(secret in shown for secret in DIGITS)


@pytest.mark.parametrize(
    "name", sample(["a header line without a colon", "a chunk's size", "a cursor"], 3)
)
def test_no_terminal_and_no_file_shows_the_key(run, monkeypatch, name):
    """Not even with -vv, which prints the causes."""
    monkeypatch.setenv("SVC_CHECKOUT_KEY", CHECKOUT_KEY)
    monkeypatch.setenv("SVC_PAYOUT_KEY", PAYOUT_KEY)
    with repeating(PLACES[name], bytes.strip) as address:
        monkeypatch.setenv("SVC_BASE_URL", address)
        done = run("extract", "-vv", "--patience", "1")
    files = "".join(path.read_text("latin-1") for path in Path().rglob("*") if path.is_file())
    assert done.code and done.err
    assert not any(secret in done.out + done.err + files for secret in DIGITS)


def test_other_texts_stay_as_they_are():
    """Receipt numbers, addresses of the service and short words are no keys."""
    for text in ("SVC-000123", "svc_analytics", "svc_live_", "svc_live_key", "aGVsbG8gd29ybGQ="):
        assert hide_keys_in(text) == text
