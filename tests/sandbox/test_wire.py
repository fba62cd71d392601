"""The sandbox on the wire: what a client sees that is no HTTP library of ours."""

import json
import socket

import pytest

from svc_analytics.sandbox.app import MAX_BODY
from svc_analytics.sandbox.routes import PREFIX, ROUTES

ME = f"{PREFIX}/me"
CREATE = f"POST {PREFIX}/sessions HTTP/1.1"


@pytest.fixture
def talk(live, served):
    """Sends bytes to the server; returns the head and the body of its answer."""
    port = int(live[1].base_url.rpartition(":")[2])

    def call(text):
        raw = text.encode("latin-1") if isinstance(text, str) else text
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.sendall(raw)
            reader = connection.makefile("rb")
            head = b"".join(iter(reader.readline, b"\r\n")).decode("latin-1").lower()
            length = int(head.partition("content-length: ")[2].partition("\r\n")[0])
            return head, b"" if raw.startswith(b"HEAD ") else reader.read(length)

    return call


@pytest.fixture
def headers(checkout_key):
    return f"Host: localhost\r\nAuthorization: Bearer {checkout_key}\r\n"


NO_HTTP = {
    "no host": f"GET {ME} HTTP/1.1\r\n\r\n",
    "two hosts": f"GET {ME} HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "a NUL": f"GET {ME} HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n",
    "a blank before the colon": f"GET {ME} HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n",
    "two lengths": f"{CREATE}\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    "negative length": f"{CREATE}\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
    "unknown coding": f"{CREATE}\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n",
    "raw UTF-8 in the path": f"GET {ME}/Ã© HTTP/1.1\r\nHost: a\r\n\r\n",
    "broken chunk": f"{CREATE}\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n",
    "head without an end": f"GET {ME} HTTP/1.1\r\nX: {'x' * 70_000}",
    "garbage": "\x16\x03\x01 hello\r\n\r\n",
}


@pytest.mark.parametrize("raw", NO_HTTP.values(), ids=NO_HTTP.keys())
def test_what_is_no_http_is_answered_in_the_envelope(talk, raw):
    """Errors: every answer that is not 2xx, also those from below the app."""
    head, body = talk(raw)
    assert head.startswith("http/1.1 400 ") and "application/json" in head and "date: " in head
    assert json.loads(body) == {"statusCode": 400, "errors": {"error": ["BAD_REQUEST"]}}


def test_broken_chunk_of_a_body_that_is_read_is_one_answer(talk, headers, caplog):
    """The app waits for the body meanwhile, and must not answer too."""
    head, _ = talk(f"{CREATE}\r\n{headers}Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n")
    assert head.startswith("http/1.1 400 ")
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize(
    "path", [ME, f"{PREFIX}/payments", "/openapi.json", "/control", "/console"]
)
def test_head_is_wherever_get_is(talk, headers, path):
    """The same head, and no body."""
    got, body = talk(f"GET {path} HTTP/1.1\r\n{headers}\r\n")
    assert talk(f"HEAD {path} HTTP/1.1\r\n{headers}\r\n") == (got, b"")
    assert got.startswith("http/1.1 200 ") and body


METHODS = {}
for _route in ROUTES:
    METHODS.setdefault(PREFIX + _route.path, set()).add(_route.method)
METHODS["/openapi.json"] = {"GET"}
METHODS["/control/deliveries"] = {"GET", "POST"}
METHODS["/control/settings"] = {"POST"}


@pytest.mark.parametrize(("path", "methods"), METHODS.items(), ids=METHODS.keys())
def test_other_method_is_told_every_method_of_its_path(talk, headers, path, methods):
    """405 with Allow, whatever else the path could be; PATCH and OPTIONS are nowhere."""
    served = methods | ({"HEAD"} if "GET" in methods else set())
    for method in {"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"} - methods:
        head, body = talk(
            f"{method} {path.replace('{', '').replace('}', '')} HTTP/1.1\r\n{headers}\r\n"
        )
        assert f"allow: {', '.join(sorted(served))}\r\n".lower() in head
        assert json.loads(body) == {"statusCode": 405, "errors": {"error": ["METHOD_NOT_ALLOWED"]}}


def test_path_may_come_with_its_host(talk, headers):
    """RFC 9112: the absolute form is the same request, and its host is the one that counts."""
    assert talk(f"GET http://any.example{ME} HTTP/1.1\r\n{headers}\r\n")[0].startswith(
        "http/1.1 200"
    )
    foreign = talk(f"GET http://evil.example/control HTTP/1.1\r\n{headers}\r\n")
    assert foreign[0].startswith("http/1.1 403 ")


