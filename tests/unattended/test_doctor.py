"""The doctor: what it finds wrong, with a next step, and that it writes nothing."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import svc_analytics as svc
from svc_analytics.config import Settings
from svc_analytics.instants import parse_bound
from svc_analytics.lake.lake import Lake
from svc_analytics.sandbox import Clock, Scenario, Service, Store, seed
from svc_analytics.sandbox.server import serve
from svc_analytics.unattended import doctor
from svc_analytics.unattended.notifiers import read_watching
from svc_analytics.unattended.watch import Watch
from tests.support.desks import Run
from tests.support.loopback import SELF_SIGNED, answering, self_signed
from tests.support.mail import MailHandler, mail_server, post_office
from tests.support.signers import make_key

Points = Callable[[], dict[str, dict[str, str]]]


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> Iterator[tuple[Path, dict[str, str]]]:
    """A folder with a lake that is up to date, and the settings of its service."""
    folder, clock = tmp_path_factory.mktemp("doctor"), Clock()
    with Store() as store, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        seed(store, Scenario(7, 2, 40, until=clock.now()))
        with serve(Service(store, clock)) as running:
            for name, value in running.environment.items():
                patch.setenv(name, value)
            svc.extract(svc.open_lake("data"))
            yield folder, dict(running.environment)


@pytest.fixture
def run(run, served, monkeypatch) -> Run:
    folder, settings = served
    monkeypatch.chdir(folder)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    return run


@pytest.fixture
def points(run) -> Points:
    """The points that are wrong, by their names."""

    def examine() -> dict[str, dict[str, str]]:
        done = run("doctor", "--json")
        found = json.loads(done.out)["points"]
        wrong = {point["name"]: point for point in found if point["state"] == "wrong"}
        assert done.code == (3 if wrong else 0) and all(one["next_step"] for one in wrong.values())
        return {name: one for name, one in wrong.items() if name != "months"}

    return examine


def test_what_is_right_is_well_and_nothing_is_written(run, points):
    """Each key tells whose it is and what it reads; the month that is over is the one thing due."""
    before = {path: path.stat().st_mtime_ns for path in Path().rglob("*")}
    assert points() == {}
    assert {path: path.stat().st_mtime_ns for path in Path().rglob("*")} == before
    lines = run("doctor").out.splitlines()
    assert any("payout key: a payout-class key of " in line for line in lines)
    assert any(line.startswith("wrong months: over and not sealed: ") for line in lines)


def test_a_lake_is_made_for_its_owner_and_group_alone(run):
    """And the doctor tells of one that every user can read, and of such a `.env`."""
    lake = Path("data")
    assert lake.stat().st_mode & 0o007 == 0
    lake.chmod(0o755)
    Path(".env").touch(mode=0o644)
    try:
        texts = run("doctor").out
        assert f"next: chmod o-rwx {lake.absolute()}" in texts
        assert f"next: chmod 600 {Path('.env').absolute()}" in texts
    finally:
        lake.chmod(0o750)
        Path(".env").unlink()


def test_what_is_missing_or_refused_is_named(points, monkeypatch):
    """A key that the service does not know, a receipt secret, room on the disk."""
    monkeypatch.setenv("SVC_PAYOUT_KEY", "svc_payout_" + "0" * 64)
    monkeypatch.delenv("SVC_RECEIPT_SECRETS")
    monkeypatch.setattr(doctor, "LEAST_DISK", 1 << 60)
    assert points().keys() == {"payout key", "receipt secrets", "disk"}
    monkeypatch.setenv("SVC_PAYOUT_KEY", "svc_live_" + "0" * 64)
    assert points().keys() == {"settings"}


@pytest.mark.parametrize("is_refused", [False, True])
def test_a_lake_is_asked_whose_it_is_where_it_is_there_and_a_key_tells(
    is_refused, points, run, monkeypatch, tmp_path
):
    """Before the first extraction nothing is wrong; a torn lake.json is said once."""
    monkeypatch.setenv("SVC_DATA_DIR", str(tmp_path / "new"))
    if is_refused:
        (tmp_path / "new").mkdir(mode=0o700)
        (tmp_path / "new" / "lake.json").write_text("torn")
        for name in ("checkout", "payout"):
            key = {"checkout": "live", "payout": "payout"}[name]
            monkeypatch.setenv(f"SVC_{name.upper()}_KEY", f"svc_{key}_" + "0" * 64)
    assert points().keys() == ({"checkout key", "payout key", "lake"} if is_refused else set())
    assert run("doctor").out.count(" lake: ") == 1


def test_what_signs_and_stamps_is_looked_at(points, run, monkeypatch, tmp_path):
    """Where it is set: the key and `ssh-keygen`, the authority's address and `openssl`."""
    monkeypatch.setenv("SVC_SIGNING_KEY", str(make_key(tmp_path, "own")))
    monkeypatch.setenv("SVC_TSA_URL", "https://tsa.example")
    lines = [line for line in run("doctor").out.splitlines() if "well s" in line]
    assert any(line.startswith("well signing key: ") and "SHA256:" in line for line in lines)
    assert "; what it signed is remembered in /" in run("doctor").out
    assert any(line.startswith("well stamps: openssl is here; https://tsa") for line in lines)
    monkeypatch.setenv("SVC_SIGNING_KEY", __file__)
    monkeypatch.setenv("SVC_TSA_URL", "tsa.example")
    assert points().keys() == {"signing key", "stamps"}
    monkeypatch.setenv("PATH", str(tmp_path))
    found = points()
    assert "ssh-keygen is not installed" in found["signing key"]["text"]


