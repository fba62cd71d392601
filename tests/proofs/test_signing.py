"""Sign and stamp a sealed month, by the command, in Python and while it is closed."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import svc_analytics as svc
from svc_analytics.closing.handover.package import evidence_text
from svc_analytics.closing.handover.sign import Signer, Stamper, sign_folder
from svc_analytics.closing.seals import foreign_files, read_manifest
from svc_analytics.closing.verification.proof import prove
from svc_analytics.config import read_signing_key
from svc_analytics.errors import ConfigError, LakeError, NotProven
from svc_analytics.proofs import signature, verify
from svc_analytics.proofs.checkpoint import FILE, QUERY, SIGNATURE, STAMP
from svc_analytics.proofs.stamp import Authority, has_stamp
from svc_analytics.proofs.statuses import Trust, statuses_of
from tests.support.sealed_months import COMMITS, unpack
from tests.support.signers import Counter, StampAuthority, is_signed_by, make_key, serving


class Keys(NamedTuple):
    own: Path
    other: Path
    locked: Path


@pytest.fixture(scope="module")
def keys(tmp_path_factory) -> Keys:
    folder = tmp_path_factory.mktemp("keys")
    return Keys(*(make_key(folder, name, "x" * (name == "locked") * 8) for name in Keys._fields))


@pytest.fixture
def set_key(monkeypatch, keys) -> Iterator[pytest.MonkeyPatch]:
    monkeypatch.setenv("SVC_SIGNING_KEY", str(keys.own))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    return monkeypatch


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def alone(closer, tmp_path) -> Path:
    """A sealed month away from its lake, which is proven in no time."""
    return shutil.copytree(closer.sealed("2026-10"), tmp_path / "alone" / "2026-10")


@pytest.mark.parametrize("suffix", ["", ".pub"])
def test_a_file_of_two_keys_signs_nothing(keys, tmp_path, suffix):
    """ssh-keygen would take the first, and nobody would know which."""
    both, files = tmp_path / f"both{suffix}", (f"{keys.own}{suffix}", f"{keys.other}{suffix}")
    both.write_bytes(b"".join(Path(each).read_bytes() for each in files))
    both.chmod(0o600)
    with pytest.raises(ConfigError, match=r"there are 2 keys at .*both"):
        signature.sign(b"content", both)


def test_a_reader_who_knows_the_key_finds_the_checkpoint_signed(closer, keys):
    """By ssh-keygen; no other file changes. What a killed run had begun is nobody's."""
    folder = closer.sealed("2026-10")
    before, begun = contents(folder), folder / f".{SIGNATURE}.writing"
    begun.write_text("-----BEGIN")
    assert svc.verify_statement(folder).holds
    done = svc.sign(closer.desk.lake, "2026-10", key=keys.own)
    assert done.is_new and done.file == folder / SIGNATURE
    assert contents(folder) == before | {SIGNATURE: done.file.read_bytes()}
    assert is_signed_by(keys.own, done.file, folder / FILE)
    assert not is_signed_by(keys.other, done.file, folder / FILE)
    assert done.key == signature.fingerprint_of(keys.own)
    assert foreign_files(folder, read_manifest(folder)) == []


def test_signing_again_changes_nothing_and_another_key_takes_its_place(closer, keys):
    """What is not its checkpoint's signature, such as a torn file, is replaced too."""
    folder = closer.sealed("2026-10")
    first = sign_folder(folder, keys.own)
    kept = first.file.stat().st_mtime_ns
    assert not sign_folder(folder, keys.own).is_new
    assert first.file.stat().st_mtime_ns == kept
    assert sign_folder(folder, keys.other).key == signature.fingerprint_of(keys.other)
    first.file.write_bytes(first.file.read_bytes()[:100])
    assert sign_folder(folder, keys.other).is_new
    assert is_signed_by(keys.other, first.file, folder / FILE)


def evidence_of(folder: Path) -> str:
    """The EVIDENCE.txt of a folder away from its lake, its lines joined."""
    return " ".join(evidence_text(prove(folder, read_manifest(folder), None)).split())


def test_the_evidence_says_four_statuses_and_never_one_tick(closer, alone, keys):
    """A torn signature is none, and says so; without the lake nothing is proven."""
    said = evidence_of(alone)
    assert "Sealed: every file" in said and "Not signed: no key signed its checkpoint." in said
    assert "Not stamped: no authority" in said and "Not proven: it was not made again" in said
    done = sign_folder(alone, keys.own, closer.desk.lake)
    said = evidence_of(alone)
    assert f"Signed: by the key {done.key}." in said and "Nobody signed it." not in said
    done.file.write_bytes(done.file.read_bytes()[:100])
    said = evidence_of(alone)
    assert "Not signed: checkpoint.sig is no signature of its checkpoint." in said
    assert "Nobody signed it." in said


