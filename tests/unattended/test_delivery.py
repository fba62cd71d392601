"""How notices reach whom they are for: a real mail server, receivers, sizes, time and trust."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from svc_analytics.errors import ConfigError
from svc_analytics.unattended import delivery, run_notices
from svc_analytics.unattended.notices import Notice, NoticeLog, open_notice_log
from svc_analytics.unattended.notifiers import Undelivered, read_notifiers, read_watching
from svc_analytics.unattended.run_notices import Attachment, RunNotices
from tests.support.loopback import SELF_SIGNED, Web, answering, self_signed, serving, whole
from tests.support.mail import MailHandler, PostOffice, mail_server, plain_text, post_office

QUERY = "from=s@x.example&to=a@x.example"
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


@pytest.fixture
def mailed(monkeypatch) -> Iterator[MailHandler]:
    """A mail server; the settings name one receiver of it."""
    handler = MailHandler()
    with mail_server(handler) as port:
        monkeypatch.setenv("SVC_NOTIFY", f"smtp://127.0.0.1:{port}?{QUERY}")
        yield handler


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
def test_a_subject_arrives_as_it_was_written(name, teller, mailed):
    """A long one in Persian too, with each blank."""
    subject = f"{name.strip()}: 2026-07 is sealed"
    assert teller.send(replace(STATE, subject=subject)) == []
    assert mailed.mails[0][1]["Subject"] == f"svc-analytics close: {subject}"


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
        monkeypatch.setenv("SVC_NOTIFY", f"smtp://127.0.0.1:{port}?{QUERY}")
        warnings = teller.send(STATE, *files)
    [(_, letter)] = handler.mails
    names = [each.get_filename() for each in letter.iter_attachments()]
    left = {5_000: ["2026-09-a.pdf", "2026-09-b.xlsx"], 30_000: ["2026-09-a.pdf"], 100_000: []}
    assert {*names} == {each.name for each in files} - {*left[limit]}
    text = plain_text(letter).replace("\n", " ")
    assert all(
        f"left out: {name}, SHA-256 {'0' * 64}: it answered 552" in text for name in left[limit]
    )
    assert STATE.lines[0] in text and text.count("left out") == len(left[limit])
    assert ["told in a smaller form: it answered 552" in one for one in warnings] == (
        [True] * bool(left[limit])
    )


def test_our_own_limit_is_of_the_mail_as_it_is_sent(teller, mailed, monkeypatch):
    """Base64 makes a third more of each file."""
    monkeypatch.setattr(delivery, "MOST_MAILED", 60_000)
    [warning] = teller.send(STATE, attached("a.pdf", 50_000))
    assert "more than most servers take" in warning
    assert teller.send(STATE, attached("a.pdf", 40_000)) == []
    assert [len([*letter.iter_attachments()]) for _, letter in mailed.mails] == [0, 1]


@pytest.mark.parametrize(
    ("offence", "subject", "has_line"),
    [
        (b"application/pdf", "svc-analytics close: 2026-09 is not sealed", True),
        (b"a rule", "svc-analytics close: attention", False),
        (b"is not sealed", "svc-analytics close: attention", False),
    ],
)
def test_whose_content_is_refused_goes_without_it(offence, subject, has_line, teller, mailed):
    """A file, a line, the subject itself: the smallest form is its event."""
    mailed.offence = offence
    [warning] = teller.send(STATE, attached("a.pdf", 100))
    [(_, letter)] = mailed.mails
    text = plain_text(letter)
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


def test_a_notice_that_is_refused_in_every_form_is_tried_again(teller, mailed):
    """And the answer to the whole one is told."""
    mailed.offence = b"From"
    assert "was not told: it answered 554" in teller.tell(STATE)[0]
    mailed.offence = b"\0"
    assert teller.tell(STATE) == [] and len(mailed.mails) == 1


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
    monkeypatch.setenv("SVC_CA_FILE", str(SELF_SIGNED))
    calls: dict[str, Callable[[str], None]] = {
        "http": lambda url: delivery.call(url, read_watching()),
        "smtp": lambda url: mail_to(f"{url}?from=a@x&to=b@x"),
    }
    with answering(drip, self_signed() if scheme.endswith("s") else None) as server:
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
    monkeypatch.setenv("SVC_NOTIFY", f"exec:{command}")
    began = time.monotonic()
    assert teller.tell(STATE) == [] and time.monotonic() - began < 10
    assert "not sealed" in Path("heard").read_text()


def test_a_companys_own_authority_is_trusted_by_the_setting(monkeypatch):
    """SVC_CA_FILE names its certificate; without it nothing is sent, by mail or by a webhook."""
    handler = MailHandler()
    with (
        answering(whole(b""), self_signed()) as server,
        mail_server(handler, ssl_context=self_signed()) as port,
    ):
        mail, hook = f"smtps://localhost:{port}?{QUERY}", f"https://localhost:{server.port}/hook"
        for send in (lambda: mail_to(mail), lambda: delivery.call(hook, read_watching(), b"{}")):
            monkeypatch.delenv("SVC_CA_FILE", raising=False)
            with pytest.raises(Undelivered, match="certificate verify failed"):
                send()
            monkeypatch.setenv("SVC_CA_FILE", str(SELF_SIGNED))
            send()
    [asked] = server.asked
    assert len(handler.mails) == 1 and asked.startswith(b"POST /hook ")


# ---------- lists that the settings name: matched after a close, and each open row told once


CLOSE = ("close", "--all-due")
MONTHS = ("2026-08", "2026-09", "2026-10")
HEAD = "Order ID,Date,Status,Currency,Total\n"
Write = Callable[..., None]


@pytest.fixture
def write(closer, monkeypatch) -> Write:
    """Write the shop's orders of October: the one that was paid, and others that were not."""
    monkeypatch.setenv("SVC_MATCH", "orders=orders-{month}.csv")
    closer.closed(*MONTHS)
    [paid] = [each for each in closer.desk.service.payments if "2026-10" in each["paid_at"]]

    def write(*unpaid: str) -> None:
        rows = [f"{name},2026-10-05,paid,usdt,7\n" for name in unpaid]
        first = f"{paid['id']},2026-10-05,paid,usdt,{paid['amount']}\n"
        Path("orders-2026-10.csv").write_text(HEAD + first + "".join(rows))

    return write


