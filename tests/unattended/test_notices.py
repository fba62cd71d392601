"""What a person is told of runs: each thing once, by the notifiers of the settings."""

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from svc_analytics.closing.result import CloseResult
from svc_analytics.closing.seals import read_manifest
from svc_analytics.errors import ConfigError, KeyRefused, SvcError, Unavailable
from svc_analytics.extraction import update
from svc_analytics.instants import HOUR, now
from svc_analytics.messages import Message, translated
from svc_analytics.render.document import Reason
from svc_analytics.unattended import notices, run_notices, watch
from svc_analytics.unattended.notices import Notice, open_notice_log, read_notice_log
from svc_analytics.unattended.notifiers import read_notifiers, read_watching
from tests.support.fake_service import payment
from tests.support.mail import PostOffice, plain_text, post_office
from tests.support.rings import rings

CLOSE = ("close", "--all-due")
MONTHS = ("2026-08", "2026-09", "2026-10")
SECRETS = {
    "SVC_CHECKOUT_KEY": "svc_live_" + "0a" * 32,
    "SVC_PAYOUT_KEY": "svc_payout_" + "0b" * 32,
    "SVC_RECEIPT_SECRETS": "rcpt-one@2026-08-15,rcpt-two",
    "SVC_WEBHOOK_SECRETS": "whsec-one",
}
AWAY = Unavailable("the service is in maintenance: try again later")
REFUSED = KeyRefused("the service refused the key")

Fails = Callable[[Exception | None], None]
Watched = Callable[[], watch.Watch]


@pytest.fixture
def fails(closer, monkeypatch) -> Fails:
    """Let each run from now on end with an error, or with none."""
    works = update.extract

    def let(error: Exception | None) -> None:
        def extract(*_: Any, **__: Any) -> Any:
            raise error or AssertionError

        monkeypatch.setattr(update, "extract", extract if error else works)

    return let


@pytest.fixture
def told(office, monkeypatch) -> PostOffice:
    """Who is told by mail and by a webhook, here without page and workbook, which take long."""
    monkeypatch.setenv("SVC_NOTIFY", f"{office.mail},{office.web}/hook")
    monkeypatch.setattr(run_notices, "readable_forms", lambda: ("json",))
    return office


def documents(office: PostOffice) -> list[dict[str, Any]]:
    """What the webhook was told; as many mails came, of the same."""
    found = office.documents()
    assert [one["subject"].partition(": ")[2] for one in found] == office.mailed()
    return found


def events(office: PostOffice) -> list[str]:
    return [document["event"] for document in documents(office)]


def hooked(office: PostOffice) -> list[str]:
    """What the webhook alone was told."""
    return [document["event"] for document in office.documents()]


def digests(letter: EmailMessage) -> dict[str, str]:
    """The files of a letter, by their names, with what their bytes hash to."""
    parts = [
        (each.get_filename(), each.get_payload(decode=True)) for each in letter.iter_attachments()
    ]
    return {
        str(name): hashlib.sha256(content).hexdigest()
        for name, content in parts
        if isinstance(content, bytes)
    }


@pytest.fixture
def watched(closer) -> Iterator[Watched]:
    """Watch what a run does with a lake, of which August is sealed and not yet in its place."""
    closer.sealed("2026-08", formats=("csv", "json")).rename("aside")
    warnings: list[str] = []

    def begin() -> watch.Watch:
        return watch.Watch("close", lambda: closer.desk.lake, read_watching(), warnings.append)

    yield begin
    assert warnings == []


def seal() -> None:
    """Put August where it is sealed."""
    Path("aside").rename("data/statements/2026-08")


def mail_of(office: PostOffice) -> tuple[dict[str, str], str]:
    """Take the one letter: the digests of its files, and its text."""
    [letter] = office.letters
    return digests(letter), plain_text(letter)


