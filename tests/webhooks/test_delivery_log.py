"""A saved log of deliveries: what is authentic, what repeats, and what the lake lacks."""

import base64
import gzip
import io
import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import svc_analytics as svc
from svc_analytics.cli.commands.statement import statement_text
from svc_analytics.errors import ConfigError, LakeError
from svc_analytics.instants import SECOND, format_instant, parse_instant, to_micros
from svc_analytics.messages import Message
from svc_analytics.periods import month
from svc_analytics.sandbox import Service, serve
from svc_analytics.sandbox.webhooks import WebhookSender
from svc_analytics.schema import PAYMENTS
from svc_analytics.signing.secrets import Secret, parse_secrets
from svc_analytics.signing.webhooks import sign_webhook
from svc_analytics.webhooks import delivery_log
from svc_analytics.webhooks.reconcile import OUTPUT, reconcile_log
from tests.support.altered import flip_column
from tests.support.desks import Desk, machine_clock_at
from tests.support.fake_service import payment, payout
from tests.support.prepared import extracted
from tests.support.sandboxes import NOW, stocked

SECRET = "whsec_one"
AT = "2026-11-10T00:00:00Z"
PAID = payment(1, "2026-11-09T23:59:58Z")
SENT = payout(1, "2026-11-09T23:59:58Z")
LOST = payment(2, "2026-11-09T23:59:58Z")

Line = dict[str, Any]


def event(type_: str, event_id: str = "e-1", **more: Any) -> dict[str, Any]:
    return {"event_id": event_id, "type": type_, **more}


def paid(record: dict[str, Any] = PAID, event_id: str = "e-1") -> dict[str, Any]:
    return event("payment.completed", event_id, payment_id=record["id"], status="completed")


