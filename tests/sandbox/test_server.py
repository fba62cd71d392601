"""The service over HTTP: routes, envelopes, the clock's date, and faults on demand."""

import asyncio
import stat
import time

import httpx
import pytest

from svc_analytics.errors import ConfigError
from svc_analytics.sandbox import Behaviour, Service, serve, write_env_file
from svc_analytics.sandbox.app import create_app
from svc_analytics.sandbox.routes import PREFIX, ROUTES

NO_KEY = {"authorization": "none"}


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "NOT_FOUND"),
        ("GET", "/payments/", 404, "NOT_FOUND"),
        ("GET", "/payments/unknown", 404, "PAY_SESSION_NOT_FOUND"),
        ("GET", "/payments?limit=0", 422, "VALIDATION_FAILED"),
        ("DELETE", "/payments", 405, "METHOD_NOT_ALLOWED"),
        ("POST", "/receipts/verify", 403, "PAY_WRONG_KEY_KIND"),
    ],
)
def test_every_error_has_the_envelope(client, method, path, status, code):
    """Errors: {statusCode, errors: {error: [CODE]}} and nothing else."""
    answer = client.request(method, path)
    assert answer.status_code == status
    assert answer.json() == {"statusCode": status, "errors": {"error": [code]}}
    assert answer.headers["content-type"] == "application/json"
    assert "date" in answer.headers


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation)
@pytest.mark.parametrize("header", ["none", "Bearer", "Bearer x", "Basic eDp5"])
def test_route_without_a_good_key_is_unauthorized(client, route, header):
    """401 UNAUTHORIZED for a missing, malformed or unknown key, whatever else is wrong."""
    path = route.path.replace("{id}", "x")
    answer = client.request(route.method, path, headers={"authorization": header})
    assert answer.status_code == 401
    assert answer.json() == {"statusCode": 401, "errors": {"error": ["UNAUTHORIZED"]}}


def test_two_keys_in_one_request_are_no_key(client):
    """Though the first is right: nobody chooses between them."""
    good = client.headers["authorization"]
    for second in (good, "Bearer x"):
        headers = [("authorization", good), ("authorization", second)]
        answer = httpx.get(f"{client.base_url}me", headers=headers)
        assert answer.status_code == 401


def test_failure_of_the_service_has_the_envelope(store, service, monkeypatch, caplog):
    """A bug answers 500 INTERNAL_SERVER_ERROR, and its traceback goes to the log."""
    monkeypatch.setattr(Service, "me", lambda *_: 1 / 0)
    with serve(service) as running:
        answer = httpx.get(f"{running.base_url}{PREFIX}/me")
    assert answer.json() == {"statusCode": 500, "errors": {"error": ["INTERNAL_SERVER_ERROR"]}}
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
    app_routes = {
        (method, route.path)
        for route in create_app(served).routes
        for method in route.methods - {"HEAD"}  # is wherever GET is
    }
    assert described == app_routes - {("GET", "/openapi.json")}
    assert document["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
    assert {"statusCode", "errors"} == set(document["components"]["schemas"]["Error"]["required"])


@pytest.mark.parametrize(
    ("failure", "status", "code"),
    [
        *(("500", 500, "INTERNAL_SERVER_ERROR"), ("502", 502, "BAD_GATEWAY")),
        *(("503", 503, "SERVICE_UNAVAILABLE"), ("429", 429, "RATE_LIMITED")),
        ("429_retry_after", 429, "RATE_LIMITED"),
    ],
)
def test_refusals_on_demand_have_the_envelope(served, client, failure, status, code):
    """An ordered failure looks like a real one; only the one says when to come back."""
    served.behaviour = Behaviour(fail_every=1, failures=(failure,), retry_after="7")
    answer = client.get("/payments")
    assert answer.json() == {"statusCode": status, "errors": {"error": [code]}}
    assert answer.headers.get("retry-after") == ("7" if failure.endswith("after") else None)


@pytest.mark.parametrize(
    ("failure", "error", "said"),
    [
        ("cut", httpx.RemoteProtocolError, "without sending complete"),
        ("reset", httpx.ReadError, None),
    ],
)
def test_connection_ends_within_an_answer_or_before_it(served, client, failure, error, said):
    """Half a page arrives, and less than was announced; or it is torn down under the request."""
    served.behaviour = Behaviour(fail_every=1, failures=(failure,))
    with pytest.raises(error, match=said):
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

    assert asyncio.run(cell()) == 401


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
