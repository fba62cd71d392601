"""The service over HTTP: routes, envelopes, faults on demand, and its very bytes."""

import json
import re
import socket
import stat
import time

import httpx
import pytest

from svc_analytics.errors import ConfigError
from svc_analytics.sandbox import Behaviour, Service, serve, write_env_file
from svc_analytics.sandbox.app import MAX_BODY, create_app
from svc_analytics.sandbox.routes import PREFIX, ROUTES
from tests.sandbox.shop import answered
from tests.support.loops import LoopApart

NO_KEY = {"authorization": "none"}


REFUSED = {
    "GET /nowhere": (404, "NOT_FOUND"),
    "GET /payments/": (404, "NOT_FOUND"),
    "GET /payments/unknown": (404, "PAY_SESSION_NOT_FOUND"),
    "GET /payments?limit=0": (422, "VALIDATION_FAILED"),
    "DELETE /payments": (405, "METHOD_NOT_ALLOWED"),
    "POST /receipts/verify": (403, "PAY_WRONG_KEY_KIND"),
}


@pytest.mark.parametrize("request_line", REFUSED)
def test_every_error_has_the_envelope(client, request_line):
    """Errors: {statusCode, errors: {error: [CODE]}} and nothing else."""
    answer = client.request(*request_line.split())
    assert answered(answer) == REFUSED[request_line]
    assert answer.headers["content-type"] == "application/json" and "date" in answer.headers


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation)
@pytest.mark.parametrize("header", ["none", "Bearer", "Bearer x", "Basic eDp5"])
def test_route_without_a_good_key_is_unauthorized(client, route, header):
    """401 UNAUTHORIZED for a missing, malformed or unknown key, whatever else is wrong."""
    path = route.path.replace("{id}", "x")
    answer = client.request(route.method, path, headers={"authorization": header})
    assert answered(answer) == (401, "UNAUTHORIZED")


def test_two_keys_in_one_request_are_no_key(client):
    """Though the first is right: nobody chooses between them."""
    good = client.headers["authorization"]
    for second in (good, "Bearer x"):
        headers = [("authorization", good), ("authorization", second)]
        assert httpx.get(f"{client.base_url}me", headers=headers).status_code == 401


def test_failure_of_the_service_has_the_envelope(store, service, monkeypatch, caplog):
    """A bug answers 500 INTERNAL_SERVER_ERROR, and its traceback goes to the log."""
    monkeypatch.setattr(Service, "me", lambda *_: 1 / 0)
    with serve(service) as running:
        answer = httpx.get(f"{running.base_url}{PREFIX}/me")
    assert answered(answer) == (500, "INTERNAL_SERVER_ERROR")
    assert "ZeroDivisionError" in caplog.text


def test_date_is_the_clocks(served, client, scenario):
    """Every answer carries the sandbox's own time, or none if so told."""
    assert client.get("/me").headers.get_list("date") == ["Fri, 20 Nov 2026 12:00:00 GMT"]
    served.clock.advance(3_600_000_000)
    assert client.get("/x").headers["date"] == "Fri, 20 Nov 2026 13:00:00 GMT"
    served.behaviour = Behaviour(no_date_header=True)
    assert "date" not in client.get("/me").headers