@pytest.mark.parametrize("has_pdf", rings([False], [False, True]))
def test_a_sealed_month_is_mailed_once_with_its_files(has_pdf, watched, office, monkeypatch):
    """The bytes are those of the forms beside the seal, as their digests say."""
    if not has_pdf:  # which takes long to print
        monkeypatch.setattr(run_notices, "readable_forms", lambda: ("html", "xlsx"))
    with watched():
        seal()
    found, text = mail_of(office)
    forms = json.loads(Path("data/statements/2026-08-forms/forms.json").read_text())["files"]
    assert found == {f"2026-08-forms-{name}": facts["sha256"] for name, facts in forms.items()}
    assert {*forms} == {"statement.pdf" if has_pdf else "statement.html", "statement.xlsx"}
    assert all(digest in text for digest in found.values())
    assert office.mailed() == ["Shop: 2026-08 is sealed"]
    with watched():
        pass
    assert office.mailed() == []


def test_a_form_that_is_sealed_is_mailed_by_the_seal(watched, told):
    """Its bytes are those that the seal's digest names; nothing is written beside it."""
    with watched():
        seal()
    found, _ = mail_of(told)
    sealed = json.loads(Path("data/statements/2026-08/manifest.json").read_text())["files"]
    assert found == {"2026-08-statement.json": sealed["statement.json"]["sha256"]}
    assert not Path("data/statements/2026-08-forms").exists()


@pytest.mark.thorough
def test_what_a_killed_run_sealed_is_told_by_the_next(watched, told):
    """A process that is killed comes to no end; that is told once, until one is well again."""
    watched().__enter__()
    seal()
    assert events(told) == []
    watched().__enter__()
    assert events(told) == ["killed"]
    with pytest.raises(Unavailable), watched():
        raise AWAY
    assert events(told) == ["sealed"]
    with watched():
        pass
    with watched():
        pass
    assert events(told) == ["well"]


@pytest.mark.thorough
def test_a_process_that_is_killed_is_told_by_the_next_run(call, closer, told, monkeypatch):
    """By SIGKILL, while it waits for a service that never answers; the next one succeeds."""
    monkeypatch.setenv("SVC_PING_URL", f"{told.web}/ping")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings = os.environ | {"SVC_BASE_URL": f"http://127.0.0.1:{silent.getsockname()[1]}"}
        words = [sys.executable, "-m", "svc_analytics", "extract"]
        with subprocess.Popen(words, env=settings) as process:
            silent.settimeout(30)
            asking, _ = silent.accept()  # it is in the middle
            process.kill()
            asking.close()
    assert process.returncode == -signal.SIGKILL and told.pings() == ["/ping/start"]
    monkeypatch.delenv("SVC_PING_URL")
    assert call("extract").code == 0 and events(told) == ["killed", "well"]
    assert call("extract").code == 0 and events(told) == []


def test_a_run_beside_one_that_lives_is_not_taken_for_its_end(watched, told):
    """The second finds the lake busy, and ends first."""
    first = watched()
    with first:
        with pytest.raises(Unavailable), watched():
            raise AWAY
        assert read_notice_log(first.lake.path).command("close").is_running
    with pytest.raises(KeyboardInterrupt), watched():
        raise KeyboardInterrupt
    with watched():
        pass
    assert events(told) == []


@pytest.mark.parametrize(
    ("days", "missed"),
    [
        ([0, 1, 2, 3], []),
        ([0, 1, 2, 4, 5, 6], [4]),
        ([0, 3, 4, 5, 8, 13], [13]),
        ([0, 5], []),
        ([0, 1, 2, 4, 6, 10], [4, 10]),
        ([0, 30, 60, 91, 150], [150]),
        ([0, 0.1, 0.2, 0.3, 0.4, 30, 60, 60.1, 90], []),  # once a month, and tried again
        ([*(hour / 24 for hour in range(8)), 3, 4, 5], [3]),  # each hour
    ],
)
def test_a_gap_between_runs_is_told_once_by_the_one_that_comes(
    days, missed, watched, told, monkeypatch
):
    """Much longer than the last ones: a timer of once a month is not told each month."""
    began, found = now(), []
    for day in days:
        monkeypatch.setattr(watch, "now", lambda day=day: began + int(day * 24 * HOUR))
        with watched():
            first = events(told)
        assert (first, events(told)) in (([], []), (["missed"], ["well"]))
        found += [day] * len(first)
    assert found == missed