def line(
    body: Any, at: str = AT, secret: str = SECRET, signed_at: str | None = None, **more: Any
) -> Line:
    """A line as a receiver would save it."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    seconds = parse_instant(signed_at or at)[0] // SECOND
    return {
        "received_at": at,
        "signature": sign_webhook(raw, [Secret(secret)], seconds),
        "body_base64": base64.b64encode(raw).decode(),
    } | more


def mime(body: Any) -> str:
    """A body in base64 as Ruby, `base64` and MIME write it."""
    return base64.encodebytes(json.dumps(body).encode()).decode()


def doubled(name: str) -> str:
    """A line that has one member twice."""
    other = json.dumps({name: line(paid(LOST))[name]})
    return f"{other[:-1]}, {json.dumps(line(paid()))[1:]}"


def verdicts(*lines: Any, secrets: str = SECRET) -> list[str]:
    return list(svc.verify_webhooks(lines, secrets=[secrets])["verdict"])


def write(*lines: Any, name: str = "log.ndjson") -> str:
    texts = [item if isinstance(item, str) else json.dumps(item) for item in lines]
    Path(name).write_text("\n".join(texts) + "\n")
    return name


@pytest.fixture
def filled(desk, service, monkeypatch) -> Desk:
    """A lake with one payment and one payout record; the secret is in the environment."""
    service.payments, service.payouts = [PAID], [SENT]
    extracted(desk)
    monkeypatch.setenv("SVC_WEBHOOK_SECRETS", SECRET)
    return desk


# ---------- what is authentic


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([line(paid())], ["valid"]),
        ([line(event("test.ping", source="console"))], ["valid"]),
        ([line(paid()), line(paid(), at="2026-11-10T00:10:00Z")], ["valid", "repeated"]),
        ([line(paid()), line(paid(LOST))], ["valid", "conflicting"]),
        ([line(paid(), at="2026-11-10T00:10:00Z"), line(paid())], ["valid", "repeated"]),
        (
            [
                line(event("session.expired", "e-2", session_id="s"), at="2026-11-12T00:00:00Z"),
                line(paid(), at="2026-11-11T00:00:00Z"),
                line(paid(LOST, "e-3")),
            ],
            ["valid"] * 3,
        ),
        ([line(paid(), secret="another"), line(paid())], ["bad_signature", "valid"]),
        ([line(paid(), signature=None)], ["bad_signature"]),
        ([line(paid(), body_base64="e30=")], ["bad_signature"]),
        ([line(event("wallet.frozen", amount=[1]))], ["ignored"]),
        ([line(event("payment.completed"))], ["malformed"]),
        ([line(event("payment.completed", payment_id=7))], ["malformed"]),
        ([line({"type": "payment.completed"})], ["malformed"]),
        ([line(b"not json")], ["malformed"]),
        ([line(b"[" * 100_000)], ["malformed"]),
        ([line(b'{"event_id":"\\ud800","type":"test.ping"}')], ["malformed"]),
        ([line(paid(event_id="x" * 129))], ["malformed"]),
        ([line(paid(), received_at="yesterday")], ["malformed"]),
        ([line(paid(), received_at=1)], ["malformed"]),
        # Five minutes either way, by `received_at` and not by today.
        ([line(paid(), signed_at="2026-11-09T23:55:00Z")], ["valid"]),
        ([line(paid(), signed_at="2026-11-10T00:05:01Z")], ["bad_signature"]),
        ([line(paid(), body_base64="%%%")], ["malformed"]),
        ([doubled("signature")], ["malformed"]),
        ([doubled("body_base64")], ["malformed"]),
        ([line(paid(), headers={"signature": "x"})], ["valid"]),
        ([line(paid()) | {"body_base64": mime(paid())}], ["valid"]),
        ([line(paid()) | {"body_base64": mime(paid()).replace("\n", "\r\n")}], ["valid"]),
        ([line(paid(), signature="v1=a," * 5000)], ["malformed"]),
        ([{}, "null", "[1]", b"\xff\xfe", "[" * 9000, line(paid())], ["malformed"] * 5 + ["valid"]),
    ],
)
def test_every_line_gets_one_verdict(lines, expected):
    """Whatever a line holds, the lines after it get their verdicts."""
    assert verdicts(*lines) == expected


@pytest.mark.parametrize(
    ("at", "secret", "expected"),
    [
        ("2026-11-09T12:00:00Z", "old", "valid"),
        ("2026-11-09T12:00:00Z", "new", "bad_signature"),
        ("2026-11-10T00:00:00Z", "new", "valid"),
        ("2026-11-11T00:00:00Z", "old", "valid"),
        ("2026-11-11T00:06:00Z", "old", "bad_signature"),
    ],
)
def test_the_ring_is_the_one_of_the_day(at, secret, expected):
    """A new secret from its first day on, the one before it for 24 hours more."""
    ring = "new@2026-11-10T00:00:00Z,old"
    found = svc.verify_webhooks([line(paid(), at=at, secret=secret)], secrets=[ring])
    assert list(found["verdict"]) == [expected]
    assert (expected == "valid") or list(found["reason"]) == [
        Message("webhook.secret_not_in_force")
    ]


def test_a_line_beyond_reason_is_passed_over_in_little_memory():
    """Of 64 MB without a line break only one bounded piece is held at a time."""
    with Path("log.ndjson").open("wb") as file:
        for _ in range(64):
            file.write(b"x" * 1_000_000)
        file.write(b"\n" + json.dumps(line(paid())).encode())
    tracemalloc.start()
    found = delivery_log.read_deliveries("log.ndjson", parse_secrets(SECRET))
    assert [(item.line_no, item.verdict) for item in found] == [(1, "malformed"), (2, "valid")]
    assert tracemalloc.get_traced_memory()[1] < 40_000_000
    tracemalloc.stop()


@pytest.mark.parametrize(("size", "expected"), [(10_000_000, "ignored"), (10_000_001, "malformed")])
def test_a_body_may_have_ten_megabytes(size, expected):
    """Not one byte more."""
    raw = json.dumps(event("big.one", filler="")).encode()
    body = raw[:-2] + b"x" * (size - len(raw)) + raw[-2:]
    assert verdicts(line(body)) == [expected]


# ---------- the lake


def test_records_the_lake_lacks_are_named(filled):
    """A payment and a payout record that are there, one that is not, and what names no money."""
    lines = [
        line(paid()),
        line(event("payout.completed", "e-2", payout_id=SENT["id"], kind="payout")),
        line(paid(LOST, "e-3")),
        line(event("session.expired", "e-4", session_id="s-1")),
        line(paid(LOST, "e-5"), secret="forged"),
    ]
    before = {path: path.read_bytes() for path in filled.lake.path.rglob("*.parquet")}
    found = svc.verify_webhooks(lines, filled.lake)
    assert before == {path: path.read_bytes() for path in filled.lake.path.rglob("*.parquet")}
    assert list(found.columns) == OUTPUT.names
    assert found["in_lake"].to_list()[:3] == [True, True, False]
    assert found["in_lake"].isna().to_list() == [False, False, False, True, True]
    assert found["subject"].to_list()[:4] == ["payment", "payout", "payment", "session"]
    assert found["record_id"][2] == LOST["id"] and "missing" in found["reason"][2]


def test_of_the_lake_only_ids_are_read(filled):
    """An altered amount changes no answer here, and `check` names it; an altered id is named."""
    path = filled.lake.month_path(PAYMENTS, "2026-11")
    flip_column(path, "amount")
    assert list(svc.verify_webhooks([line(paid())], filled.lake)["in_lake"]) == [True]
    flip_column(path, "id")
    with pytest.raises(LakeError, match=r"payments/2026-11\.parquet is torn or altered"):
        svc.verify_webhooks([line(paid())], filled.lake)


CONTRADICTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "another order": (paid() | {"reference_id": "order-99"}, "reference_id"),
    "another session": (paid() | {"session_id": LOST["session_id"]}, "session_id"),
    "another status": (paid() | {"status": "failed"}, "status"),
    "a number": (paid() | {"reference_id": 7}, "reference_id"),
    "a refund": (event("payout.completed", payout_id=SENT["id"], kind="refund"), "kind"),
    "another payout": (
        event("payout.completed", payout_id=SENT["id"], reference_id="x"),
        "reference_id",
    ),
}


def test_an_event_that_contradicts_its_record_says_where(filled, run):
    """Both values, in the row, in the summary and in the exit code."""
    events = [body | {"event_id": name} for name, (body, _) in CONTRADICTIONS.items()]
    lines = [line(each) for each in events]
    found = [*map(json.loads, svc.verify_webhooks(lines, filled.lake)["differences"])]
    assert [[*each] for each in found] == [[fact] for _, fact in CONTRADICTIONS.values()]
    assert all(values.keys() == {"event", "record"} for each in found for values in each.values())
    for log, said in ((lines[:1], "1 record contradicted by an event"), (lines, "2 records")):
        done = run("webhooks", "verify", write(*log), "--data-dir", str(filled.lake.path))
        assert done.code == 3 and said in done.err


def test_an_event_that_says_what_the_record_says_differs_in_nothing(filled):
    """In capitals too; what the record does not have is not compared."""
    facts = {name: PAID[name] for name in ("reference_id", "session_id", "status")}
    capitals = {"payment_id": PAID["id"].upper(), "session_id": PAID["session_id"].upper()}
    bodies = [paid() | facts, paid() | capitals | {"kind": "x"}]
    found = svc.verify_webhooks([line(body) for body in bodies], filled.lake)
    assert found["differences"].isna().all() and found["in_lake"].all()


def findings_in(desk: Desk, log: str, label: str) -> list[dict[str, Any]]:
    """What a log adds to the findings of a month."""
    return reconcile_log(log, desk.lake, month(label), parse_secrets(SECRET)).findings


def test_time_that_was_not_read_accuses_nobody(filled):
    """Delivered behind the newest sweep: not in the lake yet, and so no finding."""
    late = line(paid(LOST), at="2026-11-20T11:59:59Z")
    found = svc.verify_webhooks([late], filled.lake)
    assert list(found["in_lake"]) == [False] and "which was not read that far" in found["reason"][0]
    assert findings_in(filled, write(late), "2026-11") == []


@pytest.mark.usefixtures("kept")
def test_a_statement_is_blocked_by_what_its_log_names(filled, monkeypatch):
    """In the month of the delivery; forged lines are counted, and advisory.

    What the log held stands in the manifest, on the terminal and on the page. Of secrets that it
    is given, the settings are not read.
    """
    monkeypatch.setenv("SVC_WEBHOOK_SECRETS", "another")
    lost = [line(paid(LOST, "l")), line(paid(LOST, "l"), at="2026-11-11T00:00:00Z")]
    lines = [line(paid()), line(paid()), line(paid(LOST, "x"), secret="forged"), "no line", *lost]
    log = write(*lines, line(event("payout.completed", "p", payout_id=SENT["id"])))
    made = svc.statement(filled.lake, "2026-11", webhooks=log, webhook_secrets=[SECRET])
    counts = {"deliveries": 7, "not_valid": 2, "events": 3, "in_lake": 2, "missing": 1}
    assert counts.items() <= made.options["webhooks"].items()
    found = {row["severity"]: row for row in made.checks.to_dict("records")}
    assert len(found) == len(made.checks) and "2 of 7 deliveries" in found["advisory"]["detail"]
    name = "webhook_names_a_record_the_lake_lacks"
    blocking = found["blocking"]
    assert (blocking["check_name"], blocking["record_id"]) == (name, LOST["id"])
    reason = "1 record that a webhook names is not in the lake"
    assert reason in [reason.text for reason in made.reasons]
    said = "log.ndjson: 7 deliveries, 2 not valid; 3 events name payments and payouts of this time"
    assert said in statement_text(made, made.save("made", formats=("html",)))
    assert said in Path("made/statement.html").read_text()


def test_a_statement_takes_no_log_from_stdin(filled):
    """Its manifest names the log by its hash."""
    with pytest.raises(ConfigError, match="not stdin"):
        reconcile_log("-", filled.lake, month("2026-11"), parse_secrets(SECRET))


def test_a_delivery_soon_after_midnight_stands_in_both_months(filled):
    """An event is repeated for a day: the record may be of either, and of no month besides."""
    log = write(line(paid(LOST), at="2026-11-01T12:00:00Z"))
    found = [len(findings_in(filled, log, label)) for label in ("2026-09", "2026-10", "2026-11")]
    assert found == [0, 1, 1]


# ---------- the command


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        ([line(paid()), line(paid()), line(event("new.type", "e-9"))], 0),
        ([], 0),
        ([line(paid(LOST))], 3),
        ([line(paid(), secret="forged")], 3),
        (["not json", line(paid())], 3),
    ],
)
def test_exit_code_says_whether_a_person_should_look(filled, run, lines, code):
    """Repeated events and unknown types are normal; forgeries and missing records are not."""
    done = run("webhooks", "verify", write(*lines))
    assert done.code == code, done.err
    assert done.out.startswith(
        "line_no,event_id,event_type,verdict,reason,subject,record_id,in_lake,differences\n"
    )
    assert " of them not valid (" in done.err


def test_out_is_a_file_and_nothing_on_stdout(filled, run):
    """In the forms of `receipts verify`: the same function writes them."""
    done = run("webhooks", "verify", write(line(paid(LOST))), "--out", "out.json")
    [row] = json.loads(Path("out.json").read_text())
    assert done.out == "" and done.code == 3
    assert list(row) == OUTPUT.names and row["record_id"] == LOST["id"]


def test_json_is_one_document(filled, run):
    """With what is missing by itself."""
    done = run("webhooks", "verify", write(line(paid(LOST)), line(paid())), "--json")
    document = json.loads(done.out)
    assert document["missing"] == [{"subject": "payment", "record_id": LOST["id"]}]
    assert document["verdicts"] == {"conflicting": 1, "valid": 1}
    assert [row["line_no"] for row in document["deliveries"]] == [1, 2]


def test_without_a_secret_nothing_is_verified(run, monkeypatch):
    """A settings error, on the command line and in Python, for a statement too."""
    monkeypatch.delenv("SVC_WEBHOOK_SECRETS", raising=False)
    done = run("webhooks", "verify", write(line(paid())))
    assert done.code == 2 and "SVC_WEBHOOK_SECRETS is not set" in done.err
    with pytest.raises(ConfigError, match="SVC_WEBHOOK_SECRETS"):
        svc.verify_webhooks([line(paid())])


# ---------- files of other forms


def deliveries(content: bytes) -> list[tuple[int, str]]:
    Path("log").write_bytes(content)
    found = svc.verify_webhooks("log", secrets=[SECRET])
    return list(zip(found["line_no"], found["verdict"], strict=True))


TWO = [line(paid()), line(paid(LOST, "e-2"))]
NDJSON = "".join(f"{json.dumps(each)}\n" for each in TWO)
LOGS: dict[str, tuple[bytes, list[int]]] = {
    "a list in a line": (json.dumps(TWO).encode(), [1, 1]),
    "a list over lines": (json.dumps(TWO, indent=2).encode(), [2, 7]),
    "a list in each line": ("".join(f"[{json.dumps(each)}]\n" for each in TWO).encode(), [1, 2]),
    "objects over lines": ("\n".join(json.dumps(each, indent=1) for each in TWO).encode(), [1, 6]),
    "gzip": (gzip.compress(NDJSON.encode()), [1, 2]),
    "gzip of a list": (gzip.compress(json.dumps(TWO).encode()), [1, 1]),
    "two parts of gzip": (b"".join(gzip.compress(x.encode()) for x in (NDJSON, "")), [1, 2]),
    "UTF-16": (NDJSON.encode("utf-16"), [1, 2]),
    "UTF-16 with the other end first": (b"\xfe\xff" + NDJSON.encode("utf-16-be"), [1, 2]),
    "a BOM": (b"\xef\xbb\xbf" + NDJSON.encode(), [1, 2]),
    "CR LF and blank lines": (("\n\n" + NDJSON).replace("\n", "\r\n").encode(), [3, 4]),
}


@pytest.mark.parametrize(("content", "lines"), LOGS.values(), ids=LOGS.keys())
def test_a_log_of_another_form_is_read_whole(content, lines):
    """Each delivery in the line where it begins."""
    assert deliveries(content) == [(number, "valid") for number in lines]


NO_LOGS: dict[str, bytes] = {
    "text": b"not json\n",
    "many lines of text": b"GET /hook 204\n" * 3_000,
    "CSV": b"received_at,signature,body_base64\n2026-11-10T00:00:00Z,t=1,e30=\n",
    "a form of Lambda": json.dumps({"headers": {"x-pay-signature": "t=1"}, "body": "{}"}).encode(),
    "a list of headers": json.dumps([{"headers": [["x-pay-signature", "t=1"]]}] * 4).encode(),
    "an archive of a browser": json.dumps({"log": {"entries": [TWO[0]]}}, indent=2).encode(),
    "events": b'{"event_id":"e-1","type":"test.ping"}\n' * 4,
    "a list of texts": b'["a", "b"]\n[]\n',
    "a workbook": b"PK\x03\x04\n\n\n",
    "bytes": bytes(range(256)) * 9,
    "gzip of text": gzip.compress(b"not json"),
    "torn gzip": gzip.compress(NDJSON.encode())[:-9],
    "gzip of nothing that can be unpacked": b"\x1f\x8b\x08\x00 and words",
}


@pytest.mark.parametrize("content", NO_LOGS.values(), ids=NO_LOGS.keys())
def test_a_file_that_is_no_log_is_refused_once(content, filled, run):
    """With its name and exit code 2, and no row on stdout."""
    Path("other.ndjson").write_bytes(content)
    done = run("webhooks", "verify", "other.ndjson")
    assert (done.code, done.out, len(done.lines)) == (2, "", 1), done.err
    assert "other.ndjson" in done.err
    assert "is no log of webhook deliveries" in done.err or "cannot read" in done.err
    with pytest.raises(ConfigError, match=r"other\.ndjson"):
        reconcile_log("other.ndjson", filled.lake, month("2026-11"), parse_secrets(SECRET))


def test_a_log_with_a_broken_line_is_one_all_the_same(monkeypatch):
    """Whether it comes first or last; also from stdin."""
    content = f"torn\n{NDJSON}{NDJSON[:40]}".encode()
    assert [each for _, each in deliveries(content)] == [
        *("malformed", "valid", "valid", "malformed")
    ]
    buffer = io.BufferedReader(io.BytesIO(gzip.compress(content)))  # type: ignore[arg-type]
    monkeypatch.setattr("sys.stdin", type("Stdin", (), {"buffer": buffer}))
    assert len(svc.verify_webhooks("-", secrets=[SECRET])) == 4


@pytest.mark.parametrize("content", [b"", b"\n \n", b"[]\n", gzip.compress(b"", mtime=0)])
def test_an_empty_log_says_so(content, filled, run):
    """A receiver that saves nothing is no receiver to which nothing was sent."""
    Path("log.ndjson").write_bytes(content)
    done = run("webhooks", "verify", "log.ndjson")
    assert done.code == 0 and "log.ndjson is empty: it holds no delivery" in done.err


# ---------- the sandbox


@pytest.fixture
def sandbox(monkeypatch) -> Iterator[tuple[Service, Path]]:
    """A merchant whose receiver saves what is delivered, and the settings to read it."""
    log = Path("deliveries.ndjson").absolute()
    with stocked(3, 2, 40, None) as service:
        service.webhooks = sender_to(log, service)  # the one that its own thread sends by
        with serve(service) as running, machine_clock_at(NOW):
            for name, value in running.environment.items():
                monkeypatch.setenv(name, value)
            yield service, log


def sender_to(log: Path, service: Service) -> WebhookSender:
    """Return a sender to a receiver that fails once, so that the first event comes twice."""
    failures = ["answered 500"]

    def save(_: str, body: bytes, headers: dict[str, str]) -> str:
        entry = {
            "received_at": format_instant(service.clock.now()),
            "signature": headers["x-pay-signature"],
            "body_base64": base64.b64encode(body).decode(),
        }
        with log.open("a") as file:
            file.write(json.dumps(entry) + "\n")
        return failures.pop() if failures else ""

    service.platform.settings["deliver_to"] = "http://127.0.0.1:9/hook"
    return WebhookSender(service.platform, save)


def test_the_sandbox_is_reconciled(sandbox, run):
    """Its own signer's log: all authentic, one repeated, every payment in the lake but one."""
    service, log = sandbox
    assert run("extract").code == 0
    paid = svc.open_lake("data").sql("select * from payments limit 5").to_dict("records")
    service.clock.set(to_micros(NOW) - 5 * 86_400 * SECOND)
    stranger = str(uuid4())
    with service.platform.store.transaction():
        for record in [*paid, paid[0] | {"payment_id": stranger}]:
            told = {name: record[name] for name in ("session_id", "reference_id", "payment_id")}
            service.platform.outbox.emit(
                "payment.completed", service.clock.now(), **told, status="completed"
            )
    service.webhooks.deliver_due()
    service.clock.advance(60 * SECOND)
    service.webhooks.deliver_due()
    done = run("webhooks", "verify", str(log), "--json")
    document = json.loads(done.out)
    assert done.code == 3 and document["verdicts"] == {"repeated": 1, "valid": 6}
    assert document["contradicting"] == []
    assert document["missing"] == [{"subject": "payment", "record_id": stranger}]