def test_openapi_lists_exactly_the_served_routes(live, served, client):
    """The description names each served method and path, with its error envelope and security."""
    document = httpx.get(f"{live[1].base_url}/openapi.json").json()
    described = {
        (method.upper(), path) for path, methods in document["paths"].items() for method in methods
    }
    routes = create_app(served).routes
    app_routes = {(method, route.path) for route in routes for method in route.methods}
    app_routes -= {("HEAD", path) for _, path in app_routes}  # is wherever GET is
    assert described == app_routes - {("GET", "/openapi.json")}
    assert document["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
    assert {"statusCode", "errors"} == set(document["components"]["schemas"]["Error"]["required"])


ORDERED = {"500": "INTERNAL_SERVER_ERROR", "502": "BAD_GATEWAY", "503": "SERVICE_UNAVAILABLE"}
ORDERED |= {"429": "RATE_LIMITED", "429_retry_after": "RATE_LIMITED"}


@pytest.mark.parametrize("failure", ORDERED)
def test_refusals_on_demand_have_the_envelope(served, client, failure):
    """An ordered failure looks like a real one; only the one says when to come back."""
    served.behaviour = Behaviour(fail_every=1, failures=(failure,), retry_after="7")
    answer = client.get("/payments")
    assert answered(answer) == (int(failure[:3]), ORDERED[failure])
    assert answer.headers.get("retry-after") == ("7" if failure.endswith("after") else None)


ENDS = {"cut": httpx.RemoteProtocolError, "reset": httpx.ReadError}


@pytest.mark.parametrize("failure", ENDS)
def test_connection_ends_within_an_answer_or_before_it(served, client, failure):
    """Half a page arrives, and less than was announced; or it is torn down under the request."""
    served.behaviour = Behaviour(fail_every=1, failures=(failure,))
    said = "without sending complete" if failure == "cut" else None
    with pytest.raises(ENDS[failure], match=said):
        client.get("/payments")


def test_every_third_request_fails_in_turn(live, served):
    """Failures come at a steady rate and alternate, the others are answered."""
    service = Service(served.store, served.clock, Behaviour(fail_every=3, failures=("503", "500")))
    with serve(service) as running, httpx.Client(base_url=running.base_url) as client:
        statuses = [client.get(f"{PREFIX}/me", headers=NO_KEY).status_code for _ in range(9)]
    assert statuses == [401, 401, 503, 401, 401, 500, 401, 401, 503]


def test_latency_delays_an_answer(served, client):
    """A slow service answers all the same, and no sooner than it says."""
    served.behaviour = Behaviour(latency=0.05)
    started = time.monotonic()
    assert client.get("/me").status_code == 200
    assert time.monotonic() - started >= 0.05


def test_server_runs_beside_an_event_loop(service):
    """In JupyterLab the caller's thread already runs a loop."""

    async def cell():
        with serve(service) as running:
            return httpx.get(f"{running.base_url}{PREFIX}/me", headers=NO_KEY).status_code

    with LoopApart() as loop:
        assert loop.run(cell()) == 401


def test_port_in_use_is_told(live, service):
    """A taken port is a setting to change, and the message says how."""
    port = httpx.URL(live[1].base_url).port
    with pytest.raises(ConfigError, match=f"port {port} is in use"), serve(service, port=port):
        pass


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "example.com"])
def test_only_loopback_is_served(service, host):
    """The sandbox is for this machine alone."""
    with pytest.raises(ConfigError, match="loopback"), serve(service, host=host):
        pass


def test_env_file_is_private_and_whole(live, tmp_path):
    """Settings are written in one step, readable by their owner only."""
    file = tmp_path / ".env"
    file.write_text("SVC_BASE_URL=http://127.0.0.1:1\n")
    environment = live[1].environment
    write_env_file(file, environment)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert dict(line.split("=", 1) for line in file.read_text().splitlines()) == environment
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("text", ["SVC_BASE_URL=https://pay.example\n", "DATABASE_URL=x\n"])
def test_env_file_of_something_else_is_left_as_it_is(tmp_path, text):
    """It may hold the only copy of a live key."""
    file = tmp_path / ".env"
    file.write_text(text)
    with pytest.raises(ConfigError, match="name another file"):
        write_env_file(file, {"SVC_BASE_URL": "http://127.0.0.1:2"})
    assert file.read_text() == text


def test_env_file_that_cannot_be_written_is_told(tmp_path):
    """A folder that is not there is named."""
    with pytest.raises(ConfigError, match="cannot write"):
        write_env_file(tmp_path / "nowhere" / ".env", {})


def test_environment_is_accepted_by_the_settings(live, tmp_path):
    """What the sandbox hands out is what the toolkit reads."""
    from svc_analytics.config import read_settings

    running = live[1]
    settings = read_settings(environ=running.environment, folder=tmp_path)
    assert settings.base_url == running.base_url
    assert settings.key_classes == ("checkout", "payout")
    assert len(settings.receipt_secrets) == 2
    assert "svc_" not in repr(running)


# The sandbox on the wire: what a client sees that is no HTTP library of ours.

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
    served, plain = methods | ({"HEAD"} if "GET" in methods else set()), re.sub("[{}]", "", path)
    for method in {"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"} - methods:
        head, body = talk(f"{method} {plain} HTTP/1.1\r\n{headers}\r\n")
        assert f"allow: {', '.join(sorted(served))}\r\n".lower() in head
        assert json.loads(body) == {"statusCode": 405, "errors": {"error": ["METHOD_NOT_ALLOWED"]}}


def test_path_may_come_with_its_host(talk, headers):
    """RFC 9112: the absolute form is the same request, and its host is the one that counts."""
    for url, status in ((f"http://any.example{ME}", 200), ("http://evil.example/control", 403)):
        assert talk(f"GET {url} HTTP/1.1\r\n{headers}\r\n")[0].startswith(f"http/1.1 {status} ")


def test_paths_of_the_pages_may_end_in_a_slash(talk, headers):
    """A redirect would be an answer without the envelope."""
    for path, status in (("/control/", 200), (f"{ME}/", 404)):
        head, _ = talk(f"GET {path} HTTP/1.1\r\n{headers}\r\n")
        assert head.startswith(f"http/1.1 {status} ")


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
