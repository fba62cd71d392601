"""Stamps of checkpoints: asked for where an authority is named, and in nobody's way."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from svc_analytics.closing.handover.stamps import Stamper
from svc_analytics.errors import ConfigError
from svc_analytics.proofs import verify
from svc_analytics.proofs.checkpoint import FILE, QUERY, STAMP
from svc_analytics.proofs.stamp import Authority, has_stamp
from svc_analytics.proofs.statuses import Trust, statuses_of
from tests.support.stamping import Counter, StampAuthority, serving


@pytest.fixture(scope="module")
def authority(tmp_path_factory) -> StampAuthority:
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed")
    return StampAuthority(tmp_path_factory.mktemp("authority"), "authority")


@pytest.fixture(scope="module")
def counter(authority) -> Iterator[Counter]:
    with serving(authority) as found:
        yield found


@pytest.fixture
def stamped(counter, tmp_path) -> Path:
    """A folder with a checkpoint that was stamped."""
    counter.answer = (200, None)
    (tmp_path / FILE).write_text("a checkpoint\n")
    for name, content in Authority(counter.url).stamp((tmp_path / FILE).read_bytes()).items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def status(folder: Path, authority: StampAuthority | None) -> tuple[str, str]:
    trusted = None if authority is None else str(authority.certificate)
    outcome, text, _ = verify.outcome(verify.check_stamp, folder, trusted)
    return outcome, text


def test_a_stamp_holds_for_who_trusts_its_authority(stamped, authority, tmp_path):
    """For nobody else, and while no authority is named it is not checked."""
    assert status(stamped, authority)[0] == "held"
    assert status(stamped, None)[0] == "not checked" and has_stamp(stamped)
    other = StampAuthority(tmp_path, "other")
    assert status(stamped, other) == ("FAILED", "it is no stamp of this authority")


def test_a_stamp_is_of_one_checkpoint_and_of_each_byte(stamped, authority):
    """The checkpoint, the query and what the authority signed cannot be altered."""
    for name in (FILE, QUERY, STAMP):
        content = (stamped / name).read_bytes()
        at = content.find(b"20") + 4 if name == STAMP else 6  # in the year, or in the head
        changed = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
        (stamped / name).write_bytes(changed)
        assert status(stamped, authority)[0] == "FAILED", name
        (stamped / name).write_bytes(content)
    (stamped / STAMP).unlink()
    assert status(stamped, None) == ("not checked", "no stamp")
    assert status(stamped, authority) == ("FAILED", "no stamp, and you named whose you trust")


def test_only_a_hash_is_sent_and_a_number_that_is_new_each_time(stamped, counter):
    """The authority learns nothing of the month."""
    Authority(counter.url).stamp((stamped / FILE).read_bytes())
    first, second = (each["query"] for each in counter.asked[-2:])
    assert counter.asked[-1]["type"] == "application/timestamp-query"
    assert first != second and max(len(first), len(second)) < 100
    assert b"checkpoint" not in first


def test_a_reply_that_is_no_stamp_is_refused_with_the_reason(stamped, counter):
    """An error, a rejection, another query's stamp, a text, and nobody at the address."""
    rejected = counter.authority.reply(b"no query")
    answers = [
        (503, b"", "answered 503"),
        (200, rejected, "refuses: "),
        (200, (stamped / STAMP).read_bytes(), "no stamp of this checkpoint"),
        (200, b"<html>", "no stamp of this checkpoint"),
    ]
    for code, reply, text in answers:
        counter.answer = (code, reply)
        with pytest.raises(ConfigError, match=text):
            Authority(counter.url).stamp(b"a checkpoint\n")
    for url, text in (("http://127.0.0.1:1/", "cannot be reached"), ("tsa", "is not an address")):
        with pytest.raises(ConfigError, match=text):
            Authority(url).stamp(b"a checkpoint\n")


def test_a_month_is_stamped_when_it_is_closed(closer, counter, authority, monkeypatch):
    """What stops a stamp stops no close: it is a note, and the next close asks again."""
    counter.answer = (200, None)
    [closed], storage = closer.closed("2026-10"), closer.desk.lake.storage
    monkeypatch.setenv("SVC_TSA_URL", "http://127.0.0.1:1/")
    noted, folder = Stamper(storage).stamp(closed), closed.folder
    assert noted.seal and not noted.is_stamped and not (folder / STAMP).exists()
    assert noted.note and "not stamped: the authority of SVC_TSA_URL cannot be" in noted.note
    monkeypatch.setenv("SVC_TSA_URL", counter.url)
    assert closer.close("2026-10").is_stamped
    asked, kept = len(counter.asked), (folder / STAMP).read_bytes()
    assert Stamper(storage).stamp(closed).is_stamped
    assert len(counter.asked) == asked and (folder / STAMP).read_bytes() == kept
    *_, stamped = statuses_of(folder, Trust(authority=str(authority.certificate)))
    assert stamped.outcome == "held" and stamped.text.startswith("the checkpoint was there at ")


def test_without_openssl_a_month_is_not_stamped(stamped, counter, monkeypatch):
    """The note says what to install; a stamp that is there is not checked."""
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ConfigError, match="openssl is not installed: install it"):
        Authority(counter.url).stamp(b"a checkpoint\n")
    assert status(stamped, None) == ("not checked", "this needs openssl, which is not here")