def test_what_was_sealed_before_anybody_listened_is_not_told(watched, told):
    """A new notifier begins with what comes next."""
    seal()
    with watched():
        pass
    assert events(told) == []


@pytest.mark.parametrize(("state", "heard"), [("unchanged", []), ("sealed", ["sealed"])])
def test_whose_memory_is_lost_in_a_run_is_told_what_it_sealed_and_no_more(
    state, heard, watched, told
):
    """A month that the run found unchanged was sealed before."""
    seal()
    folder = Path("data/statements/2026-08").absolute()
    with watched() as run:
        Path("data/.told.json").unlink()
        run.closed(CloseResult("2026-08", state, folder, 1, read_manifest(folder)["seal"]))
    assert events(told) == heard


@pytest.mark.thorough
def test_a_restatement_is_told_once_and_is_no_lasting_state(call, closer, told):
    """The run ends with 3, and the next one has nothing to add."""
    closer.closed(*MONTHS)
    closer.desk.service.payments.append(payment(99, "2026-10-20T10:00:00Z", "7", "0.5"))
    again = ("close", "--month", "2026-10")
    assert call(*again).code == 3 and events(told) == ["restated"]
    assert call(*again).code == 0 and events(told) == []


def test_a_month_that_cannot_be_sealed_is_told_once_and_its_end_once(call, closer, told):
    """It waits for a person, and since it was due long ago, it is overdue too.

    Who closes one month, the one before, hears nothing of others.
    """
    closer.desk.service.payments.pop(1)  # whose refund is in October
    closer.closed(*MONTHS[:2])
    assert call(*CLOSE).code == 3 and events(told) == ["attention", "overdue"]
    assert call("close", "2026-08").code == 0 and events(told) == []
    assert call("close", "last munth").code == 2 and events(told) == []
    assert call(*CLOSE).code == 3 and events(told) == []
    closer.accept("refund_has_its_payment", closer.desk.service.payouts[0]["id"])
    assert call(*CLOSE).code == 0 and events(told) == ["sealed", "well"]


def test_what_waits_for_a_person_is_told_until_it_is_another(watched, told):
    """A reason that stays is not told again; one that joins it makes another state."""
    finding = Message("reason.finding", finding=translated("a rule is broken"), rule="a_rule")
    reasons = (
        Reason(Message("reason.close_again", month=translated("x"), command="y")),
        Reason(finding),
    )

    def run(*found: Reason) -> list[str]:
        with watched() as run:
            run.closed(CloseResult("2026-09", "provisional", Path("x"), 1, None, found))
        return events(told)

    assert [run(*reasons[:1]), run(*reasons[:1]), run(*reasons)] == [
        ["attention"],
        [],
        ["attention"],
    ]
    assert [run(), run()] == [["well"], []]


def held(label: str, folder: str = "x") -> CloseResult:
    finding = Message("reason.finding", finding=translated("a rule is broken"), rule="a_rule")
    return CloseResult(label, "provisional", Path(folder), 1, None, (Reason(finding),))


def test_a_run_of_one_month_tells_of_it_alone(watched, told, monkeypatch):
    """Not that all is well, which a run of all months says; another's states stay, and no ping."""
    monkeypatch.setenv("SVC_PING_URL", f"{told.web}/ping")

    def run(*results: CloseResult, period: str = "", error: Exception | None = None) -> list[str]:
        run = watched()
        run.period, run.months = period, None if period else ("UTC", None)
        with suppress(SvcError), run:
            for each in results:
                run.closed(each)
            if error:
                raise error
        pings = [path for path, _ in told.calls if path.startswith("/ping")]
        assert pings == ([] if period else ["/ping/start", "/ping"])
        told.calls = [each for each in told.calls if each[0] not in pings]
        return events(told)

    seal()
    assert run(held("2026-09"), held("2026-10")) == ["attention", "attention", "overdue"]
    log = read_notice_log(watched().lake.path).command("close")
    assert run(period="2026-08") == []
    assert run(period="2026-09", error=REFUSED) == ["failed"]
    assert run(period="2026-09", error=AWAY) == []
    assert run(period="2026-09") == []
    after = read_notice_log(watched().lake.path).command("close")
    assert replace(after, states=[]) == replace(log, states=[])
    assert [one.period for one in after.states] == ["2026-10", "2026-10"]
    assert run(held("2026-09"), held("2026-10")) == ["attention"]


