"""How notices reach whom they are for: a real mail server, receivers, sizes, time and trust."""

import ssl
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from svc_analytics.errors import ConfigError
from svc_analytics.unattended import delivery
from svc_analytics.unattended.notices import Notice, NoticeLog, open_notice_log
from svc_analytics.unattended.notifiers import Undelivered, read_notifiers, read_watching
from svc_analytics.unattended.run_notices import Attachment, RunNotices
from tests.support.loopback import Web, answering, serving
from tests.support.mail import MailHandler, mail_server, post_office

SELF_SIGNED = Path(__file__).parent.parent / "signing" / "vectors" / "self-signed.pem"
STATE = Notice("attention:x", "attention", "2026-09 is not sealed", ("a rule is broken",))


class Teller:
    """Sends notices as a run does; another time again what was not taken."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.warnings = folder, list[str]()

    def notices(self, log: NoticeLog) -> RunNotices:
        watching = read_watching()
        log.begin([one.key for one in watching.receivers], [])
        facts = {"command": "close", "exit_code": 3, "at": "now", "lake": "/srv/shop"}
        return RunNotices(log, facts, watching, self._warn)

    def tell(self, *states: Notice) -> list[str]:
        self.warnings.clear()
        with open_notice_log(self.folder) as log:
            log.command("close").states = [*states]
            self.notices(log).send_states("close", None)
        return self.warnings

    def send(self, notice: Notice, *files: Attachment) -> list[str]:
        self.warnings.clear()
        with open_notice_log(self.folder) as log:
            notices = self.notices(log)
            for one in notices.watching.receivers:
                notices._deliver(one, notice, files)
        return self.warnings

    def _warn(self, what: str, error: Exception) -> None:
        self.warnings.append(f"{what}: {error}")


@pytest.fixture
def teller(tmp_path) -> Teller:
    return Teller(tmp_path / "lake")


def attached(name: str, size: int) -> Attachment:
    return Attachment(Path("2026-09") / name, "0" * 64, b"x" * size)


# ---------- whom


@pytest.mark.parametrize(
    ("query", "sender", "people"),
    [
        ("from=a@x.example&to=finance+close@x.example", "a@x.example", ["finance+close@x.example"]),
        ("from=a+b@x.example&to=c@x.example", "a+b@x.example", ["c@x.example"]),
        ("from=a@x.example&to=b%2Bc@x.example", "a@x.example", ["b+c@x.example"]),
        ("from=a@x.example&to=50%25off@x.example", "a@x.example", ["50%off@x.example"]),
        ("from=Shop <a@x.example>&to=Sara%20<b@x.example>", "a@x.example", ["b@x.example"]),
        ('from=a@x.example&to="Naderi, Sara" <b@x.example>, c@x', "a@x.example", None),
        ("from=a@x.example&to=b@x.example; c@x.example", "a@x.example", None),
        ("from=a@x.example&to=b@x.example&to=c@x.example", "a@x.example", None),
        ("from=a@x.example&to=b#1@x.example&cc=c@x.example", "a@x.example", None),
        ("from=a@x.example&to=root", "a@x.example", ["root"]),
        ("from=a@x.example&to=b@x@y.example", None, None),
        ("from=a@x.example&to=b c@x.example", None, None),
    ],
)
def test_an_address_is_read_as_people_write_it(query, sender, people):
    """No `+` is a blank; a name may stand before it, and what is none is refused."""
    if sender is None:
        with pytest.raises(ConfigError, match="the receiver 1 is no address"):
            read_notifiers(f"smtp://m.example?{query}")
        return
    [notifier] = read_notifiers(f"smtp://m.example?{query}")
    assert notifier.people("from") == [sender]
    receivers = [each.receiver for each in notifier.each]
    assert receivers == people if people else len(receivers) == 2


def test_each_receiver_gets_the_notice_or_is_named_and_tried_again(teller, monkeypatch):
    """A server that takes a mail for one of three refuses the others alone."""
    handler = MailHandler()
    handler.unknown = {"b@x.example", "c@x.example"}
    with mail_server(handler) as port:
        people = "a+1@x.example,b@x.example,c@x.example"
        address = f"smtp://127.0.0.1:{port}?from=Shop <s@x.example>&to={people}"
        monkeypatch.setenv("SVC_NOTIFY", address)
        assert teller.tell(STATE) == [
            f"{one}@x.example (smtp://127.0.0.1) was not told: it answered 550 no such user"
            for one in "bc"
        ]
        assert [people for people, _ in handler.mails] == [["a+1@x.example"]]
        assert handler.mails[0][1]["To"] == people.replace(",", ", ")
        assert handler.mails[0][1]["From"] == "Shop <s@x.example>"
        assert "\nlake: /srv/shop, on " in handler.mails[0][1].as_string()
        handler.unknown = {"c@x.example"}
        assert len(teller.tell(STATE)) == 1 and handler.mails[1][0] == ["b@x.example"]
        handler.unknown.clear()
        assert teller.tell(STATE) == [] and handler.mails[2][0] == ["c@x.example"]
        assert teller.tell(STATE) == [] and len(handler.mails) == 3


@pytest.mark.parametrize("name", ["Shop", "Saffron & Tile · زعفران و کاشی", "فروشگاه " * 20])
def test_a_subject_arrives_as_it_was_written(name, teller, monkeypatch):
    """A long one in Persian too, with each blank."""
    handler, subject = MailHandler(), f"{name.strip()}: 2026-07 is sealed"
    with mail_server(handler) as port:
        address = f"smtp://127.0.0.1:{port}?from=s@x.example&to=a@x.example"
        monkeypatch.setenv("SVC_NOTIFY", address)
        assert teller.send(replace(STATE, subject=subject)) == []
    assert handler.mails[0][1]["Subject"] == f"svc-analytics close: {subject}"


def test_a_notifier_that_cannot_be_called_keeps_no_other_from_it(teller, monkeypatch):
    """As where the file of authorities is not there."""
    with post_office() as office:
        monkeypatch.setenv("SVC_CA_FILE", "none.pem")
        monkeypatch.setenv("SVC_NOTIFY", f"https://localhost:1/hook,{office.web}/hook")
        [warning] = teller.tell(STATE)
        assert warning.startswith("https://localhost was not told: ") and "SVC_CA_FILE" in warning
        assert [one["event"] for one in office.documents()] == ["attention"]


# ---------- in which form


@pytest.mark.parametrize("limit", [5_000, 30_000, 100_000])
def test_a_mail_that_is_too_large_goes_without_its_largest_files(limit, teller, monkeypatch):
    """By the server's own limit, compared with the mail as it is sent; what is left out is said."""
    handler, files = MailHandler(), (attached("a.pdf", 40_000), attached("b.xlsx", 15_000))
    with mail_server(handler, data_size_limit=limit) as port:
        query = "from=s@x.example&to=a@x.example"
        monkeypatch.setenv("SVC_NOTIFY", f"smtp://127.0.0.1:{port}?{query}")
        warnings = teller.send(STATE, *files)
    [(_, letter)] = handler.mails
    names = [each.get_filename() for each in letter.iter_attachments()]
    left = {5_000: ["2026-09-a.pdf", "2026-09-b.xlsx"], 30_000: ["2026-09-a.pdf"], 100_000: []}
    assert {*names} == {each.name for each in files} - {*left[limit]}
    body = letter.get_body(("plain",))
    text = "" if body is None else body.get_content().replace("\n", " ")
    assert all(
        f"left out: {name}, SHA-256 {'0' * 64}: it answered 552" in text for name in left[limit]
    )
    assert STATE.lines[0] in text and text.count("left out") == len(left[limit])
    assert ["told in a smaller form: it answered 552" in one for one in warnings] == (
        [True] * bool(left[limit])
    )