def test_what_does_not_hold_is_not_signed(closer, alone, keys):
    """A checkpoint, or a table, that is not what was sealed; no lake, or no seal of a month."""
    for name, part in ((FILE, b"version 1"), ("summary.csv", b"btc")):
        content = (alone / name).read_bytes()
        (alone / name).write_bytes(content.replace(part, part[:-1] + b"2"))
        with pytest.raises(NotProven, match=f"is not signed: {name}"):
            sign_folder(alone, keys.own, closer.desk.lake)
        (alone / name).write_bytes(content)
    with pytest.raises(NotProven, match="it lies in no lake, so it cannot be proven"):
        sign_folder(alone, keys.own)
    with pytest.raises(LakeError, match="2026-09 is not sealed"):
        svc.sign(closer.desk.lake, "2026-09", key=keys.own)
    assert not (alone / SIGNATURE).exists()


def test_a_month_without_a_checkpoint_is_refused(keys, tmp_path):
    """Of an earlier release: nothing of it can be signed."""
    kept = unpack(COMMITS[0], tmp_path) / "statements" / "2026-09"
    with pytest.raises(LakeError, match="it has no checkpoint, for an earlier release sealed it"):
        sign_folder(kept, keys.own)


@pytest.mark.usefixtures("set_key")
def test_a_month_is_signed_while_it_is_closed(closer, keys):
    """The note says that this machine had nothing to compare the lake with; it says so once."""
    closed = closer.close("2026-10", sign=True)
    file, by = closed.folder / SIGNATURE, signature.fingerprint_of(keys.own)
    assert closed.signed_by == by and f"  signed by key {by}" in closed.describe()
    assert closed.note and "this machine signs in this lake for the first time" in closed.note
    assert is_signed_by(keys.own, file, closed.folder / FILE)
    kept, again = file.stat().st_mtime_ns, closer.close("2026-10", sign=True)
    assert (again.state, again.signed_by, again.note) == ("unchanged", by, None)
    assert file.stat().st_mtime_ns == kept


@pytest.mark.parametrize("trouble", ["no key", "no file", "passphrase", "no program"])
def test_what_hinders_a_signature_hinders_no_seal(trouble, closer, keys, set_key, tmp_path):
    """One note says why and what to do, for all months of a run; nobody is asked."""
    [closed] = closer.closed("2026-10")
    if trouble == "no key":
        set_key.delenv("SVC_SIGNING_KEY")
    elif trouble == "no program":
        set_key.setenv("PATH", str(tmp_path))
    else:
        path = keys.locked if trouble == "passphrase" else tmp_path / "none"
        set_key.setenv("SVC_SIGNING_KEY", str(path))
    signer = Signer(closer.desk.lake, is_wanted=True)
    told = signer.sign(closed)
    assert (told.state, told.signed_by, told.needs_attention) == ("sealed", None, False)
    assert told.note and told.note.startswith("not signed: ")
    assert "run svc-analytics sign" in told.note
    assert signer.sign(closed).note is None


def test_a_key_is_given_by_its_path(keys, tmp_path):
    """A file that a variable names may be the key, or hold its path; a variable is never a key."""
    path, name = tmp_path / "path", "SVC_SIGNING_KEY"
    path.write_text(f"{keys.own}\n")
    for named in (keys.own, path, keys.own.with_suffix(".pub")):
        found = read_signing_key(environ={f"{name}_FILE": str(named)}, folder=tmp_path)
        assert found == (keys.own if named == path else named)
    assert read_signing_key(keys.other, environ={name: str(keys.own)}) == keys.other
    assert read_signing_key(environ={}, folder=tmp_path) is None
    with pytest.raises(ConfigError, match="SVC_SIGNING_KEY is a key: give the path") as refused:
        read_signing_key(environ={name: keys.own.read_text()}, folder=tmp_path)
    assert "BEGIN" not in str(refused.value)


# ---------- stamps of checkpoints: asked for where an authority is named, and in nobody's way


@pytest.fixture(scope="module")
def authority(tmp_path_factory) -> StampAuthority:
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


def test_without_openssl_a_month_is_not_stamped(stamped, counter, authority, monkeypatch):
    """The note says what to install; whose a stamp is that is there, is not checked."""
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ConfigError, match="openssl is not installed: install it"):
        Authority(counter.url).stamp(b"a checkpoint\n")
    assert status(stamped, authority) == ("not checked", "this needs openssl, which is not here")
    assert status(stamped, None)[0] == "not checked" and has_stamp(stamped)