def test_what_waits_is_said_by_a_run_that_looked_at_all_months(watched, told, monkeypatch):
    """A quarter that was named, and is not sealed, is none of the months that are due."""
    monkeypatch.setattr(notices, "overdue", lambda *_: [])

    def run(command: str, *results: CloseResult, period: str = "") -> list[tuple[str, str]]:
        run = watched()
        run.command, run.period = command, period
        run.months = ("UTC", None) if command == "close" and not period else None
        with run:
            for each in results:
                run.closed(each)
        return [(one["event"], one["lines"][-1]) for one in documents(told)]

    def state(*notices: Notice) -> None:
        with open_notice_log(watched().lake.path) as log:
            log.command("extract").states = [*notices]
            log.listeners[read_watching().notifiers[0].key].states["extract"] = ["x"]
            log.listeners[read_watching().notifiers[1].key].states["extract"] = ["x"]
            log.save()

    assert [event for event, _ in run("close", held("2026-Q3"), period="2026-Q3")] == ["attention"]
    assert run("close") == []
    state(Notice("x", "failed", "x"))
    assert run("close", period="2026-Q3") == []
    waits = "what was reported of extract still waits for a person"
    assert run("close") == [("well", waits)]
    over = "extract ended well; whether a record waits for a person, close --all-due says"
    assert run("extract") == [("well", over)]
    assert [event for event, _ in run("close", held("2026-09"))] == ["attention"]
    assert run("close") == [("well", "nothing waits for a person now")]


def test_no_later_run_settles_records_that_were_set_aside(call, closer, told):
    """The next one sets nothing more aside: the record waits for a person all the same."""
    closer.desk.service.payments[0]["amount"] = "1e3"
    assert call("extract").code == 3 and events(told) == ["attention"]
    assert call("extract").code == 0 and events(told) == []


def test_a_month_that_is_overdue_is_told_once(watched, told):
    """Three days behind the instant from which on it could be closed; nobody closed any here."""
    for _ in range(2):
        run = watched()
        run.months = ("UTC", None)
        with run:
            pass
    [document] = documents(told)
    assert document["event"] == "overdue"
    assert document["subject"].endswith("and not sealed: 2026-08, 2026-09, 2026-10")


def test_two_schedules_tell_of_their_own_months(watched, told):
    """Months of UTC that are overdue are told once, though a run of Tehran's comes between."""
    seal()
    told_of = list[str]()
    for zone in ("UTC", "Asia/Tehran") * 3:
        run = watched()
        run.months = (zone, "gregorian")
        with run:
            pass
        told_of += [one["subject"].rpartition(" ")[2] for one in documents(told)]
    assert told_of == ["2026-10", "2026-10@Asia-Tehran"]


def test_a_failure_is_told_once_and_its_end_once(call, closer, told, fails):
    """Also where the lake is not there yet."""
    fails(REFUSED)
    assert [call("extract").code for _ in range(3)] == [1, 1, 1]
    [document] = documents(told)
    assert document["event"] == "failed" and document["exit_code"] == 1
    assert document["subject"] == f"svc-analytics extract: {REFUSED}"
    fails(None)
    assert call("extract").code == 0 and events(told) == ["well"]
    assert call("extract").code == 0 and events(told) == []


def test_a_service_that_is_away_is_told_after_a_day(call, told, fails, monkeypatch):
    """Not before, and once; a run that reaches it begins the day anew."""
    began = now()

    def events_at(hours: float, error: Exception | None = AWAY) -> list[str]:
        monkeypatch.setattr(watch, "now", lambda: began + int(hours * HOUR))
        fails(error)
        assert call("extract").code == (75 if error else 0)
        return events(told)

    assert [events_at(hours) for hours in (0, 12, 23.9, 24, 40)] == [[], [], [], ["away"], []]
    assert [events_at(41, None), events_at(42), events_at(65), events_at(66)] == [
        ["well"],
        [],
        [],
        ["away"],
    ]