def test_our_own_limit_is_of_the_mail_as_it_is_sent(teller, monkeypatch):
    """Base64 makes a third more of each file."""
    handler = MailHandler()
    monkeypatch.setattr(delivery, "MOST_MAILED", 60_000)
    with mail_server(handler) as port:
        query = "from=s@x.example&to=a@x.example"
        monkeypatch.setenv("SVC_NOTIFY", f"smtp://127.0.0.1:{port}?{query}")
        [warning] = teller.send(STATE, attached("a.pdf", 50_000))
        assert "more than most servers take" in warning
        assert teller.send(STATE, attached("a.pdf", 40_000)) == []
    assert [len([*letter.iter_attachments()]) for _, letter in handler.mails] == [0, 1]


@pytest.mark.parametrize(
    ("offence", "subject", "has_line"),
    [
        (b"application/pdf", "svc-analytics close: 2026-09 is not sealed", True),
        (b"a rule", "svc-analytics close: attention", False),
        (b"is not sealed", "svc-analytics close: attention", False),
    ],
)
def test_whose_content_is_refused_goes_without_it(offence, subject, has_line, teller, monkeypatch):
    """A file, a line, the subject itself: the smallest form is its event."""
    handler = MailHandler()
    handler.offence = offence
    with mail_server(handler) as port:
        query = "from=s@x.example&to=a@x.example"
        monkeypatch.setenv("SVC_NOTIFY", f"smtp://127.0.0.1:{port}?{query}")
        [warning] = teller.send(STATE, attached("a.pdf", 100))
    [(_, letter)] = handler.mails
    body = letter.get_body(("plain",))
    text = "" if body is None else body.get_content()
    assert letter["Subject"] == subject and "left out: " in text and "554" in warning
    assert (STATE.lines[0] in text) is has_line