SMTP = "smtp://127.0.0.1:1?from=a@x.example&to=b@x.example"


@pytest.mark.parametrize(
    ("setting", "value", "name", "says"),
    [
        ("SVC_MEMORY", "4", "memory", "SVC_MEMORY is not an amount of memory"),
        ("SVC_RATES_GAPS", "any", "rates", "SVC_RATES_GAPS is 'any'"),
        ("SVC_MATCH", "order=a.csv", "lists", "SVC_MATCH has 'order=a.csv'"),
        ("SVC_MATCH", "orders=a.csv", "lists", "a.csv cannot be read"),
        ("SVC_ENGINE", "spark", "engine", "SVC_ENGINE names no engine"),
        ("SVC_NOTIFY", SMTP, "notices", "b@x.example (smtp://127.0.0.1) is not reached"),
        ("SVC_NOTIFY", "https://127.0.0.1:1/hook", "notices", "https://127.0.0.1 is not reached"),
        ("SVC_NOTIFY", "slack+https://127.0.0.1:1/hook", "notices", "is not reached"),
        ("SVC_NOTIFY", "exec:/nowhere/tell", "notices", "exec:tell cannot be run"),
        ("SVC_PING_URL", "http://127.0.0.1:1/ping-token", "ping", "127.0.0.1 is not reached"),
        ("SVC_METRICS_FILE", "none/x.prom", "metrics", "there is no folder"),
        ("SVC_METRICS_FILE", "data", "metrics", "cannot be written"),
        ("SVC_CLOSE_ZONE", "Asia/Teheran", "close", "no time zone 'Asia/Teheran'"),
        ("SVC_CLOSE_GRACE_HOURS", "many", "close", "'many' is not a valid int"),
        ("SVC_STATE_DIR", "data/lake.json", "folders", "lake.json cannot be written to"),
        ("SVC_CA_FILE", "none.pem", "authorities", "SVC_CA_FILE names no file"),
        ("SVC_BASE_URL", "http://127.0.0.1:1", "service", "nothing listens"),
    ],
)
def test_it_is_green_only_where_runs_work(setting, value, name, says, points, monkeypatch):
    """One cause is one line, and the next step names no key that nobody answered to."""
    monkeypatch.setenv("SVC_PATIENCE", "1")
    monkeypatch.setenv(setting, value)
    found = points()
    assert found.keys() == {name} and says in found[name]["text"]
    assert "_KEY" not in found[name]["next_step"]
    assert "token" not in str(found)


def test_an_untrusted_certificate_is_one_cause_in_one_line(points, monkeypatch):
    """No key is named, whose service nobody has heard."""
    monkeypatch.setenv("SVC_PATIENCE", "1")
    with answering(b"", self_signed()) as server:
        monkeypatch.setenv("SVC_BASE_URL", f"https://localhost:{server.port}")
        found = points()
    assert found.keys() == {"service"} and "SVC_CA_FILE" in found["service"]["next_step"]
    assert "_KEY" not in str(found)