def test_paths_of_the_pages_may_end_in_a_slash(talk, headers):
    """A redirect would be an answer without the envelope."""
    assert talk(f"GET /control/ HTTP/1.1\r\n{headers}\r\n")[0].startswith("http/1.1 200 ")
    assert talk(f"GET {ME}/ HTTP/1.1\r\n{headers}\r\n")[0].startswith("http/1.1 404 ")


FOREIGN = (
    *("evil.example", "evil.example:8700", "Ã©vil.example", "evil.example@127.0.0.1", "", ":80"),
    *("127.0.0.1@evil.example", "evil.example?127.0.0.1", "127.0.0.1/evil", "127.1", "0x7f.1"),
    *("localhost.", "127.0.0.1.evil.example", "[::1", "::1", "127.0.0.1:x", "127.0.0.1 evil"),
)


@pytest.mark.parametrize("host", FOREIGN)
@pytest.mark.parametrize("path", ["/control", "/console", "/checkout/x", "/embed.js"])
def test_host_that_is_not_plainly_this_machine_is_forbidden(talk, path, host):
    """What cannot be read is foreign, as an origin is."""
    origin = "Host: 127.0.0.1\r\nOrigin: http://[\r\nContent-Length: 0\r\n\r\n"
    assert talk(f"POST /console/maintain HTTP/1.1\r\n{origin}")[0].startswith("http/1.1 403 ")
    head, body = talk(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n")
    assert head.startswith("http/1.1 403 ")
    assert json.loads(body) == {"statusCode": 403, "errors": {"error": ["FORBIDDEN"]}}


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1", "127.0.0.1:8700", "127.9.9.9", "[::1]:9"]
)
def test_host_of_this_machine_reaches_the_pages(talk, host):
    """By name or address, with any port."""
    assert talk(f"GET /control HTTP/1.1\r\nHost: {host}\r\n\r\n")[0].startswith("http/1.1 200 ")


ENDLESS = "Content-Length: 100000000\r\n\r\n{"


def test_key_is_judged_before_the_body_is_read(talk):
    """Whoever has none need not send it: 401 while most of it is still to come."""
    head, body = talk(f"{CREATE}\r\nHost: a\r\n{ENDLESS}")
    assert head.startswith("http/1.1 401 ") and "www-authenticate: bearer" in head
    assert json.loads(body) == {"statusCode": 401, "errors": {"error": ["UNAUTHORIZED"]}}


@pytest.mark.parametrize("path", [f"{PREFIX}/sessions", "/control/settings", "/console/mint"])
def test_body_beyond_a_mebibyte_is_refused(talk, headers, path):
    """By what it says, before any of it is read; and by what has come, if it says nothing."""
    start = f"POST {path} HTTP/1.1\r\n{headers}Content-Type: application/json\r\n"
    chunk = f"{MAX_BODY:x}\r\n{'x' * MAX_BODY}\r\n1\r\nx\r\n0\r\n\r\n"
    for raw in (f"{start}{ENDLESS}", f"{start}Transfer-Encoding: chunked\r\n\r\n{chunk}"):
        head, body = talk(raw)
        assert head.startswith("http/1.1 413 ")
        assert json.loads(body) == {"statusCode": 413, "errors": {"error": ["PAYLOAD_TOO_LARGE"]}}


def test_connection_serves_on_after_an_early_answer(live, served, headers):
    """The rest of the refused body is read past, and the next request is answered."""
    port = int(live[1].base_url.rpartition(":")[2])
    first = f"{CREATE}\r\nHost: a\r\nContent-Length: 300000\r\n\r\n{'x' * 300_000}"
    second = f"GET {ME} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall((first + second).encode())
        answers = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answers.count(b"HTTP/1.1 ") == 2 and b"HTTP/1.1 401 " in answers
    assert b'"display_name"' in answers


def test_client_that_goes_away_leaves_no_trace(live, served, headers, caplog):
    """Half a request is nobody's failure."""
    port = int(live[1].base_url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(f"{CREATE}\r\n{headers}Content-Length: 9\r\n\r\n{{".encode())
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(f"GET {ME} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        assert connection.recv(99).startswith(b"HTTP/1.1 401 ")
    assert "Traceback" not in caplog.text