@pytest.fixture
def told(office, monkeypatch) -> PostOffice:
    monkeypatch.setenv("SVC_NOTIFY", f"{office.web}/hook")
    monkeypatch.setattr(run_notices, "readable_forms", lambda: ("json",))
    return office


def heard(office: PostOffice) -> list[tuple[str, list[str]]]:
    """The events, each with its lines but for the last, which says what to do."""
    return [(each["event"], each["lines"][:-1]) for each in office.documents()]


def line(name: str) -> str:
    return f"no payment for a paid order: theirs {name} 7 usdt"


def test_each_open_row_is_told_once_and_a_new_one_when_it_comes(call, write, told):
    """Two are open: one message. The same again: none. One more: that one alone; then none is."""
    write("A-1", "A-2")
    done = call(*CLOSE)
    assert done.code == 0 and "2026-10, orders: 2 open rows, saved in " in done.err
    assert heard(told) == [("open", [line("A-1"), line("A-2")])]
    assert Path("data/matches/2026-10/orders/match.json").exists()
    assert call(*CLOSE).code == 0 and heard(told) == []
    write("A-2", "A-3")
    assert call(*CLOSE).code == 0 and heard(told) == [("open", [line("A-3")])]
    write()
    assert call(*CLOSE).code == 0 and heard(told) == [("well", [])]


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("orders=none.csv", "2026-10, orders: not matched: cannot read "),
        ("order=a.csv", "SVC_MATCH has 'order=a.csv': write orders=FILE, payouts=FILE or "),
        ("books=a.csv", "SVC_MATCH has 'books=a.csv': write orders=FILE"),
        ("orders-xero=a.csv", "SVC_MATCH has 'orders-xero=a.csv': write orders=FILE"),
        ("orders", "SVC_MATCH has 'orders': write orders=FILE"),
    ],
)
def test_what_cannot_be_matched_is_one_line_and_the_close_is_as_it_was(
    call, write, told, monkeypatch, setting, says
):
    monkeypatch.setenv("SVC_MATCH", setting)
    done = call(*CLOSE)
    assert done.code == 0 and done.err.count(says) == 1
    assert [event for event, _ in heard(told)] == ["unmatched"]
    assert call(*CLOSE).code == 0 and heard(told) == []


def test_rows_that_were_open_are_not_settled_by_a_file_that_is_gone(call, write, told):
    """It is told that they could not be matched, not that all is well; nor are they told again."""
    write("A-1")
    call(*CLOSE)
    heard(told)
    Path("orders-2026-10.csv").rename("aside.csv")
    assert call(*CLOSE).code == 0 and [event for event, _ in heard(told)] == ["unmatched"]
    Path("aside.csv").rename("orders-2026-10.csv")
    assert call(*CLOSE).code == 0 and heard(told) == []


def test_a_fault_of_the_matcher_does_not_undo_the_close(call, write, told, monkeypatch):
    def match(*_: Any, **__: Any) -> None:
        raise RuntimeError("out of order")

    monkeypatch.setattr("svc_analytics.matching.match.match", match)
    done = call(*CLOSE)
    assert done.code == 0 and "2026-10, orders: not matched: out of order" in done.err