def test_a_service_that_is_away_says_nothing_of_keys(points, monkeypatch):
    """It answers, that it is in maintenance."""
    body = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    monkeypatch.setenv("SVC_PATIENCE", "1")
    with answering(body) as server:
        monkeypatch.setenv("SVC_BASE_URL", server.base_url)
        found = points()
    assert found.keys() == {"service"} and "_KEY" not in str(found)


def test_a_mail_server_is_asked_for_each_receiver_and_gets_no_mail(points, run, monkeypatch):
    """It refuses one of two."""
    handler = MailHandler()
    handler.unknown = {"c@x.example"}
    with mail_server(handler) as port:
        address = f"smtp://127.0.0.1:{port}?from=a@x.example&to=b@x.example,c@x.example"
        monkeypatch.setenv("SVC_NOTIFY", address)
        text = "c@x.example (smtp://127.0.0.1) is not reached: it answered 550 no such user"
        assert points()["notices"]["text"] == text
        assert "well notices: the mail server takes mail for b@x.example" in run("doctor").out
        assert handler.mails == []


def test_a_file_of_records_that_was_altered_is_wrong(points):
    """Of any month: each vouches for its bytes."""
    [path, *_] = sorted(Path("data/payments").glob("20*.parquet"))
    content = path.read_bytes()
    path.write_bytes(content[:100] + bytes([content[100] ^ 1]) + content[101:])
    try:
        found = points()
        assert found.keys() == {"records"} and path.name in found["records"]["text"]
    finally:
        path.write_bytes(content)


def test_what_it_does_not_look_at_it_says(run, monkeypatch):
    """Behind a proxy it sees neither a certificate nor who is told."""
    monkeypatch.setenv("SVC_PATIENCE", "1")
    with post_office() as office:
        monkeypatch.setenv("SVC_PROXY", office.web)
        monkeypatch.setenv("SVC_NOTIFY", f"{office.web}/hook")
        lines = run("doctor").out.splitlines()
    notes = [line.partition(":")[0] for line in lines if "not looked at" in line]
    assert notes == ["wrong service", "note notices", "note not looked at"]
    assert all("; next: " in line for line in lines if not line.startswith("well "))


def test_how_the_last_run_ended_is_told(run, monkeypatch):
    """Where it is kept; and that none is known, as where no timer started one."""

    def runs() -> list[str]:
        return [line for line in run("doctor").out.splitlines() if " run" in line.partition(":")[0]]

    assert runs() == []
    monkeypatch.setenv("SVC_NOTIFY", "exec:/bin/true")
    assert "note runs: none is known yet: no timer has started close or extract" in runs()[0]
    assert run("extract").code == 0
    assert runs()[0].startswith("well extract run: last ended with 0, ")
    Watch("extract", lambda: Lake(Path("data")), read_watching(), print).__enter__()
    assert runs()[1].startswith("note extract run: one began ") and len(runs()) == 2
    Path("data/.told.json").unlink()


def test_a_wrong_clock_and_old_data_are_wrong(points, monkeypatch):
    """This machine is three days ahead of the service."""
    real = doctor.now()
    for module in ("unattended.doctor", "instants"):
        monkeypatch.setattr(f"svc_analytics.{module}.now", lambda: real + 3 * 86_400_000_000)
    assert points().keys() == {"clock", "payments", "payout_records"}


@pytest.mark.parametrize(
    ("trusted", "at", "state", "text", "step"),
    [
        ("", "2119-12-01", "wrong", "certificate verify failed", "by SVC_CA_FILE"),
        (str(SELF_SIGNED), "2119-12-01", "well", "is trusted for 31 days more", ""),
        (str(SELF_SIGNED), "2119-12-25", "note", "is trusted for 7 days more", "tell whoever runs"),
    ],
    ids=["of nobody", "trusted", "ends soon"],
)
def test_the_certificate_of_the_service_is_looked_at(trusted, at, state, text, step, monkeypatch):
    """Whether it is trusted, and for how long still: until 1 January 2120."""
    monkeypatch.setattr(doctor, "now", lambda: parse_bound(at))
    with answering(b"", self_signed()) as server:
        settings = Settings(base_url=f"https://localhost:{server.port}", ca_file=trusted)
        [point] = doctor._certificate(settings)
    assert (point.name, point.state) == ("TLS", state)
    assert text in point.text and step in point.next_step and bool(step) == bool(point.next_step)