def test_a_notifier_that_fails_is_a_warning_and_is_told_by_the_next_run(
    call, closer, office, fails, monkeypatch
):
    """The other one hears it once, and the exit code is that of the run."""
    with post_office() as other:
        monkeypatch.setenv("SVC_NOTIFY", f"{office.web}/a,{other.web}/b")
        office.is_shut = True
        fails(REFUSED)
        done = call("extract")
        assert done.code == 1 and hooked(other) == ["failed"]
        warnings = [line for line in done.lines if "warning" in line]
        assert warnings == [
            "svc-analytics: warning: http://127.0.0.1 was not told: it answered 503"
        ]
        office.is_shut = False
        office.calls.clear()
        assert call("extract").code == 1
        assert (hooked(office), hooked(other)) == (["failed"], [])


def test_no_secret_enters_a_message_or_a_warning(call, office, fails, monkeypatch, tmp_path):
    """With all of them set, and an error that names each: by mail, webhook, Slack and command."""
    for name, text in SECRETS.items():
        monkeypatch.setenv(name, text)
    host = office.web.removeprefix("http://")
    monkeypatch.setenv("SVC_PROXY", f"http://joe:tiger-proxy@{host}")
    names = ("rcpt-one", "rcpt-two", "tiger-proxy", "tiger-mail", "token-of-hook")
    parts = [*SECRETS.values(), *names]
    command = tmp_path / "tell"
    command.write_text(f"#!/bin/sh\nenv > {tmp_path}/env\ncat > {tmp_path}/in\n")
    command.chmod(0o700)
    hook = f"{office.web}/token-of-hook"
    wrong = "smtp://joe:tiger-mail@127.0.0.1:1?from=a@x.example&to=b@x.example"
    targets = [office.mail, hook, f"slack+http://{host}/token-of-hook", f"exec:{command}", wrong]
    monkeypatch.setenv("SVC_NOTIFY", ",".join(targets))
    fails(SvcError(f"refused: {' '.join(parts)} {' '.join(targets)}"))
    done = call("extract")
    assert done.code == 1 and len(office.letters) == 1 and len(office.calls) == 2
    said = [office.letters[0].as_string(), *(body.decode() for _, body in office.calls)]
    said += [(tmp_path / name).read_text() for name in ("in", "env")]
    said += [line for line in done.lines if "warning" in line]
    assert "refused" in said[0] and len(said) == 6
    assert [part for part in parts for text in said if part in text] == []


@pytest.mark.parametrize(
    ("error", "pings"),
    [(None, ["/x/start", "/x"]), (REFUSED, ["/x/start", "/x/fail"]), (AWAY, ["/x/start"])],
)
def test_a_run_pings_its_start_and_its_end(error, pings, call, office, fails, monkeypatch):
    """Of one that must be tried again there is no end: whoever waits for it counts the time."""
    monkeypatch.delenv("SVC_NOTIFY")
    monkeypatch.setenv("SVC_PING_URL", f"{office.web}/x")
    fails(error)
    call("extract")
    assert office.pings() == pings and not Path("data/.told.json").exists()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("mailto:a@x.example", "names no notifier"),
        ("smtp://mail.example?to=a@x.example", "needs one sender"),
        ("https://", "names no host"),
        ("http://hooks.example/pass-word", "must be https"),
        ("exec:tell", "whole path"),
        ("https://a.example/pass-word ftp://b.example", "names no notifier"),
    ],
)
def test_a_wrong_notifier_is_refused_without_its_text(text, says):
    """It may hold a password."""
    with pytest.raises(ConfigError, match=says) as refused:
        read_notifiers(text)
    assert "pass-word" not in str(refused.value)


def test_addresses_of_mail_may_have_commas_between_them():
    """As between notifiers."""
    first, second = read_notifiers("smtp://m.example?from=a@x&to=b@x,c@x,\nhttps://h.example/1")
    assert first.people("to") == ["b@x", "c@x"] and second.name == "https://h.example"