@pytest.mark.parametrize("scheme", ["", "slack+"])
def test_a_webhook_that_takes_less_gets_less(scheme, teller, monkeypatch):
    """A proxy answers 413; Slack takes 40,000 letters, and would cut off the rest."""
    bodies = list[bytes]()

    class Small(Web):
        def post(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            bodies.extend([body] * (len(body) < 4_000))
            self.answer(200 if len(body) < 4_000 else 413)

    with serving(Small) as port:
        monkeypatch.setenv("SVC_NOTIFY", f"{scheme}http://127.0.0.1:{port}/hook")
        lines = tuple(f"payment {number} is gone & away" for number in range(3_000))
        [warning] = teller.send(Notice("x", "attention", "many are gone", lines))
    [body] = bodies
    assert b"many are gone" in body and b"payment 9 " in body and b"left out: a part of" in body
    assert ("40,000" if scheme else "413") in warning


def test_a_notice_that_is_refused_in_every_form_is_tried_again(teller, monkeypatch):
    """And the answer to the whole one is told."""
    handler = MailHandler()
    handler.offence = b"From"
    with mail_server(handler) as port:
        query = "from=s@x.example&to=a@x.example"
        monkeypatch.setenv("SVC_NOTIFY", f"smtp://127.0.0.1:{port}?{query}")
        assert "was not told: it answered 554" in teller.tell(STATE)[0]
        handler.offence = b"\0"
        assert teller.tell(STATE) == [] and len(handler.mails) == 1


# ---------- in which time, and whom it trusts


def drip() -> Iterator[bytes]:
    """Send a byte at a time, each in time."""
    for letter in b"HTTP/1.1 200 OK\r\nX: " + b"x" * 1_000:
        yield bytes([letter])
        time.sleep(0.05)


@pytest.mark.parametrize("scheme", ["http", "https", "smtp", "smtps"])
def test_an_answer_that_drips_ends_the_call_and_not_the_run(scheme, monkeypatch):
    """One limit is of the whole call: none of its pieces takes long."""
    limit = "_PATIENCE" if scheme.startswith("smtp") else "TIMEOUT"
    monkeypatch.setattr(delivery, limit, 0.5)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(SELF_SIGNED)
    monkeypatch.setenv("SVC_CA_FILE", str(SELF_SIGNED))
    calls: dict[str, Callable[[str], None]] = {
        "http": lambda url: delivery.call(url, read_watching()),
        "smtp": lambda url: mail_to(f"{url}?from=a@x&to=b@x"),
    }
    with answering(drip, context if scheme.endswith("s") else None) as server:
        began = time.monotonic()
        with pytest.raises(Undelivered, match="no whole answer within"):
            calls[scheme.removesuffix("s")](f"{scheme}://localhost:{server.port}")
        assert time.monotonic() - began < 5


def test_who_took_too_long_is_not_waited_for_again_in_a_run(teller, monkeypatch):
    """Each receiver is named, and one of another server is told; the next run tries again."""
    monkeypatch.setattr(delivery, "_PATIENCE", 0.5)
    with answering(drip) as server, post_office() as office:
        people = ",".join(f"{one}@x.example" for one in "abcdefgh")
        late = f"smtp://127.0.0.1:{server.port}?from=s@x.example&to={people}"
        monkeypatch.setenv("SVC_NOTIFY", f"{late},{office.web}/hook")
        began = time.monotonic()
        warnings = teller.tell(STATE)
        assert time.monotonic() - began < 2 and len(server.asked) <= 1
        assert len(warnings) == 8 and all("no whole answer" in one for one in warnings)
        assert len(office.documents()) == 1


def mail_to(address: str) -> None:
    [notifier] = read_notifiers(address)[0].each
    delivery.send_mail(notifier, delivery.mail_of(notifier, STATE, ()), read_watching())


def test_a_command_that_leaves_another_running_is_heard_at_once(teller, monkeypatch, tmp_path):
    """It ended well, whoever holds what it printed to."""
    command = tmp_path / "tell"
    command.write_text("#!/bin/sh\ncat > heard\nsleep 30 &\n")
    command.chmod(0o700)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SVC_NOTIFY", f"exec:{command}")
    began = time.monotonic()
    assert teller.tell(STATE) == [] and time.monotonic() - began < 10
    assert "not sealed" in Path("heard").read_text()


def test_mail_of_a_companys_own_authority_is_trusted_by_the_setting(monkeypatch):
    """SVC_CA_FILE names its certificate; without it nothing is sent."""
    context, handler = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), MailHandler()
    context.load_cert_chain(SELF_SIGNED)
    with answering(b"", context) as server:
        address = f"smtps://localhost:{server.port}?from=a@x.example&to=b@x.example"
        with pytest.raises(Undelivered, match="certificate verify failed"):
            mail_to(address)
    with mail_server(handler, ssl_context=context) as port:
        monkeypatch.setenv("SVC_CA_FILE", str(SELF_SIGNED))
        mail_to(f"smtps://localhost:{port}?from=a@x.example&to=b@x.example")
    assert len(handler.mails) == 1
